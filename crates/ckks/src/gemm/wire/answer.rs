//! Encrypted products of a batch.

use super::super::GemmParameters;
use super::message::{Message, Rows};
use super::sizes::{
    ANSWER_FIELDS, MAX_COLUMNS, MAX_ROWS, answer_len, check_bits, check_size, row_len,
};
use super::tile::{MessageTile, tiles};
use crate::wire::reader::require_zero;
use crate::wire::{HEADER_LEN, Kind, WireError, header};
use std::fmt;

const _: () = assert!(ANSWER_FIELDS + HEADER_LEN == 64);

/// A received answer, checked once: the halves `b'_k`, rounded to `bits` bits, over the message's
/// bytes.
#[derive(Clone, Copy)]
pub struct AnswerView<'a>(Rows<'a>);

impl fmt::Debug for AnswerView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerView")
            .field("outputs", &self.outputs())
            .field("columns", &self.columns())
            .field("bits", &self.bits())
            .finish_non_exhaustive()
    }
}

impl<'a> AnswerView<'a> {
    /// Checks header, sizes, length and padding. Allocates nothing. The sizes are for the caller to
    /// compare with what it asked for.
    ///
    /// # Errors
    /// [`WireError`] unless `bytes` are exactly one answer made under these parameters.
    pub fn parse(parameters: &GemmParameters, bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut body = header::open(parameters.digest(), Kind::GemmAnswer, bytes)?;
        let outputs = body.u32("number of outputs")?;
        let columns = body.u32("number of columns")?;
        let [bits, padding @ ..] = body.array::<4>("bits of a coefficient")?;
        require_zero("the padding after the bits of a coefficient", &padding)?;
        check_size("outputs", outputs, MAX_ROWS)?;
        check_size("columns", columns, MAX_COLUMNS)?;
        check_bits(bits.into())?;
        Rows::new(body, outputs, columns, bits.into()).map(Self)
    }

    /// Rows: outputs of the layer, d_out.
    pub fn outputs(&self) -> usize {
        self.0.count
    }

    /// Columns: vectors of the batch.
    pub fn columns(&self) -> usize {
        self.0.columns
    }

    /// Bits of a coefficient, 16 to 52.
    pub fn bits(&self) -> u32 {
        self.0.bits
    }

    /// Coefficients of a row from `first_column` on, a multiple of 8, as many as `out` takes; below
    /// `2^bits`.
    ///
    /// # Panics
    /// When there is no such row or column, or `first_column` is not at a whole byte: a programming
    /// error, not an input error.
    pub fn unpack(&self, row: usize, first_column: usize, out: &mut [u64]) {
        self.0.unpack(row, first_column, out);
    }
}

/// An answer under construction; all coefficients are zero at first.
#[derive(Clone, PartialEq, Eq)]
pub struct AnswerBuffer {
    message: Message,
    columns: usize,
    bits: u32,
}

impl fmt::Debug for AnswerBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBuffer")
            .field("columns", &self.columns)
            .field("bits", &self.bits)
            .finish_non_exhaustive()
    }
}

impl AnswerBuffer {
    /// Reserves an answer of `outputs` rows and `columns` columns with `bits` bits for a
    /// coefficient, 16 to 52.
    ///
    /// # Errors
    /// [`WireError::GemmSize`], [`WireError::GemmBits`]; [`WireError::Ckks`] when there is not
    /// enough memory.
    pub fn new(
        parameters: &GemmParameters,
        outputs: u32,
        columns: u32,
        bits: u32,
    ) -> Result<Self, WireError> {
        check_size("outputs", outputs, MAX_ROWS)?;
        check_size("columns", columns, MAX_COLUMNS)?;
        check_bits(bits)?;
        let fields: [&[u8]; 3] = [
            &outputs.to_le_bytes(),
            &columns.to_le_bytes(),
            // Bits fit one byte, so the padding behind them is zero.
            &bits.to_le_bytes(),
        ];
        let len = answer_len(outputs, columns, bits);
        let row_len = row_len(columns, bits);
        Ok(Self {
            message: Message::new(parameters, Kind::GemmAnswer, len, &fields, row_len)?,
            columns: columns as usize,
            bits,
        })
    }

    /// Bytes of a row.
    pub fn row_len(&self) -> usize {
        self.message.row_len()
    }

    /// All rows, one after the other, to be written by [`pack`](super::pack).
    pub fn rows_mut(&mut self) -> &mut [u8] {
        self.message.rows_mut()
    }

    /// Cuts the answer into tiles of `rows` × `columns` coefficients (less at the edges), tiles of
    /// one block of columns after each other. They share no byte, so that different threads may
    /// write them. `columns` is rounded up to a multiple of 8.
    pub fn tiles(&mut self, rows: usize, columns: usize) -> Vec<MessageTile<'_>> {
        let (total, bits, row_len) = (self.columns, self.bits, self.row_len());
        tiles(self.rows_mut(), (total, bits, row_len), rows, columns)
    }

    /// The message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.message.into_bytes()
    }
}
