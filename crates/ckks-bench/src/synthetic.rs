//! The published synthetic data: the same numbers from the same seed on every machine.
//!
//! The generator is ChaCha20 (RFC 8439 rounds, 64-bit block counter from 0, nonce 0). Its 32-byte
//! key is the seed and an index, both as little-endian u64, followed by a 16-byte tag. Each value
//! takes the next 8 bytes of the keystream as a little-endian u64 `r`:
//! `u = (r >> 11) / 2^53`, value = `(2u − 1) · bound`, rounded to f32.
//!
//! * weights: tag `ckks-bench-weigh`, index 0, bound `1/√d_in`, output after output;
//! * vectors: tag `ckks-bench-input`, index of the trial in run order (warm-ups first), bound 1,
//!   vector after vector.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tensor_io::{InputBatch, TensorError, WeightMatrix};

const WEIGHTS: &[u8; 16] = b"ckks-bench-weigh";
const INPUTS: &[u8; 16] = b"ckks-bench-input";

/// Name of the generator, for reports.
pub const GENERATOR: &str = "ChaCha20, documented in docs/report.md";

/// Weights uniform in ±1/√d_in.
///
/// # Errors
/// [`TensorError`] for a width of 0 or a size beyond the address space.
pub fn weights(seed: u64, d_in: usize, d_out: usize) -> Result<WeightMatrix, TensorError> {
    let count = d_in.saturating_mul(d_out);
    let bound = 1.0 / (d_in as f64).sqrt();
    let values = uniform(seed, 0, WEIGHTS, bound).take(count).collect();
    WeightMatrix::from_output_major(d_in, d_out, values)
}

/// Vectors uniform in ±1 for the trial with this index.
///
/// # Errors
/// [`TensorError`] for a width or a number of vectors of 0.
pub fn inputs(
    seed: u64,
    trial: usize,
    vectors: usize,
    width: usize,
) -> Result<InputBatch, TensorError> {
    let count = vectors.saturating_mul(width);
    let values = uniform(seed, trial as u64, INPUTS, 1.0)
        .take(count)
        .map(f64::from)
        .collect();
    InputBatch::new(vectors, width, values)
}

fn uniform(seed: u64, index: u64, tag: &[u8; 16], bound: f64) -> impl Iterator<Item = f32> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&index.to_le_bytes());
    key[16..].copy_from_slice(tag);
    let mut generator = ChaCha20Rng::from_seed(key);
    std::iter::repeat_with(move || value_of(generator.next_u64(), bound))
}

/// The f32 that 8 bytes of the keystream stand for.
fn value_of(random: u64, bound: f64) -> f32 {
    let unit = (random >> 11) as f64 / (1u64 << 53) as f64;
    ((2.0 * unit - 1.0) * bound) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_plain_chacha20() {
        // Keystream of the all-zero key and nonce, block 0: RFC 8439, appendix A.1, test vector 1.
        let mut generator = ChaCha20Rng::from_seed([0; 32]);
        assert_eq!(
            generator.next_u64().to_le_bytes(),
            [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]
        );
        assert_eq!(
            generator.next_u64().to_le_bytes(),
            [0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28]
        );
    }

    #[test]
    fn values_by_hand() {
        assert_eq!(value_of(0, 1.0), -1.0);
        assert_eq!(value_of(1 << 63, 1.0), 0.0);
        assert_eq!(value_of(3 << 62, 0.5), 0.25);
        assert_eq!(value_of(u64::MAX, 1.0), 1.0, "rounds up to the bound");
    }

    #[test]
    fn published_values_stay_as_they_are() {
        let x = inputs(1, 0, 1, 3).unwrap();
        let w = weights(1, 3, 1).unwrap();
        assert_eq!(x.data(), PUBLISHED_INPUTS);
        assert_eq!(w.data(), PUBLISHED_WEIGHTS);
    }

    // From a separate implementation of ChaCha20 and of the mapping above.
    const PUBLISHED_INPUTS: [f64; 3] = [
        0.136_792_540_550_231_93,
        0.846_686_661_243_438_7,
        0.314_931_213_855_743_4,
    ];
    const PUBLISHED_WEIGHTS: [f32; 3] = [-0.551_765_5, -0.576_679_5, 0.230_146_93];

    #[test]
    fn data_depends_on_seed_and_trial_only() {
        let x = inputs(7, 3, 4, 100).unwrap();
        assert_eq!(x, inputs(7, 3, 4, 100).unwrap());
        assert_ne!(x, inputs(7, 4, 4, 100).unwrap());
        assert_ne!(x, inputs(8, 3, 4, 100).unwrap());
    }

    #[test]
    fn bounds_and_moments() {
        let w = weights(5, 64, 500).unwrap();
        assert!(w.data().iter().all(|value| value.abs() <= 0.125));
        let mean_square = w
            .data()
            .iter()
            .map(|&value| f64::from(value).powi(2))
            .sum::<f64>()
            / 32_000.0;
        // Uniform in ±1/8: variance 1/192; the estimate's deviation is 0.5 %.
        assert!((mean_square * 192.0 - 1.0).abs() < 0.03, "{mean_square}");
    }
}
