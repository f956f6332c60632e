//! The client's masks of one epoch.

use super::rows::PublicRows;
use crate::error::SecretError;
use ckks::WireError;
use ckks::gemm::{Epoch, GemmRing, LOG_Q, MAX_ROWS, MaskExpander};
use std::fmt;
use std::sync::Arc;

/// The masks `a_0 …` of one epoch, ready for encryption. Public, immutable, good for any number of
/// batches, also of layers with fewer features.
///
/// Memory: `features·N·8` bytes for batches of up to [`GemmRing::direct_columns`] columns (34 MB
/// for 2,048 features), `features·N·12` for longer ones (50 MB).
pub struct GemmMasks {
    epoch: Epoch,
    rows: PublicRows,
}

impl fmt::Debug for GemmMasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GemmMasks")
            .field("epoch", &self.epoch)
            .field("features", &self.features())
            .finish_non_exhaustive()
    }
}

impl GemmMasks {
    /// Expands the masks of `features` rows (d_in), on the threads of the current pool, in the form
    /// that is fastest for batches of about `columns` vectors. Batches of any size can be encrypted
    /// with either form.
    ///
    /// # Errors
    /// [`SecretError::Wire`] for a number of features out of range, [`SecretError::Ckks`] when
    /// there is not enough memory.
    pub fn new(
        ring: &Arc<GemmRing>,
        epoch: Epoch,
        features: usize,
        columns: usize,
    ) -> Result<Self, SecretError> {
        if features == 0 || features > MAX_ROWS as usize {
            return Err(SecretError::Wire(WireError::GemmSize {
                what: "features",
                value: features as u64,
                limit: MAX_ROWS.into(),
            }));
        }
        let expander = MaskExpander::new(ring.parameters(), epoch);
        let fill = |row: usize, out: &mut [u64]| expander.expand(row as u32, out);
        let rows = PublicRows::build(ring, features, LOG_Q, columns, fill)?;
        Ok(Self { epoch, rows })
    }

    /// Which masks they are.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Rows, d_in.
    pub fn features(&self) -> usize {
        self.rows.count()
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<GemmRing> {
        self.rows.ring()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        self.rows.bytes()
    }

    pub(super) fn rows(&self) -> &PublicRows {
        &self.rows
    }
}
