//! The transform on 16-lane vectors (AVX-512F).
//!
//! Same butterflies as the reference (the twist merged into the twiddles: P. Longa and M. Naehrig,
//! CANS 2016), with two changes. Residues stay unreduced between levels
//! (D. Harvey, J. Symb. Comp. 60, 2014) as far as 32 bits allow: the const parameter `RANGE` is 8,
//! 4 or 2 and promises `RANGE * q <= 2^32`. And each pass over the data does three or four levels,
//! so that a transform of 4,096 residues loads and stores every vector three times.
//!
//! Ranges are half-open and in multiples of `q`: "below 6" means in `[0, 6q)`. Shoup's product of
//! any 32-bit word by a twiddle is below 2.

mod arithmetic;
mod tail;

use self::arithmetic::{
    LANES, Primes, Vector, forward_butterflies, inverse_butterflies, inverse_last, inverse_middle,
    load, splat, store,
};
use super::packed::{Direction, Packed, Twiddle, reduces};
use crate::modulus::Modulus;
use crate::upcoming::Upcoming;

macro_rules! forward_pass {
    ($name:ident, $radix:literal,
     $($level:literal: $(($x:literal, $y:literal, $twiddle:literal))*;)*) => {
        /// Several levels of one block, whose first level has one group. Each line of the list
        /// is a level and some butterflies of it: two positions and the number of the twiddle.
        ///
        /// Works on every `stride`-th vector from number `at`. A call for each block, not inlined:
        /// in a loop the compiler would keep all twiddles as vectors, in memory.
        #[inline(never)]
        #[target_feature(enable = "avx512f")]
        fn $name<const RANGE: u32, const FIRST: bool>(
            p: &Primes,
            vectors: &mut [Vector],
            at: usize,
            stride: usize,
            twiddles: &[Twiddle; $radix - 1],
        ) {
            let p = *p;
            let mut v = [p.q; $radix];
            // One check for all positions. Sums do not overflow: slices of 64-byte elements are
            // shorter than 2^58.
            let len = vectors.len();
            assert!(stride <= len && at < len && at + ($radix - 1) * stride < len);
            for k in 0..$radix {
                // SAFETY: k <= radix - 1, so the index is at most the one checked above.
                v[k] = load(unsafe { vectors.get_unchecked(at + k * stride) });
            }
            $(
                let (x, y) = if const { reduces(RANGE, FIRST, $radix, $level) } {
                    forward_butterflies::<RANGE, true, _>(
                        p, [$(v[$x]),*], [$(v[$y]),*], [$(splat(&twiddles[$twiddle])),*],
                    )
                } else {
                    forward_butterflies::<RANGE, false, _>(
                        p, [$(v[$x]),*], [$(v[$y]),*], [$(splat(&twiddles[$twiddle])),*],
                    )
                };
                [$(v[$x]),*] = x;
                [$(v[$y]),*] = y;
            )*
            for k in 0..$radix {
                // SAFETY: as for the loads.
                store(unsafe { vectors.get_unchecked_mut(at + k * stride) }, v[k]);
            }
        }
    };
}

forward_pass!(forward8, 8,
    0: (0, 4, 0) (1, 5, 0) (2, 6, 0) (3, 7, 0);
    1: (0, 2, 1) (1, 3, 1) (4, 6, 2) (5, 7, 2);
    2: (0, 1, 3) (2, 3, 4) (4, 5, 5) (6, 7, 6);
);

forward_pass!(forward16, 16,
    0: (0, 8, 0) (1, 9, 0) (2, 10, 0) (3, 11, 0);
    0: (4, 12, 0) (5, 13, 0) (6, 14, 0) (7, 15, 0);
    1: (0, 4, 1) (1, 5, 1) (2, 6, 1) (3, 7, 1);
    1: (8, 12, 2) (9, 13, 2) (10, 14, 2) (11, 15, 2);
    2: (0, 2, 3) (1, 3, 3) (4, 6, 4) (5, 7, 4);
    2: (8, 10, 5) (9, 11, 5) (12, 14, 6) (13, 15, 6);
    3: (0, 1, 7) (2, 3, 8) (4, 5, 9) (6, 7, 10);
    3: (8, 9, 11) (10, 11, 12) (12, 13, 13) (14, 15, 14);
);

macro_rules! forward_levels {
    ($name:ident, $pass:ident, $radix:literal) => {
        /// One pass over all blocks, from `groups` groups. Returns the remaining twiddles.
        #[target_feature(enable = "avx512f")]
        fn $name<'a, const RANGE: u32>(
            p: &Primes,
            vectors: &mut [Vector],
            groups: usize,
            twiddles: &'a [Twiddle],
            upcoming: &mut Upcoming<'_>,
        ) -> &'a [Twiddle] {
            let (blocks, rest) = twiddles.split_at(groups * ($radix - 1));
            let blocks = blocks.as_chunks::<{ $radix - 1 }>().0;
            let stride = vectors.len() / groups / $radix;
            for (group, twiddles) in blocks.iter().enumerate() {
                for j in 0..stride {
                    let at = group * $radix * stride + j;
                    upcoming.step();
                    if groups == 1 {
                        $pass::<RANGE, true>(p, vectors, at, stride, twiddles);
                    } else {
                        $pass::<RANGE, false>(p, vectors, at, stride, twiddles);
                    }
                }
            }
            rest
        }
    };
}

forward_levels!(forward_pass8, forward8, 8);
forward_levels!(forward_pass16, forward16, 16);

/// Forward transform of canonical residues.
#[target_feature(enable = "avx512f")]
pub(super) fn forward<const RANGE: u32>(
    modulus: Modulus,
    tables: &Packed,
    values: &mut [u32],
    upcoming: &mut Upcoming<'_>,
) {
    let p = Primes::new(modulus);
    let Direction { upper, tail } = &tables.forward;
    let (vectors, _) = values.as_chunks_mut::<LANES>();
    let mut upper = upper.as_slice();
    let mut groups = 1;
    for &radix in &tables.radices {
        upper = match radix {
            3 => forward_pass8::<RANGE>(&p, vectors, groups, upper, upcoming),
            _ => forward_pass16::<RANGE>(&p, vectors, groups, upper, upcoming),
        };
        groups <<= radix;
    }
    tail::forward::<RANGE>(p, vectors.as_chunks_mut().0, tail.as_chunks().0, upcoming);
}

macro_rules! inverse_pass {
    ($name:ident, $radix:literal,
     $($span:literal, $products:literal: $(($x:literal, $y:literal, $twiddle:literal))*;)*) => {
        /// Several levels of one block, whose last level has one group. Input and output below
        /// `RANGE / 2`; or canonical output, scaled by `1/N`, of the last pass.
        ///
        /// Each line of the list is the span of a level, whether its operands are products of the
        /// level before, and some butterflies: two positions and the number of the twiddle. With
        /// `RANGE` 8, sums are below 4 and products below 2; the bit of the level before tells
        /// them apart. The level before the first one of a pass is in another position, so there
        /// both occur.
        #[inline(never)]
        #[target_feature(enable = "avx512f")]
        fn $name<const RANGE: u32, const LAST: bool>(
            p: &Primes,
            vectors: &mut [Vector],
            at: usize,
            stride: usize,
            twiddles: &[Twiddle; $radix - 1],
            scale: &Twiddle,
        ) {
            let p = *p;
            let scale = splat(scale);
            let mut v = [p.q; $radix];
            // One check for all positions. Sums do not overflow: slices of 64-byte elements are
            // shorter than 2^58.
            let len = vectors.len();
            assert!(stride <= len && at < len && at + ($radix - 1) * stride < len);
            for k in 0..$radix {
                // SAFETY: k <= radix - 1, so the index is at most the one checked above.
                v[k] = load(unsafe { vectors.get_unchecked(at + k * stride) });
            }
            $(
                let (x, y) = ([$(v[$x]),*], [$(v[$y]),*]);
                let f = [$(splat(&twiddles[$twiddle])),*];
                let (x, y) = if LAST && $span == $radix / 2 {
                    inverse_last::<RANGE, _>(p, x, y, f, scale)
                } else if RANGE == 8 && $products {
                    inverse_butterflies::<8, 2, _>(p, x, y, f)
                } else {
                    inverse_middle::<RANGE, _>(p, x, y, f)
                };
                [$(v[$x]),*] = x;
                [$(v[$y]),*] = y;
            )*
            for k in 0..$radix {
                // SAFETY: as for the loads.
                store(unsafe { vectors.get_unchecked_mut(at + k * stride) }, v[k]);
            }
        }
    };
}

inverse_pass!(inverse8, 8,
    1, false: (0, 1, 3) (2, 3, 4) (4, 5, 5) (6, 7, 6);
    2, false: (0, 2, 1) (4, 6, 2);
    2, true: (1, 3, 1) (5, 7, 2);
    4, false: (0, 4, 0) (1, 5, 0) (2, 6, 0) (3, 7, 0);
);

inverse_pass!(inverse16, 16,
    1, false: (0, 1, 7) (2, 3, 8) (4, 5, 9) (6, 7, 10);
    1, false: (8, 9, 11) (10, 11, 12) (12, 13, 13) (14, 15, 14);
    2, false: (0, 2, 3) (4, 6, 4) (8, 10, 5) (12, 14, 6);
    2, true: (1, 3, 3) (5, 7, 4) (9, 11, 5) (13, 15, 6);
    4, false: (0, 4, 1) (1, 5, 1) (8, 12, 2) (9, 13, 2);
    4, true: (2, 6, 1) (3, 7, 1) (10, 14, 2) (11, 15, 2);
    8, false: (0, 8, 0) (1, 9, 0) (2, 10, 0) (3, 11, 0);
    8, false: (4, 12, 0) (5, 13, 0) (6, 14, 0) (7, 15, 0);
);

macro_rules! inverse_levels {
    ($name:ident, $pass:ident, $radix:literal) => {
        /// One pass over all blocks, to `groups` groups. Returns the remaining twiddles.
        #[target_feature(enable = "avx512f")]
        fn $name<'a, const RANGE: u32>(
            p: &Primes,
            vectors: &mut [Vector],
            groups: usize,
            twiddles: &'a [Twiddle],
            scale: &Twiddle,
            upcoming: &mut Upcoming<'_>,
        ) -> &'a [Twiddle] {
            let (rest, blocks) = twiddles.split_at(twiddles.len() - groups * ($radix - 1));
            let blocks = blocks.as_chunks::<{ $radix - 1 }>().0;
            let stride = vectors.len() / groups / $radix;
            for (group, twiddles) in blocks.iter().enumerate() {
                for j in 0..stride {
                    let at = group * $radix * stride + j;
                    upcoming.step();
                    if groups == 1 {
                        $pass::<RANGE, true>(p, vectors, at, stride, twiddles, scale);
                    } else {
                        $pass::<RANGE, false>(p, vectors, at, stride, twiddles, scale);
                    }
                }
            }
            rest
        }
    };
}

inverse_levels!(inverse_pass8, inverse8, 8);
inverse_levels!(inverse_pass16, inverse16, 16);

/// Inverse transform of canonical residues, with the factor 1/N.
#[target_feature(enable = "avx512f")]
pub(super) fn inverse<const RANGE: u32>(
    modulus: Modulus,
    tables: &Packed,
    values: &mut [u32],
    upcoming: &mut Upcoming<'_>,
) {
    let p = Primes::new(modulus);
    let Direction { upper, tail } = &tables.inverse;
    let (vectors, _) = values.as_chunks_mut::<LANES>();
    tail::inverse::<RANGE>(p, vectors.as_chunks_mut().0, tail.as_chunks().0, upcoming);
    let mut upper = upper.as_slice();
    let mut groups = vectors.len();
    for &radix in tables.radices.iter().rev() {
        groups >>= radix;
        upper = match radix {
            3 => inverse_pass8::<RANGE>(&p, vectors, groups, upper, &tables.scale, upcoming),
            _ => inverse_pass16::<RANGE>(&p, vectors, groups, upper, &tables.scale, upcoming),
        };
    }
}
