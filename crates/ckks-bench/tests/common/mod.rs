//! A backend without encryption, with faults on demand.

#![allow(dead_code, reason = "each test program uses its own part")]

use ckks_backend::{
    Backend, BackendError, Counts, Description, EvaluationReport, KeyReport, Packing,
    ParameterReport, Phase, PlanReport, Predicted, PrepareReport, TransferReport, TrialSpec,
};
use ckks_bench::interrupt::Interrupt;
use tensor_io::{InputBatch, WeightMatrix};

/// A step of a trial, as the fault names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Keys,
    Prepare,
    Ahead,
    Encrypt,
    Evaluate,
    Decrypt,
}

/// What goes wrong, in the trial with this index.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Adds this to one output.
    Add { trial: usize, at: usize, error: f64 },
    /// Replaces one output.
    Replace { trial: usize, at: usize, value: f64 },
    /// Returns one output too few.
    Short { trial: usize },
    /// The step fails.
    Fails { trial: usize, step: Step },
    /// Somebody presses Ctrl-C during the step.
    Interrupted {
        trial: usize,
        step: Step,
        flag: Interrupt,
    },
}

/// Multiplies in the clear.
#[derive(Debug)]
pub(crate) struct Plain {
    spec: TrialSpec,
    faults: Vec<Fault>,
    peak_memory_bytes: u64,
    prepared_bytes: u64,
    weights: Option<WeightMatrix>,
    inputs: Option<InputBatch>,
    trial: usize,
}

impl Plain {
    pub(crate) fn new(spec: &TrialSpec, faults: &[Fault]) -> Plain {
        Plain {
            spec: spec.clone(),
            faults: faults.to_vec(),
            peak_memory_bytes: 1000,
            prepared_bytes: 31,
            weights: None,
            inputs: None,
            trial: 0,
        }
    }

    pub(crate) fn needing(spec: &TrialSpec, peak_memory_bytes: u64) -> Plain {
        Plain {
            peak_memory_bytes,
            ..Plain::new(spec, &[])
        }
    }

    /// Prepared weights of another size than the 30 bytes that the plan promises.
    pub(crate) fn preparing(spec: &TrialSpec, prepared_bytes: u64) -> Plain {
        Plain {
            prepared_bytes,
            ..Plain::new(spec, &[])
        }
    }

    fn reach(&self, at: Step) -> Result<(), BackendError> {
        for fault in &self.faults {
            match fault {
                Fault::Fails { trial, step } if *trial == self.trial && *step == at => {
                    return Err(BackendError::Library {
                        library: "plain".into(),
                        message: format!("approximation error in {at:?}"),
                    });
                }
                Fault::Interrupted { trial, step, flag } if *trial == self.trial && *step == at => {
                    flag.set();
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Backend for Plain {
    fn describe(&self) -> Description {
        let parameters = ParameterReport {
            name: "none".into(),
            ring_degree: 4096,
            q: vec![3, 5],
            p: vec![7],
            log_qp: 6.72,
            security_limit: 106,
            security_note: "no encryption".into(),
            secret: "none".into(),
            error: "none".into(),
            digest: "00".into(),
        };
        let plan = PlanReport {
            packing: Packing {
                name: "diagonal".into(),
                layout: "in the clear".into(),
                n1: Some(1),
                n2: Some(1),
                vectors_per_ciphertext: 1,
            },
            counts: Counts {
                galois_keys: 2,
                ..Counts::default()
            },
            rotation_steps: vec![1, 2],
            key_bytes: 10,
            key_memory_bytes: 20,
            prepared_bytes: 30,
            peak_memory_bytes: self.peak_memory_bytes,
            upload_bytes: 40,
            download_bytes: 50,
            mask_products: None,
            estimates: Vec::new(),
            predicted_rms_error: Some(1e-6),
            predicted_seconds: Some(1e-3),
            reasons: vec!["the only one".into()],
        };
        Description {
            library: "plain".into(),
            version: "1".into(),
            device: "cpu".into(),
            kernels: "portable".into(),
            parameters,
            plan,
            notes: Vec::new(),
        }
    }

    fn generate_keys(&mut self) -> Result<KeyReport, BackendError> {
        self.reach(Step::Keys)?;
        Ok(KeyReport {
            key_bytes: 11,
            galois_keys: 2,
        })
    }

    fn prepare(
        &mut self,
        weights: &WeightMatrix,
        progress: &(dyn Fn(f64) + Sync),
    ) -> Result<PrepareReport, BackendError> {
        self.reach(Step::Prepare)?;
        progress(1.0);
        self.weights = Some(weights.clone());
        Ok(PrepareReport {
            prepared_bytes: self.prepared_bytes,
            log_weight_scale: 27.5,
            zero_diagonals: 0,
            layer_download_bytes: 0,
            phases: Vec::new(),
        })
    }

    fn evaluate_ahead(&mut self) -> Result<EvaluationReport, BackendError> {
        self.reach(Step::Ahead)?;
        Ok(EvaluationReport::default())
    }

    fn encrypt(&mut self, inputs: &InputBatch) -> Result<TransferReport, BackendError> {
        self.reach(Step::Encrypt)?;
        self.inputs = Some(inputs.clone());
        Ok(TransferReport { bytes: 41 })
    }

    fn evaluate(&mut self) -> Result<EvaluationReport, BackendError> {
        self.reach(Step::Evaluate)?;
        let phase = |name: &str, bytes| Phase {
            name: name.into(),
            seconds: 1e-6,
            bytes,
        };
        Ok(EvaluationReport {
            phases: vec![
                phase("multiply-accumulate", Some(2000)),
                phase("rotations", None),
            ],
            download_bytes: 51,
        })
    }

    fn decrypt(&mut self) -> Result<Vec<f64>, BackendError> {
        self.reach(Step::Decrypt)?;
        let (weights, inputs) = (
            self.weights.as_ref().unwrap(),
            self.inputs.as_ref().unwrap(),
        );
        let mut y: Vec<f64> = inputs
            .iter()
            .flat_map(|x| {
                weights.rows().map(|w| {
                    x.iter()
                        .zip(w)
                        .map(|(&x, &w)| x * f64::from(w))
                        .sum::<f64>()
                        + 1e-9
                })
            })
            .collect();
        for fault in &self.faults {
            match *fault {
                Fault::Add { trial, at, error } if trial == self.trial => y[at] += error,
                Fault::Replace { trial, at, value } if trial == self.trial => y[at] = value,
                Fault::Short { trial } if trial == self.trial => {
                    y.pop();
                }
                _ => {}
            }
        }
        self.trial += 1;
        Ok(y)
    }

    fn predicted(&self) -> Option<Predicted> {
        Some(Predicted {
            rms: 1e-9,
            six_sigma: 6e-9,
        })
    }
}

/// A specification with the values that these tests do not care about.
pub(crate) fn spec(d_in: usize, d_out: usize, batch: usize) -> TrialSpec {
    TrialSpec {
        d_in,
        d_out,
        batch,
        plan: ckks_backend::PlanChoice::Auto,
        params: None,
        mode: None,
        isolate: false,
        stage_timeout: None,
        memory_limit: None,
        threads: 2,
        ahead: false,
        replicas: 1,
        gate: 1e-4,
        product_norm: None,
        circumstances: ckks_backend::Circumstances::default(),
        calibration: None,
        seed: 1,
    }
}

/// The report of `run` on a backend without encryption.
pub(crate) fn report(line: &[&str], faults: &[Fault]) -> ckks_bench::report::Report {
    use ckks_bench::cli::{Cli, Command};
    use clap::Parser;
    let line = ["ckks-bench", "run", "--quiet", "--threads", "1"]
        .iter()
        .chain(line);
    let Command::Run(args) = Cli::try_parse_from(line).unwrap().command else {
        panic!("not a run");
    };
    let options = ckks_bench::options::RunOptions::new(*args, Vec::new()).unwrap();
    let opener = |_: &str, _: &str, spec: &TrialSpec| {
        Ok(Box::new(Plain::new(spec, faults)) as Box<dyn Backend>)
    };
    let (interrupt, mut out) = (Interrupt::new(), Vec::new());
    let finished = ckks_bench::commands::run::run(&options, &opener, &interrupt, &mut out);
    finished.unwrap().report
}

/// A stage with these durations.
pub(crate) fn stage(
    stage: ckks_bench::report::Stage,
    seconds: &[f64],
) -> ckks_bench::report::StageSummary {
    ckks_bench::report::StageSummary {
        stage,
        samples: seconds.len(),
        duration: bench_report::statistics::Summary::of(seconds).unwrap(),
        phases: Vec::new(),
    }
}
