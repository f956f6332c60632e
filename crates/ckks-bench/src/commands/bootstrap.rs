//! `ckks-bench bootstrap`.

use super::document::{check_json, write_json};
use super::print;
use crate::bootstrap::{BootstrapReport, BootstrapTrial, Durations, SCHEMA};
use crate::cli::{self, MAX_THREADS, MAX_TRIALS};
use crate::error::{BenchError, Outcome};
use crate::gate::{Gate, compare};
use crate::memory::Available;
use crate::report::Verdict;
use crate::{synthetic, tables};
use bench_report::host;
use ckks_backend::worker::bootstrap::{BootstrapSpec, Bootstrapper};
use ckks_backend::{BackendError, open_bootstrap};
use clap::Args;
use jiff::Timestamp;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Largest magnitude of a real or imaginary part of the slots that are refreshed: libraries want
/// magnitudes below 1.
const BOUND: f64 = 0.5;

/// Options of `bootstrap`.
#[derive(Debug, Args)]
pub struct BootstrapArgs {
    /// Library under test: one that `ckks-bench libs` lists, or a path as for `run`
    #[arg(long)]
    pub lib: String,

    /// Where it runs [default: the library's first device]
    #[arg(long, default_value = ckks_backend::DEFAULT_DEVICE, hide_default_value = true)]
    pub device: String,

    /// Parameter set by name; `ckks-bench libs --lib NAME` lists them [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub params: Option<String>,

    /// Way of evaluating by name [default: the library's]
    #[arg(long, value_name = "NAME")]
    pub mode: Option<String>,

    /// Threads on the CPU [default: the cores available]
    #[arg(long, value_name = "N", value_parser = cli::up_to::<MAX_THREADS>, allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// Measured trials, after one that is checked but not measured
    #[arg(long, value_name = "N", default_value = "3", value_parser = cli::up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub trials: usize,

    /// Seed of the slots; the library's own randomness is its own
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Largest acceptable absolute error of a slot
    #[arg(long, value_name = "ERROR", default_value = "1e-4", value_parser = cli::gate, allow_hyphen_values = true)]
    pub gate: f64,

    /// Reject a trial when one step takes longer [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = cli::seconds, allow_hyphen_values = true)]
    pub stage_timeout: Option<f64>,

    /// Write the report
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Refreshes ciphertexts and compares them with what was encrypted, under the same gate as `run`.
///
/// # Errors
/// [`BenchError`] where the library is not there or cannot bootstrap, or a file cannot be written.
pub fn bootstrap(
    args: &BootstrapArgs,
    command_line: Vec<String>,
    out: &mut dyn Write,
) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    let mut report = BootstrapReport {
        schema: SCHEMA.to_owned(),
        date: format!("{:.0}", Timestamp::now()),
        command_line,
        build: bench_report::build!(),
        host: host::Host::current(),
        library: args.lib.clone(),
        gate: Gate {
            limit: args.gate,
            scaled: false,
        },
        seed: args.seed,
        verdict: Verdict::Passed,
        reason: None,
        description: None,
        key_generation_seconds: None,
        key_bytes: None,
        memory: None,
        trials: Vec::new(),
    };
    let spec = BootstrapSpec {
        params: args.params.clone(),
        mode: args.mode.clone(),
        threads: args.threads.unwrap_or_else(host::cores),
    };
    let limit = Available::now().map(|available| available.bytes / 10 * 9);
    let opened = open_bootstrap(&args.lib, &args.device, &spec, args.stage_timeout, limit);
    match opened {
        Ok(opened) => {
            report.description = Some(opened.description.clone());
            if let Err(error) = measure(opened, args, &mut report) {
                report.reject(error.to_string());
            }
        }
        // A library that fails in its own process is a result, too.
        Err(BackendError::Refused(reason) | BackendError::Worker(reason)) => report.reject(reason),
        Err(error) => return Err(error.into()),
    }
    report.without_wrong_durations();
    print(out, &tables::bootstrap(&report))?;
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    Ok(match report.verdict {
        Verdict::Passed => Outcome::Passed,
        _ => Outcome::Rejected,
    })
}

fn measure(
    mut library: Bootstrapper,
    args: &BootstrapArgs,
    report: &mut BootstrapReport,
) -> Result<(), BackendError> {
    let start = Instant::now();
    let key_bytes = library.generate_keys()?;
    report.key_generation_seconds = Some(start.elapsed().as_secs_f64());
    report.key_bytes = Some(key_bytes).filter(|&bytes| bytes > 0);
    let doubles = library.description.slots as usize * library.description.doubles_per_slot;
    for index in 0..=args.trials {
        let values = synthetic::inputs(args.seed, index, 1, doubles)
            .map_err(|error| BackendError::BadArgument(error.to_string()))?;
        let values: Vec<f64> = values.data().iter().map(|value| value * BOUND).collect();
        let start = Instant::now();
        library.encrypt(values.clone())?;
        let encryption = start.elapsed().as_secs_f64();
        library.bootstrap()?;
        let bootstrapping = start.elapsed().as_secs_f64() - encryption;
        let refreshed = library.decrypt()?;
        let decryption = start.elapsed().as_secs_f64() - encryption - bootstrapping;
        let errors = compare(&values, &refreshed, doubles)
            .map_err(|wrong| BackendError::Worker(wrong.to_string()))?;
        let passes = report.gate.passes(&errors);
        if !passes {
            report.reject(match errors.max_abs {
                Some(error) => {
                    format!(
                        "max abs error {error:.2e} is above the gate of {:.2e}",
                        args.gate
                    )
                }
                None => format!("{} values are not finite", errors.not_finite),
            });
        }
        report.trials.push(BootstrapTrial {
            warmup: index == 0,
            passed: passes,
            errors,
            durations: Some(Durations {
                encryption,
                bootstrapping,
                decryption,
            }),
        });
    }
    report.memory = library.memory();
    library.close()
}
