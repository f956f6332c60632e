//! The values of an axis: lists of numbers with an ellipsis.

/// Most values of one axis.
pub const MAX_VALUES: usize = 10_000;

/// The numbers of a list such as `1,2,4` or `1,2,4,...,4096`.
///
/// An ellipsis, `...` or `…`, stands between the values that begin a progression and the one that
/// ends it. The progression is arithmetic (a constant step) or geometric (a constant whole
/// factor), it increases, and exactly one of the two must go through all values before the
/// ellipsis and reach the one after it: a geometric one therefore needs three values before.
///
/// # Errors
/// A sentence that names the value and the way out.
pub fn numbers(text: &str) -> Result<Vec<usize>, String> {
    let mut values: Vec<usize> = Vec::new();
    let mut parts = text.split(',').map(str::trim);
    let mut seen_ellipsis = false;
    while let Some(part) = parts.next() {
        if part != "..." && part != "…" {
            values.push(number(part)?);
            continue;
        }
        if seen_ellipsis {
            return Err("a list can have one ellipsis".to_owned());
        }
        seen_ellipsis = true;
        let end = parts.next().ok_or(
            "nothing follows the ellipsis; end the list with a value, for example 1,2,4,...,64",
        )?;
        let between = progression(&values, number(end)?)?;
        values.extend(between);
    }
    if values.len() > MAX_VALUES {
        return Err(too_many(values.len()));
    }
    Ok(values)
}

fn number(text: &str) -> Result<usize, String> {
    // `parse` alone would accept a leading plus.
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("\"{text}\" is not a whole number"));
    }
    text.parse().map_err(|_| format!("{text} is too large"))
}

fn too_many(count: usize) -> String {
    format!("the list has {count} values; at most {MAX_VALUES} are accepted")
}

/// The values after `begin`, up to and with `end`.
fn progression(begin: &[usize], end: usize) -> Result<Vec<usize>, String> {
    let &[.., before, last] = begin else {
        return Err("at least two values must stand before the ellipsis".to_owned());
    };
    if begin.windows(2).any(|pair| pair[0] >= pair[1]) || end <= last {
        return Err(format!(
            "the values around the ellipsis must increase, up to the {end} that ends them"
        ));
    }
    let step = last - before;
    let arithmetic =
        begin.windows(2).all(|pair| pair[1] - pair[0] == step) && (end - last).is_multiple_of(step);
    let factor = last.checked_div(before).unwrap_or(0);
    let geometric = begin
        .windows(2)
        .all(|pair| pair[0].checked_mul(factor) == Some(pair[1]))
        && reaches(last, factor, end);
    match (arithmetic, geometric) {
        (true, false) if (end - last) / step > MAX_VALUES => Err(too_many((end - last) / step)),
        (true, false) => Ok((last..=end).step_by(step).skip(1).collect()),
        (false, true) => {
            let next = |&value: &usize| Some(value.checked_mul(factor)?).filter(|&v| v <= end);
            Ok(std::iter::successors(Some(last), next).skip(1).collect())
        }
        (true, true) => Err(format!(
            "the ellipsis is ambiguous: adding {step} and multiplying by {factor} both lead from \
             {last} to {end}; write one more value before it"
        )),
        (false, false) => Err(format!(
            "no constant step and no constant whole factor leads through {} to {end}; write the \
             values out",
            begin
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        )),
    }
}

/// Whether `end` is `last` times a power of `factor`.
fn reaches(last: usize, factor: usize, end: usize) -> bool {
    let mut value = last;
    while factor > 1 && value < end {
        let Some(next) = value.checked_mul(factor) else {
            return false;
        };
        value = next;
    }
    value == end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_by_hand() {
        assert_eq!(numbers("7"), Ok(vec![7]));
        assert_eq!(numbers("1, 64,3"), Ok(vec![1, 64, 3]));
        let powers = vec![1, 2, 4, 8, 16, 32, 64];
        assert_eq!(numbers("1,2,4,...,64"), Ok(powers.clone()));
        assert_eq!(numbers("1,2,4,…,64"), Ok(powers));
        assert_eq!(numbers("3,9,27,...,243"), Ok(vec![3, 9, 27, 81, 243]));
        assert_eq!(numbers("2,4,...,10"), Ok(vec![2, 4, 6, 8, 10]));
        assert_eq!(numbers("1,2,3,...,5"), Ok(vec![1, 2, 3, 4, 5]));
        assert_eq!(numbers("0,5,...,15"), Ok(vec![0, 5, 10, 15]));
        assert_eq!(numbers("1,2,4,...,16,100"), Ok(vec![1, 2, 4, 8, 16, 100]));
    }

    #[test]
    fn lists_that_are_refused() {
        let cases = [
            ("", "\"\" is not a whole number"),
            ("1,,2", "\"\" is not"),
            ("1,x", "\"x\" is not"),
            ("-1", "\"-1\" is not"),
            ("99999999999999999999999", "too large"),
            ("1,...,8", "two values"),
            ("...,8", "two values"),
            ("1,2,4,...", "nothing follows"),
            ("1,2,...,...,8", "\"...\" is not"),
            (
                "1,2,...,8",
                "adding 1 and multiplying by 2 both lead from 2 to 8",
            ),
            ("3,9,...,81", "adding 6 and multiplying by 3"),
            ("1,2,4,...,63", "through 1, 2, 4 to 63"),
            ("4,6,9,...,81", "through 4, 6, 9 to 81"),
            ("1,2,4,9,...,81", "write the values out"),
            ("4,2,...,1", "must increase"),
            ("1,1,...,1", "must increase"),
            ("1,2,4,...,4", "must increase"),
            ("1,2,3,...,1000000", "at most 10000"),
            ("1,2,4,...,16,18,...,20", "one ellipsis"),
        ];
        for (text, part) in cases {
            let message = numbers(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    proptest! {
        #[test]
        fn arithmetic(first in 1..1000usize, step in 1..50usize, count in 4..40usize) {
            let values: Vec<usize> = (0..count).map(|index| first + index * step).collect();
            let text = format!("{},{},{},...,{}", values[0], values[1], values[2], values[count - 1]);
            prop_assert_eq!(numbers(&text), Ok(values));
        }

        #[test]
        fn geometric(first in 1..1000usize, factor in 2..10usize, count in 4..10u32) {
            let values: Vec<usize> = (0..count).map(|index| first * factor.pow(index)).collect();
            let text = format!("{},{},{},…,{}", values[0], values[1], values[2], values[count as usize - 1]);
            prop_assert_eq!(numbers(&text), Ok(values));
        }

        #[test]
        fn no_text_panics(text in "[0-9.,…]*") {
            let _ = numbers(&text);
        }
    }
}
