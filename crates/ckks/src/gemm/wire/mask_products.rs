//! W·A of a layer.

use super::super::{Epoch, GemmParameters};
use super::message::{Message, Rows};
use super::sizes::{
    MASK_PRODUCTS_FIELDS, MAX_ROWS, check_bits, check_size, mask_products_len, row_len,
};
use super::tile::{MessageTile, tiles};
use crate::wire::reader::require_zero;
use crate::wire::{HEADER_LEN, Kind, WireError, header};
use std::fmt;

const _: () = assert!(MASK_PRODUCTS_FIELDS + HEADER_LEN == 68);

/// Received mask products, checked once: `(W·A)_k` rounded to `bits` bits, over the message's
/// bytes.
#[derive(Clone, Copy)]
pub struct MaskProductsView<'a> {
    epoch: Epoch,
    rows: Rows<'a>,
}

impl fmt::Debug for MaskProductsView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskProductsView")
            .field("epoch", &self.epoch)
            .field("outputs", &self.outputs())
            .field("bits", &self.bits())
            .finish_non_exhaustive()
    }
}

impl<'a> MaskProductsView<'a> {
    /// Checks header, sizes and length. Allocates nothing. Epoch and sizes are for the caller to
    /// compare with what it asked for.
    ///
    /// # Errors
    /// [`WireError`] unless `bytes` are exactly one message made under these parameters.
    pub fn parse(parameters: &GemmParameters, bytes: &'a [u8]) -> Result<Self, WireError> {
        let mut body = header::open(parameters.digest(), Kind::GemmMaskProducts, bytes)?;
        let epoch = Epoch(body.u64("epoch")?);
        let outputs = body.u32("number of outputs")?;
        let [bits, padding @ ..] = body.array::<4>("bits of a coefficient")?;
        require_zero("the padding after the bits of a coefficient", &padding)?;
        check_size("outputs", outputs, MAX_ROWS)?;
        check_bits(bits.into())?;
        let rows = Rows::new(body, outputs, parameters.ring_degree() as u32, bits.into())?;
        Ok(Self { epoch, rows })
    }

    /// The masks that were multiplied.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Rows: outputs of the layer, d_out.
    pub fn outputs(&self) -> usize {
        self.rows.count
    }

    /// Bits of a coefficient, 16 to 52.
    pub fn bits(&self) -> u32 {
        self.rows.bits
    }

    /// The first coefficients of a row, as many as `out` takes, at most N; below `2^bits`.
    ///
    /// # Panics
    /// When there is no such row, or `out` is longer than N: a programming error, not an input
    /// error.
    pub fn unpack(&self, row: usize, out: &mut [u64]) {
        self.rows.unpack(row, 0, out);
    }
}

/// Mask products under construction; all coefficients are zero at first.
#[derive(Clone, PartialEq, Eq)]
pub struct MaskProductsBuffer {
    message: Message,
    degree: usize,
    bits: u32,
}

impl fmt::Debug for MaskProductsBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskProductsBuffer").finish_non_exhaustive()
    }
}

impl MaskProductsBuffer {
    /// Reserves a message of `outputs` rows of N coefficients with `bits` bits each, 16 to 52.
    ///
    /// # Errors
    /// [`WireError::GemmSize`], [`WireError::GemmBits`]; [`WireError::Ckks`] when there is not
    /// enough memory.
    pub fn new(
        parameters: &GemmParameters,
        epoch: Epoch,
        outputs: u32,
        bits: u32,
    ) -> Result<Self, WireError> {
        check_size("outputs", outputs, MAX_ROWS)?;
        check_bits(bits)?;
        let fields: [&[u8]; 3] = [
            &epoch.0.to_le_bytes(),
            &outputs.to_le_bytes(),
            // Bits fit one byte, so the padding behind them is zero.
            &bits.to_le_bytes(),
        ];
        let len = mask_products_len(parameters, outputs, bits);
        let row_len = row_len(parameters.ring_degree() as u32, bits);
        Ok(Self {
            message: Message::new(parameters, Kind::GemmMaskProducts, len, &fields, row_len)?,
            degree: parameters.ring_degree(),
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

    /// Cuts the message into tiles of `rows` × `columns` coefficients, as
    /// [`AnswerBuffer::tiles`](super::AnswerBuffer::tiles) does.
    pub fn tiles(&mut self, rows: usize, columns: usize) -> Vec<MessageTile<'_>> {
        let shape = (self.degree, self.bits, self.row_len());
        tiles(self.rows_mut(), shape, rows, columns)
    }

    /// The message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.message.into_bytes()
    }
}
