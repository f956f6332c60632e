//! The steps of a trial and what each reports.

use crate::BackendError;
use serde::{Deserialize, Serialize};
use tensor_io::{InputBatch, WeightMatrix};

/// Which packing plan to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanChoice {
    /// The cheapest plan of the cost model.
    Auto,
    /// Packed diagonals, the cheapest layout of the cost model.
    Diagonal,
    /// Diagonals of the matrix padded to a power-of-two square, real slots, as in the published
    /// comparison's baseline.
    DiagonalSquare,
    /// One integer matrix product for many vectors, without rotations or evaluation keys.
    Gemm,
}

/// How the client of a `gemm` layer comes to W·A, the part of every answer that does not depend on
/// the vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Downloaded once for each layer and epoch, kept by the client.
    #[default]
    Cached,
    /// Sent with every answer; the client keeps nothing.
    Sent,
}

/// The circumstances that decide which plan is cheapest.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Circumstances {
    /// Bandwidth between client and server, bytes per second.
    pub link_bytes_per_second: f64,
    /// Evaluations that share one upload of evaluation keys, or one download of W·A.
    pub reuse: u64,
    /// How W·A reaches the client of a `gemm` layer.
    pub delivery: Delivery,
}

impl Default for Circumstances {
    /// 10 Gbit/s, 1,000 evaluations, cached.
    fn default() -> Self {
        Self {
            link_bytes_per_second: 1.25e9,
            reuse: 1000,
            delivery: Delivery::Cached,
        }
    }
}

impl TrialSpec {
    /// The norm that errors are in proportion to: of the data where it is known, otherwise of the
    /// synthetic data, √d_in/3 (x uniform in ±1, W in ±1/√d_in).
    pub fn expected_product_norm(&self) -> f64 {
        self.product_norm
            .unwrap_or_else(|| self.synthetic_product_norm())
    }

    /// The norm of the synthetic data.
    pub fn synthetic_product_norm(&self) -> f64 {
        (self.d_in as f64).sqrt() / 3.0
    }
}

/// Figures of one core of a machine that the cost model of `--plan auto` computes with.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// `diagonal`: measured evaluation by the one predicted for the machine of the defaults.
    pub diagonal_evaluation: f64,
    /// `diagonal`: encryption, seconds for each ciphertext.
    pub diagonal_encryption: f64,
    /// `diagonal`: decryption, seconds for each answer.
    pub diagonal_decryption: f64,
    /// `gemm`: multiply-adds per second of the evaluation, with all that is around them.
    pub gemm_multiply_adds: f64,
    /// `gemm`: encryption; rows are the masks a_j.
    pub gemm_encryption: GemmClientRates,
    /// `gemm`: decryption; rows are those of W·A.
    pub gemm_decryption: GemmClientRates,
}

/// Seconds that one core of a `gemm` client takes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct GemmClientRates {
    /// Small batches: for each row, whatever the columns.
    pub row: f64,
    /// Small batches: for each row and column besides.
    pub direct: f64,
    /// Large batches: for each row and block of up to N columns.
    pub transform: f64,
    /// For each coefficient sent or received.
    pub coefficient: f64,
}

impl Calibration {
    /// Whether all figures are positive and finite.
    pub fn is_usable(&self) -> bool {
        [
            self.diagonal_evaluation,
            self.diagonal_encryption,
            self.diagonal_decryption,
            self.gemm_multiply_adds,
            self.gemm_encryption.row,
            self.gemm_encryption.direct,
            self.gemm_encryption.transform,
            self.gemm_encryption.coefficient,
            self.gemm_decryption.row,
            self.gemm_decryption.direct,
            self.gemm_decryption.transform,
            self.gemm_decryption.coefficient,
        ]
        .iter()
        .all(|figure| figure.is_finite() && *figure > 0.0)
    }
}

/// Everything a backend needs to know before it makes keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrialSpec {
    /// Input width (rows of W in `y = xW`).
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Independent vectors per evaluation.
    pub batch: usize,
    /// Packing plan.
    pub plan: PlanChoice,
    /// Parameter set by name; `None` for the backend's default.
    pub params: Option<String>,
    /// Way of evaluating by name, for libraries that have several; `None` for the default.
    #[serde(default)]
    pub mode: Option<String>,
    /// Run `native`, too, in a process of its own; other libraries always do.
    #[serde(default)]
    pub isolate: bool,
    /// Most seconds of one step of a library in a process of its own; `None` for the default.
    #[serde(default)]
    pub stage_timeout: Option<f64>,
    /// Most resident memory of a process of its own, bytes; `None` for no limit.
    #[serde(default)]
    pub memory_limit: Option<u64>,
    /// Worker threads.
    pub threads: usize,
    /// Split evaluation into an ahead-of-time and an online part.
    pub ahead: bool,
    /// Copies of the prepared layer that evaluations rotate through (1 = warm).
    pub replicas: usize,
    /// Largest acceptable absolute error, for the refusal before the run.
    pub gate: f64,
    /// Largest Euclidean norm of an input vector times that of an output's weights, where they are
    /// known; `None` for the synthetic data.
    pub product_norm: Option<f64>,
    /// Link, reuse and delivery.
    pub circumstances: Circumstances,
    /// What the cost model computes with; `None` for figures of one AVX-512 core.
    pub calibration: Option<Calibration>,
    /// Seed for reproducible randomness, benchmark runs only.
    pub seed: u64,
}

/// What kind of work a plan does, for one evaluation of the whole batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Key switches (rotations that are not free).
    pub key_switches: u64,
    /// Of which baby steps (hoisted).
    pub baby_steps: u64,
    /// Of which giant steps.
    pub giant_steps: u64,
    /// Plaintext-ciphertext products.
    pub plaintext_products: u64,
    /// Number-theoretic transforms of N points over one prime.
    pub ntts: u64,
    /// Ciphertexts the client sends.
    pub input_ciphertexts: u64,
    /// Ciphertexts the server sends.
    pub output_ciphertexts: u64,
    /// Distinct Galois keys.
    pub galois_keys: u64,
    /// Multiply-adds modulo a power of two (`gemm`).
    pub multiply_adds: u64,
}

/// The packing in words and numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packing {
    /// `diagonal`, `diagonal-square` or `gemm`.
    pub name: String,
    /// One line for people: folding, copies, splits.
    pub layout: String,
    /// Baby steps per giant step, n1; `None` for a packing without rotations.
    pub n1: Option<usize>,
    /// Giant steps of the busiest output, n2; `None` for a packing without rotations.
    pub n2: Option<usize>,
    /// Vectors that share one ciphertext.
    pub vectors_per_ciphertext: usize,
}

/// Parameters with their security argument.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ParameterReport {
    /// Name of the set.
    pub name: String,
    /// Ring degree N.
    pub ring_degree: usize,
    /// Ciphertext moduli: primes, or one power of two.
    pub q: Vec<u64>,
    /// Key-switching primes.
    pub p: Vec<u64>,
    /// log2(QP), rounded up to hundredths.
    pub log_qp: f64,
    /// Largest log2(QP) that the security table allows at this N.
    pub security_limit: u32,
    /// Table, row and level in words.
    pub security_note: String,
    /// Secret distribution in words.
    pub secret: String,
    /// Error distribution in words.
    pub error: String,
    /// SHA-256 of the canonical description, hex.
    pub digest: String,
}

/// What `plan` prints and what every report carries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanReport {
    /// The packing.
    pub packing: Packing,
    /// Counts per evaluation of the batch.
    pub counts: Counts,
    /// Rotation steps that need a key, ascending.
    pub rotation_steps: Vec<i64>,
    /// Serialised bytes of all evaluation keys.
    pub key_bytes: u64,
    /// Expanded evaluation keys in the server's memory, bytes.
    pub key_memory_bytes: u64,
    /// Prepared weights in memory, bytes (one replica).
    pub prepared_bytes: u64,
    /// Largest memory of the whole trial, predicted, bytes.
    pub peak_memory_bytes: u64,
    /// Upload of the whole batch, bytes.
    pub upload_bytes: u64,
    /// Download of the whole batch, bytes.
    pub download_bytes: u64,
    /// W·A of a `gemm` layer; `None` for other plans.
    pub mask_products: Option<MaskProducts>,
    /// Predicted cost of every plan that could serve this layer and batch, cheapest first; empty
    /// where the backend has no cost model.
    pub estimates: Vec<PlanEstimate>,
    /// Root mean square error predicted for the synthetic data of this shape; `None` where the
    /// backend has no noise model.
    pub predicted_rms_error: Option<f64>,
    /// Evaluation seconds predicted by the cost model, one thread; `None` where the backend has
    /// none.
    pub predicted_seconds: Option<f64>,
    /// Why this packing was chosen: the alternatives and their predicted cost.
    pub reasons: Vec<String>,
}

/// The rows of W·A as the client receives them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MaskProducts {
    /// Whether they are downloaded once or with every answer.
    pub delivery: Delivery,
    /// Serialised bytes of all rows. With `sent` the download of every batch contains them.
    pub bytes: u64,
    /// Bits of each coefficient after rounding.
    pub bits: u32,
}

/// What one batch is predicted to cost under a plan, with the trial's threads.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanEstimate {
    /// `diagonal` or `gemm`.
    pub plan: String,
    /// Evaluation.
    pub server_seconds: f64,
    /// Encryption and decryption.
    pub client_seconds: f64,
    /// Upload and download on the link.
    pub link_seconds: f64,
    /// This batch's share of what is sent once: evaluation keys, or W·A.
    pub shared_seconds: f64,
    /// Upload of the batch, bytes.
    pub upload_bytes: u64,
    /// Download of the batch, bytes.
    pub download_bytes: u64,
    /// Sum of the four durations: what is compared.
    pub total_seconds: f64,
}

/// Who is under test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// Name given to `--lib`.
    pub library: String,
    /// Version of the library.
    pub version: String,
    /// `cpu` or a GPU's name.
    pub device: String,
    /// Kernels chosen at run time, e.g. `avx512`.
    pub kernels: String,
    /// Parameters.
    pub parameters: ParameterReport,
    /// The plan.
    pub plan: PlanReport,
    /// What a reader must know to compare it with other libraries, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// After key generation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KeyReport {
    /// Serialised bytes of all evaluation keys, measured.
    pub key_bytes: u64,
    /// Number of Galois keys.
    pub galois_keys: u64,
}

/// After weight preparation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PrepareReport {
    /// Prepared weights in memory, bytes (one replica), measured.
    pub prepared_bytes: u64,
    /// log2 of the weights' scale Δw.
    pub log_weight_scale: f64,
    /// Diagonals left out because they are zero.
    pub zero_diagonals: u64,
    /// W·A as sent to the client once for this layer, bytes, measured; 0 where nothing is.
    pub layer_download_bytes: u64,
    /// What the preparation consists of; its sum is at most the step's wall time.
    pub phases: Vec<Phase>,
}

/// Bytes that crossed the boundary for the whole batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TransferReport {
    /// Serialised bytes, measured.
    pub bytes: u64,
}

/// One phase inside an evaluation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// Name, e.g. `multiply-accumulate`.
    pub name: String,
    /// Wall seconds.
    pub seconds: f64,
    /// Bytes streamed from memory by design, if the phase is bound by them.
    pub bytes: Option<u64>,
}

/// After an evaluation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EvaluationReport {
    /// Phases in order; their sum is at most the step's wall time.
    pub phases: Vec<Phase>,
    /// Serialised bytes of the answers for the whole batch (0 for the ahead-of-time part).
    pub download_bytes: u64,
}

/// Error predicted for the values actually encrypted, by the closed forms.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// Root mean square over all outputs of the batch.
    pub rms: f64,
    /// Largest per-output standard deviation times 6.
    pub six_sigma: f64,
}

/// The most memory that a library in a process of its own has used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Resident memory in bytes, where known.
    pub peak_resident: Option<u64>,
    /// Memory of the device in bytes, where known.
    pub peak_device: Option<u64>,
}

/// A library under test. Methods are called in the order the crate's documentation gives;
/// `evaluate_ahead`, `encrypt`, `evaluate`, `decrypt` repeat for every trial.
pub trait Backend: Send {
    /// Library, device, parameters and plan.
    fn describe(&self) -> Description;

    /// Client: secret key and all evaluation keys; serialises them, and the server loads them.
    ///
    /// # Errors
    /// [`BackendError::Library`] when the library fails.
    fn generate_keys(&mut self) -> Result<KeyReport, BackendError>;

    /// Server: turns plaintext weights into what evaluation reads. `progress` is called with a
    /// fraction from 0 to 1, from any thread.
    ///
    /// # Errors
    /// [`BackendError::Refused`] when overflow, noise or memory is predicted to fail.
    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError>;

    /// Server: makes the further copies of the prepared layer that `replicas` asks for, outside any
    /// measured stage. Backends that know no copies evaluate warm.
    ///
    /// # Errors
    /// [`BackendError::Library`] when memory runs out.
    fn replicate(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Both sides, before the vectors exist: the client draws the one-time seeds of the next
    /// batch, the server does all work that depends on them alone.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] where a library has no such split.
    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError>;

    /// Client: packs, encodes, encrypts and serialises `batch` vectors.
    ///
    /// # Errors
    /// [`BackendError::BadArgument`] for a wrong width or batch, [`BackendError::Refused`] for
    /// values that would overflow or miss the gate.
    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError>;

    /// Server: reads the ciphertexts, evaluates, serialises the answers. Where
    /// [`Backend::evaluate_ahead`] ran for this batch, only the online part.
    ///
    /// # Errors
    /// [`BackendError::Library`] when the library fails.
    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError>;

    /// Client: reads, decrypts, decodes and unpacks; returns `batch * d_out` values, row by row.
    ///
    /// # Errors
    /// [`BackendError::Library`] when the library fails.
    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError>;

    /// Error predicted for the last encrypted batch, where the backend has a noise model.
    fn predicted(&self) -> Option<Predicted>;

    /// Memory of the library, where it runs in a process of its own; `None` where it shares this
    /// one.
    fn memory(&mut self) -> Option<MemoryUse> {
        None
    }

    /// Ends the library in good order, after the last trial. Dropping a backend ends it, too, but
    /// a fault on the way out is seen only here.
    ///
    /// # Errors
    /// [`BackendError::Worker`] where its process does not end as it must.
    fn close(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}
