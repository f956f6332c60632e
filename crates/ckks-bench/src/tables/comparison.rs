//! Two reports side by side.

use crate::comparison::{Comparison, Pair, ValuePair};
use crate::report::Verdict;
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use bench_report::units::{bytes, number, scientific, seconds};

/// The whole comparison.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let mut out = facts([
        ("A", comparison.a.clone()),
        ("B", comparison.b.clone()),
        ("B/A", "medians of B over those of A".to_owned()),
    ]);
    for (title, list) in [
        (
            "NOT COMPARABLE, shown because of --anyway:",
            &comparison.unsound,
        ),
        ("Other differences:", &comparison.differences),
    ] {
        if list.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{title}\n"));
        let rows = list.iter().map(|difference| {
            let text = format!("A: {}; B: {}", difference.a, difference.b);
            (difference.what.as_str(), text)
        });
        out.push_str(&facts(rows));
    }
    for pair in &comparison.configurations {
        out.push('\n');
        out.push_str(&configuration(pair));
    }
    for name in &comparison.unmatched {
        out.push_str(&format!("\nwithout a partner: {name}\n"));
    }
    out
}

fn configuration(pair: &Pair) -> String {
    let mut out = format!("{}x{}, batch {}", pair.d_in, pair.d_out, pair.batch_a);
    if pair.batch_a != pair.batch_b {
        out.push_str(&format!(
            " in A and {} in B; durations and bytes are of the whole batch",
            pair.batch_b
        ));
    }
    out.push('\n');
    for (side, verdict) in [("A", pair.verdict_a), ("B", pair.verdict_b)] {
        if verdict != Verdict::Passed {
            out.push_str(&format!("{side}: {verdict}\n"));
        }
    }
    let mut table = numbers(&["", "A", "B", "B/A", ""]);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    for stage in &pair.stages {
        table.add_row([
            stage.stage.to_string(),
            or_dash(stage.a.map(|s| seconds(s.median_seconds))),
            or_dash(stage.b.map(|s| seconds(s.median_seconds))),
            or_dash(stage.ratio.map(number)),
            words(stage.ratio, ["faster", "slower"], stage.distinguishable),
        ]);
    }
    let mut rows =
        |list: &[ValuePair], suffix: &str, show: fn(f64) -> String, words_for: [&str; 2]| {
            for value in list {
                table.add_row([
                    format!("{}{suffix}", value.name),
                    or_dash(value.a.map(show)),
                    or_dash(value.b.map(show)),
                    or_dash(value.ratio.map(number)),
                    words(value.ratio, words_for, value.distinguishable),
                ]);
            }
        };
    let rate = |value| format!("{}/s", number(value));
    rows(&pair.throughput, " vectors", rate, ["slower", "faster"]);
    rows(&pair.bytes, "", |v| bytes(v as u64), ["smaller", "larger"]);
    rows(&pair.errors, " error", scientific, ["smaller", "larger"]);
    out.push_str(&text(&table));
    out
}

/// `B is 1.31x faster`: `below` is the word for a ratio below 1.
pub(super) fn words(
    ratio: Option<f64>,
    [below, above]: [&str; 2],
    distinguishable: Option<bool>,
) -> String {
    let Some(ratio) = ratio else {
        return String::new();
    };
    let (factor, word) = if ratio < 1.0 {
        (1.0 / ratio, below)
    } else {
        (ratio, above)
    };
    // What is printed as 1.00 times is printed as no difference.
    if factor < 1.005 {
        return "same".to_owned();
    }
    if distinguishable == Some(false) {
        return "not distinguishable: the ranges overlap".to_owned();
    }
    format!("B is {}x {word}", number(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direction_in_words() {
        let time = ["faster", "slower"];
        assert_eq!(words(Some(0.5), time, Some(true)), "B is 2.00x faster");
        assert_eq!(words(Some(1.25), time, None), "B is 1.25x slower");
        assert_eq!(
            words(Some(4.0), ["slower", "faster"], None),
            "B is 4.00x faster"
        );
        assert_eq!(words(Some(1.004), time, Some(true)), "same");
        assert_eq!(words(None, time, None), "");
        assert!(words(Some(2.0), time, Some(false)).starts_with("not distinguishable"));
    }
}
