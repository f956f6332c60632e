//! Runs the trials of one configuration and applies the gate.

use crate::gate::{ErrorSummary, Errors, Gate, compare};
use crate::inputs::Inputs;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::progress::Progress;
use crate::reference;
use crate::report::{
    Bytes, Configuration, Rejection, Stage, StageDuration, Throughput, Trial, Verdict,
};
use crate::trial::summary::{stage_summaries, throughput};
use bench_report::statistics::Summary;
use ckks_backend::{
    Backend, BackendError, EvaluationReport, MemoryUse, ParameterReport, Phase, Predicted,
    PrepareReport,
};
use std::hint::black_box;
use std::time::Instant;
use tensor_io::{InputBatch, WeightMatrix};

mod summary;

/// What to run on a backend that is open.
#[derive(Debug)]
pub struct Job<'a> {
    /// The layer.
    pub weights: &'a WeightMatrix,
    /// The vectors.
    pub inputs: &'a Inputs,
    /// Vectors per trial.
    pub batch: usize,
    /// The error gate.
    pub gate: Gate,
    /// Trials that are checked but not measured.
    pub warmup: usize,
    /// Trials that are measured.
    pub trials: usize,
    /// Seconds since the start of the first trial after which no further one is started; the first
    /// measured trial always runs. `None` for no limit.
    pub max_seconds: Option<f64>,
    /// Split the evaluation.
    pub ahead: bool,
    /// Threads of the plain product.
    pub threads: usize,
    /// The machine's streaming read bandwidth in bytes per second, where known.
    pub streaming_read: Option<f64>,
}

/// A configuration and the outputs of its last trial.
#[derive(Debug)]
pub struct Measured {
    /// What goes into the report.
    pub configuration: Configuration,
    /// Outputs of the last trial, row by row; `None` unless the configuration passed.
    pub outputs: Option<Vec<f64>>,
    /// Whether the interrupt left trials out.
    pub interrupted: bool,
}

/// Why the trials end early.
enum Stop {
    Interrupted,
    Failed { stage: Stage, reason: String },
}

/// Runs key generation, weight preparation, warm-ups and trials, compares every output of every
/// trial with the reference, and summarises.
///
/// A trial with wrong outputs does not end the run: the errors of the others tell whether the
/// fault is permanent. A stage that reports an error does. `interrupt` is looked at between
/// stages.
pub fn run_trials(
    backend: &mut dyn Backend,
    job: &Job<'_>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Measured {
    memory::reset_peak();
    let description = backend.describe();
    let mut run = Run {
        job,
        interrupt,
        progress,
        configuration: empty(job),
        setup: Vec::new(),
        outputs: None,
        memory: None,
    };
    run.configuration.security_margin = Some(margin(&description.parameters));
    run.configuration.description = Some(description);
    let stopped = run.all_trials(backend).err();
    let stopped = stopped.or_else(|| run.close(backend).err());
    run.finish(stopped)
}

/// What the security table would still allow, in bits of log2(QP).
#[must_use]
pub fn margin(set: &ParameterReport) -> f64 {
    f64::from(set.security_limit) - set.log_qp
}

/// The configuration that a backend refused to open.
#[must_use]
pub fn refused(d_in: usize, d_out: usize, batch: usize, reason: String) -> Configuration {
    let mut configuration = blank(d_in, d_out, batch);
    configuration.verdict = Verdict::Rejected;
    configuration.rejection = Some(Rejection {
        stage: Stage::Open,
        trial: None,
        reason,
        worst: None,
    });
    configuration
}

fn empty(job: &Job<'_>) -> Configuration {
    blank(job.weights.d_in(), job.weights.d_out(), job.batch)
}

fn blank(d_in: usize, d_out: usize, batch: usize) -> Configuration {
    let weights = (d_in as u64).saturating_mul(d_out as u64);
    Configuration {
        d_in,
        d_out,
        batch,
        verdict: Verdict::Incomplete,
        rejection: None,
        description: None,
        security_margin: None,
        cold: None,
        keys: None,
        prepare: None,
        bytes: Bytes {
            weights_f32: weights.saturating_mul(4),
            weights_bf16: weights.saturating_mul(2),
            ..Bytes::default()
        },
        errors: None,
        error_histogram: None,
        stages: None,
        throughput: None,
        trials: Vec::new(),
    }
}

struct Run<'a> {
    job: &'a Job<'a>,
    interrupt: &'a Interrupt,
    progress: &'a Progress,
    configuration: Configuration,
    /// Durations of what happens once per configuration.
    setup: Vec<StageDuration>,
    outputs: Option<Vec<f64>>,
    /// Of a library in a process of its own.
    memory: Option<MemoryUse>,
}

impl Run<'_> {
    fn all_trials(&mut self, backend: &mut dyn Backend) -> Result<(), Stop> {
        let mut setup = Vec::new();
        let result = self.set_up(backend, &mut setup);
        self.setup = setup;
        result?;
        let start = Instant::now();
        for index in 0..self.job.warmup + self.job.trials {
            let over = |limit| start.elapsed().as_secs_f64() >= limit;
            // Without a measured trial there would be nothing to report.
            if index == self.job.warmup || !self.job.max_seconds.is_some_and(over) {
                self.one_trial(backend, index)?;
            }
        }
        Ok(())
    }

    fn set_up(
        &mut self,
        backend: &mut dyn Backend,
        durations: &mut Vec<StageDuration>,
    ) -> Result<(), Stop> {
        let keys = self.timed(
            Stage::KeyGeneration,
            "",
            durations,
            || backend.generate_keys(),
            no_phases,
        )?;
        let needed = keys.galois_keys > 0;
        self.configuration.bytes.keys = Some(keys.key_bytes).filter(|&size| size > 0 || !needed);
        self.configuration.keys = Some(keys);
        let progress = self.progress;
        let prepare = || backend.prepare(self.job.weights, &|fraction| progress.fraction(fraction));
        let phases = |report: &mut PrepareReport| std::mem::take(&mut report.phases);
        let prepared = self.timed(Stage::WeightPreparation, "", durations, prepare, phases)?;
        self.configuration.bytes.prepared_weights = Some(prepared.prepared_bytes);
        self.configuration.bytes.layer_download = Some(prepared.layer_download_bytes);
        self.configuration.prepare = Some(prepared);
        backend.replicate().map_err(|error| Stop::Failed {
            stage: Stage::WeightPreparation,
            reason: error.to_string(),
        })
    }

    /// Asks for the memory of a library in a process of its own, and ends it.
    fn close(&mut self, backend: &mut dyn Backend) -> Result<(), Stop> {
        self.memory = backend.memory();
        backend.close().map_err(|error| Stop::Failed {
            stage: Stage::Close,
            reason: error.to_string(),
        })
    }

    /// Runs the trial and records it, whatever comes of it. Only an interruption before its first
    /// stage leaves no trace.
    fn one_trial(&mut self, backend: &mut dyn Backend, index: usize) -> Result<(), Stop> {
        self.check_interrupt()?;
        // Warm-ups that were left out are not counted.
        let position = self.configuration.trials.len();
        let mut durations = Vec::new();
        let result = self.stages_of_trial(backend, index, &mut durations);
        let mut trial = Trial {
            warmup: index < self.job.warmup,
            verdict: Verdict::Incomplete,
            reason: None,
            errors: None,
            predicted: None,
            durations: Some(durations),
        };
        let result = match result {
            Ok((errors, predicted)) => {
                trial.errors = Some(errors);
                trial.predicted = predicted;
                trial.verdict = Verdict::Passed;
                if !self.job.gate.passes(&errors) {
                    let reason = gate_reason(&self.job.gate, &errors);
                    self.reject(&mut trial, Stage::Comparison, Some(position), reason);
                }
                Ok(())
            }
            Err(Stop::Failed { stage, reason }) => {
                self.reject(&mut trial, stage, Some(position), reason.clone());
                Err(Stop::Failed { stage, reason })
            }
            Err(Stop::Interrupted) => Err(Stop::Interrupted),
        };
        self.configuration.trials.push(trial);
        result
    }

    fn stages_of_trial(
        &mut self,
        backend: &mut dyn Backend,
        index: usize,
        durations: &mut Vec<StageDuration>,
    ) -> Result<(Errors, Option<Predicted>), Stop> {
        let job = self.job;
        let name = trial_name(index, job.warmup, job.trials);
        let inputs = job.inputs.batch(index).map_err(|error| Stop::Failed {
            stage: Stage::Encryption,
            reason: error.to_string(),
        })?;
        let phases = |report: &mut EvaluationReport| std::mem::take(&mut report.phases);

        let mut stage = Stage::Evaluation;
        if job.ahead {
            let ahead = || backend.evaluate_ahead();
            self.timed(
                Stage::AheadOfTimeEvaluation,
                &name,
                durations,
                ahead,
                phases,
            )?;
            stage = Stage::OnlineEvaluation;
        }
        let encrypt = || backend.encrypt(&inputs);
        let upload = self.timed(Stage::Encryption, &name, durations, encrypt, no_phases)?;
        self.configuration.bytes.upload = Some(upload.bytes).filter(|&size| size > 0);
        let answer = self.timed(stage, &name, durations, || backend.evaluate(), phases)?;
        self.configuration.bytes.download = Some(answer.download_bytes).filter(|&size| size > 0);
        let decrypt = || backend.decrypt();
        let outputs = self.timed(Stage::Decryption, &name, durations, decrypt, no_phases)?;

        let expected = self.plain_products(&inputs, &name, durations)?;
        let errors =
            compare(&expected, &outputs, job.weights.d_out()).map_err(|wrong| Stop::Failed {
                stage: Stage::Comparison,
                reason: wrong.to_string(),
            })?;
        let histogram = self.configuration.error_histogram.get_or_insert_default();
        histogram.add(&expected, &outputs);
        self.outputs = Some(outputs);
        Ok((errors, backend.predicted()))
    }

    /// Times the product that the client could do itself, and returns the reference.
    fn plain_products(
        &self,
        inputs: &InputBatch,
        name: &str,
        durations: &mut Vec<StageDuration>,
    ) -> Result<Vec<f64>, Stop> {
        let Job {
            weights, threads, ..
        } = *self.job;
        let single: Vec<f32> = inputs.data().iter().map(|&value| value as f32).collect();
        let plain = || Ok(reference::product(weights, &single, threads));
        black_box(self.timed(Stage::PlainProductF32, name, durations, plain, no_phases)?);
        let reference = || Ok(reference::product(weights, inputs.data(), threads));
        self.timed(
            Stage::PlainProductF64,
            name,
            durations,
            reference,
            no_phases,
        )
    }

    /// Times one stage. `phases` takes the phases out of its result.
    fn timed<T>(
        &self,
        stage: Stage,
        trial: &str,
        durations: &mut Vec<StageDuration>,
        work: impl FnOnce() -> Result<T, BackendError>,
        phases: impl FnOnce(&mut T) -> Vec<Phase>,
    ) -> Result<T, Stop> {
        self.check_interrupt()?;
        self.progress.stage(if trial.is_empty() {
            stage.to_string()
        } else {
            format!("{trial}, {stage}")
        });
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        let mut value = result.map_err(|error| Stop::Failed {
            stage,
            reason: error.to_string(),
        })?;
        durations.push(StageDuration {
            stage,
            seconds,
            phases: phases(&mut value),
        });
        Ok(value)
    }

    fn check_interrupt(&self) -> Result<(), Stop> {
        if self.interrupt.is_set() {
            Err(Stop::Interrupted)
        } else {
            Ok(())
        }
    }

    fn reject(&mut self, trial: &mut Trial, stage: Stage, index: Option<usize>, reason: String) {
        trial.verdict = Verdict::Rejected;
        trial.reason = Some(reason.clone());
        let worst = trial.errors.map(|errors| errors.worst);
        // The first failure is the one that counts.
        self.configuration.rejection.get_or_insert(Rejection {
            stage,
            trial: index,
            reason,
            worst,
        });
    }

    fn finish(mut self, stopped: Option<Stop>) -> Measured {
        let configuration = &mut self.configuration;
        if let Some(Stop::Failed { stage, reason }) = &stopped {
            configuration.rejection.get_or_insert_with(|| Rejection {
                stage: *stage,
                trial: None,
                reason: reason.clone(),
                worst: None,
            });
        }
        configuration.verdict = match (&configuration.rejection, &stopped) {
            (Some(_), _) => Verdict::Rejected,
            (None, Some(_)) => Verdict::Incomplete,
            (None, None) => Verdict::Passed,
        };
        let elsewhere = self.memory;
        configuration.bytes.peak_resident =
            elsewhere.map_or_else(memory::peak, |memory| memory.peak_resident);
        configuration.bytes.peak_device = elsewhere.and_then(|memory| memory.peak_device);
        let compared: Vec<_> = configuration
            .trials
            .iter()
            .filter_map(|trial| Some((trial.errors?, trial.predicted)))
            .collect();
        configuration.errors = ErrorSummary::of(&self.job.gate, &compared);
        if configuration.verdict == Verdict::Rejected {
            // Durations of wrong results are worth nothing and must not be quoted.
            for trial in &mut configuration.trials {
                trial.durations = None;
            }
        } else {
            let stages =
                stage_summaries(&self.setup, &configuration.trials, self.job.streaming_read);
            configuration.throughput = throughput(&stages, self.job.batch);
            configuration.stages = Some(stages);
        }
        let passed = configuration.verdict == Verdict::Passed;
        Measured {
            configuration: self.configuration,
            outputs: self.outputs.filter(|_| passed),
            interrupted: matches!(stopped, Some(Stop::Interrupted)),
        }
    }
}

fn no_phases<T>(_: &mut T) -> Vec<Phase> {
    Vec::new()
}

/// `warm-up 1 of 1` or `trial 2 of 3`, from the index in run order.
#[must_use]
pub fn trial_name(index: usize, warmup: usize, trials: usize) -> String {
    if index < warmup {
        format!("warm-up {} of {warmup}", index + 1)
    } else {
        format!("trial {} of {trials}", index - warmup + 1)
    }
}

fn gate_reason(gate: &Gate, errors: &Errors) -> String {
    if errors.not_finite > 0 {
        return format!(
            "{} of {} outputs are NaN or infinite",
            errors.not_finite, errors.outputs
        );
    }
    let limit = gate.limit_for(errors.max_abs_reference);
    match errors.max_abs {
        Some(error) => format!("max abs error {error:.2e} is above the gate of {limit:.2e}"),
        None => "the error is beyond the largest number".to_owned(),
    }
}
