//! The result of a run: the source of the tables and of the JSON file.
//!
//! `docs/report.md` describes every field. A change that breaks readers changes [`SCHEMA`].

use crate::cold::Cold;
use crate::gate::{ErrorSummary, Errors, Gate, Worst};
use crate::histogram::Histogram;
use crate::streaming::Streaming;
use bench_report::host::Host;
use bench_report::program::Build;
use bench_report::statistics::Summary;
use ckks_backend::{
    Calibration, Circumstances, Description, KeyReport, Phase, Predicted, PrepareReport,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench/2";

/// Everything about one run of `ckks-bench run`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The run was interrupted: some trials or configurations are missing.
    pub partial: bool,
    /// Start of the run, UTC, RFC 3339.
    pub date: String,
    /// The command line; the query of a weights URL, which may hold a signature, is left out.
    pub command_line: Vec<String>,
    /// The program.
    pub build: Build,
    /// The machine.
    pub host: Host,
    /// The GPU and its driver; `None` for runs on a CPU.
    pub gpu: Option<Gpu>,
    /// Streaming read bandwidth at the run's thread count; `None` where memory is too short to
    /// measure it.
    pub streaming_read: Option<Streaming>,
    /// The options that hold for all configurations.
    pub settings: Settings,
    /// Number of configurations asked for.
    pub configurations_planned: usize,
    /// The configurations that were started, in order.
    pub configurations: Vec<Configuration>,
}

impl Report {
    /// Whether any configuration was rejected.
    #[must_use]
    pub fn any_rejected(&self) -> bool {
        self.configurations
            .iter()
            .any(|c| c.verdict == Verdict::Rejected)
    }
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gpu {
    /// Product name.
    pub name: String,
    /// Version of the driver.
    pub driver: String,
}

/// Options of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Name given to `--lib`.
    pub library: String,
    /// The device: as given to `--device`, or the library's first.
    pub device: String,
    /// Name given to `--mode`.
    #[serde(default)]
    pub mode: Option<String>,
    /// Whether `native` ran in a process of its own, as other libraries always do.
    #[serde(default)]
    pub isolated: bool,
    /// Worker threads of the backend and of the plain product.
    pub threads: usize,
    /// Measured trials per configuration.
    pub trials: usize,
    /// Warm-up trials per configuration.
    pub warmup: usize,
    /// Seconds of trials after which a configuration starts no further one, so that it may have
    /// fewer than `trials` and `warmup`; one trial is always measured. `None` for no limit.
    pub max_seconds: Option<f64>,
    /// Seed of the synthetic data and of the backend's randomness.
    pub seed: u64,
    /// Generator of the synthetic data.
    pub generator: String,
    /// The error gate.
    pub gate: Gate,
    /// Evaluation split into an ahead-of-time and an online part.
    pub ahead: bool,
    /// Evaluations rotate through copies of the layer.
    pub cold: bool,
    /// Link, reuse and delivery that `--plan auto` decides by.
    pub circumstances: Circumstances,
    /// Figures of this machine that it computes with; `None` without a cost model.
    pub calibration: Option<Calibration>,
    /// Where the weights come from: `synthetic`, or the source given to `--weights`.
    pub weights: String,
    /// Where the vectors come from: `synthetic`, or the file given to `--input`.
    pub input: String,
}

/// One shape, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Configuration {
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Vectors per evaluation.
    pub batch: usize,
    /// The answer of the gate.
    pub verdict: Verdict,
    /// Why it was rejected; `None` unless `verdict` is `rejected`.
    pub rejection: Option<Rejection>,
    /// Library, device, parameters and plan; `None` where the backend refused the configuration.
    pub description: Option<Description>,
    /// log2(QP) that the security table would still allow: `security_limit − log_qp` of the
    /// parameters; `None` without a description.
    pub security_margin: Option<f64>,
    /// Copies that the evaluations rotate through; `None` without `--cold`.
    pub cold: Option<Cold>,
    /// Key generation; `None` where it was not reached.
    pub keys: Option<KeyReport>,
    /// Weight preparation; `None` where it was not reached.
    pub prepare: Option<PrepareReport>,
    /// Sizes.
    pub bytes: Bytes,
    /// Errors over all trials; `None` where no trial got to its end.
    pub errors: Option<ErrorSummary>,
    /// Absolute errors of all outputs of all trials; `None` where no trial got to its end.
    pub error_histogram: Option<Histogram>,
    /// Duration of every stage; `None` when rejected.
    pub stages: Option<Vec<StageSummary>>,
    /// Vectors per second; `None` when rejected or before the first measured trial.
    pub throughput: Option<Throughput>,
    /// Every trial in order, warm-ups first.
    pub trials: Vec<Trial>,
}

/// The answer of the gate for a configuration or a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every output of every trial is within the gate.
    Passed,
    /// At least one trial failed; no duration is reported.
    Rejected,
    /// Interrupted before all trials were done; those that were done passed.
    Incomplete,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Passed => "PASSED",
            Verdict::Rejected => "REJECTED",
            Verdict::Incomplete => "INCOMPLETE",
        })
    }
}

/// Why a configuration was rejected: its first failure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rejection {
    /// The stage that failed; `comparison` where the outputs are wrong.
    pub stage: Stage,
    /// Index of the trial in `trials`; `None` where it failed before the first.
    pub trial: Option<usize>,
    /// The reason in words; a backend's own message is kept unchanged.
    pub reason: String,
    /// The worst output; `None` where there are no outputs to compare.
    pub worst: Option<Worst>,
}

/// Sizes in bytes. `None` where a stage was not reached or the library does not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bytes {
    /// All evaluation keys, serialised.
    pub keys: Option<u64>,
    /// Upload of the whole batch.
    pub upload: Option<u64>,
    /// Download of the whole batch.
    pub download: Option<u64>,
    /// What the client downloads once for this layer (W·A of a `gemm` layer).
    pub layer_download: Option<u64>,
    /// Prepared weights in memory, one copy.
    pub prepared_weights: Option<u64>,
    /// Largest resident memory of the library's process during this configuration; `None` outside
    /// Linux.
    pub peak_resident: Option<u64>,
    /// Largest memory of the device; `None` where there is none or it does not say.
    #[serde(default)]
    pub peak_device: Option<u64>,
    /// The plain weights as f32.
    pub weights_f32: u64,
    /// The plain weights as bf16.
    pub weights_bf16: u64,
}

impl Bytes {
    /// Upload and download of one batch; `None` before both are known.
    #[must_use]
    pub fn moved(&self) -> Option<u64> {
        Some(self.upload?.saturating_add(self.download?))
    }

    /// Whether one batch moves more bytes than sending the client the weights as bf16, once and
    /// for all, would.
    #[must_use]
    pub fn moves_more_than_weights(&self) -> bool {
        self.moved().is_some_and(|moved| moved > self.weights_bf16)
    }
}

/// A stage of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Opening the backend.
    Open,
    /// Secret key and evaluation keys, once per configuration.
    KeyGeneration,
    /// Plaintext weights into what evaluation reads, once per configuration.
    WeightPreparation,
    /// Ahead-of-time part of the evaluation.
    AheadOfTimeEvaluation,
    /// Packing, encoding, encryption, serialisation.
    Encryption,
    /// The whole evaluation.
    Evaluation,
    /// The evaluation after its ahead-of-time part.
    OnlineEvaluation,
    /// Decryption, decoding, unpacking.
    Decryption,
    /// The plain product in f32, as a client that holds the weights would compute it.
    PlainProductF32,
    /// The plain product in f64: the reference.
    PlainProductF64,
    /// Comparison of the outputs with the reference.
    Comparison,
    /// Ending the backend.
    Close,
}

impl Stage {
    /// All stages in the order of the tables.
    pub const ALL: [Stage; 12] = [
        Stage::Open,
        Stage::KeyGeneration,
        Stage::WeightPreparation,
        Stage::Encryption,
        Stage::AheadOfTimeEvaluation,
        Stage::Evaluation,
        Stage::OnlineEvaluation,
        Stage::Decryption,
        Stage::PlainProductF32,
        Stage::PlainProductF64,
        Stage::Comparison,
        Stage::Close,
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Open => "opening the backend",
            Stage::KeyGeneration => "key generation",
            Stage::WeightPreparation => "weight preparation",
            Stage::AheadOfTimeEvaluation => "ahead-of-time evaluation",
            Stage::Encryption => "encryption",
            Stage::Evaluation => "evaluation",
            Stage::OnlineEvaluation => "online evaluation",
            Stage::Decryption => "decryption",
            Stage::PlainProductF32 => "plain product f32",
            Stage::PlainProductF64 => "plain product f64",
            Stage::Comparison => "comparison",
            Stage::Close => "ending the backend",
        })
    }
}

/// Durations of a stage over the measured trials.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StageSummary {
    /// The stage.
    pub stage: Stage,
    /// Number of durations; 1 for what happens once per configuration.
    pub samples: usize,
    /// Median, smallest and largest.
    #[serde(flatten)]
    pub duration: Summary,
    /// Phases that the backend measured inside; empty where it names none.
    pub phases: Vec<PhaseSummary>,
}

/// Durations of a phase inside a stage.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Name given by the backend.
    pub name: String,
    /// Number of durations.
    pub samples: usize,
    /// Median, smallest and largest.
    #[serde(flatten)]
    pub duration: Summary,
    /// Bytes streamed by design; `None` where memory does not bound the phase.
    pub bytes: Option<u64>,
    /// `bytes` by the median duration; `None` without `bytes` or duration.
    pub bytes_per_second: Option<f64>,
    /// `bytes_per_second` relative to the machine's streaming read bandwidth; `None` where one of
    /// them is missing.
    pub of_streaming_read: Option<f64>,
}

/// Vectors per second, from medians.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Throughput {
    /// Of the evaluation alone, or of its online part.
    pub evaluation: f64,
    /// Of encryption, online evaluation or evaluation, and decryption, one after the other. An
    /// ahead-of-time part is not counted.
    pub end_to_end: f64,
}

/// One trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// A warm-up: checked like every trial, left out of the summaries of durations.
    pub warmup: bool,
    /// The answer of the gate.
    pub verdict: Verdict,
    /// Why it failed; `None` unless `verdict` is `rejected`.
    pub reason: Option<String>,
    /// Errors; `None` where there are no outputs to compare.
    pub errors: Option<Errors>,
    /// Errors predicted for this batch; `None` without a noise model.
    pub predicted: Option<Predicted>,
    /// Durations in the order of execution; `None` when the configuration is rejected.
    pub durations: Option<Vec<StageDuration>>,
}

/// Duration of one stage in one trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageDuration {
    /// The stage.
    pub stage: Stage,
    /// Wall seconds.
    pub seconds: f64,
    /// Phases that the backend measured inside.
    pub phases: Vec<Phase>,
}
