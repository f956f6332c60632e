//! The command line.

use crate::commands::ab::AbArgs;
use crate::commands::bootstrap::BootstrapArgs;
use crate::commands::build_shim::BuildShimArgs;
use crate::commands::compare::CompareArgs;
use crate::commands::cost::CostArgs;
use crate::commands::libs::LibsArgs;
use crate::commands::model::ModelArgs;
use crate::commands::report::ReportArgs;
use crate::commands::sweep::SweepArgs;
use crate::commands::worker::WorkerArgs;
use crate::sealed::SealedArgs;
use crate::shape::Shape;
use ckks_backend::{Delivery, PlanChoice};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tensor_io::WeightSource;

/// Largest batch that is accepted.
pub const MAX_BATCH: usize = 1 << 20;
/// Most trials, and most warm-ups, that are accepted.
pub const MAX_TRIALS: usize = 10_000;
/// Most threads that are accepted.
pub const MAX_THREADS: usize = 4096;

/// Measures and checks encrypted linear layers: a server multiplies encrypted vectors by
/// plaintext weights.
///
/// Exit codes: 0 all configurations passed, 1 a configuration was rejected by the gate or the
/// compiler of a shim failed, 2 wrong usage or input, 3 backend or what it needs not available,
/// 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "ckks-bench", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure layers and check every output against a plaintext reference
    Run(Box<RunArgs>),
    /// Explain how a layer is packed, what it costs and what error it has, without running it
    Plan(PlanArgs),
    /// List the parameter sets with their security argument
    Params(ParamsArgs),
    /// List the libraries under test: whether they are available, what to set, what is known of them
    Libs(LibsArgs),
    /// Build the shim of a library that you installed
    BuildShim(BuildShimArgs),
    /// Measure all combinations of shapes, batches, plans and threads, each in its own process
    Sweep(Box<SweepArgs>),
    /// Make a page, tables and pictures from reports and sweeps
    Report(ReportArgs),
    /// Put two reports side by side
    Compare(CompareArgs),
    /// Measure two configurations in turn and give the ratio of each pair
    Ab(Box<AbArgs>),
    /// Turn a report into money: cost per million vectors
    Cost(CostArgs),
    /// The token budget of a whole model
    Model(Box<ModelArgs>),
    /// Refresh a ciphertext with a library's bootstrapping and compare it under the gate
    Bootstrap(BootstrapArgs),
    /// Load a library under test and answer requests on standard input; started by the others
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// What decides the plan of a layer.
#[derive(Clone, Debug, Args)]
pub struct SpecArgs {
    /// Library under test: one that `ckks-bench libs` lists, or the path of a shared object of
    /// the C ABI or of a worker in Python (docs/worker-protocol.md)
    #[arg(long, default_value = "native")]
    pub lib: String,

    /// Where the server's work runs [default: the library's first device]
    #[arg(long, default_value = ckks_backend::DEFAULT_DEVICE, hide_default_value = true)]
    pub device: String,

    /// Input and output width of the layer; several separated by commas, or repeated
    /// [default: 2048x1024, or the shape of --weights]
    #[arg(long, value_name = "INxOUT", value_delimiter = ',')]
    pub shape: Vec<Shape>,

    /// Independent vectors per evaluation [default: 1, or the rows of --input]
    #[arg(long, value_name = "N", value_parser = up_to::<MAX_BATCH>, allow_negative_numbers = true)]
    pub batch: Option<usize>,

    /// Packing plan
    #[arg(long, value_enum, default_value_t = Plan::Auto)]
    pub plan: Plan,

    /// Parameter set by name; `ckks-bench params` lists them [default: the backend's]
    #[arg(long, value_name = "NAME")]
    pub params: Option<String>,

    /// Way of evaluating by name, for libraries that have several; `ckks-bench libs --lib NAME`
    /// lists them [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub mode: Option<String>,

    /// Run native in a worker process, as all other libraries are
    #[arg(long)]
    pub isolate: bool,

    /// Reject a trial when one step takes a worker process longer [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub stage_timeout: Option<f64>,

    /// Reject a trial when a worker process uses more memory, in MiB [default: 90 % of what is
    /// available]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub memory_limit: Option<u64>,

    /// Split the evaluation into an ahead-of-time and an online part
    #[arg(long)]
    pub ahead: bool,

    /// Largest acceptable absolute error; with --weights or --input it is multiplied by
    /// max(1, max|y|)
    #[arg(long, value_name = "ERROR", default_value = "1e-4", value_parser = gate,
          allow_hyphen_values = true)]
    pub gate: f64,

    /// Worker threads [default: the cores available]
    #[arg(long, value_name = "N", value_parser = up_to::<MAX_THREADS>, allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// Bandwidth between client and server, for --plan auto: 10Gbit/s, 100Mbit/s, 1GB/s
    #[arg(long, value_name = "RATE", default_value = "10Gbit/s", value_parser = bench_report::units::parse_rate)]
    pub link: f64,

    /// Evaluations that share the evaluation keys or W·A, for --plan auto
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reuse: u64,

    /// Measure the figures of the cost model anew (about two seconds) instead of using those kept
    /// from an earlier run on this machine
    #[arg(long)]
    pub recalibrate: bool,

    /// How W·A reaches the client of a gemm layer
    #[arg(long, value_enum, default_value_t = MaskDelivery::Cached)]
    pub delivery: MaskDelivery,
}

/// Names of the deliveries on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MaskDelivery {
    /// Downloaded once for each layer
    Cached,
    /// Sent with every answer
    Sent,
}

impl From<MaskDelivery> for Delivery {
    fn from(delivery: MaskDelivery) -> Delivery {
        match delivery {
            MaskDelivery::Cached => Delivery::Cached,
            MaskDelivery::Sent => Delivery::Sent,
        }
    }
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What decides the plan.
    #[command(flatten)]
    pub spec: SpecArgs,

    /// Measured trials per shape
    #[arg(long, value_name = "N", default_value = "3", value_parser = up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub trials: usize,

    /// Trials before them, checked but not measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = zero_up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub warmup: usize,

    /// Start no further trial of a shape once its trials have taken this long; one is always
    /// measured [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    pub max_seconds: Option<f64>,

    /// Seed of the synthetic data and of the backend's randomness
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Rotate through enough copies of the layer that none is still in a cache
    #[arg(long)]
    pub cold: bool,

    /// Real weights: FILE#TENSOR, DIR#TENSOR, sealed:DIR#TENSOR, https://HOST/PATH#TENSOR or
    /// hf://ORG/MODEL@REV#TENSOR [default: synthetic, uniform in ±1/√IN]
    #[arg(long, value_name = "SOURCE")]
    pub weights: Option<WeightSource>,

    /// How sealed weights are opened.
    #[command(flatten)]
    pub sealed: SealedArgs,

    /// The tensor is stored as inputs × outputs instead of outputs × inputs
    #[arg(long, requires = "weights")]
    pub transpose: bool,

    /// Real vectors, one per row [default: synthetic, uniform in ±1]
    #[arg(long, value_name = "FILE.npy")]
    pub input: Option<PathBuf>,

    /// Write the decrypted outputs of the last trial, if the gate passes them
    #[arg(long, value_name = "FILE.npy")]
    pub output: Option<PathBuf>,

    /// Write the report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// Options of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// What decides the plan.
    #[command(flatten)]
    pub spec: SpecArgs,

    /// Write the plans
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Options of `params`.
#[derive(Debug, Args)]
pub struct ParamsArgs {
    /// Write the parameter sets
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Names of the plans on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Plan {
    /// The cheapest plan of the cost model
    Auto,
    /// Packed diagonals
    Diagonal,
    /// Diagonals of the matrix padded to a power-of-two square: the published baseline
    DiagonalSquare,
    /// One integer matrix product for many vectors
    Gemm,
}

impl From<Plan> for PlanChoice {
    fn from(plan: Plan) -> PlanChoice {
        match plan {
            Plan::Auto => PlanChoice::Auto,
            Plan::Diagonal => PlanChoice::Diagonal,
            Plan::DiagonalSquare => PlanChoice::DiagonalSquare,
            Plan::Gemm => PlanChoice::Gemm,
        }
    }
}

pub(crate) fn up_to<const MAX: usize>(text: &str) -> Result<usize, String> {
    match zero_up_to::<MAX>(text) {
        Ok(0) => Err(format!("it must be at least 1 (and at most {MAX})")),
        other => other,
    }
}

pub(crate) fn zero_up_to<const MAX: usize>(text: &str) -> Result<usize, String> {
    let value: usize = text
        .parse()
        .map_err(|_| format!("expected a whole number up to {MAX}"))?;
    if value > MAX {
        Err(format!("it must be at most {MAX}"))
    } else {
        Ok(value)
    }
}

pub(crate) fn gate(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "expected a number, for example 1e-4".to_owned())?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err("it must be a finite number above 0, for example 1e-4".to_owned())
    }
}

/// A number of seconds above 0 and below a year.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    const YEAR: f64 = 31_557_600.0;
    match text.parse() {
        Ok(value) if value > 0.0 && value <= YEAR => Ok(value),
        _ => Err("expected a number of seconds above 0, for example 20".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_in_range() {
        assert_eq!(up_to::<10>("10"), Ok(10));
        assert!(up_to::<10>("0").is_err());
        assert!(up_to::<10>("11").is_err());
        assert!(up_to::<10>("-1").is_err());
        assert_eq!(zero_up_to::<10>("0"), Ok(0));
        assert_eq!(gate("1e-4"), Ok(1e-4));
        for bad in ["0", "-0", "-1e-4", "NaN", "inf", "-inf", "1e999", "x", ""] {
            assert!(gate(bad).is_err(), "{bad}");
            let duration = seconds(bad);
            assert!(duration.is_err(), "{bad}");
        }
        assert_eq!(seconds("0.5"), Ok(0.5));
    }
}
