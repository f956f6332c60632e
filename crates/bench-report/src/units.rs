//! Numbers for people: three digits and a unit. Sizes are decimal: 1 MB is 10^6 bytes.

/// What a number is, and so how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A duration in seconds.
    Seconds,
    /// A size in bytes.
    Bytes,
    /// A rate in bytes per second.
    BytesPerSecond,
    /// A count or another number of ordinary size.
    Number,
    /// A number that is best written with its power of ten, such as an error.
    Scientific,
    /// A part of 1, written in per cent.
    Share,
}

impl Unit {
    /// The value with its unit.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        match self {
            Unit::Seconds => seconds(value),
            // The cast saturates: no size is negative or without an end.
            Unit::Bytes => bytes(value.round() as u64),
            Unit::BytesPerSecond => bytes_per_second(value),
            Unit::Number => number(value),
            Unit::Scientific => scientific(value),
            Unit::Share => format!("{} %", number(value * 100.0)),
        }
    }

    /// The name of the unit; `None` for mere numbers.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Unit::Seconds => Some("seconds"),
            Unit::Bytes => Some("bytes"),
            Unit::BytesPerSecond => Some("bytes per second"),
            Unit::Share => Some("per cent"),
            Unit::Number | Unit::Scientific => None,
        }
    }
}

/// A duration, e.g. `1.45 ms`.
#[must_use]
pub fn seconds(value: f64) -> String {
    scaled(
        value,
        &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
    )
}

/// A size, e.g. `4.07 GB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    if value < 1000 {
        return format!("{value} B");
    }
    scaled(
        value as f64,
        &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")],
    )
}

/// A rate, e.g. `23.1 GB/s`.
#[must_use]
pub fn bytes_per_second(value: f64) -> String {
    format!(
        "{}/s",
        scaled(value, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
    )
}

/// A bandwidth in bytes per second from text such as `10Gbit/s`, `100Mbit/s`, `1.25GB/s`: a number,
/// a decimal prefix, `bit` or `B`, `/s`.
///
/// # Errors
/// A message for people where the text is no positive, finite rate.
pub fn parse_rate(text: &str) -> Result<f64, String> {
    let wrong =
        || "expected a number with a unit, for example 10Gbit/s, 100Mbit/s or 1.25GB/s".to_owned();
    let rate = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
    let (rate, bytes) = match (rate.strip_suffix("bit"), rate.strip_suffix('B')) {
        (Some(rest), _) => (rest, 0.125),
        (None, Some(rest)) => (rest, 1.0),
        (None, None) => return Err(wrong()),
    };
    let rate = rate.trim_end();
    let (number, prefix) = match rate.strip_suffix(['k', 'M', 'G', 'T']) {
        Some(number) => (
            number,
            match rate.as_bytes().last() {
                Some(b'k') => 1e3,
                Some(b'M') => 1e6,
                Some(b'G') => 1e9,
                _ => 1e12,
            },
        ),
        None => (rate, 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| wrong())?;
    let value = value * prefix * bytes;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err("it must be a finite rate above 0, for example 10Gbit/s".to_owned())
    }
}

/// A count with a comma every three digits, e.g. `124,160`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An error or another small number, e.g. `3.1e-6`.
#[must_use]
pub fn scientific(value: f64) -> String {
    format!("{value:.2e}")
}

/// A number of ordinary size, e.g. `24,882` or `0.844`; very small and very large ones as
/// [`scientific`].
#[must_use]
pub fn number(value: f64) -> String {
    match value.abs() {
        magnitude if (999.5..1e15).contains(&magnitude) => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", count(magnitude.round() as u64))
        }
        magnitude if magnitude >= 1e15 => scientific(value),
        magnitude if magnitude >= 99.95 => format!("{value:.0}"),
        magnitude if magnitude >= 9.995 => format!("{value:.1}"),
        magnitude if magnitude >= 0.9995 => format!("{value:.2}"),
        magnitude if magnitude >= 0.001 => format!("{value:.3}"),
        _ if value == 0.0 => "0".to_owned(),
        _ => scientific(value),
    }
}

/// A count with the right form of its noun, e.g. `1 thread`, `2 threads`.
#[must_use]
pub fn plural(value: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        count(value),
        if value == 1 { "" } else { "s" }
    )
}

/// The number without zeros after its point: `1.00 ms` is `1 ms`, `1.00e-4` is `1e-4`.
#[must_use]
pub fn short(text: &str) -> String {
    let end = text.find(['e', ' ']).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    if number.contains('.') {
        let number = number.trim_end_matches('0').trim_end_matches('.');
        format!("{number}{rest}")
    } else {
        text.to_owned()
    }
}

/// The value in the largest unit that leaves at least 1, with three significant digits.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let Some(&last) = units.last() else {
        return value.to_string();
    };
    // 0.9995 of a unit rounds to 1.00 of it, not to 1000 of the next smaller one.
    let &(unit, name) = units
        .iter()
        .find(|(unit, _)| value >= unit * 0.9995)
        .unwrap_or(&last);
    let number = value / unit;
    let decimals = match number {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(seconds(0.001_45), "1.45 ms");
        assert_eq!(seconds(0.000_999_9), "1.00 ms");
        assert_eq!(seconds(123.4), "123 s");
        assert_eq!(seconds(0.0), "0.00 ns");
        assert_eq!(seconds(99.96e-6), "100 µs");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(4_070_000_000), "4.07 GB");
        assert_eq!(bytes(8_388_608), "8.39 MB");
        assert_eq!(bytes_per_second(23.05e9), "23.1 GB/s");
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(124_160), "124,160");
        assert_eq!(count(1_000_000), "1,000,000");
        assert_eq!(scientific(3.06e-6), "3.06e-6");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(0.8437), "0.844");
        assert_eq!(number(-1.257), "-1.26");
        assert_eq!(number(99.96), "100");
        assert_eq!(number(999.6), "1,000");
        assert_eq!(number(-24_882.4), "-24,882");
        assert_eq!(number(2e-5), "2.00e-5");
        assert_eq!(number(1e30), "1.00e30");
        assert_eq!(plural(1, "thread"), "1 thread");
        assert_eq!(plural(2, "thread"), "2 threads");
    }

    #[test]
    fn short_numbers() {
        assert_eq!(short("1.00 ms"), "1 ms");
        assert_eq!(short("1.50 ms"), "1.5 ms");
        assert_eq!(short("100 ms"), "100 ms");
        assert_eq!(short("1.00e-4"), "1e-4");
        assert_eq!(short("1,000"), "1,000");
        assert_eq!(short("2.00 GB/s"), "2 GB/s");
        assert_eq!(short("50.0 %"), "50 %");
    }

    #[test]
    fn units_write_their_numbers() {
        assert_eq!(Unit::Seconds.text(0.001_45), "1.45 ms");
        assert_eq!(Unit::Bytes.text(4.07e9), "4.07 GB");
        assert_eq!(Unit::Bytes.text(-1.0), "0 B");
        assert_eq!(Unit::BytesPerSecond.text(23.05e9), "23.1 GB/s");
        assert_eq!(Unit::Number.text(2.0), "2.00");
        assert_eq!(Unit::Scientific.text(2e-5), "2.00e-5");
        assert_eq!(Unit::Share.text(0.125), "12.5 %");
    }

    #[test]
    fn rates() {
        assert_eq!(parse_rate("10Gbit/s"), Ok(1.25e9));
        assert_eq!(parse_rate("100 Mbit/s"), Ok(1.25e7));
        assert_eq!(parse_rate("1.5GB/s"), Ok(1.5e9));
        assert_eq!(parse_rate("8bit/s"), Ok(1.0));
        assert_eq!(parse_rate("2 kB/s"), Ok(2e3));
        for bad in [
            "",
            "10",
            "10G",
            "Gbit/s",
            "0Gbit/s",
            "-1GB/s",
            "NaNGB/s",
            "infGB/s",
            "1e999GB/s",
        ] {
            assert!(parse_rate(bad).is_err(), "{bad}");
        }
    }
}
