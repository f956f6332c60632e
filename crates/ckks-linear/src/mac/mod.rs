//! The multiply-accumulate phase: sums of plaintext products for one block of 16 coefficients.
//!
//! Prepared plaintexts are stored `[limb][block][term][16]`, giant after giant, so that one pass
//! over memory in order feeds every multiplication. For one block, all baby-step ciphertexts fit
//! the first-level cache as `[baby][column][16]`; a column is one polynomial (c0 or c1 of one
//! query). Products are below q² and are summed in 64 bits, folded before they could overflow, and
//! reduced once. Plaintexts are in Montgomery form, so one Montgomery reduction ends a sum.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use ckks::modulus::Modulus;
use ckks::simd::SimdLevel;

pub(crate) use ckks::memory::Block;

/// Constants of one prime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MacModulus {
    pub(crate) modulus: Modulus,
    /// Products that can be added to a folded sum before it must be folded again.
    chunk: usize,
}

impl MacModulus {
    pub(crate) fn new(modulus: Modulus) -> Self {
        // A fold brings any 64-bit sum below q·2^32: hi·(2^32 mod q) + lo ≤ (2^32-1)(q-1) + 2^32-1.
        let largest = (u128::from(modulus.value()) - 1).pow(2);
        let folded = u128::from(modulus.value()) << 32;
        let chunk = (((1u128 << 64) - folded) / largest).max(1);
        Self {
            modulus,
            chunk: chunk.min(1 << 20) as usize,
        }
    }
}

/// The terms of one giant step: a range of the output's term list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// What one block reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockInput<'a> {
    /// One giant step after the other.
    pub(crate) spans: &'a [Span],
    /// Baby number of each term.
    pub(crate) babies_of_terms: &'a [u32],
    /// `[term]`.
    pub(crate) plaintexts: &'a [Block],
    /// `[baby][column]`.
    pub(crate) babies: &'a [Block],
    pub(crate) columns: usize,
}

impl<'a> BlockInput<'a> {
    /// Plaintexts and baby numbers of one giant step.
    #[inline(always)]
    fn terms(&self, span: &Span) -> (&'a [Block], &'a [u32]) {
        let terms = span.start..span.start + span.len;
        (
            &self.plaintexts[terms.clone()],
            &self.babies_of_terms[terms],
        )
    }
}

/// Computes `Σ_terms plaintext·baby` for every giant step and column of one block and hands each
/// sum, canonical, to `sink(giant, column, sum)`.
pub(crate) fn block(
    level: SimdLevel,
    modulus: &MacModulus,
    input: BlockInput<'_>,
    sink: impl FnMut(usize, usize, Block),
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level comes from run-time detection.
        SimdLevel::Avx512(_) => unsafe { avx512::block(modulus, input, sink) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level comes from run-time detection.
        SimdLevel::Avx2(_) => unsafe { avx2::block(modulus, input, sink) },
        _ => portable::block(modulus, input, sink),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residues(q: u32, salt: u64, len: usize, extreme: bool) -> Vec<Block> {
        let mut state = salt | 1;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(salt | 1);
            if extreme {
                q - 1
            } else {
                ((state >> 33) % u64::from(q)) as u32
            }
        };
        (0..len).map(|_| std::array::from_fn(|_| next())).collect()
    }

    #[test]
    fn every_level_agrees_with_wide_integers() {
        let spans =
            [(0, 1), (1, 0), (1, 7), (8, 64), (72, 200)].map(|(start, len)| Span { start, len });
        let terms = 272;
        for q in [33_550_337u32, 536_813_569, 1_073_692_673, 2_147_352_577] {
            let modulus = Modulus::new(q).unwrap();
            let mac = MacModulus::new(modulus);
            for (columns, babies, extreme) in [
                (1, 5, false),
                (2, 9, false),
                (3, 4, true),
                (4, 300, true),
                (7, 3, false),
            ] {
                let plaintexts = residues(q, 1, terms, extreme);
                let baby_values = residues(q, 2, babies * columns, extreme);
                let babies_of_terms: Vec<u32> =
                    (0..terms).map(|t| (t * 7 % babies) as u32).collect();
                let input = BlockInput {
                    spans: &spans,
                    babies_of_terms: &babies_of_terms,
                    plaintexts: &plaintexts,
                    babies: &baby_values,
                    columns,
                };
                let r_inv = u128::from(modulus.inv(modulus.radix()));
                for level in SimdLevel::available() {
                    let mut seen = 0;
                    block(level, &mac, input, |giant, column, sum| {
                        seen += 1;
                        for (lane, &value) in sum.iter().enumerate() {
                            let span = spans[giant];
                            let exact: u128 = (span.start..span.start + span.len)
                                .map(|t| {
                                    let baby = babies_of_terms[t] as usize;
                                    u128::from(plaintexts[t][lane])
                                        * u128::from(baby_values[baby * columns + column][lane])
                                })
                                .sum();
                            let expected = exact % u128::from(q) * r_inv % u128::from(q);
                            assert_eq!(
                                u128::from(value),
                                expected,
                                "{level:?} q={q} giant {giant}"
                            );
                        }
                    });
                    assert_eq!(seen, spans.len() * columns);
                }
            }
        }
    }
}
