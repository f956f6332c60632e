//! The client's arithmetic around a `gemm` layer: scales, predicted errors, decoding. It needs no
//! secret; encryption and decryption sit between the two halves.

use crate::client::PredictedError;
use crate::error::{LinearError, expect_count};
use crate::gemm::scales::{
    AnswerLength, CAPACITY, LARGEST_WEIGHT, WEIGHT_NORM, WeightScale, variance,
};
use crate::noise::NORMS;
use crate::norm::{euclidean, max_or_nan};
use crate::shape::LayerShape;
use ckks::gemm::{Epoch, GemmParameters, LOG_Q, MIN_BITS};
use ckks::{CkksError, ParameterDigest};
use rayon::prelude::*;
use std::fmt;

/// What the server publishes about a `gemm` layer, and the client needs: no weight is in it, norms
/// are.
#[derive(Clone, PartialEq, Debug)]
pub struct GemmManifest {
    /// Shape of the layer.
    pub shape: LayerShape,
    /// Parameters.
    pub digest: ParameterDigest,
    /// Epoch of the public masks that W·A was computed for.
    pub epoch: Epoch,
    /// Scale and norm of each output's weights.
    pub weights: Vec<WeightScale>,
    /// Bits of answers and of W·A.
    pub length: AnswerLength,
}

/// A `gemm` layer as its client sees it.
#[derive(Clone, Debug)]
pub struct GemmClient {
    manifest: GemmManifest,
    degree: usize,
    /// Largest norm of an output's integer weights, at least 1.
    largest: f64,
}

/// The client's private record of a batch. It tells the vectors' norms: keep it secret.
#[derive(Clone, PartialEq)]
pub struct BatchScale {
    deltas: Vec<f64>,
    /// Norms; the least that is carried for zero vectors.
    norms: Vec<f64>,
}

impl fmt::Debug for BatchScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchScale(…)")
    }
}

impl BatchScale {
    /// Scale Δ of each vector.
    pub fn deltas(&self) -> &[f64] {
        &self.deltas
    }
}

/// Vectors that one task decodes.
const VECTORS_PER_TASK: usize = 64;

impl GemmClient {
    /// Takes a layer's manifest. It comes from the server: numbers that no layer has are refused.
    /// Wrong ones that some layer could have are not noticed.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] for other parameters or impossible answer lengths,
    /// [`LinearError::Count`], [`LinearError::Manifest`].
    pub fn new(parameters: &GemmParameters, manifest: GemmManifest) -> Result<Self, LinearError> {
        if manifest.digest != parameters.digest() {
            return Err(CkksError::ContextMismatch {
                what: "a layer manifest",
                found: manifest.digest.short(),
                expected: parameters.digest().short(),
            }
            .into());
        }
        let d_out = manifest.shape.d_out();
        expect_count("weight scales", d_out, manifest.weights.len())?;
        for bits in [manifest.length.answer, manifest.length.mask_products] {
            if !(MIN_BITS..=LOG_Q).contains(&bits) {
                return Err(CkksError::AnswerBits { bits, max: LOG_Q }.into());
            }
        }
        let mut largest = 1.0f64;
        for weight in &manifest.weights {
            check_scale(weight, manifest.shape.d_in())?;
            largest = largest.max(weight.norm);
        }
        Ok(Self {
            manifest,
            degree: parameters.ring_degree(),
            largest,
        })
    }

    /// The layer's manifest.
    pub fn manifest(&self) -> &GemmManifest {
        &self.manifest
    }

    /// The scale of each vector: the largest that cannot overflow. Refuses the batch when the
    /// predicted error of any vector exceeds `gate`; with `relative` the gate is
    /// `gate·max(1, bound of max|y|)`.
    ///
    /// # Errors
    /// [`LinearError::EmptyBatch`], [`LinearError::Count`], [`LinearError::NotFinite`],
    /// [`LinearError::Magnitude`], [`LinearError::PredictedError`].
    pub fn scales(
        &self,
        vectors: &[&[f64]],
        gate: f64,
        relative: bool,
    ) -> Result<BatchScale, LinearError> {
        if vectors.is_empty() {
            return Err(LinearError::EmptyBatch);
        }
        let norms = vectors
            .par_iter()
            .enumerate()
            .map(|(i, vector)| self.norm(i, vector))
            .collect::<Result<Vec<f64>, _>>()?;
        let deltas = norms.iter().map(|&norm| self.delta(norm)).collect();
        let largest = norms.iter().copied().fold(0.0, max_or_nan);
        let weight_norm = self
            .manifest
            .weights
            .iter()
            .map(WeightScale::real_norm)
            .fold(0.0, max_or_nan);
        // Errors grow with the norm.
        let six_sigma = 6.0 * self.largest_sigma(largest);
        let limit = if relative {
            gate * (largest * weight_norm).max(1.0)
        } else {
            gate
        };
        // Written so that NaN is refused.
        let acceptable = six_sigma.is_finite() && six_sigma <= limit;
        if !acceptable {
            return Err(LinearError::PredictedError {
                input_norm: largest,
                weight_norm,
                six_sigma,
                gate: limit,
            });
        }
        Ok(BatchScale { deltas, norms })
    }

    fn norm(&self, i: usize, vector: &[f64]) -> Result<f64, LinearError> {
        expect_count(
            "entries of a vector",
            self.manifest.shape.d_in(),
            vector.len(),
        )?;
        if let Some(index) = vector.iter().position(|value| !value.is_finite()) {
            return Err(LinearError::NotFinite {
                vector: i,
                index,
                value: vector[index],
            });
        }
        let norm = euclidean(vector.iter().copied());
        if norm < NORMS.start {
            // As good as zero, for which any scale will do; at this one the noise vanishes.
            return Ok(NORMS.start);
        }
        if !NORMS.contains(&norm) {
            return Err(LinearError::Magnitude {
                what: "input vectors",
                norm,
            });
        }
        Ok(norm)
    }

    fn delta(&self, norm: f64) -> f64 {
        CAPACITY / (self.largest * norm)
    }

    fn largest_sigma(&self, norm: f64) -> f64 {
        self.variances(norm).fold(0.0, max_or_nan).sqrt()
    }

    fn variances(&self, norm: f64) -> impl Iterator<Item = f64> {
        let delta = self.delta(norm);
        let (length, degree) = (self.manifest.length, self.degree);
        self.manifest
            .weights
            .iter()
            .map(move |weight| variance(weight, norm, delta, length, degree))
    }

    /// The error predicted for a batch.
    pub fn predict(&self, scale: &BatchScale) -> PredictedError {
        // Variances are proportional to ‖x‖².
        let per_norm: f64 = self.variances(1.0).sum();
        let energy: f64 = scale.norms.iter().map(|norm| norm * norm).sum();
        let outputs = self.manifest.weights.len() * scale.norms.len();
        let largest = scale.norms.iter().copied().fold(0.0, max_or_nan);
        PredictedError {
            rms: (per_norm * energy / outputs.max(1) as f64).sqrt(),
            six_sigma: 6.0 * self.largest_sigma(largest),
        }
    }

    /// The outputs of a batch, `[vector][output]`, from the decrypted residues `[output][vector]`.
    ///
    /// # Errors
    /// [`LinearError::Count`]; [`LinearError::Manifest`] where an output of zero weights is not
    /// zero; [`LinearError::Magnitude`] where outputs could be infinite.
    pub fn decode(&self, scale: &BatchScale, values: &[i64]) -> Result<Vec<f64>, LinearError> {
        let (vectors, d_out) = (scale.deltas.len(), self.manifest.shape.d_out());
        expect_count("decrypted values", vectors * d_out, values.len())?;
        let least = scale.deltas.iter().copied().fold(f64::INFINITY, f64::min);
        for (k, weight) in self.manifest.weights.iter().enumerate() {
            let of_output = &values[k * vectors..(k + 1) * vectors];
            if weight.norm == 0.0 && of_output.iter().any(|&value| value != 0) {
                return Err(LinearError::Manifest {
                    what: "norm of an output that is not zero",
                    value: weight.norm,
                });
            }
            // No residue is beyond 2^51.
            let most = 2f64.powi(51) / weight.scale / least;
            if !most.is_finite() {
                return Err(LinearError::Magnitude {
                    what: "the outputs",
                    norm: most,
                });
            }
        }
        let factors: Vec<f64> = self
            .manifest
            .weights
            .iter()
            .map(|w| 1.0 / w.scale)
            .collect();
        let mut out = vec![0.0; values.len()];
        out.par_chunks_mut(VECTORS_PER_TASK * d_out)
            .enumerate()
            .for_each(|(task, rows)| {
                let first = task * VECTORS_PER_TASK;
                let deltas = &scale.deltas[first..first + rows.len() / d_out];
                for (k, factor) in factors.iter().enumerate() {
                    let values = &values[k * vectors + first..][..deltas.len()];
                    for ((row, &value), delta) in
                        rows.chunks_exact_mut(d_out).zip(values).zip(deltas)
                    {
                        row[k] = value as f64 * factor / delta;
                    }
                }
            });
        Ok(out)
    }
}

/// Refuses what preparation never makes of an output's weights: it scales them to the norm 2^24, or
/// as far as the largest of them fits three bytes, and rounds each by less than 1.
fn check_scale(weight: &WeightScale, d_in: usize) -> Result<(), LinearError> {
    let refuse = |what, value| Err(LinearError::Manifest { what, value });
    if *weight == WeightScale::ZERO {
        return Ok(());
    }
    if !(weight.scale.is_finite() && weight.scale > 0.0) {
        return refuse("weight scale", weight.scale);
    }
    let most = WEIGHT_NORM + (d_in as f64).sqrt() + 1.0;
    if !(LARGEST_WEIGHT - 2.0..=most).contains(&weight.norm) {
        return refuse("norm of integer weights", weight.norm);
    }
    if !NORMS.contains(&weight.real_norm()) {
        return refuse("norm of weights", weight.real_norm());
    }
    Ok(())
}
