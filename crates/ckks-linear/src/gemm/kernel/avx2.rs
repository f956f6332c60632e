//! AVX2: each 52-bit residue x is cut as `x = l + 2^32·h`, where l is its low word read as a
//! signed number, so that signed 32-bit products of both parts with the weight add up to the
//! product modulo 2^64.

use super::{Entry, Lanes, Sums};
use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_loadu_si256, _mm256_mul_epi32, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
};

/// Outputs of a register tile.
const ROWS: usize = 4;

/// Adds the products of some inputs to the sums, modulo 2^64.
#[target_feature(enable = "avx2")]
pub(super) fn accumulate(entries: &[Entry], columns: &[Lanes], groups: usize, sums: &mut Sums) {
    for first in (0..sums.len()).step_by(ROWS) {
        for group in 0..groups {
            for half in 0..2 {
                tile(entries, columns, groups, (first, group, half), sums);
            }
        }
    }
}

/// The products of half a vector of columns with `ROWS` outputs.
#[inline]
#[target_feature(enable = "avx2")]
fn tile(
    entries: &[Entry],
    columns: &[Lanes],
    groups: usize,
    (first, group, half): (usize, usize, usize),
    sums: &mut Sums,
) {
    let mut low = [_mm256_setzero_si256(); ROWS];
    let mut high = [_mm256_setzero_si256(); ROWS];
    let sign = _mm256_set1_epi64x(1 << 31);
    for (entry, columns) in entries.iter().zip(columns.chunks_exact(groups)) {
        let x = load(&columns[group], half);
        let h = _mm256_srli_epi64::<32>(_mm256_add_epi64(x, sign));
        for row in 0..ROWS {
            let weight = _mm256_set1_epi64x(entry.0[first + row]);
            low[row] = _mm256_add_epi64(low[row], _mm256_mul_epi32(weight, x));
            high[row] = _mm256_add_epi64(high[row], _mm256_mul_epi32(weight, h));
        }
    }
    for row in 0..ROWS {
        let sum = &mut sums[first + row][group];
        let new = _mm256_add_epi64(low[row], _mm256_slli_epi64::<32>(high[row]));
        let new = _mm256_add_epi64(load(sum, half), new);
        // SAFETY: half a vector of columns is 4 words.
        unsafe { _mm256_storeu_si256(sum.0[4 * half..].as_mut_ptr().cast(), new) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(lanes: &Lanes, half: usize) -> __m256i {
    // SAFETY: half a vector of columns is 4 words.
    unsafe { _mm256_loadu_si256(lanes.0[4 * half..4 * half + 4].as_ptr().cast()) }
}
