//! A batch of encrypted columns.

use super::super::{Epoch, GemmParameters, LOG_Q};
use super::message::{Message, Rows};
use super::sizes::{MAX_COLUMNS, MAX_ROWS, UPLOAD_FIELDS, check_size, row_len, upload_len};
use crate::wire::{HEADER_LEN, Kind, WireError, header};
use std::fmt;

const _: () = assert!(UPLOAD_FIELDS + HEADER_LEN == 68);

/// A received upload, checked once: the halves `b_j` of a batch, over the message's bytes.
#[derive(Clone, Copy)]
pub struct UploadView<'a> {
    epoch: Epoch,
    rows: Rows<'a>,
}

impl fmt::Debug for UploadView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadView")
            .field("epoch", &self.epoch)
            .field("features", &self.features())
            .field("columns", &self.columns())
            .finish_non_exhaustive()
    }
}

impl<'a> UploadView<'a> {
    /// Checks header, sizes, length and padding. Allocates nothing. The epoch and the number of
    /// features are for the caller to compare with the layer's.
    ///
    /// # Errors
    /// [`WireError`] unless `bytes` are exactly one upload made under these parameters.
    pub fn parse(parameters: &GemmParameters, bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut body = header::open(parameters.digest(), Kind::GemmUpload, bytes)?;
        let epoch = Epoch(body.u64("epoch")?);
        let features = body.u32("number of features")?;
        let columns = body.u32("number of columns")?;
        check_size("features", features, MAX_ROWS)?;
        check_size("columns", columns, MAX_COLUMNS)?;
        let rows = Rows::new(body, features, columns, LOG_Q)?;
        Ok(Self { epoch, rows })
    }

    /// The masks that the client used.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Rows: features of each vector, d_in.
    pub fn features(&self) -> usize {
        self.rows.count
    }

    /// Columns: vectors of the batch.
    pub fn columns(&self) -> usize {
        self.rows.columns
    }

    /// The packed bytes of a row. Column `c`, even, starts at byte `13·c/2`.
    ///
    /// # Panics
    /// When there is no such row: a programming error, not an input error.
    pub fn row(&self, row: usize) -> &'a [u8] {
        self.rows.row(row)
    }

    /// Coefficients of a row from `first_column` on, an even number, as many as `out` takes; below
    /// `2^52`.
    ///
    /// # Panics
    /// When there is no such row or column, or `first_column` is odd: a programming error, not an
    /// input error.
    pub fn unpack(&self, row: usize, first_column: usize, out: &mut [u64]) {
        self.rows.unpack(row, first_column, out);
    }
}

/// An upload under construction; all coefficients are zero at first.
#[derive(Clone, PartialEq, Eq)]
pub struct UploadBuffer(Message);

impl fmt::Debug for UploadBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadBuffer").finish_non_exhaustive()
    }
}

impl UploadBuffer {
    /// Reserves an upload of `features` rows and `columns` columns.
    ///
    /// # Errors
    /// [`WireError::GemmSize`]; [`WireError::Ckks`] when there is not enough memory.
    pub fn new(
        parameters: &GemmParameters,
        epoch: Epoch,
        features: u32,
        columns: u32,
    ) -> Result<Self, WireError> {
        check_size("features", features, MAX_ROWS)?;
        check_size("columns", columns, MAX_COLUMNS)?;
        let fields: [&[u8]; 3] = [
            &epoch.0.to_le_bytes(),
            &features.to_le_bytes(),
            &columns.to_le_bytes(),
        ];
        let len = upload_len(features, columns);
        let row_len = row_len(columns, LOG_Q);
        Message::new(parameters, Kind::GemmUpload, len, &fields, row_len).map(Self)
    }

    /// Bytes of a row.
    pub fn row_len(&self) -> usize {
        self.0.row_len()
    }

    /// All rows, one after the other, to be written by [`pack`](super::pack).
    pub fn rows_mut(&mut self) -> &mut [u8] {
        self.0.rows_mut()
    }

    /// The message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}
