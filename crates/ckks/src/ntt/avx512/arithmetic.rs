//! Modular products and butterflies on 16 lanes.

use core::arch::x86_64::{
    __m512i, __mmask16, _mm512_add_epi32, _mm512_loadu_si512, _mm512_mask_shuffle_epi32,
    _mm512_min_epu32, _mm512_mul_epu32, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi32, _mm512_test_epi32_mask,
};

use crate::modulus::Modulus;
use crate::ntt::packed::Twiddle;

/// Residues per vector.
pub(super) const LANES: usize = 16;

pub(super) type Vector = [u32; LANES];

/// Multiples of the prime in every lane.
#[derive(Clone, Copy)]
pub(super) struct Primes {
    pub(super) q: __m512i,
    q2: __m512i,
    /// Wraps, and is not used, when `RANGE < 4`.
    q4: __m512i,
    /// The even lanes. Computed from the prime, so that the compiler does not see a constant and
    /// turn the masked move of [`mul`] into a slower permutation.
    even: __mmask16,
}

impl Primes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(modulus: Modulus) -> Self {
        let splat = |k: u32| _mm512_set1_epi32(modulus.value().wrapping_mul(k) as i32);
        let even = _mm512_test_epi32_mask(splat(1), _mm512_set1_epi64(0xffff_ffff));
        Self {
            q: splat(1),
            q2: splat(2),
            q4: splat(4),
            even,
        }
    }
}

/// A twiddle for each lane: the factor, and its quotient where the 32 × 32 → 64-bit products of
/// the even and of the odd lanes read it, the low half of each 64-bit lane.
#[derive(Clone, Copy)]
pub(super) struct Factor {
    pub(super) w: __m512i,
    pub(super) even: __m512i,
    pub(super) odd: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(vector: &Vector) -> __m512i {
    // SAFETY: the reference is valid for a read of 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store(vector: &mut Vector, value: __m512i) {
    // SAFETY: the reference is valid for a write of 64 bytes; the store needs no alignment.
    unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), value) }
}

/// One factor for all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn splat(&[w, quotient]: &Twiddle) -> Factor {
    let quotient = _mm512_set1_epi32(quotient as i32);
    Factor {
        w: _mm512_set1_epi32(w as i32),
        even: quotient,
        odd: quotient,
    }
}

/// `x * w mod q`, below 2, for any `x`.
///
/// With the quotient `w' = floor(w * 2^32 / q)` and `h = floor(x * w' / 2^32)`, the exact quotient
/// `x * w / q` is at least `h` and less than `h + 1 + x / 2^32`, so `x * w - h * q` is in `[0, 2q)`
/// and its low 32 bits suffice. That is four multiplications for 16 lanes, two of them for the
/// high words; a Montgomery product by a constant (G. Seiler, 2018) takes five.
///
/// `K` products advance together, here and in the butterflies: one butterfly is a chain of some 10
/// cycles (15 with a shuffle), and the schedulers look too few instructions ahead to overlap
/// enough of them.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mul<const K: usize>(p: Primes, x: [__m512i; K], f: [Factor; K]) -> [__m512i; K] {
    let mut high = x;
    let mut even = x;
    let mut low = x;
    for k in 0..K {
        even[k] = _mm512_mul_epu32(x[k], f[k].even);
    }
    for k in 0..K {
        high[k] = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x[k]), f[k].odd);
    }
    for k in 0..K {
        low[k] = _mm512_mullo_epi32(x[k], f[k].w);
    }
    // The high words of both products: those of the even lanes move down one lane.
    for k in 0..K {
        high[k] = _mm512_mask_shuffle_epi32::<0b11_11_01_01>(high[k], p.even, even[k]);
    }
    for high in &mut high {
        *high = _mm512_mullo_epi32(*high, p.q);
    }
    for k in 0..K {
        low[k] = _mm512_sub_epi32(low[k], high[k]);
    }
    low
}

/// One conditional subtraction: halves a range from below `2m` to below `m`, where `m` is the
/// bound as a vector. A difference that wraps exceeds `x`.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce(x: __m512i, m: __m512i) -> __m512i {
    _mm512_min_epu32(x, _mm512_sub_epi32(x, m))
}

/// `BOUND * q` in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiple<const BOUND: u32>(p: Primes) -> __m512i {
    match BOUND {
        1 => p.q,
        2 => p.q2,
        _ => p.q4,
    }
}

/// Forward butterflies `(x + wy, x - wy)`.
///
/// - `RANGE` 8: `x` below 8 when `REDUCE` (then taken below 4), below 6 otherwise; results 2 higher.
/// - `RANGE` 4: `x` below 4 when `REDUCE` (then taken below 2), below 2 otherwise; results 2 higher.
/// - `RANGE` 2: `x` below 2 when `REDUCE` (then taken below 1), below 1 otherwise, and the product
///   taken below 1; results 1 higher.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn forward_butterflies<const RANGE: u32, const REDUCE: bool, const K: usize>(
    p: Primes,
    mut x: [__m512i; K],
    y: [__m512i; K],
    f: [Factor; K],
) -> ([__m512i; K], [__m512i; K]) {
    let (bound, above) = match RANGE {
        8 => (p.q4, p.q2),
        4 => (p.q2, p.q2),
        _ => (p.q, p.q),
    };
    let mut product = mul(p, y, f);
    let mut difference = product;
    for k in 0..K {
        if REDUCE {
            x[k] = reduce(x[k], bound);
        }
        if RANGE == 2 {
            product[k] = reduce(product[k], p.q);
        }
        difference[k] = _mm512_sub_epi32(_mm512_add_epi32(x[k], above), product[k]);
        x[k] = _mm512_add_epi32(x[k], product[k]);
    }
    (x, difference)
}

/// Last forward butterflies: `x` below `RANGE`, results canonical.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn forward_last<const RANGE: u32, const K: usize>(
    p: Primes,
    mut x: [__m512i; K],
    y: [__m512i; K],
    f: [Factor; K],
) -> ([__m512i; K], [__m512i; K]) {
    let mut product = mul(p, y, f);
    for k in 0..K {
        if RANGE >= 8 {
            x[k] = reduce(x[k], p.q4);
        }
        if RANGE >= 4 {
            x[k] = reduce(x[k], p.q2);
        }
        x[k] = reduce(x[k], p.q);
        product[k] = reduce(product[k], p.q);
        let difference = _mm512_sub_epi32(x[k], product[k]);
        x[k] = reduce(_mm512_add_epi32(x[k], product[k]), p.q);
        // A negative difference wraps to at least 2^32 - q, above its sum with q.
        product[k] = _mm512_min_epu32(difference, _mm512_add_epi32(difference, p.q));
    }
    (x, product)
}

/// Inverse butterflies `(x + y, (x - y) w)`.
///
/// `x` and `y` are below `BOUND`. The product is below 2 (1 with `RANGE` 2). The sum is below
/// `2 * BOUND`, and taken below `RANGE / 2` where that is less.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn inverse_butterflies<const RANGE: u32, const BOUND: u32, const K: usize>(
    p: Primes,
    mut x: [__m512i; K],
    mut y: [__m512i; K],
    f: [Factor; K],
) -> ([__m512i; K], [__m512i; K]) {
    const { assert!(2 * BOUND <= RANGE) };
    let bound = multiple::<BOUND>(p);
    for k in 0..K {
        let sum = _mm512_add_epi32(x[k], y[k]);
        y[k] = _mm512_sub_epi32(_mm512_add_epi32(x[k], bound), y[k]);
        x[k] = if 4 * BOUND > RANGE {
            reduce(sum, bound)
        } else {
            sum
        };
    }
    let mut product = mul(p, y, f);
    if RANGE == 2 {
        for product in &mut product {
            *product = reduce(*product, p.q);
        }
    }
    (x, product)
}

/// Butterflies that take and leave values below `RANGE / 2`.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn inverse_middle<const RANGE: u32, const K: usize>(
    p: Primes,
    x: [__m512i; K],
    y: [__m512i; K],
    f: [Factor; K],
) -> ([__m512i; K], [__m512i; K]) {
    match RANGE {
        2 => inverse_butterflies::<2, 1, K>(p, x, y, f),
        4 => inverse_butterflies::<4, 2, K>(p, x, y, f),
        _ => inverse_butterflies::<8, 4, K>(p, x, y, f),
    }
}

/// Last inverse butterflies `((x + y)/N, (x - y) w)` on `x` and `y` below `RANGE / 2`, where the
/// table has the factor 1/N in `w`. Results canonical.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn inverse_last<const RANGE: u32, const K: usize>(
    p: Primes,
    mut x: [__m512i; K],
    mut y: [__m512i; K],
    f: [Factor; K],
    scale: Factor,
) -> ([__m512i; K], [__m512i; K]) {
    let bound = match RANGE {
        8 => p.q4,
        4 => p.q2,
        _ => p.q,
    };
    for k in 0..K {
        let sum = _mm512_add_epi32(x[k], y[k]);
        y[k] = _mm512_sub_epi32(_mm512_add_epi32(x[k], bound), y[k]);
        x[k] = sum;
    }
    x = mul(p, x, [scale; K]);
    y = mul(p, y, f);
    for k in 0..K {
        x[k] = reduce(x[k], p.q);
        y[k] = reduce(y[k], p.q);
    }
    (x, y)
}
