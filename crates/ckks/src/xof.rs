//! Public uniform ring elements expanded from a 32-byte seed.
//!
//! Keystream: ChaCha20 (RFC 8439) with the seed as key, block counter 0, and the nonce
//! `domain (4 bytes LE) ‖ index (8 bytes LE)`, `index = object << 8 | limb`. The stream is read as
//! little-endian 32-bit words; each is masked to the prime's bit length and taken if it is below
//! the prime. The result is uniform, in the NTT domain, and the same on every machine.
//!
//! A seed is public: it must never be the source of a secret or an error.

use crate::modulus::Modulus;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};

/// 32 public bytes that stand for uniform ring elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seed(pub [u8; 32]);

/// What a seed is expanded for; keeps streams of one seed apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Domain {
    /// The `c1` of fresh ciphertexts.
    Ciphertext = 1,
    /// The uniform half of Galois keys.
    GaloisKey = 2,
    /// The masks of the `gemm` plan: [`crate::gemm::MaskExpander`].
    GemmMask = 3,
}

/// Fills `out` with residues of one limb, uniform in `0..q`.
pub fn expand_uniform(
    seed: &Seed,
    domain: Domain,
    object: u64,
    limb: u8,
    modulus: Modulus,
    out: &mut [u32],
) {
    let mut nonce = [0u8; 12];
    nonce[..4].copy_from_slice(&(domain as u32).to_le_bytes());
    nonce[4..].copy_from_slice(&(object << 8 | u64::from(limb)).to_le_bytes());
    let mut stream = ChaCha20::new(&seed.0.into(), &nonce.into());
    let mask = u32::MAX >> (32 - modulus.bits());
    let mut bytes = [0u8; 1024];
    let mut filled = 0;
    while filled < out.len() {
        bytes.fill(0);
        stream.apply_keystream(&mut bytes);
        let words = bytes.as_chunks::<4>().0;
        // Nearly every word is taken; a run without a rejection is copied whole.
        let rest = &mut out[filled..];
        if rest.len() >= words.len() {
            let rest = &mut rest[..words.len()];
            let mut largest = 0;
            for (out, word) in rest.iter_mut().zip(words) {
                *out = u32::from_le_bytes(*word) & mask;
                largest = largest.max(*out);
            }
            if largest < modulus.value() {
                filled += words.len();
                continue;
            }
        }
        for word in words {
            let candidate = u32::from_le_bytes(*word) & mask;
            if candidate < modulus.value() && filled < out.len() {
                out[filled] = candidate;
                filled += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_chacha20_as_published() {
        // RFC 8439, appendix A.1, test vector 1: zero key, zero nonce, counter 0.
        let mut stream = ChaCha20::new(&[0u8; 32].into(), &[0u8; 12].into());
        let mut block = [0u8; 16];
        stream.apply_keystream(&mut block);
        let published = [
            0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86,
            0xbd, 0x28,
        ];
        assert_eq!(block, published);
    }

    #[test]
    fn residues_are_in_range_spread_and_separated() {
        let q = Modulus::new(536_813_569).unwrap();
        let expand = |domain, object, limb| {
            let mut out = vec![0; 4096];
            expand_uniform(&Seed([7; 32]), domain, object, limb, q, &mut out);
            out
        };
        let a = expand(Domain::Ciphertext, 0, 0);
        assert!(a.iter().all(|&v| v < q.value()));
        // Mean of 4,096 uniform values: its standard deviation is q/sqrt(12*4096); 6 sigmas fail
        // with probability below 2e-9 for a uniform source, and the seed is fixed.
        let mean = a.iter().map(|&v| f64::from(v)).sum::<f64>() / 4096.0 / f64::from(q.value());
        assert!((mean - 0.5).abs() < 6.0 / (12.0f64 * 4096.0).sqrt());
        for other in [
            expand(Domain::GaloisKey, 0, 0),
            expand(Domain::Ciphertext, 1, 0),
            expand(Domain::Ciphertext, 0, 1),
        ] {
            assert!(a.iter().zip(&other).filter(|(x, y)| x == y).count() < 8);
        }
    }
}
