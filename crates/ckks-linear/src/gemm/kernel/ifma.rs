//! AVX-512 IFMA: eight 52-bit multiply-adds to an instruction.
//!
//! The instruction takes the low 52 bits of both factors; a negative weight w stands there as
//! w + 2^52, which is the same modulo 2^52.

use super::{ENTRY_BYTES, Entry, Lanes, PADDING, PANEL, Sums};
use std::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_castsi256_si512, _mm512_loadu_epi64, _mm512_madd52lo_epu64,
    _mm512_maskz_permutexvar_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_srai_epi64,
    _mm512_storeu_epi64, _mm512_xor_si512,
};

/// For each byte of 8 widened weights, which of the 24 stored bytes goes there: the upper three
/// bytes of each word, so that an arithmetic shift extends the sign.
const BYTES: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 64 {
        if i % 8 >= 5 {
            bytes[i] = (i / 8 * 3 + i % 8 - 5) as u8;
        }
        i += 1;
    }
    bytes
};
/// The bytes that are filled.
const FILLED: u64 = 0xe0e0_e0e0_e0e0_e0e0;

/// Sign-extends three-byte weights. `weights` has [`PADDING`] bytes more than the entries need.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512ifma,avx512vbmi")]
pub(super) fn widen(weights: &[u8], entries: &mut [Entry]) {
    assert!(weights.len() >= entries.len() * ENTRY_BYTES + PADDING);
    // SAFETY: 64 bytes.
    let places = unsafe { _mm512_loadu_epi64(BYTES.as_ptr().cast()) };
    for (i, entry) in entries.iter_mut().enumerate() {
        // SAFETY: 32 bytes from there are 24 of this entry and 8 of the next or the padding.
        let bytes = unsafe { _mm256_loadu_si256(weights.as_ptr().add(i * ENTRY_BYTES).cast()) };
        let high = _mm512_maskz_permutexvar_epi8(FILLED, places, _mm512_castsi256_si512(bytes));
        // SAFETY: an entry is 8 words.
        unsafe { _mm512_storeu_epi64(entry.0.as_mut_ptr(), _mm512_srai_epi64::<40>(high)) };
    }
}

/// Adds the products of some inputs to the sums, modulo 2^64 up to multiples of 2^52.
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512ifma,avx512vbmi")]
pub(super) fn accumulate(entries: &[Entry], columns: &[Lanes], groups: usize, sums: &mut Sums) {
    assert!(columns.len() >= entries.len() * groups);
    let mut group = 0;
    while group < groups {
        match groups - group {
            1 => tile::<1>(entries, columns, groups, group, sums),
            _ => tile::<2>(entries, columns, groups, group, sums),
        }
        group += 2;
    }
}

/// The products of `C` vectors of columns with the 8 outputs of the panel.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512ifma,avx512vbmi")]
fn tile<const C: usize>(
    entries: &[Entry],
    columns: &[Lanes],
    groups: usize,
    group: usize,
    sums: &mut Sums,
) {
    let mut total = [[_mm512_setzero_si512(); C]; PANEL];
    for (row, sums) in total.iter_mut().zip(sums.iter()) {
        for c in 0..C {
            row[c] = load(&sums[group + c]);
        }
    }
    for (entry, columns) in entries.iter().zip(columns.chunks_exact(groups)) {
        let mut column = [_mm512_setzero_si512(); C];
        for c in 0..C {
            column[c] = load(&columns[group + c]);
        }
        for (row, &weight) in total.iter_mut().zip(&entry.0) {
            let weight = _mm512_set1_epi64(weight);
            for c in 0..C {
                row[c] = _mm512_madd52lo_epu64(row[c], column[c], weight);
            }
        }
    }
    for (row, sums) in total.iter().zip(sums.iter_mut()) {
        for c in 0..C {
            // SAFETY: a vector of columns is 8 words.
            unsafe { _mm512_storeu_epi64(sums[group + c].0.as_mut_ptr().cast(), row[c]) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &Lanes) -> __m512i {
    // SAFETY: a vector of columns is 8 words.
    unsafe { _mm512_loadu_epi64(lanes.0.as_ptr().cast()) }
}

/// Chains of multiply-adds that do not wait for each other.
pub(super) const CHAINS: usize = 16;

/// Runs `rounds` multiply-adds in each of [`CHAINS`] registers and returns something that depends
/// on all of them.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn chains(rounds: usize, start: i64) -> u64 {
    let factor = _mm512_set1_epi64(start);
    let mut sums = [_mm512_setzero_si512(); CHAINS];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm512_madd52lo_epu64(*sum, factor, factor);
        }
    }
    let mut folded = Lanes([0; 8]);
    let total = sums.into_iter().fold(_mm512_setzero_si512(), |total, sum| {
        _mm512_xor_si512(total, sum)
    });
    // SAFETY: a vector of columns is 8 words.
    unsafe { _mm512_storeu_epi64(folded.0.as_mut_ptr().cast(), total) };
    folded.0.into_iter().fold(0, |a, b| a ^ b)
}
