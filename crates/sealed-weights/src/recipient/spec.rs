//! Recipients and identities as text: `KIND` or `KIND:DETAILS`.
//!
//! | text | recipient | identity |
//! |---|---|---|
//! | `key-file:PATH` | yes | yes |
//! | `passphrase`, `passphrase:env:VAR`, `passphrase:file:PATH` | yes | yes |
//! | `age:age1…` | yes | |
//! | `age:PATH` of an age identity file | | yes |
//! | `vault:MOUNT/KEY` | yes | yes |
//! | `vault`: every key that the token may use | | yes |
//! | `pkcs11:token=LABEL;object=LABEL?module-path=PATH&pin-source=SOURCE` | yes | yes |
//! | `aws-kms:ARN` of a key or an alias | yes | |
//! | `aws-kms:ARN` of a key; `aws-kms`: every key that the credentials may use | | yes |
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
        "key-file" => Ok(Box::new(KeyFile::read(path_of(details, KEY_FILE)?)?)),
        "passphrase" => {
            let source = SecretSource::parse("passphrase", details)?;
            let secret = source.read("passphrase", Purpose::Wrap, options)?;
            Ok(Box::new(Passphrase::new(secret)?))
        }
        #[cfg(feature = "age")]
        "age" => Ok(Box::new(super::age::AgeRecipient::parse(
            details.unwrap_or_default(),
        )?)),
        #[cfg(feature = "pkcs11")]
        "pkcs11" => Ok(Box::new(super::pkcs11::Pkcs11Key::parse(
            details.unwrap_or_default(),
            options,
        )?)),
        #[cfg(feature = "vault")]
        "vault" => Ok(Box::new(super::vault::VaultRecipient::parse(
            details.unwrap_or_default(),
            options,
        )?)),
        #[cfg(feature = "aws-kms")]
        "aws-kms" => Ok(Box::new(super::aws_kms::AwsKmsRecipient::parse(
            details.unwrap_or_default(),
            options,
        )?)),
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
        "key-file" => Ok(Box::new(KeyFile::read(path_of(details, KEY_FILE)?)?)),
        "passphrase" => {
            let source = SecretSource::parse("passphrase", details)?;
            Ok(Box::new(LatePassphrase::new(source, options)))
        }
        #[cfg(feature = "age")]
        "age" => {
            let path = path_of(details, "age:PATH with a file of age-keygen")?;
            Ok(Box::new(super::age::AgeIdentity::read(path)?))
        }
        #[cfg(feature = "pkcs11")]
        "pkcs11" => Ok(Box::new(super::pkcs11::Pkcs11Key::parse(
            details.unwrap_or_default(),
            options,
        )?)),
        #[cfg(feature = "vault")]
        "vault" => Ok(Box::new(super::vault::VaultIdentity::parse(
            details, options,
        )?)),
        #[cfg(feature = "aws-kms")]
        "aws-kms" => Ok(Box::new(super::aws_kms::AwsKmsIdentity::parse(
            details, options,
        )?)),
        _ => Err(unknown(kind, "identity")),
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((kind, details)) => (kind, Some(details)),
        None => (text, None),
    }
}

const KEY_FILE: &str = "key-file:PATH (weights-seal keygen makes one)";

fn path_of<'a>(details: Option<&'a str>, form: &str) -> Result<&'a Path, KeyError> {
    match details {
        Some(path) if !path.is_empty() => Ok(Path::new(path)),
        _ => Err(KeyError::Malformed {
            what: "the text".to_owned(),
            reason: format!("the path is missing; write {form}"),
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
