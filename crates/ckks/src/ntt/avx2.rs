//! The transform on 8-lane vectors (AVX2).
//!
//! The structure, the ranges and the meaning of `RANGE` are those of the 16-lane kernel, see
//! `avx512.rs`. With 16 registers instead of 32, a pass does two or three levels. The last three
//! levels are inside pairs of vectors.

use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_blend_epi32, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_loadu_si256, _mm256_min_epu32, _mm256_mul_epu32, _mm256_mullo_epi32,
    _mm256_permute2x128_si256, _mm256_set1_epi32, _mm256_shuffle_epi32, _mm256_shuffle_ps,
    _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::packed::{Direction, Packed, TAIL8, Twiddle, reduces};
use crate::modulus::Modulus;

/// Residues per vector.
const LANES: usize = 8;

type Vector = [u32; LANES];

/// Two vectors, the first operands and the second operands of eight butterflies.
type Pair = (__m256i, __m256i);

/// Multiples of the prime in every lane.
#[derive(Clone, Copy)]
struct Primes {
    q: __m256i,
    q2: __m256i,
    /// Wraps, and is not used, when `RANGE < 4`.
    q4: __m256i,
}

impl Primes {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(modulus: Modulus) -> Self {
        let q = modulus.value();
        Self {
            q: _mm256_set1_epi32(q as i32),
            q2: _mm256_set1_epi32(q.wrapping_mul(2) as i32),
            q4: _mm256_set1_epi32(q.wrapping_mul(4) as i32),
        }
    }
}

/// A twiddle for each lane: the factor, and its quotient in the low half of each 64-bit lane, for
/// the even and for the odd lanes.
#[derive(Clone, Copy)]
struct Factor {
    w: __m256i,
    even: __m256i,
    odd: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(vector: &Vector) -> __m256i {
    // SAFETY: the reference is valid for a read of 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(vector: &mut Vector, value: __m256i) {
    // SAFETY: the reference is valid for a write of 32 bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(vector.as_mut_ptr().cast(), value) }
}

/// One factor for all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn splat(&[w, quotient]: &Twiddle) -> Factor {
    let quotient = _mm256_set1_epi32(quotient as i32);
    Factor {
        w: _mm256_set1_epi32(w as i32),
        even: quotient,
        odd: quotient,
    }
}

/// The factors of a tail level whose even and odd lanes have the same twiddles.
#[inline]
#[target_feature(enable = "avx2")]
fn factors_of_pairs(w: &Vector, quotients: &Vector) -> Factor {
    let quotients = load(quotients);
    Factor {
        w: load(w),
        even: quotients,
        odd: quotients,
    }
}

/// The factors of the tail level with a twiddle for each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn factors(w: &Vector, quotients: &Vector) -> Factor {
    let quotients = load(quotients);
    Factor {
        w: load(w),
        even: quotients,
        odd: _mm256_srli_epi64::<32>(quotients),
    }
}

/// `x * w mod q`, below 2, for any `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn mul(p: Primes, x: __m256i, f: Factor) -> __m256i {
    let even = _mm256_mul_epu32(x, f.even);
    let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(x), f.odd);
    // The high words of both products: those of the even lanes move down one lane.
    let even = _mm256_shuffle_epi32::<0b11_11_01_01>(even);
    let high = _mm256_blend_epi32::<0b1010_1010>(even, odd);
    _mm256_sub_epi32(_mm256_mullo_epi32(x, f.w), _mm256_mullo_epi32(high, p.q))
}

/// One conditional subtraction: from below `2m` to below `m`, where `m` is the bound as a vector.
/// A difference that wraps exceeds `x`.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce(x: __m256i, m: __m256i) -> __m256i {
    _mm256_min_epu32(x, _mm256_sub_epi32(x, m))
}

/// Forward butterfly `(x + wy, x - wy)`.
///
/// - `RANGE` 8: `x` below 8 when `REDUCE` (then taken below 4), below 6 otherwise; results 2 higher.
/// - `RANGE` 4: `x` below 4 when `REDUCE` (then taken below 2), below 2 otherwise; results 2 higher.
/// - `RANGE` 2: `x` below 2 when `REDUCE` (then taken below 1), below 1 otherwise, and the product
///   taken below 1; results 1 higher.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_butterfly<const RANGE: u32, const REDUCE: bool>(
    p: Primes,
    (x, y): Pair,
    f: Factor,
) -> Pair {
    let (bound, above) = match RANGE {
        8 => (p.q4, p.q2),
        4 => (p.q2, p.q2),
        _ => (p.q, p.q),
    };
    let x = if REDUCE { reduce(x, bound) } else { x };
    let product = mul(p, y, f);
    let product = if RANGE == 2 {
        reduce(product, p.q)
    } else {
        product
    };
    (
        _mm256_add_epi32(x, product),
        _mm256_sub_epi32(_mm256_add_epi32(x, above), product),
    )
}

/// Last forward butterfly: `x` below `RANGE`, results canonical.
#[inline]
#[target_feature(enable = "avx2")]
fn forward_last<const RANGE: u32>(p: Primes, (x, y): Pair, f: Factor) -> Pair {
    let x = if RANGE >= 8 { reduce(x, p.q4) } else { x };
    let x = if RANGE >= 4 { reduce(x, p.q2) } else { x };
    let x = reduce(x, p.q);
    let product = reduce(mul(p, y, f), p.q);
    let difference = _mm256_sub_epi32(x, product);
    (
        reduce(_mm256_add_epi32(x, product), p.q),
        // A negative difference wraps to at least 2^32 - q, above its sum with q.
        _mm256_min_epu32(difference, _mm256_add_epi32(difference, p.q)),
    )
}

/// Inverse butterfly `(x + y, (x - y) w)`.
///
/// `x` and `y` are below `BOUND`. The product is below 2 (1 with `RANGE` 2). The sum is below
/// `2 * BOUND`, and taken below `RANGE / 2` where that is less.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_butterfly<const RANGE: u32, const BOUND: u32>(
    p: Primes,
    (x, y): Pair,
    f: Factor,
) -> Pair {
    const { assert!(2 * BOUND <= RANGE) };
    let bound = match BOUND {
        1 => p.q,
        2 => p.q2,
        _ => p.q4,
    };
    let sum = _mm256_add_epi32(x, y);
    let sum = if 4 * BOUND > RANGE {
        reduce(sum, bound)
    } else {
        sum
    };
    let product = mul(p, _mm256_sub_epi32(_mm256_add_epi32(x, bound), y), f);
    (
        sum,
        if RANGE == 2 {
            reduce(product, p.q)
        } else {
            product
        },
    )
}

/// Inverse butterfly that takes and leaves values below `RANGE / 2`; with `PRODUCTS`, its operands
/// are products, below 2.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_middle<const RANGE: u32, const PRODUCTS: bool>(
    p: Primes,
    pair: Pair,
    f: Factor,
) -> Pair {
    match RANGE {
        2 => inverse_butterfly::<2, 1>(p, pair, f),
        4 => inverse_butterfly::<4, 2>(p, pair, f),
        _ if PRODUCTS => inverse_butterfly::<8, 2>(p, pair, f),
        _ => inverse_butterfly::<8, 4>(p, pair, f),
    }
}

/// Last inverse butterfly `((x + y)/N, (x - y) w)` on `x` and `y` below `RANGE / 2`, where the
/// table has the factor 1/N in `w`. Results canonical.
#[inline]
#[target_feature(enable = "avx2")]
fn inverse_last<const RANGE: u32>(p: Primes, (x, y): Pair, f: Factor, scale: Factor) -> Pair {
    let bound = match RANGE {
        8 => p.q4,
        4 => p.q2,
        _ => p.q,
    };
    let sum = mul(p, _mm256_add_epi32(x, y), scale);
    let product = mul(p, _mm256_sub_epi32(_mm256_add_epi32(x, bound), y), f);
    (reduce(sum, p.q), reduce(product, p.q))
}

/// The vectors of one block, whose first level (forward) or last level (inverse) has one group:
/// every `stride`-th one from number `at`.
#[derive(Clone, Copy)]
struct Block {
    at: usize,
    stride: usize,
}

/// Whether the butterfly at position `x` of an inverse pass has products of the level before as
/// operands.
const fn is_product(x: usize, span: usize) -> bool {
    x & (span / 2) != 0
}

macro_rules! passes {
    ($forward:ident, $inverse:ident, $radix:literal,
     $($level:literal: $(($x:literal, $y:literal, $twiddle:literal))*;)* =>
     $($span:literal: $(($ix:literal, $iy:literal, $itwiddle:literal))*;)*) => {
        /// Several levels of one block. Each line of the list is a level and its butterflies: two
        /// positions and the number of the twiddle.
        #[target_feature(enable = "avx2")]
        fn $forward<const RANGE: u32, const FIRST: bool>(
            p: &Primes,
            vectors: &mut [Vector],
            Block { at, stride }: Block,
            twiddles: &[Twiddle; $radix - 1],
        ) {
            let p = *p;
            let mut v = [p.q; $radix];
            for k in 0..$radix {
                v[k] = load(&vectors[at + k * stride]);
            }
            $($(
                let f = splat(&twiddles[$twiddle]);
                (v[$x], v[$y]) = if const { reduces(RANGE, FIRST, $radix, $level) } {
                    forward_butterfly::<RANGE, true>(p, (v[$x], v[$y]), f)
                } else {
                    forward_butterfly::<RANGE, false>(p, (v[$x], v[$y]), f)
                };
            )*)*
            for k in 0..$radix {
                store(&mut vectors[at + k * stride], v[k]);
            }
        }

        /// Several levels of one block. Input and output below `RANGE / 2`; or canonical output,
        /// scaled by `1/N`, of the last pass.
        ///
        /// The list has the span in place of the level. The bit of the level before tells apart
        /// sums and products (except in the first level, where both occur).
        #[target_feature(enable = "avx2")]
        fn $inverse<const RANGE: u32, const LAST: bool>(
            p: &Primes,
            vectors: &mut [Vector],
            Block { at, stride }: Block,
            twiddles: &[Twiddle; $radix - 1],
            scale: &Twiddle,
        ) {
            let p = *p;
            let mut v = [p.q; $radix];
            for k in 0..$radix {
                v[k] = load(&vectors[at + k * stride]);
            }
            $($(
                let f = splat(&twiddles[$itwiddle]);
                (v[$ix], v[$iy]) = if LAST && $span == $radix / 2 {
                    inverse_last::<RANGE>(p, (v[$ix], v[$iy]), f, splat(scale))
                } else if const { is_product($ix, $span) } {
                    inverse_middle::<RANGE, true>(p, (v[$ix], v[$iy]), f)
                } else {
                    inverse_middle::<RANGE, false>(p, (v[$ix], v[$iy]), f)
                };
            )*)*
            for k in 0..$radix {
                store(&mut vectors[at + k * stride], v[k]);
            }
        }
    };
}

passes!(forward4, inverse4, 4,
    0: (0, 2, 0) (1, 3, 0);
    1: (0, 1, 1) (2, 3, 2);
    =>
    1: (0, 1, 1) (2, 3, 2);
    2: (0, 2, 0) (1, 3, 0);
);

passes!(forward8, inverse8, 8,
    0: (0, 4, 0) (1, 5, 0) (2, 6, 0) (3, 7, 0);
    1: (0, 2, 1) (1, 3, 1) (4, 6, 2) (5, 7, 2);
    2: (0, 1, 3) (2, 3, 4) (4, 5, 5) (6, 7, 6);
    =>
    1: (0, 1, 3) (2, 3, 4) (4, 5, 5) (6, 7, 6);
    2: (0, 2, 1) (1, 3, 1) (4, 6, 2) (5, 7, 2);
    4: (0, 4, 0) (1, 5, 0) (2, 6, 0) (3, 7, 0);
);

/// Swaps the high half of the first vector with the low half of the second.
#[inline]
#[target_feature(enable = "avx2")]
fn swap_halves((a, b): Pair) -> Pair {
    (
        _mm256_permute2x128_si256::<0x20>(a, b),
        _mm256_permute2x128_si256::<0x31>(a, b),
    )
}

/// The same with 64-bit halves of each 128-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn swap_quadwords((a, b): Pair) -> Pair {
    (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
}

/// Even and odd lanes, in each 128-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn split((a, b): Pair) -> Pair {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    (
        _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b)),
        _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(a, b)),
    )
}

/// Undoes [`split`].
#[inline]
#[target_feature(enable = "avx2")]
fn interleave((a, b): Pair) -> Pair {
    (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
}

/// The last three levels.
///
/// Number the residues of a pair of vectors by bits `e3 e2 e1 e0`. The bit of the level tells the
/// vectors apart, the other three number the lanes:
///
/// | level | vector | lanes (high to low) | twiddles differ by | reached from above by |
/// |---|---|---|---|---|
/// | memory | e3 | e2 e1 e0 | | |
/// | span 4 | e2 | e3 e1 e0 | e3 | [`swap_halves`] |
/// | span 2 | e1 | e3 e2 e0 | e3 e2 | [`swap_quadwords`] |
/// | span 1 | e0 | e3 e1 e2 | e3 e2 e1 | [`split`] |
///
/// With `RANGE` 8 the input is below 6, as every pass leaves it, and the levels reach 8 and 6.
#[target_feature(enable = "avx2")]
fn tail_forward<const RANGE: u32>(p: Primes, pairs: &mut [[Vector; 2]], twiddles: &[[u32; TAIL8]]) {
    for ([a, b], block) in pairs.iter_mut().zip(twiddles) {
        let [w4, q4, w2, q2, w1, q1] = block.as_chunks::<LANES>().0 else {
            unreachable!()
        };
        let pair = swap_halves((load(a), load(b)));
        let f = factors_of_pairs(w4, q4);
        let pair = if RANGE == 8 {
            forward_butterfly::<RANGE, false>(p, pair, f)
        } else {
            forward_butterfly::<RANGE, true>(p, pair, f)
        };
        let pair = swap_quadwords(pair);
        let pair = forward_butterfly::<RANGE, true>(p, pair, factors_of_pairs(w2, q2));
        let pair = forward_last::<RANGE>(p, split(pair), factors(w1, q1));
        let (x, y) = swap_halves(swap_quadwords(interleave(pair)));
        store(a, x);
        store(b, y);
    }
}

/// The first three levels, with the arrangements of [`tail_forward`] in opposite order.
///
/// Input canonical, output below `RANGE / 2`.
#[target_feature(enable = "avx2")]
fn tail_inverse<const RANGE: u32>(p: Primes, pairs: &mut [[Vector; 2]], twiddles: &[[u32; TAIL8]]) {
    for ([a, b], block) in pairs.iter_mut().zip(twiddles) {
        let [w4, q4, w2, q2, w1, q1] = block.as_chunks::<LANES>().0 else {
            unreachable!()
        };
        let pair = split(swap_quadwords(swap_halves((load(a), load(b)))));
        let pair = interleave(inverse_butterfly::<RANGE, 1>(p, pair, factors(w1, q1)));
        // Everything is below 2 here.
        let pair = inverse_middle::<RANGE, true>(p, pair, factors_of_pairs(w2, q2));
        let pair = swap_quadwords(pair);
        let pair = inverse_middle::<RANGE, false>(p, pair, factors_of_pairs(w4, q4));
        let (x, y) = swap_halves(pair);
        store(a, x);
        store(b, y);
    }
}

/// Forward transform of canonical residues.
#[target_feature(enable = "avx2")]
pub(super) fn forward<const RANGE: u32>(modulus: Modulus, tables: &Packed, values: &mut [u32]) {
    let p = Primes::new(modulus);
    let Direction { upper, tail } = &tables.forward;
    let (vectors, _) = values.as_chunks_mut::<LANES>();
    let mut upper = upper.as_slice();
    let mut groups = 1;
    for &log_radix in &tables.radices {
        let radix = 1 << log_radix;
        let (twiddles, rest) = upper.split_at(groups * (radix - 1));
        let stride = vectors.len() / groups / radix;
        for (group, twiddles) in twiddles.chunks_exact(radix - 1).enumerate() {
            for j in 0..stride {
                let block = Block {
                    at: group * radix * stride + j,
                    stride,
                };
                match (twiddles.as_array::<7>(), twiddles.as_array::<3>()) {
                    (Some(t), _) if groups == 1 => forward8::<RANGE, true>(&p, vectors, block, t),
                    (Some(t), _) => forward8::<RANGE, false>(&p, vectors, block, t),
                    (_, Some(t)) if groups == 1 => forward4::<RANGE, true>(&p, vectors, block, t),
                    (_, Some(t)) => forward4::<RANGE, false>(&p, vectors, block, t),
                    _ => unreachable!("passes have radix 4 or 8"),
                }
            }
        }
        upper = rest;
        groups <<= log_radix;
    }
    tail_forward::<RANGE>(p, vectors.as_chunks_mut().0, tail.as_chunks().0);
}

/// Inverse transform of canonical residues, with the factor 1/N.
#[target_feature(enable = "avx2")]
pub(super) fn inverse<const RANGE: u32>(modulus: Modulus, tables: &Packed, values: &mut [u32]) {
    let p = Primes::new(modulus);
    let Direction { upper, tail } = &tables.inverse;
    let (vectors, _) = values.as_chunks_mut::<LANES>();
    tail_inverse::<RANGE>(p, vectors.as_chunks_mut().0, tail.as_chunks().0);
    let mut upper = upper.as_slice();
    let mut groups = vectors.len();
    for &log_radix in tables.radices.iter().rev() {
        let radix = 1 << log_radix;
        groups >>= log_radix;
        let (rest, twiddles) = upper.split_at(upper.len() - groups * (radix - 1));
        let stride = vectors.len() / groups / radix;
        for (group, twiddles) in twiddles.chunks_exact(radix - 1).enumerate() {
            for j in 0..stride {
                let block = Block {
                    at: group * radix * stride + j,
                    stride,
                };
                let s = &tables.scale;
                match (twiddles.as_array::<7>(), twiddles.as_array::<3>()) {
                    (Some(t), _) if groups == 1 => {
                        inverse8::<RANGE, true>(&p, vectors, block, t, s)
                    }
                    (Some(t), _) => inverse8::<RANGE, false>(&p, vectors, block, t, s),
                    (_, Some(t)) if groups == 1 => {
                        inverse4::<RANGE, true>(&p, vectors, block, t, s)
                    }
                    (_, Some(t)) => inverse4::<RANGE, false>(&p, vectors, block, t, s),
                    _ => unreachable!("passes have radix 4 or 8"),
                }
            }
        }
        upper = rest;
    }
}
