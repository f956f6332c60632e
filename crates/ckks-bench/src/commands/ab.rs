//! `ckks-bench ab`.

use super::document::{check_json, write_json};
use super::print;
use crate::cli::{MAX_TRIALS, SpecArgs, up_to, zero_up_to};
use crate::error::{BenchError, Outcome};
use crate::gate::Gate;
use crate::interrupt::Interrupt;
use crate::memory::{self, Available};
use crate::options::plan_specs;
use crate::paired::{
    PairedReport, Plan, Ratios, Round, SCHEMA, SharedOpener, SideReport, Timing, measure,
};
use crate::progress::Progress;
use crate::report::Verdict;
use crate::tables;
use bench_report::host::{self, Host};
use ckks_backend::BackendError;
use clap::parser::ValueSource;
use clap::{Args, FromArgMatches};
use jiff::Timestamp;
use std::io::Write;
use std::path::PathBuf;

/// Options of `ab`.
#[derive(Debug, Args)]
pub struct AbArgs {
    /// Options of side A where they differ: "--plan diagonal --batch 16"
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub a: String,

    /// Options of side B where they differ
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub b: String,

    /// Pairs that are measured
    #[arg(long, value_name = "N", default_value = "20", value_parser = up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub rounds: usize,

    /// Pairs before them, checked but not measured
    #[arg(long, value_name = "N", default_value = "2", value_parser = zero_up_to::<MAX_TRIALS>, allow_negative_numbers = true)]
    pub warmup: usize,

    /// What both sides have in common.
    #[command(flatten)]
    pub common: SpecArgs,

    /// Seed of the synthetic data and of the backends' randomness
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Write the result
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No progress on standard error
    #[arg(long)]
    pub quiet: bool,
}

/// Measures two configurations of one layer in turn and prints the ratio of each pair.
///
/// # Errors
/// [`BenchError`] where the options make no sense, a backend cannot do what is asked, or the result
/// cannot be written.
pub fn ab(
    args: &AbArgs,
    command_line: Vec<String>,
    opener: &SharedOpener<'_>,
    interrupt: &Interrupt,
    out: &mut dyn Write,
) -> Result<(PairedReport, Outcome), BenchError> {
    check_json(args.json.as_deref())?;
    let date = Timestamp::now();
    let host = Host::current();
    let plans = [plan(args, "--a", &args.a)?, plan(args, "--b", &args.b)?];
    let [a, b] = &plans;
    if (a.spec.d_in, a.spec.d_out) != (b.spec.d_in, b.spec.d_out) {
        return Err(BenchError::usage(format!(
            "--a has the shape {}x{} and --b {}x{}; ab compares two ways to evaluate one layer, so \
             give one --shape outside --a and --b",
            a.spec.d_in, a.spec.d_out, b.spec.d_in, b.spec.d_out
        )));
    }
    check_memory(&plans, opener)?;
    let progress = Progress::new(args.quiet);
    let mut sides = [side(&args.a, a), side(&args.b, b)];
    let (rounds, partial) = measure(
        &plans,
        &mut sides,
        (args.warmup, args.rounds),
        opener,
        interrupt,
        &progress,
    )?;
    drop(progress);
    let rejected = sides.iter().any(|side| side.verdict == Verdict::Rejected);
    let rounds = (!rejected).then_some(rounds);
    let batches = [a.spec.batch, b.spec.batch];
    let ratios = |seconds: fn(&Timing) -> f64| {
        let of = |round: &Round| per_vector(round, batches, seconds);
        Ratios::of(rounds.as_ref()?.iter().map(of).collect())
    };
    let [side_a, side_b] = sides;
    let mut report = PairedReport {
        schema: SCHEMA.to_owned(),
        partial,
        date: format!("{date:.0}"),
        command_line,
        build: bench_report::build!(),
        host,
        d_in: a.spec.d_in,
        d_out: a.spec.d_out,
        seed: args.seed,
        gates: [a.gate, b.gate],
        rounds_planned: args.rounds,
        warmup: args.warmup,
        evaluation: ratios(|timing| timing.evaluation),
        end_to_end: ratios(|timing| timing.encryption + timing.evaluation + timing.decryption),
        a: side_a,
        b: side_b,
        rounds,
    };
    report.host.load_at_end = host::load();
    let json = match &args.json {
        Some(path) => write_json(path, &report),
        None => Ok(()),
    };
    print(out, &tables::paired(&report))?;
    json?;
    let outcome = if rejected {
        Outcome::Rejected
    } else if partial {
        Outcome::Interrupted
    } else {
        Outcome::Passed
    };
    Ok((report, outcome))
}

/// Seconds per vector of A over those of B.
fn per_vector(round: &Round, [batch_a, batch_b]: [usize; 2], seconds: fn(&Timing) -> f64) -> f64 {
    (seconds(&round.a) / batch_a as f64) / (seconds(&round.b) / batch_b as f64)
}

fn side(options: &str, plan: &Plan) -> SideReport {
    SideReport {
        options: options.to_owned(),
        spec: plan.spec.clone(),
        description: None,
        verdict: Verdict::Incomplete,
        reason: None,
        max_abs_error: None,
    }
}

/// The common options with those of the side in their place.
fn plan(args: &AbArgs, flag: &str, options: &str) -> Result<Plan, BenchError> {
    let wrong = |reason: String| BenchError::usage(format!("{flag} \"{options}\": {reason}"));
    let words =
        shlex::split(options).ok_or_else(|| wrong("a quotation mark is not closed".to_owned()))?;
    let command = SpecArgs::augment_args(clap::Command::new("side"))
        .no_binary_name(true)
        .disable_help_flag(true);
    let mut matches = command
        .try_get_matches_from(words)
        .map_err(|error| wrong(error.render().to_string()))?;
    let ids: Vec<String> = matches.ids().map(ToString::to_string).collect();
    for id in ids {
        // Defaults would take the place of the common options. The group of all options has no source.
        if matches
            .value_source(&id)
            .is_some_and(|source| source != ValueSource::CommandLine)
        {
            matches
                .try_clear_id(&id)
                .map_err(|error| wrong(error.to_string()))?;
        }
    }
    let mut spec_args = args.common.clone();
    spec_args
        .update_from_arg_matches(&matches)
        .map_err(|error| wrong(error.render().to_string()))?;
    let mut specs = plan_specs(&spec_args);
    let (Some(mut spec), true) = (specs.pop(), specs.is_empty()) else {
        return Err(wrong(
            "ab compares two ways to evaluate one layer; give one --shape".to_owned(),
        ));
    };
    spec.seed = args.seed;
    Ok(Plan {
        library: spec_args.lib,
        device: spec_args.device,
        gate: Gate {
            limit: spec.gate,
            scaled: false,
        },
        spec,
    })
}

/// Refuses what needs more memory than there is: both sides are held at once.
fn check_memory(plans: &[Plan; 2], opener: &SharedOpener<'_>) -> Result<(), BenchError> {
    let Some(available) = Available::now() else {
        return Ok(());
    };
    let mut needed = 0u64;
    for Plan {
        library,
        device,
        spec,
        ..
    } in plans
    {
        let peak = match opener(library, device, spec) {
            Ok(backend) => backend.describe().plan.peak_memory_bytes,
            // The side is rejected when it runs.
            Err(BackendError::Refused(_)) => 0,
            Err(error) => return Err(error.into()),
        };
        needed = needed
            .saturating_add(peak)
            .saturating_add(memory::own_bytes(spec.d_in, spec.d_out, spec.batch));
    }
    available.check("A and B together", needed)
}
