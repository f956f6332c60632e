//! AVX-512 versions of the kernels that key switching spends its time in. The compiler widens
//! 32-bit lanes to 64 bits around every product; here even and odd lanes are multiplied in place.

use crate::modulus::Modulus;
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_cmpgt_epu32_mask, _mm512_loadu_epi32,
    _mm512_mask_add_epi32, _mm512_mask_blend_epi32, _mm512_min_epu32, _mm512_mul_epu32,
    _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_srli_epi64, _mm512_storeu_epi32,
    _mm512_sub_epi32,
};

/// Lanes of a vector.
pub(super) const LANES: usize = 16;
type Lanes = [u32; LANES];

/// Constants of one modulus in all lanes.
#[derive(Clone, Copy)]
struct Vectors {
    q: __m512i,
    q_inv: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vectors(modulus: Modulus) -> Vectors {
    Vectors {
        q: _mm512_set1_epi32(modulus.value() as i32),
        q_inv: _mm512_set1_epi32(modulus.inverse_mod_word() as i32),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &Lanes) -> __m512i {
    // SAFETY: 16 u32 values are there.
    unsafe { _mm512_loadu_epi32(values.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(values: &mut Lanes, v: __m512i) {
    // SAFETY: 16 u32 values are there.
    unsafe { _mm512_storeu_epi32(values.as_mut_ptr().cast(), v) };
}

/// Odd lanes moved to even ones.
#[inline]
#[target_feature(enable = "avx512f")]
fn odd(v: __m512i) -> __m512i {
    _mm512_srli_epi64::<32>(v)
}

/// High words of `x·w`, w the same in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn mul_high(x: __m512i, w: __m512i) -> __m512i {
    let even_high = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, w));
    _mm512_mask_blend_epi32(0xaaaa, even_high, _mm512_mul_epu32(odd(x), w))
}

/// `v mod q` for v below 2q.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce_once(v: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu32(v, _mm512_sub_epi32(v, q))
}

/// `v mod q` for v in -q..q.
#[inline]
#[target_feature(enable = "avx512f")]
fn add_if_negative(v: __m512i, q: __m512i) -> __m512i {
    _mm512_min_epu32(v, _mm512_add_epi32(v, q))
}

/// Montgomery reduction of the 64-bit sums of even and odd lanes, each below q·2^32.
#[inline]
#[target_feature(enable = "avx512f")]
fn montgomery(even: __m512i, odd: __m512i, m: Vectors) -> __m512i {
    let even_mq = _mm512_mul_epu32(_mm512_mul_epu32(even, m.q_inv), m.q);
    let odd_mq = _mm512_mul_epu32(_mm512_mul_epu32(odd, m.q_inv), m.q);
    let even_high = _mm512_srli_epi64::<32>(_mm512_sub_epi32(even, even_mq));
    let high = _mm512_mask_blend_epi32(0xaaaa, even_high, _mm512_sub_epi32(odd, odd_mq));
    add_if_negative(high, m.q)
}

/// See [`super::key_product`]; two digits.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn key_product(
    modulus: Modulus,
    digits: &[u32],
    key: &[u32],
    out0: &mut [u32],
    out1: &mut [u32],
) {
    let m = vectors(modulus);
    let (d0, d1) = digits.as_chunks::<LANES>().0.split_at(out0.len() / LANES);
    let key = key.as_chunks::<LANES>().0.as_chunks::<4>().0;
    let (out0, out1) = (
        out0.as_chunks_mut::<LANES>().0,
        out1.as_chunks_mut::<LANES>().0,
    );
    for (((d0, d1), key), (out0, out1)) in d0.iter().zip(d1).zip(key).zip(out0.iter_mut().zip(out1))
    {
        let [k00, k01, k10, k11] = key;
        let (d0, d1) = (load(d0), load(d1));
        let (d0_odd, d1_odd) = (odd(d0), odd(d1));
        for (k0, k1, out) in [(load(k00), load(k10), out0), (load(k01), load(k11), out1)] {
            let even = _mm512_add_epi64(_mm512_mul_epu32(d0, k0), _mm512_mul_epu32(d1, k1));
            let odd = _mm512_add_epi64(
                _mm512_mul_epu32(d0_odd, odd(k0)),
                _mm512_mul_epu32(d1_odd, odd(k1)),
            );
            store(out, montgomery(even, odd, m));
        }
    }
}

/// See [`super::mul_assign`]; lengths a multiple of 16.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn mul_assign(modulus: Modulus, a: &mut [u32], b: &[u32]) {
    let m = vectors(modulus);
    let r2 = _mm512_set1_epi32(modulus.radix_squared() as i32);
    for (a, b) in a
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(b.as_chunks::<LANES>().0)
    {
        let (x, y) = (load(a), load(b));
        let product = montgomery(_mm512_mul_epu32(x, y), _mm512_mul_epu32(odd(x), odd(y)), m);
        let scaled = montgomery(
            _mm512_mul_epu32(product, r2),
            _mm512_mul_epu32(odd(product), r2),
            m,
        );
        store(a, scaled);
    }
}

/// See [`super::lift_centred`]; lengths a multiple of 16.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn lift_centred(from: Modulus, to: Modulus, input: &[u32], output: &mut [u32]) {
    let q = _mm512_set1_epi32(to.value() as i32);
    let half = _mm512_set1_epi32((from.value() / 2) as i32);
    let pairs = output
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(input.as_chunks::<LANES>().0);
    if from.value() / 2 < to.value() {
        // The centred value is within one modulus of its residue.
        let shift = _mm512_set1_epi32(to.value().wrapping_sub(from.value()) as i32);
        for (out, x) in pairs {
            let x = load(x);
            let negative = _mm512_cmpgt_epu32_mask(x, half);
            store(out, _mm512_mask_add_epi32(x, negative, x, shift));
        }
        return;
    }
    let one_shoup = _mm512_set1_epi32(to.shoup(1) as i32);
    let wrap = _mm512_set1_epi32(to.reduce_u64(u64::from(from.value())) as i32);
    for (out, x) in pairs {
        let x = load(x);
        let quotient = mul_high(x, one_shoup);
        let residue = reduce_once(_mm512_sub_epi32(x, _mm512_mullo_epi32(quotient, q)), q);
        let shifted = add_if_negative(_mm512_sub_epi32(residue, wrap), q);
        let negative = _mm512_cmpgt_epu32_mask(x, half);
        store(out, _mm512_mask_blend_epi32(negative, residue, shifted));
    }
}

/// See [`super::sub_scale`]; lengths a multiple of 16.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn sub_scale(modulus: Modulus, w: u32, x: &mut [u32], y: &[u32]) {
    let q = _mm512_set1_epi32(modulus.value() as i32);
    let w_shoup = _mm512_set1_epi32(modulus.shoup(w) as i32);
    let w = _mm512_set1_epi32(w as i32);
    for (x, y) in x
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(y.as_chunks::<LANES>().0)
    {
        let difference = _mm512_add_epi32(_mm512_sub_epi32(load(x), load(y)), q);
        let quotient = mul_high(difference, w_shoup);
        let product = _mm512_sub_epi32(
            _mm512_mullo_epi32(difference, w),
            _mm512_mullo_epi32(quotient, q),
        );
        store(x, reduce_once(product, q));
    }
}
