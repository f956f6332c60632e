//! The file of a sweep: one JSON object per line, a header and then one line per point.

use crate::error::BenchError;
use crate::report::{Configuration, Report, Verdict};
use bench_report::host::Host;
use bench_report::program::Build;
use ckks_backend::Circumstances;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::Path;

/// Name and version of the format. A change that breaks readers changes it.
pub const SWEEP_SCHEMA: &str = "ckks-bench-sweep/1";

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// The first line: [`Header`].
    Header,
    /// Every other line: [`PointRecord`].
    Point,
}

/// The first line: what is common to all points.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`SWEEP_SCHEMA`].
    pub schema: String,
    /// [`LineKind::Header`].
    pub kind: LineKind,
    /// Start of the sweep, UTC, RFC 3339.
    pub date: String,
    /// The program.
    pub build: Build,
    /// The machine.
    pub host: Host,
    /// The options that hold for all points.
    pub settings: SweepSettings,
}

/// Options that hold for all points of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SweepSettings {
    /// Measured trials per point, at most; `point_seconds` may leave some out.
    pub trials: usize,
    /// Warm-up trials per point, at most.
    pub warmup: usize,
    /// Seed of the synthetic data and of the backend's randomness.
    pub seed: u64,
    /// Largest acceptable absolute error.
    pub gate: f64,
    /// Evaluation split into an ahead-of-time and an online part.
    pub ahead: bool,
    /// Evaluations rotate through copies of the layer.
    pub cold: bool,
    /// Link, reuse and delivery that `--plan auto` decides by.
    pub circumstances: Circumstances,
    /// Seconds of trials after which a point starts no further trial; one is always measured.
    pub point_seconds: f64,
}

/// One combination of the axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Name given to `--lib`.
    pub library: String,
    /// Name given to `--device`.
    pub device: String,
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Vectors per evaluation.
    pub batch: usize,
    /// Name given to `--plan`; what `auto` chose is in the report.
    pub plan: String,
    /// Worker threads.
    pub threads: usize,
}

impl fmt::Display for Point {
    /// The key, e.g. `native/cpu 512x2048 batch 64 plan gemm threads 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point {
            library,
            device,
            d_in,
            d_out,
            batch,
            plan,
            threads,
        } = self;
        write!(
            f,
            "{library}/{device} {d_in}x{d_out} batch {batch} plan {plan} threads {threads}"
        )
    }
}

impl PointRecord {
    /// Checks that key, point and report speak of the same thing.
    fn check(&self) -> Result<(), String> {
        if self.schema != SWEEP_SCHEMA || self.kind != LineKind::Point {
            return Err(format!("it is no point of \"{SWEEP_SCHEMA}\""));
        }
        let Point {
            d_in, d_out, batch, ..
        } = self.point;
        if self.key != self.point.to_string() {
            return Err(format!(
                "its key \"{}\" is not that of its point, \"{}\"",
                self.key, self.point
            ));
        }
        let Some(report) = &self.report else {
            return Ok(());
        };
        let measured = report.configurations.iter();
        for found in measured.map(|c| (c.d_in, c.d_out, c.batch)) {
            if found != (d_in, d_out, batch) {
                return Err(format!(
                    "its report measured {}x{}, batch {}, its point is {d_in}x{d_out}, batch {batch}",
                    found.0, found.1, found.2
                ));
            }
        }
        report.check()
    }
}

/// How the worker process of a point ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PointOutcome {
    /// It wrote its report. Whether the gate passed the outputs is the report's verdict.
    Finished,
    /// It ended without a report that can be read.
    Crashed {
        /// The signal that ended it; `None` where it exited.
        signal: Option<i32>,
        /// Its exit code; `None` where a signal ended it or it could not be started.
        exit_code: Option<i32>,
        /// The same in words.
        reason: String,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// It was stopped because it took too long.
    TimedOut {
        /// The limit, in seconds.
        limit_seconds: f64,
        /// The last lines that it wrote to standard error.
        stderr: Vec<String>,
    },
    /// The library or the device is not there.
    NotAvailable {
        /// What was looked for, in words.
        reason: String,
    },
    /// The backend refused the configuration, or it does not fit into memory.
    Refused {
        /// Why, in words.
        reason: String,
    },
}

/// A line of a point.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointRecord {
    /// [`SWEEP_SCHEMA`].
    pub schema: String,
    /// [`LineKind::Point`].
    pub kind: LineKind,
    /// The point as one string, unique in a sweep.
    pub key: String,
    /// The point.
    pub point: Point,
    /// How it ended.
    pub outcome: PointOutcome,
    /// Wall seconds of the worker process, start to end.
    pub seconds: f64,
    /// The worker's report with one configuration; `None` where it wrote none.
    pub report: Option<Report>,
}

impl PointRecord {
    /// The record of a point.
    #[must_use]
    pub fn new(
        point: Point,
        outcome: PointOutcome,
        seconds: f64,
        report: Option<Report>,
    ) -> PointRecord {
        PointRecord {
            schema: SWEEP_SCHEMA.to_owned(),
            kind: LineKind::Point,
            key: point.to_string(),
            point,
            outcome,
            seconds,
            report,
        }
    }

    /// What was measured; `None` where there is no report.
    #[must_use]
    pub fn configuration(&self) -> Option<&Configuration> {
        self.report.as_ref()?.configurations.first()
    }

    /// Whether every output of every trial was within the gate.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.outcome == PointOutcome::Finished
            && self
                .configuration()
                .is_some_and(|configuration| configuration.verdict == Verdict::Passed)
    }
}

/// A sweep as read from its file.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The first line.
    pub header: Header,
    /// One record per point, in the order of their first lines. A point that was tried again has
    /// its last record.
    pub points: Vec<PointRecord>,
    /// Length in bytes of the lines that are whole.
    pub whole_bytes: usize,
    /// Whether a line that is not whole follows them: the sweep was killed while it was written,
    /// or is writing it now.
    pub truncated: bool,
}

/// Reads the file of a sweep, finished or not. A last line that is not whole is left out.
///
/// # Errors
/// [`BenchError::Usage`] where the file cannot be read or is no sweep; it names the file and the
/// line.
pub fn read_sweep(path: &Path) -> Result<Sweep, BenchError> {
    let bytes = fs::read(path)
        .map_err(|error| BenchError::usage(format!("cannot read {}: {error}", path.display())))?;
    parse_sweep(path, &bytes)
}

/// Reads a sweep from the content of its file; `path` is for messages.
///
/// # Errors
/// As [`read_sweep`].
pub fn parse_sweep(path: &Path, bytes: &[u8]) -> Result<Sweep, BenchError> {
    let path = path.display();
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate();
    let no_header = || {
        BenchError::usage(format!(
            "{path} is no sweep: its first line is not the header that `ckks-bench sweep` writes"
        ))
    };
    let (_, first) = lines.next().ok_or_else(no_header)?;
    let header: Header = serde_json::from_slice(first).map_err(|_| no_header())?;
    if header.schema != SWEEP_SCHEMA {
        return Err(BenchError::usage(format!(
            "{path} has the schema \"{}\", but this program reads \"{SWEEP_SCHEMA}\"; use the \
             version that wrote it",
            header.schema
        )));
    }
    if header.kind != LineKind::Header || !first.ends_with(b"\n") {
        return Err(no_header());
    }
    let mut sweep = Sweep {
        header,
        points: Vec::new(),
        whole_bytes: first.len(),
        truncated: false,
    };
    for (index, line) in lines {
        let last = sweep.whole_bytes + line.len() == bytes.len();
        // JSON that is cut off can only be the last line; everything else is damage.
        let cut_off = || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err();
        if last && (!line.ends_with(b"\n") || cut_off()) {
            sweep.truncated = true;
            break;
        }
        let record: PointRecord = serde_json::from_slice(line).map_err(|error| {
            BenchError::usage(format!(
                "{path}, line {}: not a point of \"{SWEEP_SCHEMA}\": {error}; remove the line, or \
                 use the version that wrote it",
                index + 1
            ))
        })?;
        record.check().map_err(|reason| {
            BenchError::usage(format!(
                "{path}, line {}: {reason}; remove the line",
                index + 1
            ))
        })?;
        sweep.whole_bytes += line.len();
        match sweep
            .points
            .iter_mut()
            .find(|earlier| earlier.key == record.key)
        {
            Some(earlier) => *earlier = record,
            None => sweep.points.push(record),
        }
    }
    Ok(sweep)
}
