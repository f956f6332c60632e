//! Errors of encrypted linear layers.

use ckks::{CkksError, WireError};
use thiserror::Error;

/// Largest width of a layer on either side.
pub const MAX_WIDTH: usize = 262_144;

/// Why a layer cannot be planned, prepared, packed or evaluated.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum LinearError {
    /// A width of zero or beyond the limit.
    #[error("shape {d_in}x{d_out} is out of range: each width must be 1 to {MAX_WIDTH}")]
    Shape {
        /// Input width.
        d_in: usize,
        /// Output width.
        d_out: usize,
    },
    /// A batch of zero.
    #[error("a batch must hold at least one vector")]
    EmptyBatch,
    /// Slots that no packing is made for.
    #[error(
        "{slots} slots in a ciphertext: packings need a power of two from 1 to {}",
        crate::slots::MAX_SLOTS
    )]
    Slots {
        /// The slots.
        slots: usize,
    },
    /// An interleave that does not divide the slots into powers of two.
    #[error(
        "interleave {interleave}: with {slots} slots it must be a power of two from 1 to {slots}"
    )]
    Interleave {
        /// The interleave.
        interleave: usize,
        /// Slots of a ciphertext.
        slots: usize,
    },
    /// A folding that fills the imaginary parts, for slots that have none.
    #[error("{folding}: this needs complex slots; real slots take no folding, leave it out")]
    ComplexFolding {
        /// The folding, in words.
        folding: &'static str,
    },
    /// A layer that would be cut into too many ciphertexts.
    #[error(
        "shape {d_in}x{d_out} over {slots} slots makes at least {pieces} pairs of ciphertexts, at \
         most {} can be planned; use more slots or a smaller interleave",
        crate::slots::MAX_PIECES
    )]
    Pieces {
        /// Input width.
        d_in: usize,
        /// Output width.
        d_out: usize,
        /// Virtual slots.
        slots: usize,
        /// Pairs of an input and an output.
        pieces: usize,
    },
    /// The number of a diagonal that there is not.
    #[error("diagonal {diagonal}: this layer has {count}, counted from 0")]
    NoDiagonal {
        /// The number asked for.
        diagonal: usize,
        /// Diagonals of the layer.
        count: usize,
    },
    /// A count that does not match the plan.
    #[error("{what}: the plan needs {expected}, {found} were given")]
    Count {
        /// What was counted.
        what: &'static str,
        /// What the plan needs.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// NaN or infinity in an input vector.
    #[error(
        "input vector {vector} holds {value} at index {index}; only finite numbers can be encrypted"
    )]
    NotFinite {
        /// Index of the vector in the batch.
        vector: usize,
        /// Index in the vector.
        index: usize,
        /// The value.
        value: f64,
    },
    /// The values are too large for any scale that leaves precision.
    #[error(
        "the product would overflow or drown in noise: |x| = {input_norm:.3e} against weights of \
         norm {weight_norm:.3e} predicts errors of {six_sigma:.1e} (6 sigma), the gate is \
         {gate:.1e}; scale the vector or the weights down, or raise the gate"
    )]
    PredictedError {
        /// Euclidean norm of the input vector.
        input_norm: f64,
        /// Largest column norm of the weights.
        weight_norm: f64,
        /// Predicted 6σ.
        six_sigma: f64,
        /// The gate.
        gate: f64,
    },
    /// Values whose norm is outside [`crate::noise::NORMS`].
    #[error("{what} have norm {norm:e}, outside 1e-140 to 1e140; rescale them")]
    Magnitude {
        /// What.
        what: &'static str,
        /// Their norm.
        norm: f64,
    },
    /// A layer's manifest that no layer has: predictions from it would mean nothing.
    #[error(
        "the layer's manifest is not valid: its {what} is {value:e}; do not use this layer, ask \
         its server for the manifest again"
    )]
    Manifest {
        /// The number that cannot be.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// An upload for other public masks than W·A was computed for.
    #[error(
        "the upload was made for epoch {found} of the public masks, this layer serves epoch \
         {expected}; take the layer's current manifest and encrypt again"
    )]
    Epoch {
        /// Epoch of the layer.
        expected: u64,
        /// Epoch of the upload.
        found: u64,
    },
    /// Bytes that are not the message they should be.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// See [`CkksError`].
    #[error(transparent)]
    Ckks(#[from] CkksError),
}

/// Refuses a count other than the plan's.
pub(crate) fn expect_count(
    what: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), LinearError> {
    if expected == found {
        Ok(())
    } else {
        Err(LinearError::Count {
            what,
            expected,
            found,
        })
    }
}
