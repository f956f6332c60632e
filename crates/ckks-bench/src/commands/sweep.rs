//! `ckks-bench sweep`.

use super::print;
use crate::cli::{self, MAX_BATCH, MAX_THREADS, MAX_TRIALS, MaskDelivery, Plan};
use crate::error::{BenchError, Outcome};
use crate::interrupt::Interrupt;
use crate::shape::Shape;
use crate::sweep::file::SweepFile;
use crate::sweep::options::SweepOptions;
use crate::sweep::point::{run_point, work};
use crate::sweep::progress::SweepProgress;
use crate::sweep::record::{Header, LineKind, PointOutcome, PointRecord, SWEEP_SCHEMA};
use crate::sweep::{axes, summary};
use bench_report::host::Host;
use bench_report::units::plural;
use clap::Args;
use jiff::Timestamp;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

/// Options of `sweep`. What is not given is taken from `--config`, and what is not there either
/// has the default.
#[derive(Debug, Default, Args)]
pub struct SweepArgs {
    /// A TOML file with the same axes and options; flags override it
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,

    /// Libraries under test, separated by commas [default: native]
    #[arg(long, value_delimiter = ',')]
    pub lib: Vec<String>,

    /// Devices, separated by commas [default: the first of each library]
    #[arg(long, value_delimiter = ',')]
    pub device: Vec<String>,

    /// Layers, separated by commas [default: 2048x1024]
    #[arg(long, value_name = "INxOUT", value_delimiter = ',')]
    pub shape: Vec<Shape>,

    /// Vectors per evaluation: 1,16,64 or 1,2,4,...,4096 [default: 1]
    #[arg(long, value_name = "LIST", value_parser = batches, allow_hyphen_values = true)]
    pub batch: Option<Values>,

    /// Packing plans, separated by commas [default: auto]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub plan: Vec<Plan>,

    /// Worker threads: 1,2 or 1,2,4,...,32 [default: the cores available]
    #[arg(long, value_name = "LIST", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<Values>,

    /// Measured trials per point, at most [default: 3]
    #[arg(long, value_name = "N", value_parser = cli::up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub trials: Option<usize>,

    /// Trials before them, checked but not measured, at most [default: 1]
    #[arg(long, value_name = "N", value_parser = cli::zero_up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub warmup: Option<usize>,

    /// Seed of the synthetic data and of the backend's randomness [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,

    /// Largest acceptable absolute error [default: 1e-4]
    #[arg(long, value_name = "ERROR", value_parser = cli::gate, allow_hyphen_values = true)]
    pub gate: Option<f64>,

    /// Bandwidth between client and server, for --plan auto [default: 10Gbit/s]
    #[arg(long, value_name = "RATE", value_parser = bench_report::units::parse_rate)]
    pub link: Option<f64>,

    /// Evaluations that share the evaluation keys or W·A, for --plan auto [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub reuse: Option<u64>,

    /// How W·A reaches the client of a gemm layer [default: cached]
    #[arg(long, value_enum)]
    pub delivery: Option<MaskDelivery>,

    /// Split the evaluation into an ahead-of-time and an online part
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub ahead: Option<bool>,

    /// Rotate through enough copies of the layer that none is still in a cache
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub cold: Option<bool>,

    /// Start no further trial of a point once its trials have taken this long; one is always
    /// measured [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = cli::seconds, allow_hyphen_values = true)]
    pub point_seconds: Option<f64>,

    /// Stop and record a point whose process takes longer than this [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = cli::seconds, allow_hyphen_values = true)]
    pub timeout: Option<f64>,

    /// Where the points go; points that are there already are not measured again
    #[arg(long, value_name = "FILE.jsonl", required_unless_present = "dry_run")]
    pub output: Option<PathBuf>,

    /// List the points and measure none
    #[arg(long)]
    pub dry_run: bool,

    /// Measure again the points of --output that crashed, timed out, were refused or had no
    /// library
    #[arg(long)]
    pub retry_failed: bool,

    /// Continue --output although it was begun with other options, another build or on another
    /// machine
    #[arg(long)]
    pub force: bool,
}

/// The values of a numeric axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values(pub Vec<usize>);

/// The values of `--batch`.
pub(crate) fn batches(text: &str) -> Result<Values, String> {
    values::<MAX_BATCH>(text)
}

/// The values of `--threads`.
pub(crate) fn threads(text: &str) -> Result<Values, String> {
    values::<MAX_THREADS>(text)
}

fn values<const MAX: usize>(text: &str) -> Result<Values, String> {
    let values = axes::numbers(text)?;
    match values.iter().find(|&&value| value == 0 || value > MAX) {
        Some(value) => Err(format!("{value} is not between 1 and {MAX}")),
        None => Ok(Values(values)),
    }
}

/// Measures the points that `--output` does not have yet, and summarises all.
///
/// # Errors
/// [`BenchError`] where the sweep cannot start, or its file cannot be written.
pub fn sweep(args: SweepArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let options = SweepOptions::new(args)?;
    let Some(output) = &options.output else {
        return dry_run(&options, out);
    };
    let header = Header {
        schema: SWEEP_SCHEMA.to_owned(),
        kind: LineKind::Header,
        date: format!("{:.0}", Timestamp::now()),
        build: bench_report::build!(),
        host: Host::current(),
        settings: options.settings.clone(),
    };
    let (mut file, earlier) = SweepFile::open(output, &header, options.force)?;
    let mut notes = file.notes().join("\n");
    let mut records: HashMap<String, PointRecord> = earlier
        .into_iter()
        .filter(|record| !options.retry_failed || record.outcome == PointOutcome::Finished)
        .map(|record| (record.key.clone(), record))
        .collect();
    let (done, open): (Vec<_>, Vec<_>) = options
        .points
        .iter()
        .partition(|point| records.contains_key(&point.to_string()));
    if !done.is_empty() {
        notes.push_str(&format!(
            "{} already in {}, {} to measure\n",
            plural(done.len() as u64, "point"),
            output.display(),
            open.len()
        ));
    }
    print(out, &notes)?;

    let interrupt = Interrupt::on_ctrl_c_saying(
        "interrupted: the points that are finished are kept; the same command goes on from there",
    )?;
    let progress = SweepProgress::new(open.iter().map(|point| work(point)).sum(), open.len());
    let lines = summary::Lines::new(&options.points);
    if !open.is_empty() {
        progress.suspend(|| print(out, &lines.header()))?;
    }
    let mut interrupted = false;
    for point in open {
        progress.start(&point.to_string());
        let Some(record) = run_point(point, &options, output, &interrupt)? else {
            interrupted = true;
            break;
        };
        // The file first: a line on the screen says that the point is safe.
        file.append(&record)?;
        progress.finish(work(point));
        progress.suspend(|| print(out, &lines.line(&record)))?;
        records.insert(record.key.clone(), record);
    }
    drop(progress);

    let measured: Vec<&PointRecord> = options
        .points
        .iter()
        .filter_map(|point| records.get(&point.to_string()))
        .collect();
    print(out, &summary::summary(&measured))?;
    Ok(if interrupted {
        Outcome::Interrupted
    } else if measured.iter().all(|record| record.passed()) {
        Outcome::Passed
    } else {
        Outcome::Rejected
    })
}

fn dry_run(options: &SweepOptions, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let mut text = String::new();
    for point in &options.points {
        text.push_str(&format!("{point}\n"));
    }
    text.push_str(&plural(options.points.len() as u64, "point"));
    text.push('\n');
    print(out, &text)?;
    Ok(Outcome::Passed)
}
