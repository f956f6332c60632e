//! Messages of fields and rows: what the three kinds share.

use super::super::GemmParameters;
use super::packing::{packed_len, unpack};
use crate::error::CkksError;
use crate::wire::header::header_bytes;
use crate::wire::reader::Reader;
use crate::wire::{Kind, WireError};

/// Rows of packed coefficients over received bytes.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) count: usize,
    pub(super) columns: usize,
    pub(super) bits: u32,
}

impl<'a> Rows<'a> {
    /// Takes the rest of a body as rows: its length must be theirs, and their padding zero.
    pub(super) fn new(
        mut body: Reader<'a>,
        count: u32,
        columns: u32,
        bits: u32,
    ) -> Result<Self, WireError> {
        let row_len = super::sizes::row_len(columns, bits);
        let count = body.check_count("rows", count, row_len)?;
        let bytes = body.bytes("rows", body.remaining())?;
        let rows = Self {
            bytes,
            count,
            columns: columns as usize,
            bits,
        };
        let used = (u64::from(columns) * u64::from(bits) % 8) as u32;
        if used != 0 {
            let last = bytes
                .iter()
                .skip(rows.row_len() - 1)
                .step_by(rows.row_len());
            if let Some(&byte) = last.into_iter().find(|&&byte| byte >> used != 0) {
                let field = "the padding at the end of a row";
                return Err(WireError::NotZero { field, byte });
            }
        }
        Ok(rows)
    }

    pub(super) fn row_len(&self) -> usize {
        packed_len(self.columns, self.bits)
    }

    pub(super) fn row(&self, row: usize) -> &'a [u8] {
        &self.bytes[row * self.row_len()..][..self.row_len()]
    }

    /// Coefficients of a row from `first_column` on.
    pub(super) fn unpack(&self, row: usize, first_column: usize, out: &mut [u64]) {
        let start = first_column * self.bits as usize;
        assert!(
            start.is_multiple_of(8),
            "a block of columns starts at a whole byte"
        );
        assert!(
            first_column + out.len() <= self.columns,
            "the columns are in the batch"
        );
        unpack(&self.row(row)[start / 8..], self.bits, out);
    }
}

/// A message under construction: header and fields written, rows zero.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Message {
    bytes: Vec<u8>,
    rows_at: usize,
    row_len: usize,
}

impl Message {
    /// Reserves a message of `len` bytes, whose fields follow the header.
    pub(super) fn new(
        parameters: &GemmParameters,
        kind: Kind,
        len: u64,
        fields: &[&[u8]],
        row_len: u64,
    ) -> Result<Self, WireError> {
        let refused = |reason: String| CkksError::Allocation { bytes: len, reason };
        let size = usize::try_from(len).map_err(|error| refused(error.to_string()))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(size)
            .map_err(|error| refused(error.to_string()))?;
        bytes.extend_from_slice(&header_bytes(parameters.digest(), kind, len));
        fields
            .iter()
            .for_each(|field| bytes.extend_from_slice(field));
        let rows_at = bytes.len();
        bytes.resize(size, 0);
        Ok(Self {
            bytes,
            rows_at,
            row_len: row_len as usize,
        })
    }

    pub(super) fn row_len(&self) -> usize {
        self.row_len
    }

    pub(super) fn rows_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.rows_at..]
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
