//! Messages written by several threads.

use super::packing::{pack, packed_len};
use std::fmt;

/// Cuts rows of `total` columns into rectangles that share no byte.
pub(super) fn tiles(
    bytes: &mut [u8],
    (total, bits, row_len): (usize, u32, usize),
    rows: usize,
    columns: usize,
) -> Vec<MessageTile<'_>> {
    let (rows, width) = (rows.max(1), columns.max(1).next_multiple_of(8));
    let bands = bytes.len().div_ceil(row_len * rows);
    let blocks = total.div_ceil(width);
    let mut tiles: Vec<_> = (0..blocks * bands)
        .map(|i| {
            let first_column = i / bands * width;
            MessageTile {
                first_row: i % bands * rows,
                first_column,
                columns: width.min(total - first_column),
                bits,
                rows: Vec::with_capacity(rows),
            }
        })
        .collect();
    for (row, bytes) in bytes.chunks_exact_mut(row_len).enumerate() {
        for (block, bytes) in bytes.chunks_mut(packed_len(width, bits)).enumerate() {
            tiles[block * bands + row / rows].rows.push(bytes);
        }
    }
    tiles
}

/// A rectangle of an answer or of W·A under construction, to be written by one thread.
pub struct MessageTile<'a> {
    first_row: usize,
    first_column: usize,
    columns: usize,
    bits: u32,
    rows: Vec<&'a mut [u8]>,
}

impl fmt::Debug for MessageTile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageTile")
            .field("first_row", &self.first_row)
            .field("rows", &self.rows.len())
            .field("first_column", &self.first_column)
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl MessageTile<'_> {
    /// First row in the message.
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Rows of the tile.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// First column in the message, a multiple of 8.
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
