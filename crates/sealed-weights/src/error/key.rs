//! Recipients and identities that fail or refuse.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::SealError;
use crate::path::shown;

/// A recipient or an identity failed or refused. Never holds a secret.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Reading or writing a key file failed.
    #[error("cannot {action} {}: {source}", shown(path))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// Others may read a file that holds a secret.
    #[error(
        "{} has mode {mode:04o}: others may read the secret in it. Run: chmod 600 {0}",
        shown(path)
    )]
    Permissions {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Text that is not of its form.
    #[error("{what} cannot be used: {reason}")]
    Malformed {
        /// What it is.
        what: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// The holder of the key refused, or the key is another one.
    #[error("{who} did not unwrap the model key: {reason}")]
    Refused {
        /// Who.
        who: String,
        /// Why, and the way out.
        reason: String,
    },
    /// A key service did not answer as needed.
    #[error("{service}: {reason}")]
    Service {
        /// Service, address and key.
        service: String,
        /// What happened, and the way out.
        reason: String,
    },
    /// A kind that this build leaves out.
    #[error("{kind} is not in this build; build with --features {feature}")]
    NotBuilt {
        /// The kind.
        kind: String,
        /// The cargo feature.
        feature: &'static str,
    },
    /// The text names no kind of recipient or identity.
    #[error("'{text}' names no {role}; known are {known}")]
    UnknownKind {
        /// The text's kind.
        text: String,
        /// Recipient or identity.
        role: &'static str,
        /// The kinds.
        known: String,
    },
    /// No identity fits any recipient.
    #[error(
        "none of the keys given ({given}) is one of the model's recipients ({recipients}); ask a \
         recipient to run: weights-seal rewrap"
    )]
    NoMatch {
        /// The identities.
        given: String,
        /// The recipients.
        recipients: String,
    },
    /// Several identities were tried and all failed.
    #[error("none of the keys given opens the model:{reasons}")]
    NoneOpened {
        /// The reasons, a line each.
        reasons: String,
    },
    /// An unwrapped key is not the model's.
    #[error(
        "{who} gave a key that is not the model's (key id {found}, expected {expected}); the \
         recipients section was altered or belongs to another model"
    )]
    WrongModelKey {
        /// Who.
        who: String,
        /// Commitment of the key unwrapped.
        found: String,
        /// Commitment in the manifest.
        expected: String,
    },
    /// Randomness or the cipher failed.
    #[error("{0}")]
    Internal(String),
}

impl From<SealError> for KeyError {
    fn from(error: SealError) -> KeyError {
        KeyError::Internal(error.to_string())
    }
}
