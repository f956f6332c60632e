//! AVX2: two halves of a block, even and odd lanes multiplied apart, 4 products to an
//! instruction.

use super::{Block, BlockInput, BlockOutput, Group, MacModulus};
use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_loadu_si256, _mm256_min_epu32, _mm256_mul_epu32, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi32,
};

/// # Safety
/// As [`super::block`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn block(mac: &MacModulus, input: BlockInput<'_>, output: BlockOutput<'_>) {
    for group in input.groups() {
        for (giant, span) in input.spans.iter().enumerate() {
            let (plaintexts, babies_of_terms) = input.terms(span);
            for column in 0..group.width {
                let sum = sum(mac, plaintexts, babies_of_terms, group, column);
                let at = output.place(input.columns, giant, group.first + column);
                // SAFETY: by the caller's promise.
                unsafe { output.write(at, sum) };
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(values: &Block) -> [__m256i; 2] {
    // SAFETY: a block is 16 u32 values, each half 8.
    unsafe {
        [
            _mm256_loadu_si256(values[..8].as_ptr().cast()),
            _mm256_loadu_si256(values[8..].as_ptr().cast()),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum(
    mac: &MacModulus,
    plaintexts: &[Block],
    babies_of_terms: &[u32],
    group: Group<'_>,
    column: usize,
) -> Block {
    let mut even = [_mm256_setzero_si256(); 2];
    let mut odd = [_mm256_setzero_si256(); 2];
    let radix = _mm256_set1_epi64x(i64::from(mac.modulus.radix()));
    let chunks = plaintexts
        .chunks(mac.chunk)
        .zip(babies_of_terms.chunks(mac.chunk));
    for (i, (plaintexts, babies)) in chunks.enumerate() {
        if i > 0 {
            even = even.map(|t| fold(t, radix));
            odd = odd.map(|t| fold(t, radix));
        }
        for (plaintext, &baby) in plaintexts.iter().zip(babies) {
            let plain = load(plaintext);
            let values = load(&group.babies[baby as usize * group.width + column]);
            for h in 0..2 {
                let plain_odd = _mm256_srli_epi64::<32>(plain[h]);
                let value_odd = _mm256_srli_epi64::<32>(values[h]);
                even[h] = _mm256_add_epi64(even[h], _mm256_mul_epu32(plain[h], values[h]));
                odd[h] = _mm256_add_epi64(odd[h], _mm256_mul_epu32(plain_odd, value_odd));
            }
        }
    }
    let mut out = [0; 16];
    let q = _mm256_set1_epi32(mac.modulus.value() as i32);
    let q_inv = _mm256_set1_epi32(mac.modulus.inverse_mod_word() as i32);
    for h in 0..2 {
        // High halves of t - m·q: in -q..q for t < q·2^32.
        let reduce = |t: __m256i| {
            let t = fold(t, radix);
            _mm256_sub_epi32(t, _mm256_mul_epu32(_mm256_mul_epu32(t, q_inv), q))
        };
        let even_high = _mm256_srli_epi64::<32>(reduce(even[h]));
        let difference = _mm256_blend_epi32::<0b1010_1010>(even_high, reduce(odd[h]));
        let value = _mm256_min_epu32(difference, _mm256_add_epi32(difference, q));
        // SAFETY: each half of a block is 8 u32 values.
        unsafe { _mm256_storeu_si256(out[8 * h..].as_mut_ptr().cast(), value) };
    }
    out
}

/// `lo + hi·(2^32 mod q)`: congruent to t and below q·2^32.
#[inline]
#[target_feature(enable = "avx2")]
fn fold(t: __m256i, radix: __m256i) -> __m256i {
    let low = _mm256_and_si256(t, _mm256_set1_epi64x(0xffff_ffff));
    _mm256_add_epi64(low, _mm256_mul_epu32(_mm256_srli_epi64::<32>(t), radix))
}
