//! Secret keys in memory: zeroised when dropped, never printed, never serialised.

use std::fmt;

use aws_lc_rs::{hkdf, hmac};
use zeroize::Zeroizing;

use crate::error::SealError;
use crate::ids::{KeyId, ModelId};

const KEY_ID_LABEL: &[u8] = b"sealed-weights/1 key id";
const MANIFEST_LABEL: &[u8] = b"sealed-weights/1 manifest mac";
const RECIPIENTS_LABEL: &[u8] = b"sealed-weights/1 recipients mac";

/// The data key of one sealed directory. Whoever holds it reads every file.
///
/// It is stored only wrapped, for each recipient.
#[derive(Clone)]
pub struct ModelKey(Zeroizing<[u8; 32]>);

impl ModelKey {
    /// A fresh key from the operating system's generator.
    ///
    /// # Errors
    /// [`SealError::Randomness`] when the operating system gives no randomness.
    pub fn random() -> Result<ModelKey, SealError> {
        Ok(ModelKey(Zeroizing::new(crate::ids::random()?)))
    }

    /// From the 32 bytes that a recipient unwrapped.
    #[must_use]
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> ModelKey {
        ModelKey(bytes)
    }

    /// The key bytes, to be wrapped for a recipient. Handle them as a secret.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// The public commitment to this key for a model: 32 bytes of HKDF-SHA-512 (RFC 5869), so that
    /// no second key with the same commitment can be found.
    #[must_use]
    pub fn id(&self, model: ModelId) -> KeyId {
        KeyId::new(*derive(model.as_bytes(), self.expose(), &[KEY_ID_LABEL]))
    }

    /// HMAC-SHA-512 key over the manifest.
    pub(crate) fn manifest_mac(&self, model: ModelId) -> hmac::Key {
        self.mac_key(model, MANIFEST_LABEL)
    }

    /// HMAC-SHA-512 key over the recipients section.
    pub(crate) fn recipients_mac(&self, model: ModelId) -> hmac::Key {
        self.mac_key(model, RECIPIENTS_LABEL)
    }

    fn mac_key(&self, model: ModelId, label: &[u8]) -> hmac::Key {
        let bytes: Zeroizing<[u8; 32]> = derive(model.as_bytes(), self.expose(), &[label]);
        hmac::Key::new(hmac::HMAC_SHA512, bytes.as_slice())
    }
}

impl fmt::Debug for ModelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ModelKey(…)")
    }
}

/// HKDF-SHA-512 with `salt` over `secret`; the info is the concatenation of `info`.
pub(crate) fn derive<const N: usize>(
    salt: &[u8],
    secret: &[u8],
    info: &[&[u8]],
) -> Zeroizing<[u8; N]> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut output = Zeroizing::new([0; N]);
    hkdf::Salt::new(hkdf::HKDF_SHA512, salt)
        .extract(secret)
        .expand(info, Length(N))
        .and_then(|okm| okm.fill(output.as_mut_slice()))
        .expect("HKDF-SHA-512 gives up to 16,320 bytes, and fewer than 100 are asked for");
    output
}

#[cfg(test)]
mod known_answers;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hkdf_sha512_agrees_with_an_expansion_by_hand() {
        // RFC 5869: PRK = HMAC(salt, IKM); T(1) = HMAC(PRK, info | 1); T(2) = HMAC(PRK, T(1) | info | 2).
        let (salt, secret, info) = (b"salt".as_slice(), [7u8; 32], b"info".as_slice());
        let mac = |key: &[u8], data: &[u8]| {
            let key = hmac::Key::new(hmac::HMAC_SHA512, key);
            hmac::sign(&key, data).as_ref().to_vec()
        };
        let prk = mac(salt, &secret);
        let first = mac(&prk, &[info, &[1]].concat());
        let second = mac(&prk, &[&first, info, &[2]].concat());
        let expected = [first, second].concat();
        let derived: Zeroizing<[u8; 100]> = derive(salt, &secret, &[b"in", b"fo"]);
        assert_eq!(derived.as_slice(), &expected[..100]);
    }

    #[test]
    fn a_key_is_not_printed() {
        let key = ModelKey::new(Zeroizing::new([0xab; 32]));
        assert_eq!(format!("{key:?}"), "ModelKey(…)");
    }
}
