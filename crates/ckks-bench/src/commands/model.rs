//! `ckks-bench model`.

use super::document::{check_json, write_json};
use super::print;
use crate::cli::{MAX_BATCH, MAX_THREADS, MAX_TRIALS, MaskDelivery, Plan, gate, up_to, zero_up_to};
use crate::error::{BenchError, Outcome};
use crate::gate::Gate;
use crate::interrupt::Interrupt;
use crate::memory::Available;
use crate::model::{
    Budget, Demand, Description, Measurement, Measurer, SCHEMA, Settings, budget_phase, memory,
    published,
};
use crate::open::Opener;
use crate::progress::Progress;
use crate::report::Verdict;
use crate::tables;
use bench_report::host::{self, Host};
use bench_report::output::check_distinct;
use ckks_backend::{Circumstances, TrialSpec};
use clap::Args;
use jiff::Timestamp;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {
    /// Description of the model's layers; configs/models has some, docs/models.md the format
    #[arg(long, value_name = "FILE.toml", required_unless_present = "hf_config")]
    pub config: Option<PathBuf>,

    /// config.json of a model of the LLaMA, Mistral, Qwen2 or Qwen3 families
    #[arg(long, value_name = "config.json", conflicts_with = "config")]
    pub hf_config: Option<PathBuf>,

    /// Length of a prompt read in one batch; 0 leaves it out
    #[arg(long, value_name = "N", default_value = "512", value_parser = zero_up_to::<MAX_BATCH>, allow_negative_numbers = true)]
    pub prefill: usize,

    /// Library under test; `ckks-bench libs` lists them
    #[arg(long, default_value = "native")]
    pub lib: String,

    /// Where the server's work runs [default: the library's first device]
    #[arg(long, default_value = ckks_backend::DEFAULT_DEVICE, hide_default_value = true)]
    pub device: String,

    /// Packing plan
    #[arg(long, value_enum, default_value_t = Plan::Auto)]
    pub plan: Plan,

    /// Parameter set by name; `ckks-bench params` lists them [default: the backend's]
    #[arg(long, value_name = "NAME")]
    pub params: Option<String>,

    /// Split the evaluation into an ahead-of-time and an online part
    #[arg(long)]
    pub ahead: bool,

    /// Worker threads [default: the cores available]
    #[arg(long, value_name = "N", value_parser = up_to::<MAX_THREADS>, allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// Measured trials per shape
    #[arg(long, value_name = "N", default_value = "3", value_parser = up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub trials: usize,

    /// Trials before them, checked but not measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = zero_up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub warmup: usize,

    /// Largest acceptable absolute error
    #[arg(long, value_name = "ERROR", default_value = "1e-4", value_parser = gate, allow_hyphen_values = true)]
    pub gate: f64,

    /// Seed of the synthetic data and of the backend's randomness
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Bandwidth between client and server, for --plan auto: 10Gbit/s, 100Mbit/s, 1GB/s
    #[arg(long, value_name = "RATE", default_value = "10Gbit/s", value_parser = bench_report::units::parse_rate)]
    pub link: f64,

    /// Evaluations that share the evaluation keys or W·A, for --plan auto
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reuse: u64,

    /// How W·A reaches the client of a gemm layer
    #[arg(long, value_enum, default_value_t = MaskDelivery::Cached)]
    pub delivery: MaskDelivery,

    /// Round-trip time of the network, to be added for every round trip: 1ms, 200us, 0.05s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub rtt: Option<f64>,

    /// Write the budget
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// Seconds from `1ms`, `200us` or `0.05s`.
fn duration(text: &str) -> Result<f64, String> {
    let units = [("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let parsed = units.into_iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * scale)
    });
    match parsed {
        Some(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        _ => Err("expected a time with its unit, for example 1ms, 200us or 0.05s".to_owned()),
    }
}

/// Measures every shape of a model once and prints its budget.
///
/// # Errors
/// [`BenchError`] where the description cannot be read, the backend cannot do what is asked, or the
/// budget cannot be written.
pub fn model(
    args: &ModelArgs,
    command_line: Vec<String>,
    opener: &Opener<'_>,
    interrupt: &Interrupt,
    out: &mut dyn Write,
) -> Result<(Budget, Outcome), BenchError> {
    check_json(args.json.as_deref())?;
    check_distinct(
        &[("--json", args.json.as_deref())],
        &[
            ("--config", args.config.as_deref()),
            ("--hf-config", args.hf_config.as_deref()),
        ],
    )?;
    let date = Timestamp::now();
    let description = read(args)?;
    let host = Host::current();
    let progress = Progress::new(args.quiet);
    let settings = settings(args);
    let decode = Demand::decode(&description);
    let prefill = (args.prefill > 0).then(|| Demand::prefill(&description, args.prefill));
    let measurer = Measurer {
        library: &args.lib,
        device: &args.device,
        spec: spec(args, &settings),
        gate: settings.gate,
        trials: args.trials,
        warmup: args.warmup,
        opener,
        interrupt,
        progress: &progress,
        available: Available::now(),
    };
    let demands: Vec<&Demand> = std::iter::once(&decode).chain(&prefill).collect();
    let measurements = measurer.measure_all(&description, &demands)?;
    let available = measurer.available;
    drop(progress);
    let mut budget = Budget {
        schema: SCHEMA.to_owned(),
        partial: interrupt.is_set(),
        date: format!("{date:.0}"),
        command_line,
        build: bench_report::build!(),
        host,
        settings,
        weights: description.weights(),
        decode: budget_phase(&description, &decode, &measurements),
        prefill: prefill
            .as_ref()
            .map(|demand| budget_phase(&description, demand, &measurements)),
        memory: memory(&description, &decode, &measurements),
        published: published(&description, &decode, &measurements),
        model: description,
        measurements,
    };
    budget.host.load_at_end = host::load();
    let json = match &args.json {
        Some(path) => write_json(path, &budget),
        None => Ok(()),
    };
    print(out, &tables::budget(&budget, available))?;
    json?;
    let rejected = |m: &Measurement| {
        let configuration = m.configuration.as_ref();
        configuration.is_some_and(|c| c.verdict == Verdict::Rejected)
    };
    let outcome = if budget.partial {
        Outcome::Interrupted
    } else if budget.measurements.iter().any(rejected) {
        Outcome::Rejected
    } else {
        Outcome::Passed
    };
    Ok((budget, outcome))
}

fn read(args: &ModelArgs) -> Result<Description, BenchError> {
    let wrong = |flag: &str, path: &Path, reason: String| {
        BenchError::usage(format!("{flag} {}: {reason}", path.display()))
    };
    let text = |flag: &str, path: &Path| {
        fs::read_to_string(path).map_err(|error| wrong(flag, path, error.to_string()))
    };
    match (&args.config, &args.hf_config) {
        (Some(path), _) => Description::from_toml(&text("--config", path)?)
            .map_err(|reason| wrong("--config", path, reason)),
        (None, Some(path)) => {
            // The folder of a config.json is named after its model.
            let folder = path.parent().and_then(Path::file_name);
            let name = folder.map_or_else(
                || "model".to_owned(),
                |folder| folder.to_string_lossy().into_owned(),
            );
            Description::from_hub_config(&name, &text("--hf-config", path)?)
                .map_err(|reason| wrong("--hf-config", path, reason))
        }
        (None, None) => Err(BenchError::usage(
            "give --config FILE.toml or --hf-config config.json",
        )),
    }
}

fn settings(args: &ModelArgs) -> Settings {
    Settings {
        library: args.lib.clone(),
        device: args.device.clone(),
        plan: args.plan.into(),
        params: args.params.clone(),
        threads: args.threads.unwrap_or_else(host::cores),
        trials: args.trials,
        warmup: args.warmup,
        seed: args.seed,
        gate: Gate {
            limit: args.gate,
            scaled: false,
        },
        ahead: args.ahead,
        circumstances: Circumstances {
            link_bytes_per_second: args.link,
            reuse: args.reuse,
            delivery: args.delivery.into(),
        },
        rtt_seconds: args.rtt,
    }
}

/// What holds for all shapes.
fn spec(args: &ModelArgs, settings: &Settings) -> TrialSpec {
    TrialSpec {
        d_in: 1,
        d_out: 1,
        batch: 1,
        plan: settings.plan,
        params: settings.params.clone(),
        mode: None,
        isolate: false,
        stage_timeout: None,
        memory_limit: None,
        threads: settings.threads,
        ahead: settings.ahead,
        replicas: 1,
        gate: settings.gate.limit,
        product_norm: None,
        circumstances: settings.circumstances,
        calibration: None,
        seed: args.seed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_by_hand() {
        assert_eq!(duration("1ms"), Ok(1e-3));
        assert_eq!(duration("0.5 s"), Ok(0.5));
        assert!((duration("200us").unwrap() - 2e-4).abs() < 1e-18);
        assert_eq!(duration("0s"), Ok(0.0));
        for bad in ["", "1", "ms", "-1ms", "NaNs", "infs", "1h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
