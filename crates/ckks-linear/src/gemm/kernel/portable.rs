//! The plain version that the vector ones are tested against.

use super::{ENTRY_BYTES, Entry, LANES, Lanes, Sums, WEIGHT_BYTES};

/// Sign-extends three-byte weights.
pub(super) fn widen(weights: &[u8], entries: &mut [Entry]) {
    for (bytes, entry) in weights.chunks_exact(ENTRY_BYTES).zip(entries) {
        for (bytes, weight) in bytes.as_chunks::<WEIGHT_BYTES>().0.iter().zip(&mut entry.0) {
            let [low, middle, high] = *bytes;
            *weight = i64::from(i32::from_le_bytes([0, low, middle, high]) >> 8);
        }
    }
}

/// Adds the products of some inputs to the sums, modulo 2^64.
pub(super) fn accumulate(entries: &[Entry], columns: &[Lanes], groups: usize, sums: &mut Sums) {
    for (entry, columns) in entries.iter().zip(columns.chunks_exact(groups)) {
        for (&weight, sums) in entry.0.iter().zip(sums.iter_mut()) {
            for (column, sum) in columns.iter().zip(sums) {
                for lane in 0..LANES {
                    sum.0[lane] =
                        sum.0[lane].wrapping_add(column.0[lane].wrapping_mul(weight as u64));
                }
            }
        }
    }
}
