//! Recipients of age (C2SP age-encryption.org/v1) with X25519 keys.
//!
//! An age file has no additional data, so the context's digest is encrypted with the key.

use std::io::Read;
use std::path::{Path, PathBuf};

use age::x25519;
use age::{DecryptError, Decryptor};
use aws_lc_rs::constant_time;
use base64::{Engine, engine::general_purpose::STANDARD};
use zeroize::Zeroizing;

use super::{AgeEntry, Identity, Recipient, RecipientEntry, WrapContext};
use crate::error::KeyError;
use crate::path::shown;
use crate::private_file;
use crate::secret::ModelKey;

/// Key and digest.
const PLAINTEXT_BYTES: usize = 64;
/// Longest text of an entry's file; one X25519 recipient needs 400 bytes.
const MAX_FILE_TEXT: usize = 16 << 10;

/// A public key `age1…`.
pub struct AgeRecipient(x25519::Recipient);

impl AgeRecipient {
    /// Parses `age1…`.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] for anything else, among it the public keys of plugins.
    pub fn parse(text: &str) -> Result<AgeRecipient, KeyError> {
        if text.to_ascii_uppercase().starts_with("AGE-SECRET-KEY-") {
            return Err(KeyError::Malformed {
                what: "the age recipient".to_owned(),
                reason: "it is a secret key, which does not belong on a command line; give the \
                         public key age1… (age-keygen -y tells it)"
                    .to_owned(),
            });
        }
        text.parse()
            .map(AgeRecipient)
            .map_err(|reason: &str| KeyError::Malformed {
                what: format!("the age recipient '{}'", super::entry::printable(text)),
                reason: format!("{reason}; write age:age1… with a public key of age-keygen"),
            })
    }
}

impl std::fmt::Debug for AgeRecipient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AgeRecipient({})", self.0)
    }
}

impl Recipient for AgeRecipient {
    fn describe(&self) -> String {
        format!("age {}", self.0)
    }

    fn wrap(&self, key: &ModelKey, context: &WrapContext) -> Result<RecipientEntry, KeyError> {
        let mut plaintext = Zeroizing::new([0; PLAINTEXT_BYTES]);
        plaintext[..32].copy_from_slice(key.expose());
        plaintext[32..].copy_from_slice(&context.digest());
        let file = age::encrypt(&self.0, plaintext.as_slice())
            .map_err(|error| KeyError::Internal(format!("age: {error}")))?;
        Ok(RecipientEntry::Age(AgeEntry {
            recipient: self.0.to_string(),
            file: STANDARD.encode(file),
            bound_to: context.clone(),
        }))
    }
}

/// The secret keys of an age identity file.
pub struct AgeIdentity {
    path: PathBuf,
    /// Each with its public key. The library zeroises them when dropped.
    keys: Vec<(String, x25519::Identity)>,
}

impl AgeIdentity {
    /// Reads an identity file, as `age-keygen` writes it.
    ///
    /// # Errors
    /// [`KeyError::File`], [`KeyError::Permissions`]; [`KeyError::Malformed`] naming the line that
    /// is no X25519 secret key.
    pub fn read(path: &Path) -> Result<AgeIdentity, KeyError> {
        let text = private_file::read(path)?;
        let malformed = |reason: String| KeyError::Malformed {
            what: format!("age identity file {}", shown(path)),
            reason,
        };
        if text.starts_with("age-encryption.org/") || text.starts_with("-----BEGIN AGE ENC") {
            return Err(malformed(
                "it is itself encrypted; decrypt it with age into a private file in memory first"
                    .to_owned(),
            ));
        }
        let mut keys = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The library's reason is not repeated: it could quote the line.
            let key: x25519::Identity = line.trim_end().parse().map_err(|_| {
                malformed(format!(
                    "line {number} is not AGE-SECRET-KEY-1…; identities of plugins and of SSH are \
                     not read"
                ))
            })?;
            keys.push((key.to_public().to_string(), key));
        }
        if keys.is_empty() {
            return Err(malformed("it holds no key".to_owned()));
        }
        Ok(AgeIdentity {
            path: path.to_path_buf(),
            keys,
        })
    }

    fn decrypt(&self, key: &x25519::Identity, file: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
        let opened = Decryptor::new(file)
            .and_then(|decryptor| decryptor.decrypt(std::iter::once(key as &dyn age::Identity)));
        let mut reader = opened.map_err(|error| match error {
            DecryptError::NoMatchingKeys | DecryptError::DecryptionFailed => {
                "the age file is for another key, though the entry names this one; the entry was \
                 altered"
                    .to_owned()
            }
            error => format!("the age file was altered or damaged ({error})"),
        })?;
        let mut plaintext = Zeroizing::new(Vec::with_capacity(PLAINTEXT_BYTES + 1));
        (&mut reader)
            .take(PLAINTEXT_BYTES as u64 + 1)
            .read_to_end(&mut plaintext)
            .map_err(|_| "the age file was altered or damaged".to_owned())?;
        if plaintext.len() != PLAINTEXT_BYTES {
            return Err("the age file holds something else than a model key".to_owned());
        }
        Ok(plaintext)
    }
}

impl std::fmt::Debug for AgeIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AgeIdentity({})", self.describe())
    }
}

impl Identity for AgeIdentity {
    fn describe(&self) -> String {
        let names: Vec<&str> = self.keys.iter().map(|(name, _)| name.as_str()).collect();
        format!("age identity {} ({})", shown(&self.path), names.join(", "))
    }

    fn unwrap(
        &self,
        entry: &RecipientEntry,
        context: &WrapContext,
    ) -> Result<Option<ModelKey>, KeyError> {
        let RecipientEntry::Age(entry) = entry else {
            return Ok(None);
        };
        let Some((name, key)) = self.keys.iter().find(|(name, _)| *name == entry.recipient) else {
            return Ok(None);
        };
        let refused = |reason: String| KeyError::Refused {
            who: format!("age identity {} ({name})", shown(&self.path)),
            reason,
        };
        if entry.file.len() > MAX_FILE_TEXT {
            return Err(refused(format!(
                "its entry has {} bytes, over the limit of {MAX_FILE_TEXT}",
                entry.file.len()
            )));
        }
        let file = STANDARD
            .decode(&entry.file)
            .map_err(|_| refused("its entry is not base64".to_owned()))?;
        let plaintext = self.decrypt(key, &file).map_err(refused)?;
        let (key_bytes, digest) = plaintext.split_at(32);
        constant_time::verify_slices_are_equal(digest, &context.digest())
            .map_err(|_| refused(context.mismatch(&entry.bound_to)))?;
        let mut bytes = Zeroizing::new([0; 32]);
        bytes.copy_from_slice(key_bytes);
        Ok(Some(ModelKey::new(bytes)))
    }
}
