//! The last four levels, inside pairs of vectors.

use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_loadu_si256, _mm512_broadcast_i32x4,
    _mm512_broadcast_i64x4, _mm512_permutex2var_epi32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_shuffle_i64x2,
    _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::arithmetic::{
    Factor, LANES, Primes, Vector, forward_butterflies, forward_last, inverse_butterflies,
    inverse_middle, load, store,
};
use crate::ntt::packed::TAIL16;
use crate::upcoming::Upcoming;

/// `N` words of a tail block from word `AT`.
#[inline]
fn words<const AT: usize, const N: usize>(block: &[u32; TAIL16]) -> &[u32; N] {
    const { assert!(AT + N <= TAIL16) };
    block[AT..].first_chunk().expect("checked at compile time")
}

/// Two factors, lane `i` taking number `i mod 2`.
#[inline]
#[target_feature(enable = "avx512f")]
fn factors2(block: &[u32; TAIL16]) -> Factor {
    let &[w0, w1, q0, q1] = words::<56, 4>(block);
    let both = |a: u32, b: u32| _mm512_set1_epi64((u64::from(a) | u64::from(b) << 32) as i64);
    Factor {
        w: both(w0, w1),
        even: both(q0, q1),
        odd: _mm512_set1_epi32(q1 as i32),
    }
}

/// Four factors, lane `i` taking number `i mod 4`.
#[inline]
#[target_feature(enable = "avx512f")]
fn factors4(block: &[u32; TAIL16]) -> Factor {
    let quad = |four: &[u32; 4]| {
        // SAFETY: the reference is valid for a read of 16 bytes; the load needs no alignment.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(four.as_ptr().cast::<__m128i>()) })
    };
    Factor {
        w: quad(words::<48, 4>(block)),
        even: quad(words::<52, 4>(block)),
        odd: quad(words::<53, 4>(block)),
    }
}

/// Eight factors, lane `i` taking number `i mod 8`.
#[inline]
#[target_feature(enable = "avx512f")]
fn factors8(block: &[u32; TAIL16]) -> Factor {
    let half = |eight: &[u32; 8]| {
        // SAFETY: the reference is valid for a read of 32 bytes; the load needs no alignment.
        _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(eight.as_ptr().cast::<__m256i>()) })
    };
    Factor {
        w: half(words::<32, 8>(block)),
        even: half(words::<40, 8>(block)),
        odd: half(words::<41, 8>(block)),
    }
}

/// A factor of its own for each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn factors16(block: &[u32; TAIL16]) -> Factor {
    Factor {
        w: load(words::<0, 16>(block)),
        even: load(words::<16, 16>(block)),
        odd: load(words::<17, 16>(block)),
    }
}

// In the factors of 4, 8 and 16 lanes, the quotients of the odd lanes are those of all lanes, read
// from one word further.

/// Index vector of a two-source permutation: result lane `i` is lane `at[i] % 16` of the first
/// source, or of the second when `at[i] >= 16`.
#[inline]
#[target_feature(enable = "avx512f")]
fn index(at: [i32; LANES]) -> __m512i {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = at;
    _mm512_setr_epi32(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
}

/// The index vectors of both results.
#[inline]
#[target_feature(enable = "avx512f")]
fn indices([x, y]: [[i32; LANES]; 2]) -> [__m512i; 2] {
    [index(x), index(y)]
}

/// From memory to span 8.
///
/// The arrangements of the tail: number the residues of a pair of vectors by bits `e4 e3 e2 e1 e0`. A butterfly on two vectors
/// needs the bit of its level to tell the vectors apart; the other four bits number the lanes:
///
/// | level | vector | lanes (high to low) | twiddles differ by |
/// |---|---|---|---|
/// | memory | e4 | e3 e2 e1 e0 | |
/// | span 8 | e3 | e1 e0 e2 e4 | e4 |
/// | span 4 | e2 | e1 e0 e3 e4 | e4 e3 |
/// | span 2 | e1 | e0 e2 e3 e4 | e4 e3 e2 |
/// | span 1 | e0 | e1 e2 e3 e4 | e4 e3 e2 e1 |
///
/// The bits that twiddles differ by are the low bits of the lane, so that 2, 4 or 8 of them are
/// repeated over the vector by a broadcast from memory, without a shuffle.
const SPAN8: [[i32; LANES]; 2] = [
    [0, 16, 4, 20, 1, 17, 5, 21, 2, 18, 6, 22, 3, 19, 7, 23],
    [8, 24, 12, 28, 9, 25, 13, 29, 10, 26, 14, 30, 11, 27, 15, 31],
];
/// From span 4 to span 2.
const SPAN2: [[i32; LANES]; 2] = [
    [0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23],
    [8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31],
];
/// From span 1 to memory, and back.
const MEMORY: [[i32; LANES]; 2] = [
    [0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30],
    [1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31],
];

/// From span 8 to memory.
const MEMORY_FROM8: [[i32; LANES]; 2] = [
    [0, 4, 8, 12, 2, 6, 10, 14, 16, 20, 24, 28, 18, 22, 26, 30],
    [1, 5, 9, 13, 3, 7, 11, 15, 17, 21, 25, 29, 19, 23, 27, 31],
];

#[inline]
#[target_feature(enable = "avx512f")]
fn permute<const K: usize>(
    (mut a, mut b): ([__m512i; K], [__m512i; K]),
    [x, y]: [__m512i; 2],
) -> ([__m512i; K], [__m512i; K]) {
    for k in 0..K {
        (a[k], b[k]) = (
            _mm512_permutex2var_epi32(a[k], x, b[k]),
            _mm512_permutex2var_epi32(a[k], y, b[k]),
        );
    }
    (a, b)
}

/// Between the arrangements of span 8 and span 4, in both directions. Within 128-bit lanes, where
/// shuffles take one cycle instead of four or five.
#[inline]
#[target_feature(enable = "avx512f")]
fn swap_quadwords<const K: usize>(
    (mut a, mut b): ([__m512i; K], [__m512i; K]),
) -> ([__m512i; K], [__m512i; K]) {
    for k in 0..K {
        (a[k], b[k]) = (
            _mm512_unpacklo_epi64(a[k], b[k]),
            _mm512_unpackhi_epi64(a[k], b[k]),
        );
    }
    (a, b)
}

/// Between the arrangements of span 2 and span 1, in both directions.
#[inline]
#[target_feature(enable = "avx512f")]
fn swap_halves<const K: usize>(
    (mut a, mut b): ([__m512i; K], [__m512i; K]),
) -> ([__m512i; K], [__m512i; K]) {
    for k in 0..K {
        (a[k], b[k]) = (
            _mm512_shuffle_i64x2::<0b01_00_01_00>(a[k], b[k]),
            _mm512_shuffle_i64x2::<0b11_10_11_10>(a[k], b[k]),
        );
    }
    (a, b)
}

/// Pairs of vectors that the tail works on together.
const PAIRS: usize = 4;

/// Loads [`PAIRS`] pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_pairs(pairs: &[[Vector; 2]; PAIRS]) -> ([__m512i; PAIRS], [__m512i; PAIRS]) {
    let (mut a, mut b) = (
        [_mm512_setzero_si512(); PAIRS],
        [_mm512_setzero_si512(); PAIRS],
    );
    for k in 0..PAIRS {
        a[k] = load(&pairs[k][0]);
        b[k] = load(&pairs[k][1]);
    }
    (a, b)
}

/// Stores [`PAIRS`] pairs.
#[inline]
#[target_feature(enable = "avx512f")]
fn store_pairs(pairs: &mut [[Vector; 2]; PAIRS], (a, b): ([__m512i; PAIRS], [__m512i; PAIRS])) {
    for k in 0..PAIRS {
        store(&mut pairs[k][0], a[k]);
        store(&mut pairs[k][1], b[k]);
    }
}

/// The factors of [`PAIRS`] pairs.
macro_rules! factors {
    ($load:ident, $blocks:expr) => {{
        let mut all = [$load(&$blocks[0]); PAIRS];
        for k in 1..PAIRS {
            all[k] = $load(&$blocks[k]);
        }
        all
    }};
}

/// The last four levels.
///
/// With `RANGE` 8 the input is below 6, as every pass leaves it, and the levels reach 8, 6 and 8.
#[target_feature(enable = "avx512f")]
pub(super) fn forward<const RANGE: u32>(
    p: Primes,
    pairs: &mut [[Vector; 2]],
    twiddles: &[[u32; TAIL16]],
    upcoming: &mut Upcoming<'_>,
) {
    let (span8, span2, memory) = (indices(SPAN8), indices(SPAN2), indices(MEMORY));
    let blocks = twiddles.as_chunks::<PAIRS>().0;
    for (pairs, blocks) in pairs.as_chunks_mut::<PAIRS>().0.iter_mut().zip(blocks) {
        upcoming.step();
        let (x, y) = permute(load_pairs(pairs), span8);
        let f = factors!(factors2, blocks);
        let v = if RANGE == 8 {
            forward_butterflies::<RANGE, false, _>(p, x, y, f)
        } else {
            forward_butterflies::<RANGE, true, _>(p, x, y, f)
        };
        let (x, y) = swap_quadwords(v);
        let v = forward_butterflies::<RANGE, true, _>(p, x, y, factors!(factors4, blocks));
        let (x, y) = permute(v, span2);
        let f = factors!(factors8, blocks);
        let v = if RANGE == 8 {
            forward_butterflies::<RANGE, false, _>(p, x, y, f)
        } else {
            forward_butterflies::<RANGE, true, _>(p, x, y, f)
        };
        let (x, y) = swap_halves(v);
        let v = forward_last::<RANGE, _>(p, x, y, factors!(factors16, blocks));
        store_pairs(pairs, permute(v, memory));
    }
}

/// The first four levels, with the arrangements of [`forward`] in opposite order (the
/// permutations next to span 1 are their own inverses).
///
/// Input canonical, output below `RANGE / 2`.
#[target_feature(enable = "avx512f")]
pub(super) fn inverse<const RANGE: u32>(
    p: Primes,
    pairs: &mut [[Vector; 2]],
    twiddles: &[[u32; TAIL16]],
    upcoming: &mut Upcoming<'_>,
) {
    let (span1, memory) = (indices(MEMORY), indices(MEMORY_FROM8));
    let blocks = twiddles.as_chunks::<PAIRS>().0;
    for (pairs, blocks) in pairs.as_chunks_mut::<PAIRS>().0.iter_mut().zip(blocks) {
        upcoming.step();
        let (x, y) = permute(load_pairs(pairs), span1);
        let v = inverse_butterflies::<RANGE, 1, _>(p, x, y, factors!(factors16, blocks));
        let (x, y) = swap_halves(v);
        let f = factors!(factors8, blocks);
        let (mut x, mut y) = if RANGE == 8 {
            inverse_butterflies::<8, 2, _>(p, x, y, f)
        } else {
            inverse_middle::<RANGE, _>(p, x, y, f)
        };
        // From span 2 to span 4.
        for k in 0..PAIRS {
            (x[k], y[k]) = (
                _mm512_shuffle_i32x4::<0b10_00_10_00>(x[k], y[k]),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(x[k], y[k]),
            );
        }
        let v = inverse_middle::<RANGE, _>(p, x, y, factors!(factors4, blocks));
        let (x, y) = swap_quadwords(v);
        let v = inverse_middle::<RANGE, _>(p, x, y, factors!(factors2, blocks));
        store_pairs(pairs, permute(v, memory));
    }
}
