//! The multiply-accumulate phase: sums of plaintext products for one block of 16 coefficients.
//!
//! Prepared plaintexts are stored `[limb][block][term][16]`, giant after giant, so that one pass
//! over memory in order feeds every multiplication. A column is one polynomial (c0 or c1 of one
//! query). For one block, the baby steps of four columns lie together as `[baby][column][16]`:
//! 8 KiB at 32 baby steps, which stay in the first-level cache while all giant steps pass, however
//! many columns there are. Products are below q² and are summed in 64 bits, folded before they could overflow, and
//! reduced once. Plaintexts are in Montgomery form, so one Montgomery reduction ends a sum.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use crate::memory::DisjointBlocks;
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
    /// For each giant step, how many from it on read the same babies in the same order: [`alike`].
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only AVX-512 sums several giant steps at once")
    )]
    pub(crate) alike: &'a [usize],
    /// Baby number of each term.
    pub(crate) babies_of_terms: &'a [u32],
    /// `[term]`.
    pub(crate) plaintexts: &'a [Block],
    /// Ordered by [`place`].
    pub(crate) babies: &'a [Block],
    /// Whether the next block's babies follow these in memory, padded by at most one block.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "only AVX-512 asks for them ahead")
    )]
    pub(crate) rows_follow: bool,
    pub(crate) columns: usize,
}

/// Columns that lie together in a block's row of babies.
pub(crate) const GROUP: usize = 4;

/// Place of a baby's column in a block's row of `babies × columns`: one group of columns after the
/// other, within each `[baby][column]`.
pub(crate) fn place(babies: usize, columns: usize, baby: usize, column: usize) -> usize {
    let first = column - column % GROUP;
    let width = GROUP.min(columns - first);
    first * babies + baby * width + column % GROUP
}

/// Neighbouring columns of a block.
#[derive(Clone, Copy)]
struct Group<'a> {
    /// Number of the first column.
    first: usize,
    /// Number of columns, 1 to [`GROUP`].
    width: usize,
    /// `[baby][column]`.
    babies: &'a [Block],
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

    /// The columns, group by group.
    fn groups(self) -> impl Iterator<Item = Group<'a>> {
        let per_column = self.babies.len() / self.columns.max(1);
        (0..self.columns).step_by(GROUP).map(move |first| {
            let width = GROUP.min(self.columns - first);
            Group {
                first,
                width,
                babies: &self.babies[first * per_column..(first + width) * per_column],
            }
        })
    }
}

/// For each span, the number of neighbouring spans from it on, itself included, that read the same
/// babies in the same order.
pub(crate) fn alike(spans: &[Span], babies_of_terms: &[u32]) -> Vec<usize> {
    let babies = |span: &Span| &babies_of_terms[span.start..span.start + span.len];
    let mut counts = vec![1; spans.len()];
    for (i, pair) in spans.windows(2).enumerate().rev() {
        if babies(&pair[0]) == babies(&pair[1]) {
            counts[i] = counts[i + 1] + 1;
        }
    }
    counts
}

/// Where the sums of one block go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockOutput<'a> {
    /// Inner sums of all blocks, `[giant][column]`.
    pub(crate) sums: DisjointBlocks<'a>,
    /// Blocks between two inner sums.
    pub(crate) stride: usize,
    /// The block's place within each inner sum.
    pub(crate) at: usize,
    /// Whether the sums leave the caches before they are read again: they are written past them
    /// then, and visible to other threads after [`crate::memory::end_streaming`].
    pub(crate) stream: bool,
}

impl BlockOutput<'_> {
    #[inline(always)]
    fn place(&self, columns: usize, giant: usize, column: usize) -> usize {
        (giant * columns + column) * self.stride + self.at
    }

    /// # Safety
    /// As [`block`], for a place of this output.
    #[inline(always)]
    unsafe fn write(&self, at: usize, sum: Block) {
        // SAFETY: by the caller's promise.
        unsafe {
            if self.stream {
                self.sums.stream(at, sum);
            } else {
                self.sums.write(at, sum);
            }
        }
    }
}

/// Computes `Σ_terms plaintext·baby`, canonical, for every giant step and column of one block.
///
/// # Safety
/// While this runs, no other thread uses the output's blocks at this place of the inner sums.
pub(crate) unsafe fn block(
    level: SimdLevel,
    modulus: &MacModulus,
    input: BlockInput<'_>,
    output: BlockOutput<'_>,
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level comes from run-time detection; places by the caller's promise.
        SimdLevel::Avx512(_) => unsafe { avx512::block(modulus, input, output) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level comes from run-time detection; places by the caller's promise.
        SimdLevel::Avx2(_) => unsafe { avx2::block(modulus, input, output) },
        // SAFETY: by the caller's promise.
        _ => unsafe { portable::block(modulus, input, output) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::end_streaming;
    use ckks::memory::BlockBuffer;

    #[test]
    fn places_are_groups_of_four_columns() {
        // 2 babies, 7 columns: [0 1 2 3 of baby 0][of baby 1][4 5 6 of baby 0][of baby 1].
        let places: Vec<usize> = (0..14).map(|i| place(2, 7, i / 7, i % 7)).collect();
        let expected = [0, 1, 2, 3, 8, 9, 10, 4, 5, 6, 7, 11, 12, 13];
        assert_eq!(places, expected);
    }

    #[test]
    fn alike_spans_are_counted_from_each_on() {
        let spans = [(0, 2), (2, 2), (4, 2), (6, 2), (8, 1), (9, 0), (9, 0)]
            .map(|(start, len)| Span { start, len });
        let babies_of_terms = [0, 1, 0, 1, 0, 1, 1, 0, 1];
        assert_eq!(alike(&spans, &babies_of_terms), [3, 2, 1, 1, 1, 2, 1]);
    }

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
        let spans = [
            (0, 1),
            (1, 0),
            (1, 7),
            (8, 64),
            (72, 200),
            // With five babies these three read the same ones, and then two read others.
            (272, 60),
            (332, 60),
            (392, 60),
            (452, 3),
            (457, 3),
        ]
        .map(|(start, len)| Span { start, len });
        let terms = 460;
        for q in [33_550_337u32, 536_813_569, 1_073_692_673, 2_147_352_577] {
            let modulus = Modulus::new(q).unwrap();
            let mac = MacModulus::new(modulus);
            for (columns, babies, extreme) in [
                (1, 5, false),
                (2, 9, false),
                (3, 4, true),
                (4, 300, true),
                (7, 3, false),
                (4, 5, true),
                (9, 5, false),
                (10, 5, false),
                (16, 5, true),
            ] {
                let plaintexts = residues(q, 1, terms, extreme);
                // `[baby][column]`
                let values = residues(q, 2, babies * columns, extreme);
                let mut row = values.clone();
                for (i, &value) in values.iter().enumerate() {
                    row[place(babies, columns, i / columns, i % columns)] = value;
                }
                let babies_of_terms: Vec<u32> =
                    (0..terms).map(|t| (t * 7 % babies) as u32).collect();
                let input = BlockInput {
                    spans: &spans,
                    alike: &alike(&spans, &babies_of_terms),
                    babies_of_terms: &babies_of_terms,
                    plaintexts: &plaintexts,
                    babies: &row,
                    rows_follow: false,
                    columns,
                };
                let r_inv = u128::from(modulus.inv(modulus.radix()));
                for level in SimdLevel::available() {
                    for stream in [false, true] {
                        let (blocks, at) = (3, 1);
                        let untouched = [u32::MAX; 16];
                        let mut sums = BlockBuffer::zeroed(spans.len() * columns * blocks).unwrap();
                        sums.blocks_mut().fill(untouched);
                        let output = BlockOutput {
                            sums: DisjointBlocks::new(sums.blocks_mut()),
                            stride: blocks,
                            at,
                            stream,
                        };
                        // SAFETY: no other thread has the buffer.
                        unsafe { block(level, &mac, input, output) };
                        end_streaming();
                        for (i, &sum) in sums.blocks().iter().enumerate() {
                            let (giant, column) = (i / blocks / columns, i / blocks % columns);
                            if i % blocks != at {
                                assert_eq!(sum, untouched, "{level:?}");
                                continue;
                            }
                            let span = spans[giant];
                            let expected: Block = std::array::from_fn(|lane| {
                                let exact: u128 = (span.start..span.start + span.len)
                                    .map(|t| {
                                        let baby = babies_of_terms[t] as usize;
                                        u128::from(plaintexts[t][lane])
                                            * u128::from(values[baby * columns + column][lane])
                                    })
                                    .sum();
                                (exact % u128::from(q) * r_inv % u128::from(q)) as u32
                            });
                            assert_eq!(
                                sum, expected,
                                "{level:?} q={q} giant {giant} column {column}"
                            );
                        }
                    }
                }
            }
        }
    }
}
