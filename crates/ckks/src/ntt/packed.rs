//! Twiddle factors in the order in which the vector kernels read them.
//!
//! Both directions see the transform as the same tree of butterflies: the level with `m` groups
//! (spans of `N/m` residues) multiplies by `roots[m + i]` in group `i`. The upper levels work on
//! whole vectors, several levels in one pass over the data, so that each pass loads and stores
//! every vector once. The last levels (the tail) have groups shorter than a pair of vectors; there
//! every lane has its own twiddle.

use aligned_vec::{AVec, ConstAlign};

use crate::modulus::Modulus;

/// Words per block of the tail of the 16-lane kernel: one pair of vectors.
pub(super) const TAIL16: usize = 64;
/// Words per block of the tail of the 8-lane kernel: one pair of vectors.
pub(super) const TAIL8: usize = 48;

/// A twiddle factor and its Shoup quotient.
pub(super) type Twiddle = [u32; 2];

/// The two directions of a transform for one vector width.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// log2 of the radix of each pass over the upper levels, in forward order.
    pub(super) radices: Vec<u32>,
    pub(super) forward: Direction,
    /// The twiddle of the last level has the factor 1/N in it.
    pub(super) inverse: Direction,
    /// 1/N.
    pub(super) scale: Twiddle,
}

/// The twiddles of one direction.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    /// For each pass, for each block of the pass, `2^radix - 1` twiddles: those of its first
    /// level, then those of the second, and so on.
    pub(super) upper: Vec<Twiddle>,
    /// [`TAIL16`] or [`TAIL8`] words for each pair of vectors.
    pub(super) tail: AVec<u32, ConstAlign<64>>,
}

/// Roots and their quotients in bit-reversed order, as [`super::NttTable`] keeps them.
pub(super) type Roots<'a> = (&'a [u32], &'a [u32]);

impl Packed {
    /// Tables of the 16-lane kernel.
    pub(super) fn lanes16(modulus: Modulus, forward: Roots<'_>, inverse: Roots<'_>) -> Self {
        Self::new(modulus, 4, 4, forward, inverse, TAIL16, tail16)
    }

    /// Tables of the 8-lane kernel.
    pub(super) fn lanes8(modulus: Modulus, forward: Roots<'_>, inverse: Roots<'_>) -> Self {
        Self::new(modulus, 3, 3, forward, inverse, TAIL8, tail8)
    }

    fn new(
        modulus: Modulus,
        tail_levels: u32,
        most_levels: u32,
        forward: Roots<'_>,
        inverse: Roots<'_>,
        words: usize,
        tail: fn(Roots<'_>, usize, &mut [u32]),
    ) -> Self {
        let degree = forward.0.len();
        let radices = plan(degree.trailing_zeros() - tail_levels, most_levels);
        let direction = |roots: Roots<'_>| {
            let pairs = degree >> (tail_levels + 1);
            let mut packed = AVec::from_iter(64, std::iter::repeat_n(0, words * pairs));
            for (pair, block) in packed.chunks_exact_mut(words).enumerate() {
                tail(roots, pair, block);
            }
            Direction {
                upper: upper(roots, &radices),
                tail: packed,
            }
        };
        let (forward, mut inverse) = (direction(forward), direction(inverse));
        let inv_degree = modulus.inv(degree as u32);
        let last = modulus.mul(inverse.upper[0][0], inv_degree);
        inverse.upper[0] = [last, modulus.shoup(last)];
        Self {
            radices,
            forward,
            inverse,
            scale: [inv_degree, modulus.shoup(inv_degree)],
        }
    }
}

/// Splits the upper levels into passes of at most `most` levels: as few passes as possible, the
/// smaller ones first. The vectors that the first passes bring together are far apart, at powers
/// of two, and fall into the same set of the first-level cache; fewer of them conflict less.
fn plan(levels: u32, most: u32) -> Vec<u32> {
    let passes = levels.div_ceil(most);
    (0..passes).map(|i| (levels + i) / passes).collect()
}

fn upper((roots, quotients): Roots<'_>, radices: &[u32]) -> Vec<Twiddle> {
    let mut out = Vec::new();
    let mut groups = 1;
    for &radix in radices {
        for block in 0..groups {
            for level in 0..radix {
                for i in 0..1 << level {
                    let index = ((groups + block) << level) + i;
                    out.push([roots[index], quotients[index]]);
                }
            }
        }
        groups <<= radix;
    }
    out
}

/// Whether a level of a forward pass of the upper levels takes its first operands to a lower
/// range, by `RANGE` (see `avx512.rs`), whether the pass is the first one, its radix and its level.
///
/// With `RANGE` 8, a level adds 2. The first pass starts below 1, and three levels without a
/// reduction reach 7. Later passes start below 6 and reach 8 in a level without. A level with a
/// reduction takes below 8 to below 4 and ends below 6; so does every pass. With a smaller
/// `RANGE` all levels but the very first reduce.
pub(super) const fn reduces(range: u32, first: bool, radix: u32, level: u32) -> bool {
    let levels = radix.trailing_zeros();
    if range < 8 {
        !(first && level == 0)
    } else if first {
        level + 1 == levels
    } else {
        (levels - level) % 2 == 1
    }
}

/// The four tail levels of pair `pair` of 16-lane vectors, last level first: for 16, 8, 4 and 2
/// groups, the twiddles and then the quotients, each list in bit-reversed order of groups. See
/// `avx512::tail` for the arrangement of lanes that asks for this.
fn tail16((roots, quotients): Roots<'_>, pair: usize, block: &mut [u32]) {
    let pairs = roots.len() / 32;
    let mut at = 0;
    for log in [4u32, 3, 2, 1] {
        let first = (pairs + pair) << log;
        for source in [roots, quotients] {
            for i in 0..1usize << log {
                block[at] = source[first + (i.reverse_bits() >> (usize::BITS - log))];
                at += 1;
            }
        }
    }
}

/// The three tail levels of pair `pair` of 8-lane vectors, first level first: for 2, 4 and 8
/// groups, 8 twiddles and then 8 quotients, one for each lane. See `avx2::tail_forward` for the
/// arrangement of lanes that asks for this.
fn tail8((roots, quotients): Roots<'_>, pair: usize, block: &mut [u32]) {
    const GROUPS: [[usize; 8]; 3] = [
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 1, 1, 2, 2, 3, 3],
        [0, 2, 1, 3, 4, 6, 5, 7],
    ];
    let pairs = roots.len() / 16;
    let mut at = 0;
    for (level, groups) in GROUPS.iter().enumerate() {
        let first = (pairs + pair) << (level + 1);
        for source in [roots, quotients] {
            for &group in groups {
                block[at] = source[first + group];
                at += 1;
            }
        }
    }
}
