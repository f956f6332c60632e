//! The client's arithmetic around a layer: scales, encoding, decoding, predicted error. It needs
//! no secret; encryption and decryption sit between the two halves.

use crate::error::{LinearError, expect_count};
use crate::manifest::LayerManifest;
use crate::noise::{ErrorTerms, NORMS, NoiseModel, check_answer_bits, meetings, rounding_variance};
use crate::norm::{euclidean, max_or_nan};
use ckks::{Context, RnsPoly};
use rayon::prelude::*;
use std::fmt;

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
#[derive(Clone)]
pub struct EncodedGroup {
    /// Plaintexts to encrypt, in the order of the plan's inputs.
    pub plaintexts: Vec<RnsPoly>,
    /// What decoding the answer needs. Keep it secret: it tells ‖x‖.
    pub scale: GroupScale,
}

/// The client's private record of a group.
#[derive(Clone, Copy, PartialEq)]
pub struct GroupScale {
    delta_x: f64,
    input_norm: f64,
    vectors: usize,
}

impl fmt::Debug for EncodedGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncodedGroup(…)")
    }
}

impl fmt::Debug for GroupScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GroupScale(…)")
    }
}

impl GroupScale {
    /// Vectors of the group.
    pub fn vectors(&self) -> usize {
        self.vectors
    }
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
    /// Takes a layer's manifest and the answer length the client expects. The manifest comes from
    /// the server: numbers that no layer has are refused. Wrong ones that some layer could have
    /// are not noticed.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] when the manifest belongs to other parameters, or for an answer length
    /// that the context cannot give; [`LinearError::Count`] for a plan for other ciphertexts or a
    /// wrong number of column norms; [`LinearError::Manifest`].
    pub fn new(
        context: &Context,
        manifest: LayerManifest,
        answer_bits: u32,
    ) -> Result<Self, LinearError> {
        context.check_digest("a layer manifest", manifest.digest)?;
        check_answer_bits(context, answer_bits)?;
        let plan = &manifest.plan;
        expect_count("slots of the context", plan.slots(), context.slots())?;
        let columns = plan.folding().columns(plan.shape());
        expect_count("column norms", columns, manifest.column_norms.len())?;
        let noise = NoiseModel::new(plan, context, answer_bits);
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
        check_norms(&manifest, &outputs)?;
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
    /// [`LinearError::Ckks`] for another context than the layer's; [`LinearError::Count`],
    /// [`LinearError::NotFinite`], [`LinearError::Magnitude`], [`LinearError::PredictedError`].
    pub fn encode(
        &self,
        context: &Context,
        vectors: &[&[f64]],
        gate: f64,
        relative: bool,
    ) -> Result<EncodedGroup, LinearError> {
        self.check(context)?;
        let packed = self.manifest.plan.pack(vectors)?;
        let mut input_norm = euclidean(vectors.iter().flat_map(|v| v.iter()).copied());
        if input_norm < NORMS.start {
            // Far below every error: as good as zero.
            input_norm = 0.0;
        }
        if input_norm != 0.0 && !NORMS.contains(&input_norm) {
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
        let acceptable = predicted.six_sigma.is_finite() && predicted.six_sigma <= limit;
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
    /// [`LinearError::Count`]; [`LinearError::Ckks`] for a wrong number of coefficients, or another
    /// context than the layer's.
    pub fn decode(
        &self,
        context: &Context,
        scale: &GroupScale,
        coefficients: &[Vec<i64>],
    ) -> Result<Vec<Vec<f64>>, LinearError> {
        self.check(context)?;
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

    fn check(&self, context: &Context) -> Result<(), LinearError> {
        Ok(context.check_digest("a layer's client", self.manifest.digest)?)
    }

    /// The error predicted for a group. NaN if it cannot be told for any output.
    pub fn predict(&self, scale: &GroupScale) -> PredictedError {
        let LayerManifest {
            ref plan,
            operator_norm,
            ..
        } = self.manifest;
        let rounding_variance = rounding_variance(operator_norm);
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
                    rounding_variance,
                });
                total += sigma * sigma;
                largest = max_or_nan(largest, sigma);
                outputs += 1;
            }
        }
        PredictedError {
            rms: (total / outputs.max(1) as f64).sqrt(),
            six_sigma: 6.0 * largest,
        }
    }
}

/// Refuses scales and norms that no layer has, so that no prediction rests on them. `outputs` has
/// `(meetings, copies)` of each output ciphertext.
fn check_norms(manifest: &LayerManifest, outputs: &[(f64, f64)]) -> Result<(), LinearError> {
    /// Rounding of sums of squares and of their roots.
    const SLACK: f64 = 1.0 + 1e-9;
    let refuse = |what, value| Err(LinearError::Manifest { what, value });
    let operator = manifest.operator_norm;
    if operator != 0.0 && !NORMS.contains(&operator) {
        return refuse("operator norm", operator);
    }
    let scale = manifest.weight_scale;
    if !(scale.is_finite() && scale > 0.0) {
        return refuse("weight scale", scale);
    }
    for (piece, &(_, copies)) in manifest.plan.outputs().iter().zip(outputs) {
        // Of the slots that share a column's entries, one has a row of at least this norm: no
        // operator has a smaller norm than a row of its own.
        let most = operator * copies.sqrt() * SLACK;
        for &norm in &manifest.column_norms[piece.columns.clone()] {
            if !(norm.is_finite() && norm >= 0.0) {
                return refuse("column norm", norm);
            }
            if norm > most {
                return refuse("column norm, too large for its operator norm,", norm);
            }
        }
    }
    Ok(())
}
