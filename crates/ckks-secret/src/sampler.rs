//! Constant-time samplers for secrets and errors.

use crate::random::Csprng;
use ckks::simd::{SimdLevel, multiversion};
use zeroize::Zeroize;

/// Largest absolute value an error takes: beyond it the probability mass of the discrete Gaussian
/// is below 2^-62, and it is cut off.
pub const ERROR_TAIL: i32 = THRESHOLDS.len() as i32;

/// `round(2^63 · P(|X| ≥ k))` for k = 1, 2, … of the discrete Gaussian with σ = 3.19 over the
/// integers, `P(x) ∝ exp(-x²/(2σ²))`, computed with 60 decimal digits.
const THRESHOLDS: [i64; 29] = [
    8_069_894_584_386_546_584,
    5_873_551_606_049_182_538,
    3_978_228_207_505_332_870,
    2_495_749_044_543_551_359,
    1_444_716_942_706_073_168,
    769_310_073_137_938_730,
    375_907_609_260_799_627,
    168_210_339_772_792_835,
    68_819_443_246_633_799,
    25_708_796_472_625_943,
    8_759_777_011_222_246,
    2_719_919_018_928_688,
    769_037_087_029_867,
    197_877_652_703_122,
    46_310_241_609_192,
    9_853_620_075_794,
    1_905_414_041_748,
    334_747_753_142,
    53_414_648_995,
    7_739_511_523,
    1_018_092_084,
    121_563_291,
    13_173_197,
    1_295_368,
    115_573,
    9_355,
    687,
    46,
    3,
];

multiversion! {
    /// One error for each random word: 63 bits choose the magnitude by counting the thresholds
    /// above them, all of them every time, and the last bit chooses the sign.
    pub(crate) fn errors_from_words(words: &[u64], out: &mut [i32]) {
        for (out, &word) in out.iter_mut().zip(words) {
            let uniform = (word >> 1) as i64;
            let mut magnitude = 0i64;
            for threshold in THRESHOLDS {
                magnitude += i64::from(uniform < threshold);
            }
            let sign = (word & 1) as i64;
            *out = ((magnitude ^ -sign) + sign) as i32;
        }
    }
}

/// Fills `out` with discrete Gaussian errors, σ = 3.19; time and memory accesses do not depend on
/// the values.
pub(crate) fn fill_errors(rng: &mut impl Csprng, out: &mut [i32]) {
    let mut words = random_words(rng, out.len());
    errors_from_words(SimdLevel::detect(), &words, out);
    words.zeroize();
}

/// Fills `out` with uniform values of {-1, 0, 1}: the high word of `3·r` for 64 random bits, which
/// is within 2^-62 of uniform for each value.
pub(crate) fn fill_ternary(rng: &mut impl Csprng, out: &mut [i32]) {
    let mut words = random_words(rng, out.len());
    for (out, &word) in out.iter_mut().zip(&words) {
        *out = ((u128::from(word) * 3) >> 64) as i32 - 1;
    }
    words.zeroize();
}

fn random_words(rng: &mut impl Csprng, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    rng.fill(&mut bytes);
    let words = bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|c| u64::from_le_bytes(*c))
        .collect();
    bytes.zeroize();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededCsprng;

    const SIGMA: f64 = 3.19;

    fn probability(k: i32) -> f64 {
        let rho = |k: i32| (-f64::from(k * k) / (2.0 * SIGMA * SIGMA)).exp();
        rho(k) / (-60..=60).map(rho).sum::<f64>()
    }

    #[test]
    fn thresholds_are_the_tail_probabilities() {
        for (i, &threshold) in THRESHOLDS.iter().enumerate() {
            let tail: f64 = (i as i32 + 1..=60).map(|k| 2.0 * probability(k)).sum();
            let exact = tail * (1u64 << 63) as f64;
            assert!(
                (threshold as f64 - exact).abs() <= 0.5 + 1e-12 * exact,
                "{i}"
            );
        }
        let beyond: f64 = (ERROR_TAIL + 1..=60).map(|k| 2.0 * probability(k)).sum();
        assert!(beyond < 2f64.powi(-62));
    }

    /// Pearson's statistic of `counts` against `expected`.
    fn chi_square(counts: &[f64], expected: &[f64]) -> f64 {
        counts
            .iter()
            .zip(expected)
            .map(|(c, e)| (c - e) * (c - e) / e)
            .sum()
    }

    #[test]
    fn errors_follow_the_discrete_gaussian() {
        const N: usize = 1 << 20;
        let mut samples = vec![0; N];
        fill_errors(&mut SeededCsprng::insecure(11, 0), &mut samples);
        let mut counts = [0.0; 31];
        for &x in &samples {
            counts[(x.clamp(-15, 15) + 15) as usize] += 1.0;
        }
        let expected: Vec<f64> = (-15i32..=15)
            .map(|k| {
                let p = if k.abs() == 15 {
                    (15..60).map(probability).sum()
                } else {
                    probability(k)
                };
                p * N as f64
            })
            .collect();
        // 30 degrees of freedom: beyond 80 with probability below 2e-6, and the seed is fixed.
        assert!(chi_square(&counts, &expected) < 80.0);
        let variance = samples.iter().map(|&x| f64::from(x * x)).sum::<f64>() / N as f64;
        assert!((variance.sqrt() - SIGMA).abs() < 0.02);
    }

    #[test]
    fn every_level_gives_the_same_errors() {
        let mut words = random_words(&mut SeededCsprng::insecure(12, 0), 1001);
        words.extend([0, 1, 2, 3, u64::MAX, u64::MAX - 1, u64::MAX - 2]);
        for (i, t) in THRESHOLDS.iter().enumerate() {
            let t = *t as u64;
            words.extend([t << 1, (t << 1) + 1, (t - 1) << 1, ((t - 1) << 1) + 1]);
            // The definition, at the edges of each step.
            let mut out = [0; 2];
            errors_from_words(SimdLevel::Portable, &[t << 1, (t - 1) << 1 | 1], &mut out);
            assert_eq!(out, [i as i32, -(i as i32 + 1)]);
        }
        let mut reference = vec![0; words.len()];
        errors_from_words(SimdLevel::Portable, &words, &mut reference);
        for level in SimdLevel::available() {
            let mut out = vec![0; words.len()];
            errors_from_words(level, &words, &mut out);
            assert_eq!(out, reference, "{level:?}");
        }
    }

    #[test]
    fn secrets_are_uniform_ternary() {
        const N: usize = 300_000;
        let mut samples = vec![0; N];
        fill_ternary(&mut SeededCsprng::insecure(13, 0), &mut samples);
        let counts: Vec<f64> = (-1..=1)
            .map(|v| samples.iter().filter(|&&x| x == v).count() as f64)
            .collect();
        assert_eq!(counts.iter().sum::<f64>() as usize, N);
        // 2 degrees of freedom: beyond 30 with probability 3e-7, and the seed is fixed.
        assert!(chi_square(&counts, &[N as f64 / 3.0; 3]) < 30.0);
    }
}
