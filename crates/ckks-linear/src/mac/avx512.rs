//! AVX-512: even and odd lanes are multiplied apart, 8 products to an instruction.

use super::{Block, BlockInput, MacModulus};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_loadu_epi32,
    _mm512_mask_blend_epi32, _mm512_min_epu32, _mm512_mul_epu32, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srli_epi64, _mm512_storeu_epi32,
    _mm512_sub_epi32,
};

#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn block(
    mac: &MacModulus,
    input: BlockInput<'_>,
    mut sink: impl FnMut(usize, usize, Block),
) {
    for (giant, span) in input.spans.iter().enumerate() {
        let (plaintexts, babies_of_terms) = input.terms(span);
        let mut column = 0;
        while column < input.columns {
            if column + 2 <= input.columns {
                let [a, b] = sums::<2>(mac, &input, plaintexts, babies_of_terms, column);
                sink(giant, column, a);
                sink(giant, column + 1, b);
                column += 2;
            } else {
                let [a] = sums::<1>(mac, &input, plaintexts, babies_of_terms, column);
                sink(giant, column, a);
                column += 1;
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn load(values: &Block) -> __m512i {
    // SAFETY: a block is 16 u32 values.
    unsafe { _mm512_loadu_epi32(values.as_ptr().cast()) }
}

/// Sums of `C` neighbouring columns.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn sums<const C: usize>(
    mac: &MacModulus,
    input: &BlockInput<'_>,
    plaintexts: &[Block],
    babies_of_terms: &[u32],
    column: usize,
) -> [Block; C] {
    let mut even = [_mm512_setzero_si512(); C];
    let mut odd = [_mm512_setzero_si512(); C];
    let radix = _mm512_set1_epi64(i64::from(mac.modulus.radix()));
    let chunks = plaintexts
        .chunks(mac.chunk)
        .zip(babies_of_terms.chunks(mac.chunk));
    for (i, (plaintexts, babies)) in chunks.enumerate() {
        if i > 0 {
            even = even.map(|t| fold(t, radix));
            odd = odd.map(|t| fold(t, radix));
        }
        for (plaintext, &baby) in plaintexts.iter().zip(babies) {
            let plain_even = load(plaintext);
            let plain_odd = _mm512_srli_epi64::<32>(plain_even);
            let first = baby as usize * input.columns + column;
            let values = &input.babies[first..first + C];
            for c in 0..C {
                let baby_even = load(&values[c]);
                let baby_odd = _mm512_srli_epi64::<32>(baby_even);
                even[c] = _mm512_add_epi64(even[c], _mm512_mul_epu32(plain_even, baby_even));
                odd[c] = _mm512_add_epi64(odd[c], _mm512_mul_epu32(plain_odd, baby_odd));
            }
        }
    }
    let mut out = [[0; 16]; C];
    let q = _mm512_set1_epi32(mac.modulus.value() as i32);
    let q_inv = _mm512_set1_epi32(mac.modulus.inverse_mod_word() as i32);
    for c in 0..C {
        // High halves of t - m·q: in -q..q for t < q·2^32.
        let reduce = |t: __m512i| {
            let t = fold(t, radix);
            _mm512_sub_epi32(t, _mm512_mul_epu32(_mm512_mul_epu32(t, q_inv), q))
        };
        let even_high = _mm512_srli_epi64::<32>(reduce(even[c]));
        let difference = _mm512_mask_blend_epi32(0xaaaa, even_high, reduce(odd[c]));
        let value = _mm512_min_epu32(difference, _mm512_add_epi32(difference, q));
        // SAFETY: a block is 16 u32 values.
        unsafe { _mm512_storeu_epi32(out[c].as_mut_ptr().cast(), value) };
    }
    out
}

/// `lo + hi·(2^32 mod q)`: congruent to t and below q·2^32.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn fold(t: __m512i, radix: __m512i) -> __m512i {
    let low = _mm512_and_si512(t, _mm512_set1_epi64(0xffff_ffff));
    _mm512_add_epi64(low, _mm512_mul_epu32(_mm512_srli_epi64::<32>(t), radix))
}
