//! Measures each shape and batch once.

use super::Demand;
use super::description::Description;
use crate::error::BenchError;
use crate::gate::Gate;
use crate::inputs::Inputs;
use crate::interrupt::Interrupt;
use crate::memory::{self, Available};
use crate::open::Opener;
use crate::progress::Progress;
use crate::report::{Configuration, Stage, Verdict};
use crate::synthetic;
use crate::trial::{Job, refused, run_trials};
use ckks_backend::{BackendError, TrialSpec};
use serde::{Deserialize, Serialize};

/// A slice narrower than this is not measured for a wider layer: its figures would say little.
const MIN_SLICE: usize = 1024;

/// One shape and batch, measured once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Input width.
    pub d_in: usize,
    /// Output width of the layer.
    pub d_out: usize,
    /// Vectors per evaluation.
    pub batch: usize,
    /// Slices that the outputs are split into for want of memory: one of them, of the width in
    /// `configuration`, was measured, and its figures are multiplied. 1 where the layer is whole.
    pub slices: u64,
    /// Why it was not measured; `None` where it was.
    pub not_measured: Option<String>,
    /// The measurement as in a report of `run`; `None` where it was not measured.
    pub configuration: Option<Configuration>,
}

/// The figures of one matrix, all slices together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Figures {
    /// Median of the evaluation, or of its online part.
    pub(super) server_seconds: f64,
    /// Median of the ahead-of-time part; 0 without.
    pub(super) ahead_seconds: f64,
    pub(super) encryption_seconds: f64,
    pub(super) decryption_seconds: f64,
    pub(super) upload_bytes: u64,
    pub(super) download_bytes: u64,
    pub(super) prepared_bytes: u64,
    pub(super) layer_download_bytes: u64,
}

impl Measurement {
    /// The figures, where every answer passed the gate.
    pub(super) fn figures(&self) -> Option<Figures> {
        let configuration = self.configuration.as_ref()?;
        if configuration.verdict != Verdict::Passed {
            return None;
        }
        let stages = configuration.stages.as_ref()?;
        let median = |wanted| {
            let stage = stages.iter().find(|summary| summary.stage == wanted)?;
            Some(stage.duration.median_seconds)
        };
        let bytes = &configuration.bytes;
        let slices = self.slices as f64;
        let server = median(Stage::OnlineEvaluation).or_else(|| median(Stage::Evaluation))?;
        Some(Figures {
            server_seconds: server * slices,
            ahead_seconds: median(Stage::AheadOfTimeEvaluation).unwrap_or(0.0) * slices,
            // All slices read the same upload.
            encryption_seconds: median(Stage::Encryption)?,
            decryption_seconds: median(Stage::Decryption)? * slices,
            upload_bytes: bytes.upload?,
            download_bytes: bytes.download?.saturating_mul(self.slices),
            prepared_bytes: bytes.prepared_weights?.saturating_mul(self.slices),
            layer_download_bytes: bytes.layer_download?.saturating_mul(self.slices),
        })
    }

    /// Why there are no figures, in words.
    pub(super) fn reason(&self) -> Option<String> {
        if self.figures().is_some() {
            return None;
        }
        let rejection = self
            .configuration
            .as_ref()
            .and_then(|c| c.rejection.as_ref());
        Some(match (&self.not_measured, rejection) {
            (Some(reason), _) => format!("not measured: {reason}"),
            (None, Some(rejection)) => format!("rejected: {}", rejection.reason),
            (None, None) => "interrupted".to_owned(),
        })
    }
}

/// Measures shapes and keeps what was measured.
pub struct Measurer<'a> {
    /// Name of the library.
    pub library: &'a str,
    /// Name of the device.
    pub device: &'a str,
    /// What holds for all shapes; widths and batch are replaced.
    pub spec: TrialSpec,
    /// The error gate.
    pub gate: Gate,
    /// Measured trials per shape.
    pub trials: usize,
    /// Warm-ups per shape.
    pub warmup: usize,
    /// Opens the backend.
    pub opener: &'a Opener<'a>,
    /// Asks to stop.
    pub interrupt: &'a Interrupt,
    /// Where progress is shown.
    pub progress: &'a Progress,
    /// Memory that may be used; `None` where the system does not say.
    pub available: Option<Available>,
}

impl std::fmt::Debug for Measurer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measurer")
            .field("library", &self.library)
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}

impl Measurer<'_> {
    /// Measures every distinct shape and batch of the demands once, narrow layers first.
    ///
    /// After an interruption the shapes that are left are missing from the list.
    ///
    /// # Errors
    /// [`BenchError`] where the backend cannot do what is asked at all.
    pub fn measure_all(
        &self,
        model: &Description,
        demands: &[&Demand],
    ) -> Result<Vec<Measurement>, BenchError> {
        let mut wanted: Vec<(usize, usize, usize)> = demands
            .iter()
            .flat_map(|demand| model.layers.iter().zip(&demand.layers))
            .map(|(layer, demand)| (layer.d_in, layer.d_out, demand.batch))
            .collect();
        wanted.sort_by_key(|&(d_in, d_out, batch)| (d_in.saturating_mul(d_out), d_in, batch));
        wanted.dedup();
        let mut measurements = Vec::new();
        let count = wanted.len();
        for (index, (d_in, d_out, batch)) in wanted.into_iter().enumerate() {
            if self.interrupt.is_set() {
                break;
            }
            self.progress.configuration(&format!(
                "shape {} of {count}, {d_in}x{d_out}, batch {batch}",
                index + 1
            ));
            measurements.push(self.measure(d_in, d_out, batch)?);
        }
        Ok(measurements)
    }

    fn measure(&self, d_in: usize, d_out: usize, batch: usize) -> Result<Measurement, BenchError> {
        let mut measurement = Measurement {
            d_in,
            d_out,
            batch,
            slices: 1,
            not_measured: None,
            configuration: None,
        };
        let mut first_refusal = None;
        for slices in (0..usize::BITS).map(|power| 1usize << power) {
            let width = d_out.div_ceil(slices);
            if slices > 1 && width < MIN_SLICE {
                break;
            }
            let spec = TrialSpec {
                d_in,
                d_out: width,
                batch,
                ..self.spec.clone()
            };
            match self.fits(&spec)? {
                Fit::Fits => {
                    measurement.slices = d_out.div_ceil(width) as u64;
                    measurement.configuration = Some(self.run(&spec)?);
                    return Ok(measurement);
                }
                Fit::Refused(reason) => {
                    measurement.configuration = Some(refused(d_in, width, batch, reason));
                    return Ok(measurement);
                }
                Fit::TooLarge(reason) => {
                    first_refusal.get_or_insert(reason);
                }
            }
        }
        measurement.not_measured = first_refusal;
        Ok(measurement)
    }

    fn fits(&self, spec: &TrialSpec) -> Result<Fit, BenchError> {
        let own = memory::own_bytes(spec.d_in, spec.d_out, spec.batch);
        let name = format!("{}x{}, batch {}", spec.d_in, spec.d_out, spec.batch);
        let check = |needed: u64| {
            self.available
                .and_then(|available| available.check(&name, needed).err())
        };
        if let Some(error) = check(own) {
            return Ok(Fit::TooLarge(error.to_string()));
        }
        let plan = match (self.opener)(self.library, self.device, spec) {
            Ok(backend) => backend.describe().plan,
            Err(BackendError::Refused(reason)) => return Ok(Fit::Refused(reason)),
            Err(error) => return Err(error.into()),
        };
        Ok(match check(plan.peak_memory_bytes.saturating_add(own)) {
            Some(error) => Fit::TooLarge(error.to_string()),
            None => Fit::Fits,
        })
    }

    fn run(&self, spec: &TrialSpec) -> Result<Configuration, BenchError> {
        let (d_in, d_out, batch) = (spec.d_in, spec.d_out, spec.batch);
        let mut backend = match (self.opener)(self.library, self.device, spec) {
            Ok(backend) => backend,
            // It could be opened before, so this is part of the result.
            Err(error) => return Ok(refused(d_in, d_out, batch, error.to_string())),
        };
        let weights =
            synthetic::weights(spec.seed, d_in, d_out).map_err(|source| BenchError::File {
                flag: "--config",
                source,
            })?;
        let job = Job {
            weights: &weights,
            inputs: &Inputs::Synthetic {
                seed: spec.seed,
                vectors: batch,
                width: d_in,
            },
            batch,
            gate: self.gate,
            warmup: self.warmup,
            trials: self.trials,
            max_seconds: None,
            ahead: spec.ahead,
            threads: spec.threads,
            streaming_read: None,
        };
        let measured = run_trials(backend.as_mut(), &job, self.interrupt, self.progress);
        Ok(measured.configuration)
    }
}

enum Fit {
    Fits,
    Refused(String),
    TooLarge(String),
}
