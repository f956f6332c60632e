//! W·A of a layer, on the client.

use super::rows::PublicRows;
use crate::error::SecretError;
use ckks::gemm::{Epoch, GemmRing, MaskProductsView};
use std::fmt;
use std::sync::Arc;

/// What the client knows about the mask products it asks for; nothing of it is taken from the
/// message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExpectedProducts {
    /// Masks that are multiplied.
    pub epoch: Epoch,
    /// Outputs of the layer, d_out.
    pub outputs: usize,
    /// Bits of a coefficient, 16 to 52.
    pub bits: u32,
}

/// Mask products `(W·A)_k`, checked and ready for decryption. Public; good for all batches of the
/// layer in this epoch, or made anew for each answer when the server sends them along.
///
/// Memory: `outputs·N·8` bytes for up to 46 bits, or for batches of up to
/// [`GemmRing::direct_columns`] columns (17 MB for 1,024 outputs), `outputs·N·12` otherwise.
pub struct CachedMaskProducts {
    epoch: Epoch,
    rows: PublicRows,
}

impl fmt::Debug for CachedMaskProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedMaskProducts")
            .field("epoch", &self.epoch)
            .field("outputs", &self.outputs())
            .field("bits", &self.rows.bits())
            .finish_non_exhaustive()
    }
}

impl CachedMaskProducts {
    /// Checks a message against what was asked for and prepares it, on the threads of the current
    /// pool, in the form that is fastest for batches of about `columns` vectors.
    ///
    /// # Errors
    /// [`SecretError::Wire`] for bytes that are no such message, [`SecretError::Count`] when it
    /// does not have the expected epoch and sizes, [`SecretError::Ckks`] when there is not enough
    /// memory.
    pub fn new(
        ring: &Arc<GemmRing>,
        expected: ExpectedProducts,
        message: &[u8],
        columns: usize,
    ) -> Result<Self, SecretError> {
        let view = MaskProductsView::parse(ring.parameters(), message)?;
        check(
            "epoch of the mask products",
            expected.epoch.0,
            view.epoch().0,
        )?;
        let outputs = (expected.outputs as u64, view.outputs() as u64);
        check("outputs of the mask products", outputs.0, outputs.1)?;
        let bits = (expected.bits.into(), view.bits().into());
        check("bits of the mask products", bits.0, bits.1)?;
        let fill = |row: usize, out: &mut [u64]| view.unpack(row, out);
        let rows = PublicRows::build(ring, view.outputs(), view.bits(), columns, fill)?;
        let epoch = view.epoch();
        Ok(Self { epoch, rows })
    }

    /// Masks that were multiplied.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Rows, d_out.
    pub fn outputs(&self) -> usize {
        self.rows.count()
    }

    /// Bits of a coefficient as it was sent.
    pub fn bits(&self) -> u32 {
        self.rows.bits()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        self.rows.bytes()
    }

    pub(super) fn rows(&self) -> &PublicRows {
        &self.rows
    }
}

/// Refuses a number that is not the expected one.
pub(super) fn check(what: &'static str, expected: u64, found: u64) -> Result<(), SecretError> {
    if expected == found {
        return Ok(());
    }
    Err(SecretError::Count {
        what,
        expected,
        found,
    })
}
