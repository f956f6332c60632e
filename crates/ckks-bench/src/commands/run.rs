//! `ckks-bench run`.

use super::document::write_json;
use super::print;
use crate::cold::Cold;
use crate::error::{BenchError, Outcome};
use crate::interrupt::Interrupt;
use crate::memory::{self, Available};
use crate::open::Opener;
use crate::options::RunOptions;
use crate::progress::Progress;
use crate::report::{Configuration, Report, SCHEMA, Settings};
use crate::streaming::{self, Streaming};
use crate::trial::{Job, Measured, refused, run_trials};
use crate::{reference, synthetic, tables};
use bench_report::host::{self, Host};
use ckks_backend::{BackendError, TrialSpec};
use jiff::Timestamp;
use std::borrow::Cow;
use std::io::Write;
use tensor_io::{WeightMatrix, write_npy_f64};

/// A run that produced its report.
#[derive(Debug)]
pub struct Finished {
    /// The report, as written to `--json`.
    pub report: Report,
    /// How the run ended.
    pub outcome: Outcome,
}

/// A shape that is ready to run.
struct Prepared {
    spec: TrialSpec,
    cold: Option<Cold>,
    /// The backend refuses it before it runs.
    refusal: Option<String>,
}

/// Measures every shape, prints the tables to `out`, and writes the files asked for.
///
/// Every shape is opened and checked for memory before the first is measured: a sweep does not
/// fail half way over what was known at its start.
///
/// # Errors
/// [`BenchError`] where the run cannot start, or its results cannot be written.
pub fn run(
    options: &RunOptions,
    opener: &Opener<'_>,
    interrupt: &Interrupt,
    out: &mut dyn Write,
) -> Result<Finished, BenchError> {
    let date = Timestamp::now();
    let host = Host::current();
    let progress = Progress::new(options.quiet);
    let available = Available::now();
    let mut prepared = Vec::new();
    for spec in &options.specs {
        prepared.push(prepare(options, spec, opener, &host, available)?);
    }
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        partial: false,
        date: format!("{date:.0}"),
        command_line: options.command_line.clone(),
        build: bench_report::build!(),
        streaming_read: streaming_read(options, &host, available, &progress),
        host,
        gpu: None,
        settings: settings(options),
        configurations_planned: prepared.len(),
        configurations: Vec::new(),
    };
    let mut tables = Tables {
        out,
        files: options.json.is_some() || options.output.is_some(),
        failure: None,
    };
    progress.suspend(|| tables.print(&heading(&report)))?;

    let mut outputs = None;
    let mut interrupted = false;
    for shape in &prepared {
        if interrupt.is_set() {
            break;
        }
        let measured = measure(options, shape, opener, interrupt, &progress, &report)?;
        let table = tables::configuration(&measured.configuration, &report.settings);
        progress.suspend(|| tables.print(&format!("\n{table}")))?;
        report.configurations.push(measured.configuration);
        outputs = measured.outputs;
        interrupted |= measured.interrupted;
    }
    drop(progress);
    report.partial = interrupted || report.configurations.len() < report.configurations_planned;
    report.host.load_at_end = host::load();
    // Before the rest is printed and whatever becomes of each other, so that none is lost.
    let json = match &options.json {
        Some(path) => write_json(path, &report),
        None => Ok(()),
    };
    let npy = write_outputs(options, &report, outputs.as_deref());
    tables.print(&tables::overview(&report.configurations))?;
    if options.output.is_some() && outputs.is_none() {
        tables.print("--output: not written, because only outputs that passed the gate are\n")?;
    }
    json.and(npy)?;
    if let Some(failure) = tables.failure {
        return Err(failure);
    }
    let outcome = if report.partial {
        Outcome::Interrupted
    } else if report.any_rejected() {
        Outcome::Rejected
    } else {
        Outcome::Passed
    };
    Ok(Finished { report, outcome })
}

/// Where the tables go. A run that writes files too goes on where they cannot be printed.
struct Tables<'a> {
    out: &'a mut dyn Write,
    files: bool,
    /// Why the first could not be printed; those after it are not tried.
    failure: Option<BenchError>,
}

impl Tables<'_> {
    fn print(&mut self, text: &str) -> Result<(), BenchError> {
        if self.failure.is_some() {
            return Ok(());
        }
        match print(self.out, text) {
            Err(failure) if self.files => {
                self.failure = Some(failure);
                Ok(())
            }
            other => other,
        }
    }
}

/// Opens the shape once to learn its plan, checks its memory, and chooses the copies for `--cold`.
fn prepare(
    options: &RunOptions,
    spec: &TrialSpec,
    opener: &Opener<'_>,
    host: &Host,
    available: Option<Available>,
) -> Result<Prepared, BenchError> {
    let mut spec = spec.clone();
    let name = format!("{}x{}, batch {}", spec.d_in, spec.d_out, spec.batch);
    let mut own = memory::own_bytes(spec.d_in, spec.d_out, spec.batch);
    if let Some(weights) = &options.weights {
        // They are loaded: what is available no longer contains them.
        own = own.saturating_sub(size_of_val(weights.matrix.data()) as u64);
    }
    if let Some(available) = available {
        available.check(&name, own)?;
    }
    measure_data(options, &mut spec)?;
    let plan = match opener(&options.library, &options.device, &spec) {
        Ok(backend) => backend.describe().plan,
        // A library that fails in its own process is a result, too.
        Err(BackendError::Refused(reason) | BackendError::Worker(reason)) => {
            return Ok(Prepared {
                spec,
                cold: None,
                refusal: Some(reason),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let needed = plan.peak_memory_bytes.saturating_add(own);
    if let Some(available) = available {
        available.check(&name, needed)?;
    }
    let cold = options.cold.then(|| {
        // A tenth stays free: predictions are not exact, and other programs run.
        let spare = available.map(|available| (available.bytes - needed) / 10 * 9);
        Cold::choose(plan.prepared_bytes, host.l3_bytes, spare)
    });
    spec.replicas = cold.map_or(1, |cold| cold.replicas);
    Ok(Prepared {
        spec,
        cold,
        refusal: None,
    })
}

/// For real data, the gate that the backend may refuse by and the norms that it plans by: those of
/// the first trial.
fn measure_data(options: &RunOptions, spec: &mut TrialSpec) -> Result<(), BenchError> {
    if !options.gate.scaled {
        return Ok(());
    }
    let weights = weights(options, spec)?;
    let inputs = options
        .inputs(spec)
        .batch(0)
        .map_err(|source| BenchError::File {
            flag: "--input",
            source,
        })?;
    let y = reference::product(&weights, inputs.data(), spec.threads);
    let largest = y
        .iter()
        .fold(0.0f64, |largest, value| largest.max(value.abs()));
    let square = |sum: f64, value: f64| sum + value * value;
    let norm = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, square).sqrt();
    let weight_norm = weights
        .rows()
        .map(|row| norm(&mut row.iter().map(|&weight| f64::from(weight))))
        .fold(0.0, f64::max);
    let input_norm = inputs
        .iter()
        .map(|row| norm(&mut row.iter().copied()))
        .fold(0.0, f64::max);
    spec.gate = options.gate.limit_for(largest);
    spec.product_norm = Some(weight_norm * input_norm).filter(|norm| norm.is_normal());
    Ok(())
}

fn weights<'a>(
    options: &'a RunOptions,
    spec: &TrialSpec,
) -> Result<Cow<'a, WeightMatrix>, BenchError> {
    match &options.weights {
        Some(weights) => Ok(Cow::Borrowed(&weights.matrix)),
        None => synthetic::weights(spec.seed, spec.d_in, spec.d_out)
            .map(Cow::Owned)
            .map_err(|source| BenchError::File {
                flag: "--shape",
                source,
            }),
    }
}

fn measure(
    options: &RunOptions,
    shape: &Prepared,
    opener: &Opener<'_>,
    interrupt: &Interrupt,
    progress: &Progress,
    report: &Report,
) -> Result<Measured, BenchError> {
    let spec = &shape.spec;
    progress.configuration(&format!("{}x{}", spec.d_in, spec.d_out));
    let refuse = |reason: String| Measured {
        configuration: Configuration {
            cold: shape.cold,
            ..refused(spec.d_in, spec.d_out, spec.batch, reason)
        },
        outputs: None,
        interrupted: false,
    };
    if let Some(reason) = &shape.refusal {
        return Ok(refuse(reason.clone()));
    }
    let mut backend = match opener(&options.library, &options.device, spec) {
        Ok(backend) => backend,
        // It could be opened before, so this is part of the result of a run under way.
        Err(error) => return Ok(refuse(error.to_string())),
    };
    let weights = weights(options, spec)?;
    let job = Job {
        weights: &weights,
        inputs: &options.inputs(spec),
        batch: spec.batch,
        gate: options.gate,
        warmup: options.warmup,
        trials: options.trials,
        max_seconds: options.max_seconds,
        ahead: spec.ahead,
        threads: spec.threads,
        streaming_read: report
            .streaming_read
            .map(|streaming| streaming.bytes_per_second),
    };
    let mut measured = run_trials(backend.as_mut(), &job, interrupt, progress);
    let prepared = measured.configuration.prepare.as_ref();
    measured.configuration.cold = match (shape.cold, prepared) {
        (Some(cold), Some(prepared)) => Some(cold.measured(prepared.prepared_bytes)),
        (cold, _) => cold,
    };
    Ok(measured)
}

fn streaming_read(
    options: &RunOptions,
    host: &Host,
    available: Option<Available>,
    progress: &Progress,
) -> Option<Streaming> {
    let bytes = streaming::buffer_bytes(host.l3_bytes);
    if available.is_some_and(|available| available.bytes < bytes.saturating_mul(2)) {
        return None;
    }
    progress.stage("streaming read bandwidth".to_owned());
    streaming::measure(threads(options), bytes)
}

fn threads(options: &RunOptions) -> usize {
    // All shapes of a run have the same.
    options.specs.first().map_or(1, |spec| spec.threads)
}

fn settings(options: &RunOptions) -> Settings {
    let synthetic = || "synthetic".to_owned();
    Settings {
        library: options.library.clone(),
        device: options.device.clone(),
        mode: options.specs.first().and_then(|spec| spec.mode.clone()),
        isolated: options.specs.first().is_some_and(|spec| spec.isolate),
        threads: threads(options),
        trials: options.trials,
        warmup: options.warmup,
        max_seconds: options.max_seconds,
        seed: options.specs.first().map_or(0, |spec| spec.seed),
        generator: synthetic::GENERATOR.to_owned(),
        gate: options.gate,
        ahead: options.specs.first().is_some_and(|spec| spec.ahead),
        cold: options.cold,
        circumstances: options
            .specs
            .first()
            .map(|spec| spec.circumstances)
            .unwrap_or_default(),
        calibration: options.specs.first().and_then(|spec| spec.calibration),
        weights: options
            .weights
            .as_ref()
            .map_or_else(synthetic, |w| w.source.clone()),
        input: options
            .input
            .as_ref()
            .map_or_else(synthetic, |input| input.source.clone()),
    }
}

/// The machine, in one line: the first thing that a pasted table needs.
fn heading(report: &Report) -> String {
    use bench_report::units::{bytes, bytes_per_second, plural};
    let host = &report.host;
    let mut parts = vec![
        host.cpu_model
            .clone()
            .unwrap_or_else(|| "unknown CPU".to_owned()),
    ];
    parts.push(plural(host.cores as u64, "core"));
    parts.extend(host.l3_bytes.map(|size| format!("L3 {}", bytes(size))));
    if let Some(streaming) = report.streaming_read {
        parts.push(format!(
            "streaming read {} with {}",
            bytes_per_second(streaming.bytes_per_second),
            plural(streaming.threads as u64, "thread")
        ));
    }
    parts.extend(host.load_at_start.map(|[one, ..]| format!("load {one:.2}")));
    format!("{}\n", parts.join(", "))
}

fn write_outputs(
    options: &RunOptions,
    report: &Report,
    outputs: Option<&[f64]>,
) -> Result<(), BenchError> {
    let (Some(path), Some(outputs)) = (&options.output, outputs) else {
        return Ok(());
    };
    let Some(configuration) = report.configurations.first() else {
        return Ok(());
    };
    write_npy_f64(path, configuration.batch, configuration.d_out, outputs).map_err(|source| {
        BenchError::File {
            flag: "--output",
            source,
        }
    })
}
