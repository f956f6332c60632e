//! Publisher keys: Ed25519 (RFC 8032), over manifests.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use zeroize::Zeroizing;

use crate::document::decode_hex;
use crate::error::{KeyError, SealError};

/// Begins what is signed, so that a signature means nothing anywhere else.
const DOMAIN: &[u8] = b"sealed-weights/1 manifest signature\0";
/// Bytes of a file with a public key that are looked at.
const MAX_KEY_FILE: u64 = 4096;

/// The public half of a publisher's key, 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublisherId([u8; 32]);

impl PublisherId {
    /// From the 32 bytes of an Ed25519 public key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> PublisherId {
        PublisherId(bytes)
    }

    /// The bytes of the Ed25519 public key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads a public key: its 64 hexadecimal digits, or the path of a file whose last word they
    /// are.
    ///
    /// # Errors
    /// [`KeyError::Malformed`], [`KeyError::File`].
    pub fn from_text_or_file(text: &str) -> Result<PublisherId, KeyError> {
        let digits = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if digits {
            return text.parse();
        }
        let path = PathBuf::from(text);
        let content = File::open(&path).and_then(|file| {
            let mut content = String::new();
            file.take(MAX_KEY_FILE).read_to_string(&mut content)?;
            Ok(content)
        });
        match content {
            Ok(content) => content
                .split_whitespace()
                .next_back()
                .unwrap_or("")
                .parse()
                .map_err(|_| KeyError::Malformed {
                    what: format!("the publisher's public key in {}", path.display()),
                    reason: "its last word is not 64 lower-case hexadecimal digits".to_owned(),
                }),
            Err(source) => Err(KeyError::File {
                action: "read",
                path,
                source,
            }),
        }
    }

    /// Whether this publisher signed `message`.
    #[must_use]
    pub fn signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(&[DOMAIN, message].concat(), signature)
            .is_ok()
    }
}

impl FromStr for PublisherId {
    type Err = KeyError;

    /// Reads 64 lower-case hexadecimal digits, as [`PublisherId`] is displayed.
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    fn from_str(text: &str) -> Result<PublisherId, KeyError> {
        decode_hex(text)
            .map(PublisherId)
            .ok_or_else(|| KeyError::Malformed {
                what: "the publisher's public key".to_owned(),
                reason: format!(
                    "64 lower-case hexadecimal digits are expected, {} characters were given",
                    text.chars().count()
                ),
            })
    }
}

impl fmt::Display for PublisherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A publisher's private key. Not printed, not serialised.
pub struct PublisherKey {
    pair: Ed25519KeyPair,
}

impl fmt::Debug for PublisherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublisherKey({})", self.id())
    }
}

impl PublisherKey {
    /// From the 32-byte seed of RFC 8032.
    ///
    /// # Errors
    /// [`SealError::Cipher`] if the cryptographic library refuses it.
    pub fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Result<PublisherKey, SealError> {
        Ok(PublisherKey {
            pair: Ed25519KeyPair::from_seed_unchecked(seed.as_slice())
                .map_err(|_| SealError::Cipher)?,
        })
    }

    /// The public half.
    #[must_use]
    pub fn id(&self) -> PublisherId {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublisherId(bytes)
    }

    /// The signature of `message`, 64 bytes.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.pair.sign(&[DOMAIN, message].concat()).as_ref());
        bytes
    }
}

#[cfg(test)]
<<<<<<< HEAD
mod known_answers;
=======
mod tests {
    use super::*;

    #[test]
    fn public_keys_are_read_from_text_and_from_files() {
        let id = PublisherKey::from_seed(&Zeroizing::new([5; 32]))
            .unwrap()
            .id();
        let text = id.to_string();
        assert_eq!(PublisherId::from_text_or_file(&text).unwrap(), id);
        let folder = tempfile::tempdir().unwrap();
        let read = |content: &str| {
            let path = folder.path().join("publisher.pub");
            std::fs::write(&path, content).unwrap();
            PublisherId::from_text_or_file(path.to_str().unwrap())
        };
        for content in [format!("{text}\n"), format!("ed25519 {text}\n")] {
            assert_eq!(read(&content).unwrap(), id);
        }
        for content in ["", "\n", &text[1..], &format!("{text} me")] {
            let message = read(content).unwrap_err().to_string();
            assert!(message.contains("publisher.pub"), "{message}");
        }
        for other in ["nowhere", "", &text[1..], &text.to_uppercase()] {
            assert!(PublisherId::from_text_or_file(other).is_err(), "{other}");
        }
    }
}
>>>>>>> 25ed036 (Files in memory can be sealed; publishers' keys as text or file)
