//! Where the vectors of a trial come from.

use crate::synthetic;
use tensor_io::{InputBatch, TensorError};

/// Vectors for every trial.
#[derive(Clone, Debug)]
pub enum Inputs {
    /// Fresh ones per trial, from the seed and the index of the trial.
    Synthetic {
        /// The seed.
        seed: u64,
        /// Vectors per trial.
        vectors: usize,
        /// Values per vector.
        width: usize,
    },
    /// The same ones for every trial.
    Given(InputBatch),
}

impl Inputs {
    /// The vectors of the trial with this index in run order.
    ///
    /// # Errors
    /// [`TensorError`] for sizes of 0.
    pub fn batch(&self, trial: usize) -> Result<InputBatch, TensorError> {
        match self {
            &Inputs::Synthetic {
                seed,
                vectors,
                width,
            } => synthetic::inputs(seed, trial, vectors, width),
            Inputs::Given(batch) => Ok(batch.clone()),
        }
    }
}
