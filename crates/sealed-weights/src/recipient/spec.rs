//! Recipients and identities as text: `KIND` or `KIND:DETAILS`.
//!
//! | text | recipient | identity |
//! |---|---|---|
//! | `key-file:PATH` | yes | yes |
//! | `passphrase`, `passphrase:env:VAR`, `passphrase:file:PATH` | yes | yes |
//!
//! No secret is ever part of the text.

use std::path::Path;

use super::key_file::KeyFile;
use super::options::{Options, Purpose};
use super::passphrase::{LatePassphrase, Passphrase};
use super::secret_source::SecretSource;
use super::{Identity, Recipient};
use crate::error::KeyError;

/// Kinds that are in every build.
const ALWAYS: [&str; 2] = ["key-file", "passphrase"];
/// Kinds behind the cargo feature of the same name.
const FEATURES: [&str; 4] = ["age", "vault", "pkcs11", "aws-kms"];

/// The recipient that a text names. A passphrase is asked for at once.
///
/// # Errors
/// [`KeyError::UnknownKind`] with the kinds known; [`KeyError::NotBuilt`] with the feature to build
/// with; [`KeyError::Malformed`] for wrong details; errors of reading the files named.
pub fn parse_recipient(text: &str, options: &Options) -> Result<Box<dyn Recipient>, KeyError> {
    let (kind, details) = split(text);
    match kind {
        "key-file" => Ok(Box::new(KeyFile::read(key_file_path(details)?)?)),
        "passphrase" => {
            let source = SecretSource::parse("passphrase", details)?;
            let secret = source.read("passphrase", Purpose::Wrap, options)?;
            Ok(Box::new(Passphrase::new(secret)?))
        }
        _ => Err(unknown(kind, "recipient")),
    }
}

/// The identity that a text names. A passphrase is asked for when an entry needs it.
///
/// # Errors
/// As [`parse_recipient`].
pub fn parse_identity(text: &str, options: &Options) -> Result<Box<dyn Identity>, KeyError> {
    let (kind, details) = split(text);
    match kind {
        "key-file" => Ok(Box::new(KeyFile::read(key_file_path(details)?)?)),
        "passphrase" => {
            let source = SecretSource::parse("passphrase", details)?;
            Ok(Box::new(LatePassphrase::new(source, options)))
        }
        _ => Err(unknown(kind, "identity")),
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((kind, details)) => (kind, Some(details)),
        None => (text, None),
    }
}

fn key_file_path(details: Option<&str>) -> Result<&Path, KeyError> {
    match details {
        Some(path) if !path.is_empty() => Ok(Path::new(path)),
        _ => Err(KeyError::Malformed {
            what: "key-file".to_owned(),
            reason: "the path is missing; write key-file:PATH (weights-seal keygen makes one)"
                .to_owned(),
        }),
    }
}

/// A kind that nothing above handled.
fn unknown(kind: &str, role: &'static str) -> KeyError {
    if let Some(feature) = FEATURES.iter().find(|feature| **feature == kind) {
        return KeyError::NotBuilt {
            kind: kind.to_owned(),
            feature,
        };
    }
    KeyError::UnknownKind {
        // A mistyped text may hold a secret: only what looks like a kind is repeated.
        text: kind
            .chars()
            .take(40)
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
            .collect(),
        role,
        known: [&ALWAYS[..], &FEATURES[..]].concat().join(", "),
    }
}
