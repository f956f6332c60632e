//! Limits and lengths of messages.

use super::super::{GemmParameters, LOG_Q, MIN_BITS};
use crate::wire::{HEADER_LEN, WireError};

/// Most columns (vectors) of one batch.
pub const MAX_COLUMNS: u32 = 1 << 20;
/// Most rows of one message: features of an upload, outputs of an answer.
pub const MAX_ROWS: u32 = 262_144;

/// Bytes of the body before the rows of an upload: epoch, features, columns.
pub(super) const UPLOAD_FIELDS: usize = 8 + 4 + 4;
/// Outputs, columns, bits and padding.
pub(super) const ANSWER_FIELDS: usize = 4 + 4 + 4;
/// Epoch, outputs, bits and padding.
pub(super) const MASK_PRODUCTS_FIELDS: usize = 8 + 4 + 4;

/// Bytes of an upload of `features` rows and `columns` columns. Never overflows; sizes beyond
/// [`MAX_ROWS`] and [`MAX_COLUMNS`] have a length, but no message.
pub const fn upload_len(features: u32, columns: u32) -> u64 {
    message_len(UPLOAD_FIELDS, features, row_len(columns, LOG_Q))
}

/// Bytes of an answer of `outputs` rows and `columns` columns with `bits` bits for a coefficient.
/// Never overflows.
pub const fn answer_len(outputs: u32, columns: u32, bits: u32) -> u64 {
    message_len(ANSWER_FIELDS, outputs, row_len(columns, bits))
}

/// Bytes of the mask products of `outputs` rows with `bits` bits for a coefficient. Never
/// overflows.
pub fn mask_products_len(parameters: &GemmParameters, outputs: u32, bits: u32) -> u64 {
    let columns = parameters.ring_degree() as u32;
    message_len(MASK_PRODUCTS_FIELDS, outputs, row_len(columns, bits))
}

/// Bytes of one row.
pub(super) const fn row_len(columns: u32, bits: u32) -> u64 {
    (columns as u64 * bits as u64).div_ceil(8)
}

const fn message_len(fields: usize, rows: u32, row_len: u64) -> u64 {
    // A row is below 2^61 bytes; saturation is for hostile bits, which no message has.
    (rows as u64)
        .saturating_mul(row_len)
        .saturating_add((HEADER_LEN + fields) as u64)
}

/// Refuses sizes out of range.
pub(super) fn check_size(what: &'static str, value: u32, limit: u32) -> Result<(), WireError> {
    if value == 0 || value > limit {
        return Err(WireError::GemmSize {
            what,
            value: value.into(),
            limit: limit.into(),
        });
    }
    Ok(())
}

/// Refuses coefficient sizes out of range.
pub(super) fn check_bits(bits: u32) -> Result<(), WireError> {
    if !(MIN_BITS..=LOG_Q).contains(&bits) {
        return Err(WireError::GemmBits { bits });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_specification() {
        // 52 header, 16 fields; 3 columns are 156 bits, 20 bytes.
        assert_eq!(upload_len(5, 3), 52 + 16 + 5 * 20);
        assert_eq!(answer_len(5, 3, 24), 52 + 12 + 5 * 9);
        assert_eq!(answer_len(5, 3, 17), 52 + 12 + 5 * 7);
        let set = GemmParameters::named("gemm-2048").unwrap();
        assert_eq!(mask_products_len(&set, 3, 29), 52 + 16 + 3 * 7424);
    }

    #[test]
    fn lengths_of_hostile_sizes_do_not_overflow() {
        let exact = 68 + u128::from(u32::MAX) * (u128::from(u32::MAX) * 52).div_ceil(8);
        let expected = u64::try_from(exact).unwrap_or(u64::MAX);
        assert_eq!(upload_len(u32::MAX, u32::MAX), expected);
        assert_eq!(answer_len(u32::MAX, u32::MAX, u32::MAX), u64::MAX);
    }
}
