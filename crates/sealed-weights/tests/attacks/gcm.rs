//! AES-GCM from the inside, for those who hold the key: the field GF(2^128), GHASH, and the hash
//! key of a cipher key (SP 800-38D).

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use sealed_weights::core_header::CoreHeader;
use sealed_weights::secret::ModelKey;

const ONE: u128 = 1 << 127;

/// The product in GCM's field; the first bit of a block is the highest of the integer.
pub(crate) fn multiply(x: u128, y: u128) -> u128 {
    let (mut product, mut shifted) = (0, y);
    for bit in 0..128 {
        if x >> (127 - bit) & 1 == 1 {
            product ^= shifted;
        }
        let carry = shifted & 1;
        shifted >>= 1;
        if carry == 1 {
            shifted ^= 0xe1 << 120;
        }
    }
    product
}

pub(crate) fn power(x: u128, exponent: u32) -> u128 {
    (0..exponent).fold(ONE, |product, _| multiply(product, x))
}

/// x^(2^128 − 2).
pub(crate) fn inverse(x: u128) -> u128 {
    let (mut square, mut product) = (x, ONE);
    for _ in 0..127 {
        square = multiply(square, square);
        product = multiply(product, square);
    }
    product
}

/// A cipher key, one of its nonces, and what is secret about them.
pub(crate) struct Gcm {
    key: [u8; 32],
    nonce: [u8; 12],
    /// The hash key.
    pub h: u128,
    /// What masks the tag.
    mask: u128,
}

impl Gcm {
    pub(crate) fn new(key: [u8; 32], nonce: [u8; 12]) -> Gcm {
        let mut gcm = Gcm {
            key,
            nonce,
            h: 0,
            mask: 0,
        };
        // Of nothing, GHASH is zero; of one zero block of additional data, it is H times the block
        // of lengths.
        gcm.mask = gcm.real_tag(&[]);
        let lengths = 128 << 64;
        gcm.h = multiply(gcm.real_tag(&[0; 16]) ^ gcm.mask, inverse(lengths));
        gcm
    }

    /// The key and the nonce of one chunk of a file, derived as the specification says.
    pub(crate) fn of_chunk(model_key: &ModelKey, core: &CoreHeader, index: u64) -> Gcm {
        let file_key: [u8; 32] = derive(
            core.model_id.as_bytes(),
            model_key.expose(),
            &[b"sealed-weights/1 file key", core.file_id.as_bytes()],
        );
        let output: [u8; 76] = derive(
            &core.salt,
            &file_key,
            &[
                b"sealed-weights/1 file schedule",
                &core.suite.number().to_le_bytes(),
                core.digest().as_bytes(),
            ],
        );
        let mut nonce: [u8; 12] = output[32..44].try_into().unwrap();
        for (byte, part) in nonce[4..].iter_mut().zip(index.to_be_bytes()) {
            *byte ^= part;
        }
        Gcm::new(output[..32].try_into().unwrap(), nonce)
    }

    fn cipher(&self) -> LessSafeKey {
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &self.key).unwrap())
    }

    fn real_tag(&self, aad: &[u8]) -> u128 {
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        let tag = self
            .cipher()
            .seal_in_place_separate_tag(nonce, Aad::from(aad), &mut [])
            .unwrap();
        u128::from_be_bytes(tag.as_ref().try_into().unwrap())
    }

    /// The tag of any ciphertext, without decrypting it.
    pub(crate) fn tag(&self, aad: &[u8], ciphertext: &[u8]) -> u128 {
        let lengths = ((aad.len() as u128 * 8) << 64) | (ciphertext.len() as u128 * 8);
        self.mask
            ^ [aad, ciphertext]
                .into_iter()
                .flat_map(|part| part.chunks(16).map(block))
                .chain([lengths])
                .fold(0, |hash, block| multiply(hash ^ block, self.h))
    }

    /// What the library's AES-GCM says of this ciphertext: the plaintext, if the tag is right.
    pub(crate) fn open(&self, aad: &[u8], ciphertext: &[u8], tag: &[u8; 16]) -> Option<Vec<u8>> {
        let mut plain = ciphertext.to_vec();
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        self.cipher()
            .open_in_place_separate_tag(nonce, Aad::from(aad), tag, &mut plain)
            .ok()?;
        Some(plain)
    }
}

fn block(chunk: &[u8]) -> u128 {
    let mut block = [0; 16];
    block[..chunk.len()].copy_from_slice(chunk);
    u128::from_be_bytes(block)
}

/// HKDF-SHA-512.
fn derive<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> [u8; N] {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut output = [0; N];
    let prk = hkdf::Salt::new(hkdf::HKDF_SHA512, salt).extract(secret);
    let okm = prk.expand(info, Length(N)).unwrap();
    okm.fill(&mut output).unwrap();
    output
}
