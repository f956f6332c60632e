//! How a recipient's wrapped key is written in the recipients section.

use serde::{Deserialize, Serialize};

use super::local_wrap::LocalWrap;

/// One recipient's copy of the model key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RecipientEntry {
    /// Wrapped by a key in a file.
    KeyFile(KeyFileEntry),
}

impl RecipientEntry {
    /// Kind and public name, for listings.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            RecipientEntry::KeyFile(entry) => format!("key-file {}", entry.fingerprint),
        }
    }
}

/// Wrapped by a 32-byte key that is kept in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFileEntry {
    /// Names the wrapping key without telling it: 16 hexadecimal digits.
    pub fingerprint: String,
    /// The wrapped key.
    pub wrap: LocalWrap,
}
