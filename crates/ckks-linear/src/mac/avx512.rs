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
                4 => columns::<2, 4>(mac, &input, group, 0, output),
                3 => {
                    columns::<1, 2>(mac, &input, group, 0, output);
                    columns::<1, 1>(mac, &input, group, 2, output);
                }
                2 => columns::<1, 2>(mac, &input, group, 0, output),
                _ => columns::<1, 1>(mac, &input, group, 0, output),
            }
        }
    }
}

/// `C` columns of a group for every giant step, `G` giant steps at a time.
///
/// # Safety
/// As [`super::block`].
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn columns<const G: usize, const C: usize>(
    mac: &MacModulus,
    input: &BlockInput<'_>,
    group: Group<'_>,
    column: usize,
    output: BlockOutput<'_>,
) {
    let mut giant = 0;
    while giant < input.spans.len() {
        if G > 1 && input.alike[giant] >= G {
            // SAFETY: by the caller's promise.
            unsafe { tile::<G, C>(mac, input, group, giant, column, output) };
            giant += G;
        } else {
            // SAFETY: by the caller's promise.
            unsafe { tile::<1, C>(mac, input, group, giant, column, output) };
            giant += 1;
        }
    }
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

/// Sums of `C` neighbouring columns for `G` neighbouring giant steps that read the same babies.
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
    column: usize,
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
            if G > 1 && group.first == 0 {
                for plaintext in plaintexts {
                    prefetch(plaintext, PLAINTEXTS_AHEAD);
                }
            }
            let plain_even = plaintexts.map(|plaintext| load(plaintext));
            let plain_odd = plain_even.map(|p| _mm512_srli_epi64::<32>(p));
            let first = baby as usize * group.width + column;
            let values = &group.babies[first..first + C];
            if G > 1 && giant == 0 {
                // The next block's row follows this one, padded or not.
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
    let q = _mm512_set1_epi32(mac.modulus.value() as i32);
    let q_inv = _mm512_set1_epi32(mac.modulus.inverse_mod_word() as i32);
    // High halves of t - m·q: in -q..q for t < q·2^32.
    let reduce = |t| _mm512_sub_epi32(t, _mm512_mul_epu32(_mm512_mul_epu32(t, q_inv), q));
    let mut sums = even;
    for g in 0..G {
        for c in 0..C {
            let even_high = _mm512_srli_epi64::<32>(reduce(even[g][c]));
            let difference = _mm512_mask_blend_epi32(0xaaaa, even_high, reduce(odd[g][c]));
            sums[g][c] = _mm512_min_epu32(difference, _mm512_add_epi32(difference, q));
        }
    }
    for (g, row) in sums.iter().enumerate() {
        for (c, &sum) in row.iter().enumerate() {
            let at = output.place(input.columns, giant + g, group.first + column + c);
            // SAFETY: by the caller's promise.
            unsafe { output.sums.write_register(at, sum, output.stream) };
        }
    }
}

/// `lo + hi·(2^32 mod q)`: congruent to t and below q·2^32.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
fn fold(t: __m512i, radix: __m512i) -> __m512i {
    let low = _mm512_and_si512(t, _mm512_set1_epi64(0xffff_ffff));
    _mm512_add_epi64(low, _mm512_mul_epu32(_mm512_srli_epi64::<32>(t), radix))
}
