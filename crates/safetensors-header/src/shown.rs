//! How untrusted text is shown in messages.

/// Longest piece of untrusted text repeated in a message, in characters.
const SHOWN_CHARS: usize = 120;

/// Text from outside for messages: escaped, so that no control character reaches a terminal, and cut
/// after 120 characters.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN_CHARS {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
