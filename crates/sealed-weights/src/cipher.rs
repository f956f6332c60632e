//! Sealing and opening of single chunks.
//!
//! Two libraries compute the same AEADs; [`Provider`] picks the faster one for this processor, and
//! tests hold them to the same bytes. Nonce = base nonce XOR chunk index; additional data = file
//! id ‖ index ‖ number of chunks ‖ last flag, so that no chunk passes for another one.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};

use zeroize::Zeroize;

use crate::core_header::{CoreHeader, TAG_BYTES};
use crate::error::SealError;
use crate::ids::FileId;
use crate::suite::Suite;

/// Who computes the AEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// AWS-LC: the fastest AES-GCM on processors with AVX-512 and on aarch64; the default.
    AwsLc,
    /// ring: has AES-GCM for processors with vector AES but without AVX-512, where AWS-LC falls
    /// back to single-block instructions and is half as fast.
    Ring,
}

impl Provider {
    /// Both.
    pub const ALL: [Provider; 2] = [Provider::AwsLc, Provider::Ring];

    /// The faster one for a suite on this machine.
    #[must_use]
    pub fn for_this_machine(suite: Suite) -> Provider {
        #[cfg(target_arch = "x86_64")]
        if suite == Suite::Aes256Gcm
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq")
            && !is_x86_feature_detected!("avx512vl")
        {
            return Provider::Ring;
        }
        let _ = suite;
        Provider::AwsLc
    }

    /// The name used in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Provider::AwsLc => "aws-lc",
            Provider::Ring => "ring",
        }
    }
}

/// The authentication tag of a chunk.
pub type Tag = [u8; TAG_BYTES];

enum Key {
    AwsLc(aws_lc_rs::aead::LessSafeKey),
    Ring(Box<RingKey>),
}

/// ring does not wipe its keys; this does.
struct RingKey(ManuallyDrop<ring::aead::LessSafeKey>);

impl Drop for RingKey {
    fn drop(&mut self) {
        const { assert!(!std::mem::needs_drop::<ring::aead::LessSafeKey>()) };
        let bytes = (&raw mut self.0).cast::<MaybeUninit<u8>>();
        // SAFETY: the pointer covers exactly the key, which this owns; it needs no drop and is not
        // used again. Padding is allowed to be uninitialised.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(bytes, size_of::<ring::aead::LessSafeKey>()) };
        bytes.zeroize();
    }
}

impl Key {
    fn new(provider: Provider, suite: Suite, key: &[u8]) -> Result<Key, SealError> {
        Ok(match provider {
            Provider::AwsLc => {
                use aws_lc_rs::aead::{AES_256_GCM, CHACHA20_POLY1305, LessSafeKey, UnboundKey};
                let algorithm = match suite {
                    Suite::Aes256Gcm => &AES_256_GCM,
                    Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
                };
                let key = UnboundKey::new(algorithm, key).map_err(|_| SealError::Cipher)?;
                Key::AwsLc(LessSafeKey::new(key))
            }
            Provider::Ring => {
                use ring::aead::{AES_256_GCM, CHACHA20_POLY1305, LessSafeKey, UnboundKey};
                let algorithm = match suite {
                    Suite::Aes256Gcm => &AES_256_GCM,
                    Suite::ChaCha20Poly1305 => &CHACHA20_POLY1305,
                };
                let key = UnboundKey::new(algorithm, key).map_err(|_| SealError::Cipher)?;
                Key::Ring(Box::new(RingKey(ManuallyDrop::new(LessSafeKey::new(key)))))
            }
        })
    }

    fn seal(&self, nonce: [u8; 12], aad: &[u8], chunk: &mut [u8]) -> Result<Tag, SealError> {
        let mut bytes = [0; TAG_BYTES];
        match self {
            Key::AwsLc(key) => {
                use aws_lc_rs::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let tag = key
                    .seal_in_place_separate_tag(nonce, Aad::from(aad), chunk)
                    .map_err(|_| SealError::Cipher)?;
                bytes.copy_from_slice(tag.as_ref());
            }
            Key::Ring(key) => {
                use ring::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                let tag = key
                    .0
                    .seal_in_place_separate_tag(nonce, Aad::from(aad), chunk)
                    .map_err(|_| SealError::Cipher)?;
                bytes.copy_from_slice(tag.as_ref());
            }
        }
        Ok(bytes)
    }

    /// `false`, with the chunk wiped, if the tag does not fit.
    fn open(&self, nonce: [u8; 12], aad: &[u8], chunk: &mut [u8], tag: &Tag) -> bool {
        let opened = match self {
            Key::AwsLc(key) => {
                use aws_lc_rs::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                key.open_in_place_separate_tag(nonce, Aad::from(aad), tag, chunk)
                    .is_ok()
            }
            Key::Ring(key) => {
                use ring::aead::{Aad, Nonce};
                let nonce = Nonce::assume_unique_for_key(nonce);
                key.0
                    .open_in_place_separate_tag(nonce, Aad::from(aad), (*tag).into(), chunk, 0..)
                    .is_ok()
            }
        };
        if !opened {
            chunk.zeroize();
        }
        opened
    }
}

/// Seals and opens the chunks of one file. `Send + Sync`; used from many threads at once.
pub struct ChunkCipher {
    key: Key,
    base_nonce: [u8; 12],
    file_id: FileId,
    chunks: u64,
}

impl fmt::Debug for ChunkCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkCipher")
            .field("file_id", &self.file_id)
            .field("chunks", &self.chunks)
            .finish_non_exhaustive()
    }
}

impl ChunkCipher {
    /// With the provider for this machine.
    pub(crate) fn new(
        core: &CoreHeader,
        key: &[u8],
        base_nonce: [u8; 12],
    ) -> Result<ChunkCipher, SealError> {
        let provider = Provider::for_this_machine(core.suite);
        ChunkCipher::with_provider(provider, core, key, base_nonce)
    }

    /// With a provider of choice. `key` has 32 bytes and seals one file, and so one set of nonces;
    /// [`crate::schedule::FileSchedule`] derives such keys.
    ///
    /// # Errors
    /// [`SealError::Cipher`] for a key of another length.
    pub fn with_provider(
        provider: Provider,
        core: &CoreHeader,
        key: &[u8],
        base_nonce: [u8; 12],
    ) -> Result<ChunkCipher, SealError> {
        Ok(ChunkCipher {
            key: Key::new(provider, core.suite, key)?,
            base_nonce,
            file_id: core.file_id,
            chunks: core.chunks(),
        })
    }

    /// Encrypts chunk `index` in place and returns its tag.
    ///
    /// # Errors
    /// [`SealError::Cipher`] if the library refuses, which it does only beyond its length limit.
    pub fn seal_in_place(&self, index: u64, chunk: &mut [u8]) -> Result<Tag, SealError> {
        self.key
            .seal(self.nonce(index), &self.additional_data(index), chunk)
    }

    /// Decrypts chunk `index` in place. `false`, with the chunk wiped, if the tag is not that of
    /// these bytes at this place in this file.
    #[must_use]
    pub fn open_in_place(&self, index: u64, chunk: &mut [u8], tag: &Tag) -> bool {
        let aad = self.additional_data(index);
        self.key.open(self.nonce(index), &aad, chunk, tag)
    }

    /// The base nonce with the big-endian index XORed into its last eight bytes.
    fn nonce(&self, index: u64) -> [u8; 12] {
        let mut nonce = self.base_nonce;
        for (byte, part) in nonce[4..].iter_mut().zip(index.to_be_bytes()) {
            *byte ^= part;
        }
        nonce
    }

    fn additional_data(&self, index: u64) -> [u8; 33] {
        let mut data = [0; 33];
        data[..16].copy_from_slice(self.file_id.as_bytes());
        data[16..24].copy_from_slice(&index.to_le_bytes());
        data[24..32].copy_from_slice(&self.chunks.to_le_bytes());
        data[32] = u8::from(index + 1 == self.chunks);
        data
    }
}

#[cfg(test)]
mod known_answers;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_header::ChunkSize;
    use crate::ids::ModelId;
    use proptest::prelude::*;

    fn cipher(provider: Provider, suite: Suite, chunks: u64) -> ChunkCipher {
        let core = CoreHeader {
            suite,
            chunk_size: ChunkSize::new(4096).unwrap(),
            length: chunks * 4096,
            file_id: FileId::new([9; 16]),
            model_id: ModelId::new([8; 16]),
            salt: [7; 32],
            path: "w".parse().unwrap(),
            public_header: None,
        };
        ChunkCipher::with_provider(provider, &core, &[0xa5; 32], [0xff; 12]).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn both_providers_give_the_same_bytes(
            plain in proptest::collection::vec(any::<u8>(), 0..5000),
            index in prop_oneof![0..3u64, Just(u64::from(u32::MAX) - 1)],
            flipped in any::<prop::sample::Index>(),
        ) {
            for suite in Suite::ALL {
                let [aws, ring] = Provider::ALL.map(|p| cipher(p, suite, u64::from(u32::MAX)));
                let (mut one, mut two) = (plain.clone(), plain.clone());
                let tag = aws.seal_in_place(index, &mut one).unwrap();
                prop_assert_eq!(tag, ring.seal_in_place(index, &mut two).unwrap());
                prop_assert_eq!(&one, &two);
                let mut bad_tag = tag;
                bad_tag[flipped.index(16)] ^= 1;
                for opener in [&aws, &ring] {
                    let mut opened = one.clone();
                    prop_assert!(opener.open_in_place(index, &mut opened, &tag));
                    prop_assert_eq!(&opened, &plain);
                    let mut wiped = one.clone();
                    prop_assert!(!opener.open_in_place(index, &mut wiped, &bad_tag));
                    prop_assert!(wiped.iter().all(|b| *b == 0));
                    prop_assert!(!opener.open_in_place(index + 1, &mut one.clone(), &tag));
                }
            }
        }
    }

    #[test]
    fn nonce_and_additional_data_are_those_of_the_specification() {
        let cipher = cipher(Provider::AwsLc, Suite::Aes256Gcm, 3);
        assert_eq!(cipher.nonce(0x0102), {
            let mut nonce = [0xff; 12];
            nonce[10] = 0xfe;
            nonce[11] = 0xfd;
            nonce
        });
        let data = cipher.additional_data(2);
        assert_eq!(data[..16], [9; 16]);
        assert_eq!(data[16..24], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(data[24..32], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(data[32], 1);
        assert_eq!(cipher.additional_data(1)[32], 0);
    }
}
