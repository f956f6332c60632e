//! AVX-512: even and odd lanes are multiplied apart, 8 products to an instruction.
//!
//! A tile of giant steps and columns is summed in registers, so that each load and shift serves
//! several products.

use super::{Block, BlockInput, BlockOutput, Group, MacModulus};
use std::arch::x86_64::{
    __m512i, _MM_HINT_T1, _mm_prefetch, _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512,
    _mm512_loadu_epi32, _mm512_mask_blend_epi32, _mm512_min_epu32, _mm512_mul_epu32,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srli_epi64,
    _mm512_sub_epi32,
};

/// # Safety
/// As [`super::block`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) unsafe fn block(mac: &MacModulus, input: BlockInput<'_>, output: BlockOutput<'_>) {
    for group in input.groups() {
        // SAFETY: by the caller's promise.
        unsafe {
            match group.width {
                4 => wide::<4>(mac, &input, group, output),
                3 => wide::<3>(mac, &input, group, output),
                2 => narrow::<2>(mac, &input, group, output),
                _ => narrow::<1>(mac, &input, group, output),
            }
        }
    }
}

/// A group of `C` columns, two giant steps at a time where they read the same babies.
///
/// # Safety
/// As [`super::block`].
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn wide<const C: usize>(
    mac: &MacModulus,
    input: &BlockInput<'_>,
    group: Group<'_>,
    output: BlockOutput<'_>,
) {
    let mut giant = 0;
    while giant < input.spans.len() {
        if input.alike[giant] >= 2 {
            // SAFETY: by the caller's promise.
            unsafe { tile::<2, C>(mac, input, group, giant, output) };
            giant += 2;
        } else {
            // SAFETY: by the caller's promise.
            unsafe { tile::<1, C>(mac, input, group, giant, output) };
            giant += 1;
        }
    }
}

/// A group of `C` columns, one giant step at a time: with so few columns the plaintexts' way from
/// memory is the limit, and one stream is read fastest.
///
/// # Safety
/// As [`super::block`].
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn narrow<const C: usize>(
    mac: &MacModulus,
    input: &BlockInput<'_>,
    group: Group<'_>,
    output: BlockOutput<'_>,
) {
    for (giant, span) in input.spans.iter().enumerate() {
        let (plaintexts, babies_of_terms) = input.terms(span);
        let sums = row::<C>(mac, group, plaintexts, babies_of_terms);
        for (c, &sum) in sums.iter().enumerate() {
            let at = output.place(input.columns, giant, group.first + c);
            // SAFETY: by the caller's promise.
            unsafe { output.sums.write_register(at, sum, false) };
        }
    }
}

/// Sums of a group of `C` columns for one giant step.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn row<const C: usize>(
    mac: &MacModulus,
    group: Group<'_>,
    plaintexts: &[Block],
    babies_of_terms: &[u32],
) -> [__m512i; C] {
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
            let first = baby as usize * C;
            let values = &group.babies[first..first + C];
            for c in 0..C {
                let baby_even = load(&values[c]);
                let baby_odd = _mm512_srli_epi64::<32>(baby_even);
                even[c] = _mm512_add_epi64(even[c], _mm512_mul_epu32(plain_even, baby_even));
                odd[c] = _mm512_add_epi64(odd[c], _mm512_mul_epu32(plain_odd, baby_odd));
            }
        }
    }
    let mut sums = even;
    for c in 0..C {
        sums[c] = reduce(mac, fold(even[c], radix), fold(odd[c], radix));
    }
    sums
}

#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn load(values: &Block) -> __m512i {
    // SAFETY: a block is 16 u32 values.
    unsafe { _mm512_loadu_epi32(values.as_ptr().cast()) }
}

/// How far ahead plaintexts are asked for, in blocks.
const PLAINTEXTS_AHEAD: usize = 256;

/// Asks for what lies `ahead` blocks behind `block` to be brought into the second-level cache.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn prefetch(block: &Block, ahead: usize) {
    _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(block).wrapping_add(ahead).cast());
}

/// A group of `C` columns for `G` neighbouring giant steps that read the same babies.
///
/// # Safety
/// As [`super::block`].
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn tile<const G: usize, const C: usize>(
    mac: &MacModulus,
    input: &BlockInput<'_>,
    group: Group<'_>,
    giant: usize,
    output: BlockOutput<'_>,
) {
    let mut even = [[_mm512_setzero_si512(); C]; G];
    let mut odd = [[_mm512_setzero_si512(); C]; G];
    let radix = _mm512_set1_epi64(i64::from(mac.modulus.radix()));
    let (_, babies_of_terms) = input.terms(&input.spans[giant]);
    let terms = babies_of_terms.len();
    let plaintexts: [&[Block]; G] =
        std::array::from_fn(|g| &input.terms(&input.spans[giant + g]).0[..terms]);
    let mut folded = 0;
    loop {
        let end = terms.min(folded + mac.chunk);
        for (term, &baby) in (folded..end).zip(&babies_of_terms[folded..end]) {
            // SAFETY: each of the slices has `terms` plaintexts.
            let plaintexts = plaintexts.map(|row| unsafe { row.get_unchecked(term) });
            // Several streams that take turns are not foreseen by the hardware.
            if group.first == 0 {
                for plaintext in plaintexts {
                    prefetch(plaintext, PLAINTEXTS_AHEAD);
                }
            }
            let plain_even = plaintexts.map(|plaintext| load(plaintext));
            let plain_odd = plain_even.map(|p| _mm512_srli_epi64::<32>(p));
            let first = baby as usize * C;
            let values = &group.babies[first..first + C];
            if giant == 0 && input.rows_follow {
                for value in values {
                    prefetch(value, input.babies.len() + 1);
                }
            }
            for c in 0..C {
                let baby_even = load(&values[c]);
                let baby_odd = _mm512_srli_epi64::<32>(baby_even);
                for g in 0..G {
                    let products = _mm512_mul_epu32(plain_even[g], baby_even);
                    even[g][c] = _mm512_add_epi64(even[g][c], products);
                    let products = _mm512_mul_epu32(plain_odd[g], baby_odd);
                    odd[g][c] = _mm512_add_epi64(odd[g][c], products);
                }
            }
        }
        for g in 0..G {
            for c in 0..C {
                even[g][c] = fold(even[g][c], radix);
                odd[g][c] = fold(odd[g][c], radix);
            }
        }
        folded = end;
        if folded == terms {
            break;
        }
    }
    let mut sums = even;
    for g in 0..G {
        for c in 0..C {
            sums[g][c] = reduce(mac, even[g][c], odd[g][c]);
        }
    }
    for (g, row) in sums.iter().enumerate() {
        for (c, &sum) in row.iter().enumerate() {
            let at = output.place(input.columns, giant + g, group.first + c);
            // SAFETY: by the caller's promise.
            unsafe { output.sums.write_register(at, sum, output.stream) };
        }
    }
}

/// One Montgomery reduction of 16 folded sums, canonical.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn reduce(mac: &MacModulus, even: __m512i, odd: __m512i) -> __m512i {
    let q = _mm512_set1_epi32(mac.modulus.value() as i32);
    let q_inv = _mm512_set1_epi32(mac.modulus.inverse_mod_word() as i32);
    // High halves of t - m·q: in -q..q for t < q·2^32.
    let high = |t| _mm512_sub_epi32(t, _mm512_mul_epu32(_mm512_mul_epu32(t, q_inv), q));
    let difference =
        _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64::<32>(high(even)), high(odd));
    _mm512_min_epu32(difference, _mm512_add_epi32(difference, q))
}

/// `lo + hi·(2^32 mod q)`: congruent to t and below q·2^32.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn fold(t: __m512i, radix: __m512i) -> __m512i {
    let low = _mm512_and_si512(t, _mm512_set1_epi64(0xffff_ffff));
    _mm512_add_epi64(low, _mm512_mul_epu32(_mm512_srli_epi64::<32>(t), radix))
}
