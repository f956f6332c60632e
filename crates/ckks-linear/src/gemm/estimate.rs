//! Bytes, memory and errors of a `gemm` layer before it exists.

use crate::gemm::scales::{AnswerLength, CAPACITY, WEIGHT_NORM, WeightScale, variance};
use crate::gemm::weights::PackedWeights;
use crate::shape::LayerShape;
use ckks::gemm::{GemmParameters, answer_len, mask_products_len, upload_len};

/// Predicted sizes, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GemmMemory {
    /// Integer weights in the server's memory.
    pub weights: u64,
    /// W·A as a message.
    pub mask_products: u64,
    /// Masks in full while a layer is prepared.
    pub masks: u64,
    /// Upload of a batch.
    pub upload: u64,
    /// Answer to a batch, without W·A.
    pub answer: u64,
}

impl GemmMemory {
    /// Of a layer and a batch of `columns` vectors.
    pub fn of(
        parameters: &GemmParameters,
        shape: LayerShape,
        columns: usize,
        length: AnswerLength,
    ) -> Self {
        let (d_in, d_out) = (shape.d_in() as u32, shape.d_out() as u32);
        let columns = u32::try_from(columns).unwrap_or(u32::MAX);
        Self {
            weights: PackedWeights::bytes_for(shape.d_in(), shape.d_out()),
            mask_products: mask_products_len(parameters, d_out, length.mask_products),
            masks: 8 * (shape.d_in() * parameters.ring_degree()) as u64,
            upload: upload_len(d_in, columns),
            answer: answer_len(d_out, columns, length.answer),
        }
    }
}

/// The error to expect before weights and vectors are known: x uniform in ±1 and W uniform in
/// ±1/√d_in, the published experiment's data.
pub fn expected_rms(shape: LayerShape, length: AnswerLength, degree: usize) -> f64 {
    let input_norm = (shape.d_in() as f64 / 3.0).sqrt();
    // Columns of W have norm 1/√3.
    let weights = WeightScale {
        scale: WEIGHT_NORM * 3f64.sqrt(),
        norm: WEIGHT_NORM,
    };
    let delta = CAPACITY / (WEIGHT_NORM * input_norm);
    variance(&weights, input_norm, delta, length, degree).sqrt()
}
