//! Text from outside, as it is shown on a terminal.

pub use sealed_weights::path::shown as path;

/// Words before a secret in a file, as they appear where a file's text is given for its name.
const WORDS: [&str; 3] = [
    "sealed-weights-key-1",
    "sealed-weights-publisher-1",
    "AGE-SECRET-KEY",
];
/// Hexadecimal digits in a row that may be a key.
const DIGITS: usize = 32;

/// A message of several lines with all other control characters escaped.
#[must_use]
pub fn message(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a text that was given for a name may be a secret itself.
#[must_use]
pub fn may_be_secret(text: &str) -> bool {
    let mut row = 0;
    WORDS.iter().any(|word| text.contains(word))
        || text.chars().any(|c| {
            row = if c.is_ascii_hexdigit() { row + 1 } else { 0 };
            row == DIGITS
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            path(Path::new("a\n\u{1b}[2Jb\u{9b}é")),
            "a\\n\\u{1b}[2Jb\\u{9b}é"
        );
        assert_eq!(message("a\n  b\r"), "a\n  b\\r");
    }

    #[test]
    fn what_looks_like_a_key_is_taken_for_one() {
        let digits = "0aF".repeat(11);
        assert!(may_be_secret(&digits));
        assert!(!may_be_secret(&digits[..31]));
        assert!(may_be_secret("key-file:sealed-weights-key-1 x"));
        assert!(!may_be_secret("key-file:keys/model.key"));
    }
}
