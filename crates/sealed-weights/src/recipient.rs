//! Wrapping a model key for a recipient, and unwrapping it as one.
//!
//! Each kind is a file of its own. The kinds whose libraries are large or that talk to a network
//! are behind cargo features; their entries can be read, listed and kept without the feature.

#[cfg(feature = "age")]
pub mod age;
#[cfg(feature = "aws-kms")]
pub mod aws_kms;
mod context;
mod entry;
pub mod key_file;
pub mod keyring;
pub(crate) mod local_wrap;
pub mod options;
pub mod passphrase;
#[cfg(feature = "pkcs11")]
pub mod pkcs11;
mod secret_source;
pub mod spec;
#[cfg(feature = "vault")]
pub mod vault;

use std::fmt;

pub use context::WrapContext;
pub use entry::{
    AgeEntry, AwsKmsEntry, KeyFileEntry, PassphraseEntry, Pkcs11Entry, RecipientEntry, VaultEntry,
};
pub use keyring::unwrap_any;
pub use options::Options;
pub use secret_source::SecretSource;
pub use spec::{parse_identity, parse_recipient};

use crate::error::KeyError;
use crate::secret::ModelKey;

/// Someone a model key can be wrapped for.
pub trait Recipient: fmt::Debug {
    /// Who, for messages: kind and public name, never a secret.
    fn describe(&self) -> String;

    /// Wraps a model key, bound to `context`.
    ///
    /// # Errors
    /// [`KeyError`] naming the recipient, what failed, and the way out.
    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError>;
}

/// Someone who can unwrap some entries.
pub trait Identity: fmt::Debug {
    /// Who, for messages: kind and public name, never a secret.
    fn describe(&self) -> String;

    /// Unwraps an entry, which must be bound to `context`. `None` if the entry is of a kind or for
    /// a key that this identity has nothing to do with: the next entry is tried then.
    ///
    /// # Errors
    /// [`KeyError`] if the entry is for this identity but cannot be unwrapped.
    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError>;
}
