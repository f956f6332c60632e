//! Sizes for people and from people.

use indicatif::DecimalBytes;
use std::time::Duration;

/// A size, e.g. `4.07 GB`; 1 GB is 10^9 bytes.
#[must_use]
pub fn bytes(value: u64) -> String {
    DecimalBytes(value).to_string()
}

/// A rate, e.g. `2.31 GB/s`.
#[must_use]
pub fn rate(bytes: u64, elapsed: Duration) -> String {
    // Below the clock's resolution, no rate is meant.
    let seconds = elapsed.as_secs_f64().max(1e-9);
    format!("{:.2} GB/s", bytes as f64 / seconds / 1e9)
}

/// A number of bytes from text such as `4096`, `1MiB`, `1.5GB`.
///
/// # Errors
/// A message for people where the text is no such size or beyond 2^63 bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 9] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("B", 1.0),
    ];
    let wrong =
        || "expected a size in bytes or with a unit, for example 1048576, 1MiB or 2.5GB".to_owned();
    let text = text.trim();
    let (number, unit) = UNITS
        .iter()
        .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))
        .unwrap_or((text, 1.0));
    let number = number.trim_end();
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = number.parse::<f64>().map_err(|_| wrong())? * unit;
    if plain && value < 9.2e18 {
        Ok(value as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, value) in [
            ("0", 0),
            ("4096", 4096),
            ("4096 B", 4096),
            ("1MiB", 1 << 20),
            ("64 KiB", 1 << 16),
            ("1.5GB", 1_500_000_000),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(value), "{text}");
        }
        for text in [
            "",
            "MiB",
            "-1",
            "1e3",
            "inf",
            "NaN",
            "1 XB",
            "9999999TiB",
            "0x10",
            "1mib",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(rate(2_000_000_000, Duration::from_secs(1)), "2.00 GB/s");
    }
}
