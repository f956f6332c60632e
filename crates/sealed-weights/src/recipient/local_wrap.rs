//! Wrapping by a key that is at hand: of a file, or stretched from a passphrase.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::constant_time;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::WrapContext;
use crate::error::SealError;
use crate::ids;
use crate::secret::{ModelKey, derive};

const LABEL: &[u8] = b"sealed-weights/1 wrap";

/// AES-256-GCM under a key that is used once: HKDF-SHA-512 of a fresh salt and the wrapping key
/// gives the AEAD key and a commitment to it; the nonce is zero; the context's digest is in the
/// derivation and is the additional data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalWrap {
    /// 32 bytes, base64.
    salt: String,
    /// 32 bytes, base64.
    commitment: String,
    /// Ciphertext and tag, 48 bytes, base64.
    wrapped: String,
}

/// Why a key was not unwrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalRefusal {
    /// A field is not base64 of its length.
    Malformed,
    /// Another wrapping key, or another context.
    WrongKey,
}

impl LocalWrap {
    pub(crate) fn wrap(
        wrapping_key: &Zeroizing<[u8; 32]>,
        key: &ModelKey,
        context: &WrapContext,
    ) -> Result<LocalWrap, SealError> {
        let salt: [u8; 32] = ids::random()?;
        let digest = context.digest();
        let (aead, commitment) = keys(wrapping_key, &salt, &digest)?;
        let mut bytes = Zeroizing::new(*key.expose());
        let tag = aead
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key([0; 12]),
                Aad::from(digest),
                bytes.as_mut_slice(),
            )
            .map_err(|_| SealError::Cipher)?;
        Ok(LocalWrap {
            salt: STANDARD.encode(salt),
            commitment: STANDARD.encode(commitment.as_slice()),
            wrapped: STANDARD.encode([bytes.as_slice(), tag.as_ref()].concat()),
        })
    }

    pub(crate) fn unwrap(
        &self,
        wrapping_key: &Zeroizing<[u8; 32]>,
        context: &WrapContext,
    ) -> Result<ModelKey, LocalRefusal> {
        let salt: [u8; 32] = decode(&self.salt)?;
        let found: [u8; 32] = decode(&self.commitment)?;
        let mut bytes: Zeroizing<[u8; 48]> = Zeroizing::new(decode(&self.wrapped)?);
        let digest = context.digest();
        let (aead, commitment) =
            keys(wrapping_key, &salt, &digest).map_err(|_| LocalRefusal::WrongKey)?;
        constant_time::verify_slices_are_equal(commitment.as_slice(), &found)
            .map_err(|_| LocalRefusal::WrongKey)?;
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let opened = aead
            .open_in_place(nonce, Aad::from(digest), bytes.as_mut_slice())
            .map_err(|_| LocalRefusal::WrongKey)?;
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(opened);
        Ok(ModelKey::new(key))
    }
}

fn keys(
    wrapping_key: &Zeroizing<[u8; 32]>,
    salt: &[u8; 32],
    digest: &[u8; 32],
) -> Result<(LessSafeKey, Zeroizing<[u8; 32]>), SealError> {
    let output: Zeroizing<[u8; 64]> = derive(salt, wrapping_key.as_slice(), &[LABEL, digest]);
    let key = UnboundKey::new(&AES_256_GCM, &output[..32]).map_err(|_| SealError::Cipher)?;
    let mut commitment = Zeroizing::new([0; 32]);
    commitment.copy_from_slice(&output[32..]);
    Ok((LessSafeKey::new(key), commitment))
}

fn decode<const N: usize>(text: &str) -> Result<[u8; N], LocalRefusal> {
    STANDARD
        .decode(text)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or(LocalRefusal::Malformed)
}
