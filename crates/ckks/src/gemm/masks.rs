//! The fixed public masks `a_j`.

use super::{GemmParameters, MODULUS_MASK};
use crate::xof::Domain;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use sha2::{Digest, Sha256};

/// First bytes of what the key of the masks is hashed from.
const KEY_DOMAIN: &[u8] = b"ckks gemm masks v1\0";

/// Which set of masks is in use.
///
/// All clients and all layers of an epoch share one matrix A, so that W·A is computed once for a
/// layer. Sharing costs no security as long as every batch has a fresh secret, but it puts all
/// eggs in one basket: work on A would count against all batches of its epoch, and a secret used
/// twice by mistake shows only with equal masks. So the epoch advances now and then (a service
/// decides when), and W·A is computed anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Epoch(pub u64);

/// Expands the masks of one epoch: `a_j` uniform in `0..2^52`, the same on every machine.
///
/// Keystream: ChaCha20 (RFC 8439) with the key `SHA-256("ckks gemm masks v1\0" ‖ parameter digest
/// ‖ epoch)`, block counter 0 and the nonce `3 (4 bytes LE) ‖ j (8 bytes LE)`. Each coefficient
/// takes 8 bytes, little-endian, and keeps the low 52 bits.
///
/// The key has no input that either side could choose freely. A server that chose `a_j` could
/// plant one with a trapdoor, or `a_j = 0`; a client that chose it could do so for other clients of
/// the same W·A. So nobody sends masks or seeds: both sides derive them from public constants.
#[derive(Clone)]
pub struct MaskExpander {
    key: [u8; 32],
    ring_degree: usize,
}

impl std::fmt::Debug for MaskExpander {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MaskExpander")
            .field("ring_degree", &self.ring_degree)
            .finish_non_exhaustive()
    }
}

impl MaskExpander {
    /// The masks of an epoch.
    pub fn new(parameters: &GemmParameters, epoch: Epoch) -> Self {
        let mut hash = Sha256::new();
        hash.update(KEY_DOMAIN);
        hash.update(parameters.digest().0);
        hash.update(epoch.0.to_le_bytes());
        Self {
            key: hash.finalize().into(),
            ring_degree: parameters.ring_degree(),
        }
    }

    /// Fills `out` with the first coefficients of `a_j`; a whole mask has N.
    ///
    /// # Panics
    /// When `out` is longer than N: a programming error, not an input error.
    pub fn expand(&self, j: u32, out: &mut [u64]) {
        assert!(out.len() <= self.ring_degree, "a mask has N coefficients");
        let mut nonce = [0u8; 12];
        nonce[..4].copy_from_slice(&(Domain::GemmMask as u32).to_le_bytes());
        nonce[4..].copy_from_slice(&u64::from(j).to_le_bytes());
        let mut stream = ChaCha20::new(&self.key.into(), &nonce.into());
        let mut bytes = [0u8; 4096];
        for out in out.chunks_mut(bytes.len() / 8) {
            let bytes = &mut bytes[..8 * out.len()];
            bytes.fill(0);
            stream.apply_keystream(bytes);
            for (out, word) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *out = u64::from_le_bytes(*word) & MODULUS_MASK;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expander(epoch: u64) -> MaskExpander {
        MaskExpander::new(&GemmParameters::named("gemm-2048").unwrap(), Epoch(epoch))
    }

    fn mask(epoch: u64, j: u32) -> Vec<u64> {
        let mut out = vec![0; 2048];
        expander(epoch).expand(j, &mut out);
        out
    }

    #[test]
    fn masks_are_in_range_spread_and_separated() {
        let a = mask(0, 0);
        assert!(a.iter().all(|&v| v <= MODULUS_MASK));
        // Mean of 2,048 uniform values: its standard deviation is 2^52/sqrt(12·2048); 6 sigmas
        // fail with probability below 2e-9 for a uniform source, and the key is fixed.
        let mean = a.iter().map(|&v| v as f64).sum::<f64>() / 2048.0 / 2f64.powi(52);
        assert!((mean - 0.5).abs() < 6.0 / (12.0f64 * 2048.0).sqrt());
        // Every bit is set in about half of the coefficients: 6 sigmas of 2,048 coins are 136.
        for bit in 0..52 {
            let ones = a.iter().filter(|&&v| v >> bit & 1 == 1).count();
            assert!(ones.abs_diff(1024) < 136, "bit {bit}: {ones}");
        }
        // Equal 52-bit values in the same place of independent masks: probability 5e-13.
        for other in [mask(0, 1), mask(1, 0), mask(0, 256)] {
            assert!(a.iter().zip(&other).all(|(x, y)| x != y));
        }
    }

    #[test]
    fn a_prefix_is_a_prefix() {
        let whole = mask(7, 5);
        for len in [0, 1, 511, 512, 513, 2047] {
            let mut out = vec![0; len];
            expander(7).expand(5, &mut out);
            assert_eq!(out, whole[..len]);
        }
    }
}
