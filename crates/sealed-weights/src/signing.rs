//! Publisher keys: Ed25519 (RFC 8032), over manifests.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use zeroize::Zeroizing;

use crate::document::decode_hex;
use crate::error::{KeyError, SealError};

/// Begins what is signed, so that a signature means nothing anywhere else.
const DOMAIN: &[u8] = b"sealed-weights/1 manifest signature\0";

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
mod known_answers;
