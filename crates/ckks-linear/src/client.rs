//! The client's arithmetic around a layer: scales, encoding, decoding, predicted error. It needs
//! no secret; encryption and decryption sit between the two halves.

use crate::error::LinearError;
use crate::noise::{ErrorTerms, NoiseModel, meetings};
use crate::prepared::LayerManifest;
use ckks::{Context, RnsPoly};
use rayon::prelude::*;

/// A layer as its client sees it.
#[derive(Clone, Debug)]
pub struct LayerClient {
    manifest: LayerManifest,
    noise: NoiseModel,
    answer_bits: u32,
    /// `(meetings, copies)` of each output ciphertext.
    outputs: Vec<(f64, f64)>,
}

/// One group of vectors, encoded: one plaintext for each input ciphertext.
#[derive(Clone, Debug)]
pub struct EncodedGroup {
    /// Plaintexts to encrypt, in the order of the plan's inputs.
    pub plaintexts: Vec<RnsPoly>,
    /// What decoding the answer needs. Keep it secret: it tells ‖x‖.
    pub scale: GroupScale,
}

/// The client's private record of a group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GroupScale {
    delta_x: f64,
    input_norm: f64,
    vectors: usize,
}

/// Predicted error of a group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PredictedError {
    /// Root mean square over all outputs.
    pub rms: f64,
    /// Six times the largest standard deviation of an output. A Gaussian error exceeds it with
    /// probability 2e-9.
    pub six_sigma: f64,
}

impl LayerClient {
    /// Takes a layer's manifest and the answer length the client expects.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] when the manifest belongs to other parameters.
    pub fn new(
        context: &Context,
        manifest: LayerManifest,
        answer_bits: u32,
    ) -> Result<Self, LinearError> {
        context.check_digest("a layer manifest", manifest.digest)?;
        let noise = NoiseModel::new(&manifest.plan, context, answer_bits);
        let plan = &manifest.plan;
        let mut outputs: Vec<(f64, f64)> = Vec::with_capacity(plan.outputs().len());
        for (o, output) in plan.outputs().iter().enumerate() {
            let known = o
                .checked_sub(1)
                .filter(|&before| plan.outputs()[before].layout == output.layout);
            let numbers = known
                .map(|before| outputs[before])
                .unwrap_or_else(|| (meetings(plan, o), plan.summed_copies(output) as f64));
            outputs.push(numbers);
        }
        Ok(Self {
            noise,
            answer_bits,
            outputs,
            manifest,
        })
    }

    /// The layer's manifest.
    pub fn manifest(&self) -> &LayerManifest {
        &self.manifest
    }

    /// Packs and encodes one group of vectors (see [`crate::plan::Plan::pack`]) at the largest
    /// scale that cannot overflow, and refuses it when the predicted error exceeds `gate`.
    /// With `relative` the gate is `gate·max(1, bound of max|y|)`.
    ///
    /// # Errors
    /// [`LinearError::Count`], [`LinearError::NotFinite`], [`LinearError::Magnitude`],
    /// [`LinearError::PredictedError`].
    pub fn encode(
        &self,
        context: &Context,
        vectors: &[&[f64]],
        gate: f64,
        relative: bool,
    ) -> Result<EncodedGroup, LinearError> {
        let packed = self.manifest.plan.pack(vectors)?;
        let energy: f64 = vectors.iter().flat_map(|v| v.iter()).map(|v| v * v).sum();
        let input_norm = energy.sqrt();
        if input_norm != 0.0 && !(1e-140..1e140).contains(&input_norm) {
            return Err(LinearError::Magnitude {
                what: "input vectors",
                norm: input_norm,
            });
        }
        let LayerManifest {
            weight_scale,
            operator_norm,
            ..
        } = self.manifest;
        let delta_x = self
            .noise
            .input_scale(weight_scale, operator_norm, input_norm)
            .delta_x;
        let scale = GroupScale {
            delta_x,
            input_norm,
            vectors: vectors.len(),
        };
        let predicted = self.predict(&scale);
        let largest = self.manifest.largest_column_norm();
        let limit = if relative {
            gate * (input_norm * largest).max(1.0)
        } else {
            gate
        };
        // Written so that NaN is refused.
        let acceptable = predicted.six_sigma <= limit;
        if !acceptable {
            return Err(LinearError::PredictedError {
                input_norm,
                weight_norm: largest,
                six_sigma: predicted.six_sigma,
                gate: limit,
            });
        }
        let plaintexts = packed
            .par_iter()
            .map(|slots| context.encode(slots, delta_x))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(EncodedGroup { plaintexts, scale })
    }

    /// Decodes the decrypted coefficients of a group's answers, one list for each output
    /// ciphertext, into as many vectors as were encoded.
    ///
    /// # Errors
    /// [`LinearError::Count`], [`LinearError::Ckks`].
    pub fn decode(
        &self,
        context: &Context,
        scale: &GroupScale,
        coefficients: &[Vec<i64>],
    ) -> Result<Vec<Vec<f64>>, LinearError> {
        let q = context.parameters().q_product() as f64;
        let factor = f64::from(self.answer_bits).exp2() / q;
        let delta = scale.delta_x * self.manifest.weight_scale * factor;
        let slots = coefficients
            .par_iter()
            .map(|coefficients| {
                let real: Vec<f64> = coefficients.iter().map(|&c| c as f64).collect();
                context.encoder().evaluate(&real, delta)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut vectors = self.manifest.plan.unpack(&slots)?;
        vectors.truncate(scale.vectors);
        Ok(vectors)
    }

    /// The error predicted for a group.
    pub fn predict(&self, scale: &GroupScale) -> PredictedError {
        let plan = &self.manifest.plan;
        let (mut total, mut largest, mut outputs) = (0.0f64, 0.0f64, 0usize);
        for (piece, &(meetings, copies)) in plan.outputs().iter().zip(&self.outputs) {
            for &column_norm in &self.manifest.column_norms[piece.columns.clone()] {
                let sigma = self.noise.sigma(&ErrorTerms {
                    column_norm,
                    input_norm: scale.input_norm,
                    delta_x: scale.delta_x,
                    weight_scale: self.manifest.weight_scale,
                    meetings,
                    copies,
                });
                total += sigma * sigma;
                largest = largest.max(sigma);
                outputs += 1;
            }
        }
        PredictedError {
            rms: (total / outputs.max(1) as f64).sqrt(),
            six_sigma: 6.0 * largest,
        }
    }
}
