//! The two small text files beside the sealed files: manifest and recipients section.
//!
//! Each is a title line, one line of JSON, and lines of authentication. What is authenticated is
//! the exact bytes before, so that no second encoding of the same content exists.

use aws_lc_rs::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::DocumentDefect;
use crate::manifest::MAX_MODEL_NAME;

/// Longest document read, in bytes.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
const MAC_WORD: &str = "hmac-sha512";

/// The lines of a document, checked for form only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    /// The JSON.
    pub(crate) json: &'a str,
    /// Title and JSON with their line ends: what the MAC covers.
    pub(crate) covered: &'a str,
    /// The HMAC-SHA-512 tag.
    pub(crate) mac: [u8; 64],
    /// Title, JSON and MAC with their line ends: what a signature covers.
    pub(crate) signed: &'a str,
    /// What follows the MAC's line: empty, or the line of the signature.
    pub(crate) rest: &'a str,
}

impl<'a> Lines<'a> {
    /// Splits a document with this title.
    pub(crate) fn split(text: &'a str, title: &'static str) -> Result<Lines<'a>, DocumentDefect> {
        let mut at = 0;
        let mut line = |what: &'static str| {
            let rest = &text[at..];
            let end = rest.find('\n').ok_or(DocumentDefect::Truncated { what })?;
            at += end + 1;
            Ok((&rest[..end], at))
        };
        let (found, _) = line("title")?;
        if found != title {
            return Err(DocumentDefect::Title {
                found: found.chars().take(80).collect(),
                expected: title,
            });
        }
        let (json, json_end) = line("JSON")?;
        let (mac, mac_end) = line("MAC")?;
        let mac = mac
            .strip_prefix(MAC_WORD)
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(decode_hex)
            .ok_or(DocumentDefect::Line { what: "MAC" })?;
        Ok(Lines {
            json,
            covered: &text[..json_end],
            mac,
            signed: &text[..mac_end],
            rest: &text[mac_end..],
        })
    }

    /// Whether the MAC is that of this key.
    pub(crate) fn authentic(&self, key: &hmac::Key) -> bool {
        hmac::verify(key, self.covered.as_bytes(), &self.mac).is_ok()
    }
}

/// Title, JSON and MAC.
pub(crate) fn authenticated(title: &str, json: &str, key: &hmac::Key) -> String {
    let mut text = format!("{title}\n{json}\n");
    let mac = hmac::sign(key, text.as_bytes());
    text.push_str(&format!("{MAC_WORD} {}\n", hex::encode(mac.as_ref())));
    text
}

/// Reads a document's JSON, which must be exactly what a writer writes: one text for one content.
pub(crate) fn parse_json<T: Serialize + DeserializeOwned>(json: &str) -> Result<T, DocumentDefect> {
    let bad = |message: String| DocumentDefect::Json { message };
    let content: T = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
    let written = serde_json::to_string(&content).map_err(|e| bad(e.to_string()))?;
    if written != json {
        return Err(bad(
            "it is not in the one form that is written: fields in order, no spaces, no needless \
             escapes"
                .to_owned(),
        ));
    }
    Ok(content)
}

/// Whether a text can be a model's name.
pub(crate) fn check_model_name(name: &str) -> Result<(), DocumentDefect> {
    if name.is_empty() || name.len() > MAX_MODEL_NAME || name.chars().any(char::is_control) {
        return Err(DocumentDefect::ModelName {
            length: name.len(),
            limit: MAX_MODEL_NAME,
        });
    }
    Ok(())
}

/// Lower-case hexadecimal of exactly `N` bytes.
pub(crate) fn decode_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let lower = text.bytes().all(|b| !b.is_ascii_uppercase());
    (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}
