//! Encrypted products of a batch.

use super::super::GemmParameters;
use super::message::{Message, Rows};
use super::packing::{pack, packed_len};
use super::sizes::{
    ANSWER_FIELDS, MAX_COLUMNS, MAX_ROWS, answer_len, check_bits, check_size, row_len,
};
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

    /// All rows, one after the other, to be written by [`pack`].
    pub fn rows_mut(&mut self) -> &mut [u8] {
        self.message.rows_mut()
    }

    /// Cuts the answer into tiles of `rows` × `columns` coefficients (less at the edges), tiles of
    /// one block of columns after each other. They share no byte, so that different threads may
    /// write them. `columns` is rounded up to a multiple of 8.
    pub fn tiles(&mut self, rows: usize, columns: usize) -> Vec<AnswerTile<'_>> {
        let (rows, width) = (rows.max(1), columns.max(1).next_multiple_of(8));
        let (total, bits, row_len) = (self.columns, self.bits, self.row_len());
        let bands = self.rows_mut().len().div_ceil(row_len * rows);
        let blocks = total.div_ceil(width);
        let mut tiles: Vec<_> = (0..blocks * bands)
            .map(|i| {
                let first_column = i / bands * width;
                AnswerTile {
                    first_row: i % bands * rows,
                    first_column,
                    columns: width.min(total - first_column),
                    bits,
                    rows: Vec::with_capacity(rows),
                }
            })
            .collect();
        for (row, bytes) in self.rows_mut().chunks_exact_mut(row_len).enumerate() {
            for (block, bytes) in bytes.chunks_mut(packed_len(width, bits)).enumerate() {
                tiles[block * bands + row / rows].rows.push(bytes);
            }
        }
        tiles
    }

    /// The message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.message.into_bytes()
    }
}

/// A rectangle of an answer under construction, to be written by one thread.
pub struct AnswerTile<'a> {
    first_row: usize,
    first_column: usize,
    columns: usize,
    bits: u32,
    rows: Vec<&'a mut [u8]>,
}

impl fmt::Debug for AnswerTile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerTile")
            .field("first_row", &self.first_row)
            .field("rows", &self.rows.len())
            .field("first_column", &self.first_column)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl AnswerTile<'_> {
    /// First row in the answer.
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Rows of the tile.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// First column in the answer, a multiple of 8.
    pub fn first_column(&self) -> usize {
        self.first_column
    }

    /// Columns of the tile.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Writes one row of the tile, counted from its first: coefficients below `2^bits`.
    ///
    /// # Panics
    /// When there is no such row, or `values` are not exactly the tile's columns: a programming
    /// error, not an input error.
    pub fn pack(&mut self, row: usize, values: &[u64]) {
        pack(values, self.bits, self.rows[row]);
    }
}
