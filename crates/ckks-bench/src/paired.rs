//! Two configurations of the same layer, measured in turn in one process.
//!
//! Rounds alternate their order, A B then B A, so that a machine that grows slower over the run
//! favours neither side. Each round gives one ratio, and the statistics are over these: what both
//! sides of a round have in common cancels.
//!
//! Each side lives on a thread of its own, because a thread can be a member of one pool only: both
//! sides compute the same way, whatever their numbers of threads.

mod ratios;
mod side;

pub use ratios::{Interval, Ratios};
pub use side::{Plan, SharedOpener, SideReport, Timing, measure};

use crate::gate::Gate;
use bench_report::host::Host;
use bench_report::program::Build;
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench-ab/1";

/// The result of `ab`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PairedReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// Ended by Ctrl-C before all rounds were done.
    pub partial: bool,
    /// Start, UTC, RFC 3339.
    pub date: String,
    /// The arguments.
    pub command_line: Vec<String>,
    /// The program.
    pub build: Build,
    /// The machine.
    pub host: Host,
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Seed of the synthetic data and of the backends' randomness.
    pub seed: u64,
    /// The error gate of each side.
    pub gates: [Gate; 2],
    /// Rounds asked for.
    pub rounds_planned: usize,
    /// Rounds before them, checked but not counted.
    pub warmup: usize,
    /// Side A.
    pub a: SideReport,
    /// Side B.
    pub b: SideReport,
    /// The counted rounds, in order; `None` when a side was rejected.
    pub rounds: Option<Vec<Round>>,
    /// Ratios of the evaluation, of its online part with `--ahead`; `None` when a side was
    /// rejected or no round was counted.
    pub evaluation: Option<Ratios>,
    /// Ratios of encryption, evaluation and decryption together.
    pub end_to_end: Option<Ratios>,
}

/// One round.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Round {
    /// Whether A ran first.
    pub a_first: bool,
    /// Seconds of A.
    pub a: Timing,
    /// Seconds of B.
    pub b: Timing,
}
