//! The results: what `--json` writes, and what the page is made from.

use super::cold_start::ColdStart;
use super::facts::{Entropy, Overhead, PeakFact};
use super::measured::Measured;
use super::peers::Peers;
use super::subject::TensorFact;
use bench_report::host::Host;
use bench_report::program::Build;
use serde::{Deserialize, Serialize};

/// Names the layout of the JSON.
pub const SCHEMA: &str = "weights-seal-bench";
/// Grows when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that was found out. Times are in seconds, sizes in bytes, rates in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program.
    pub build: Build,
    /// Its command line.
    pub command: String,
    /// When it started, UTC.
    pub date: String,
    /// The machine.
    pub host: Host,
    /// What of the system matters here.
    pub conditions: Conditions,
    /// The file.
    pub subject: SubjectFact,
    /// How often each case ran; the first time is told apart.
    pub rounds: usize,
    /// What was measured in rounds.
    pub cases: Vec<Measured>,
    /// Bytes of the plain and the sealed file.
    pub entropy: Entropy,
    /// Sizes of the plain and the sealed file.
    pub overhead: Overhead,
    /// Memory of sealing and opening.
    pub peaks: Vec<PeakFact>,
    /// Whether the mask of processor features did anything; `None` where it was not tried.
    pub mask_acted: Option<bool>,
    /// Loading times of models, computed from the measured rates.
    pub cold_start: Vec<ColdStart>,
    /// Other programs.
    pub peers: Peers,
}

impl Record {
    /// The case of that name.
    #[must_use]
    pub fn case(&self, id: &str) -> Option<&Measured> {
        self.cases.iter().find(|case| case.spec.id == id)
    }

    /// The rate of that case.
    #[must_use]
    pub fn rate(&self, id: &str) -> Option<f64> {
        self.case(id)?.bytes_per_second
    }

    /// The most threads that cases ran with.
    #[must_use]
    pub fn most_threads(&self) -> usize {
        let threads = self.cases.iter().map(|case| case.spec.threads);
        threads.max().unwrap_or(1)
    }

    /// The numbers of threads of the cases, ascending.
    #[must_use]
    pub fn thread_counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.cases.iter().map(|case| case.spec.threads).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

/// What of the system matters here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// `/sys/kernel/mm/transparent_hugepage/enabled`, the value that holds.
    pub huge_pages: Option<String>,
    /// The same for tmpfs.
    pub huge_pages_tmpfs: Option<String>,
    /// Suite that files are sealed with here.
    pub suite: String,
    /// Library that computes it here.
    pub provider: String,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
}

/// The file that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectFact {
    /// Its name, without folders.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Whether it was made up for the measurement.
    pub made_up: bool,
    /// The tensor that is read alone.
    pub tensor: Option<TensorFact>,
}
