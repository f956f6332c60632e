//! The report of `bootstrap`.

use crate::gate::{Errors, Gate};
use crate::report::Verdict;
use bench_report::host::Host;
use bench_report::program::Build;
use bench_report::statistics::Summary;
use ckks_backend::MemoryUse;
use ckks_backend::worker::bootstrap::BootstrapDescription;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench-bootstrap/1";

/// A check of a library's bootstrapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BootstrapReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// When, RFC 3339.
    pub date: String,
    /// The program's arguments.
    pub command_line: Vec<String>,
    /// This program.
    pub build: Build,
    /// The machine.
    pub host: Host,
    /// Name or path given to `--lib`.
    pub library: String,
    /// The gate on every slot.
    pub gate: Gate,
    /// Seed of the slots.
    pub seed: u64,
    /// The answer of the gate.
    pub verdict: Verdict,
    /// Why it was rejected: the first failure.
    pub reason: Option<String>,
    /// Library, device, parameters; `None` where it could not be opened.
    pub description: Option<BootstrapDescription>,
    /// Making all keys.
    pub key_generation_seconds: Option<f64>,
    /// All evaluation keys as sent; `None` where the library does not say.
    pub key_bytes: Option<u64>,
    /// The most memory that the library used.
    pub memory: Option<MemoryUse>,
    /// Every trial, the warm-up first.
    pub trials: Vec<BootstrapTrial>,
}

/// One ciphertext, refreshed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct BootstrapTrial {
    /// Checked, but not measured.
    pub warmup: bool,
    /// Whether the gate passes it.
    pub passed: bool,
    /// Refreshed slots against those encrypted.
    pub errors: Errors,
    /// `None` in a report that is rejected.
    pub durations: Option<Durations>,
}

/// Seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Durations {
    /// Encoding and encryption.
    pub encryption: f64,
    /// Refreshing, with the device synchronised.
    pub bootstrapping: f64,
    /// Decryption and decoding.
    pub decryption: f64,
}

impl BootstrapReport {
    /// Rejects it; the first reason counts. Durations of wrong results are worth nothing.
    pub fn reject(&mut self, reason: String) {
        self.verdict = Verdict::Rejected;
        self.reason.get_or_insert(reason);
    }

    /// Takes the durations out of a report that is rejected.
    pub fn without_wrong_durations(&mut self) {
        if self.verdict == Verdict::Rejected {
            for trial in &mut self.trials {
                trial.durations = None;
            }
        }
    }

    /// Seconds of bootstrapping over the measured trials; `None` when rejected.
    #[must_use]
    pub fn bootstrapping(&self) -> Option<Summary> {
        let measured = self.trials.iter().filter(|trial| !trial.warmup);
        let seconds: Option<Vec<f64>> = measured
            .map(|trial| Some(trial.durations?.bootstrapping))
            .collect();
        Summary::of(&seconds?)
    }
}
