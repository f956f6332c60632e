//! The trial loop and the gate, on a backend without encryption.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use ckks_bench::gate::Gate;
use ckks_bench::inputs::Inputs;
use ckks_bench::interrupt::Interrupt;
use ckks_bench::progress::Progress;
use ckks_bench::report::{Configuration, Stage, Trial, Verdict};
use ckks_bench::synthetic;
use ckks_bench::trial::{Job, Measured, run_trials};
use common::{Fault, Plain, Step, spec};

const D_IN: usize = 7;
const D_OUT: usize = 5;
const BATCH: usize = 2;

fn measure(faults: &[Fault], ahead: bool, interrupt: &Interrupt) -> Measured {
    measure_within(None, faults, ahead, interrupt)
}

fn measure_within(
    max_seconds: Option<f64>,
    faults: &[Fault],
    ahead: bool,
    interrupt: &Interrupt,
) -> Measured {
    let weights = synthetic::weights(1, D_IN, D_OUT).unwrap();
    let inputs = Inputs::Synthetic {
        seed: 1,
        vectors: BATCH,
        width: D_IN,
    };
    let job = Job {
        weights: &weights,
        inputs: &inputs,
        batch: BATCH,
        gate: Gate {
            limit: 1e-4,
            scaled: false,
        },
        warmup: 1,
        trials: 3,
        max_seconds,
        ahead,
        threads: 2,
        streaming_read: Some(4e9),
    };
    let mut backend = Plain::new(&spec(D_IN, D_OUT, BATCH), faults);
    run_trials(&mut backend, &job, interrupt, &Progress::hidden())
}

fn run(faults: &[Fault]) -> Configuration {
    measure(faults, false, &Interrupt::new()).configuration
}

#[test]
fn out_of_time_one_trial_is_still_measured() {
    // The limit is over as soon as the first trial starts or, for a slow clock, ends.
    let measured = measure_within(Some(f64::MIN_POSITIVE), &[], false, &Interrupt::new());
    assert!(!measured.interrupted);
    let configuration = measured.configuration;
    assert_eq!(configuration.verdict, Verdict::Passed);
    let is_measured = |trial: &&Trial| !trial.warmup;
    assert_eq!(configuration.trials.iter().filter(is_measured).count(), 1);
    let stages = configuration.stages.unwrap();
    let evaluation = stages.iter().find(|stage| stage.stage == Stage::Evaluation);
    assert_eq!(evaluation.unwrap().samples, 1);

    let all = measure_within(Some(1e6), &[], false, &Interrupt::new());
    assert_eq!(all.configuration.trials.len(), 4);
}

fn assert_rejected_without_durations(configuration: &Configuration) {
    assert_eq!(configuration.verdict, Verdict::Rejected);
    assert!(configuration.rejection.is_some());
    assert!(configuration.stages.is_none());
    assert!(configuration.throughput.is_none());
    assert!(
        configuration
            .trials
            .iter()
            .all(|trial| trial.durations.is_none())
    );
}

#[test]
fn a_good_run_has_every_stage() {
    let measured = measure(&[], false, &Interrupt::new());
    let configuration = measured.configuration;
    assert_eq!(configuration.verdict, Verdict::Passed);
    assert_eq!(measured.outputs.unwrap().len(), BATCH * D_OUT);
    assert!(!measured.interrupted);

    let stages = configuration.stages.unwrap();
    let counted: Vec<_> = stages
        .iter()
        .map(|stage| (stage.stage, stage.samples))
        .collect();
    let expected = [
        (Stage::KeyGeneration, 1),
        (Stage::WeightPreparation, 1),
        (Stage::Encryption, 3),
        (Stage::Evaluation, 3),
        (Stage::Decryption, 3),
        (Stage::PlainProductF32, 3),
        (Stage::PlainProductF64, 3),
    ];
    assert_eq!(counted, expected);
    let phases = &stages[3].phases;
    assert_eq!(
        (phases[0].name.as_str(), phases[0].bytes),
        ("multiply-accumulate", Some(2000))
    );
    // 2000 bytes in 1 µs are 2 GB/s, half of the 4 GB/s that the job states.
    assert!((phases[0].bytes_per_second.unwrap() / 2e9 - 1.0).abs() < 1e-9);
    assert!((phases[0].of_streaming_read.unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(phases[1].bytes_per_second, None);

    let bytes = configuration.bytes;
    let sizes = (
        bytes.keys,
        bytes.prepared_weights,
        bytes.upload,
        bytes.download,
    );
    assert_eq!(sizes, (Some(11), Some(31), Some(41), Some(51)));
    // The plain backend states log QP 6.72 at a limit of 106.
    assert!((configuration.security_margin.unwrap() - 99.28).abs() < 1e-9);
    assert_eq!((bytes.weights_f32, bytes.weights_bf16), (140, 70));

    let errors = configuration.errors.unwrap();
    assert!((errors.rms.unwrap() / 1e-9 - 1.0).abs() < 1e-3);
    assert!((errors.observed_over_predicted.unwrap() - 1.0).abs() < 1e-3);
    let warmups: Vec<bool> = configuration
        .trials
        .iter()
        .map(|trial| trial.warmup)
        .collect();
    assert_eq!(warmups, [true, false, false, false]);
}

#[test]
fn the_split_is_two_stages() {
    let measured = measure(&[], true, &Interrupt::new());
    let stages = measured.configuration.stages.unwrap();
    let names: Vec<Stage> = stages.iter().map(|stage| stage.stage).collect();
    assert!(names.contains(&Stage::AheadOfTimeEvaluation));
    assert!(names.contains(&Stage::OnlineEvaluation));
    assert!(!names.contains(&Stage::Evaluation));
}

#[test]
fn every_trial_has_its_own_vectors() {
    let configuration = run(&[]);
    let largest: Vec<f64> = configuration
        .trials
        .iter()
        .map(|t| t.errors.unwrap().max_abs_reference)
        .collect();
    assert_ne!(largest[0], largest[1]);
    assert_ne!(largest[1], largest[2]);
}

#[test]
fn one_wrong_output_rejects_and_is_named() {
    for trial in 0..4 {
        let measured = measure(
            &[Fault::Add {
                trial,
                at: 8,
                error: -0.5,
            }],
            false,
            &Interrupt::new(),
        );
        assert!(
            measured.outputs.is_none(),
            "outputs that failed must not be used"
        );
        let configuration = measured.configuration;
        assert_rejected_without_durations(&configuration);
        let rejection = configuration.rejection.unwrap();
        assert_eq!(
            (rejection.stage, rejection.trial),
            (Stage::Comparison, Some(trial))
        );
        let worst = rejection.worst.unwrap();
        assert_eq!((worst.vector, worst.output), (1, 3));
        assert!(rejection.reason.contains("5.00e-1"), "{}", rejection.reason);
        // The other trials are still checked, and their errors reported.
        assert_eq!(configuration.trials.len(), 4);
        let verdicts = configuration.trials.iter().map(|trial| trial.verdict);
        assert_eq!(verdicts.filter(|v| *v == Verdict::Rejected).count(), 1);
        assert!((configuration.errors.unwrap().max_abs.unwrap() - 0.5).abs() < 1e-6);
    }
}

#[test]
fn an_error_within_the_gate_passes() {
    assert_eq!(
        run(&[Fault::Add {
            trial: 2,
            at: 0,
            error: 9e-5
        }])
        .verdict,
        Verdict::Passed
    );
    let above = run(&[Fault::Add {
        trial: 2,
        at: 0,
        error: 1.1e-4,
    }]);
    assert_rejected_without_durations(&above);
}

#[test]
fn nan_and_infinity_reject() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let configuration = run(&[Fault::Replace {
            trial: 3,
            at: 4,
            value,
        }]);
        assert_rejected_without_durations(&configuration);
        let rejection = configuration.rejection.unwrap();
        assert!(
            rejection.reason.contains("1 of 10 outputs"),
            "{}",
            rejection.reason
        );
        let worst = rejection.worst.unwrap();
        assert_eq!((worst.vector, worst.output, worst.actual), (0, 4, None));
        assert_eq!(configuration.errors.unwrap().max_abs, None);
    }
}

#[test]
fn a_wrong_number_of_outputs_rejects() {
    let configuration = run(&[Fault::Short { trial: 1 }]);
    assert_rejected_without_durations(&configuration);
    let rejection = configuration.rejection.unwrap();
    assert_eq!(rejection.stage, Stage::Comparison);
    assert_eq!(
        rejection.reason,
        "the backend returned 9 outputs instead of 10"
    );
    assert_eq!(rejection.worst, None);
}

#[test]
fn a_failing_stage_rejects_with_the_librarys_own_message() {
    let cases = [
        (Step::Keys, Stage::KeyGeneration, 0, None),
        (Step::Prepare, Stage::WeightPreparation, 0, None),
        (Step::Encrypt, Stage::Encryption, 0, Some(0)),
        (Step::Evaluate, Stage::Evaluation, 2, Some(2)),
        (Step::Decrypt, Stage::Decryption, 3, Some(3)),
    ];
    for (step, stage, trial, index) in cases {
        let configuration = run(&[Fault::Fails { trial, step }]);
        assert_rejected_without_durations(&configuration);
        let rejection = configuration.rejection.unwrap();
        assert_eq!((rejection.stage, rejection.trial), (stage, index));
        assert_eq!(
            rejection.reason,
            format!("plain: approximation error in {step:?}")
        );
        assert_eq!(
            configuration.trials.len(),
            index.map_or(0, |index| index + 1)
        );
    }
    let ahead = [Fault::Fails {
        trial: 0,
        step: Step::Ahead,
    }];
    let measured = measure(&ahead, true, &Interrupt::new());
    assert_rejected_without_durations(&measured.configuration);
}

#[test]
fn the_first_failure_is_the_reason() {
    let configuration = run(&[
        Fault::Add {
            trial: 1,
            at: 0,
            error: 1.0,
        },
        Fault::Fails {
            trial: 3,
            step: Step::Evaluate,
        },
    ]);
    let rejection = configuration.rejection.unwrap();
    assert_eq!(
        (rejection.stage, rejection.trial),
        (Stage::Comparison, Some(1))
    );
    assert_eq!(configuration.trials.len(), 4);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let flag = Interrupt::new();
    let faults = [Fault::Interrupted {
        trial: 2,
        step: Step::Encrypt,
        flag: flag.clone(),
    }];
    let measured = measure(&faults, false, &flag);
    assert!(measured.interrupted);
    assert!(measured.outputs.is_none());
    let configuration = measured.configuration;
    assert_eq!(configuration.verdict, Verdict::Incomplete);
    let verdicts: Vec<Verdict> = configuration
        .trials
        .iter()
        .map(|trial| trial.verdict)
        .collect();
    assert_eq!(
        verdicts,
        [Verdict::Passed, Verdict::Passed, Verdict::Incomplete]
    );
    // The stage that ran when Ctrl-C came is finished, the next does not start.
    let last = configuration.trials[2].durations.as_ref().unwrap();
    assert_eq!(
        last.iter().map(|d| d.stage).collect::<Vec<_>>(),
        [Stage::Encryption]
    );
    let stages = configuration.stages.unwrap();
    let evaluation = stages
        .iter()
        .find(|stage| stage.stage == Stage::Evaluation)
        .unwrap();
    assert_eq!(evaluation.samples, 1);
}

#[test]
fn an_interrupt_does_not_hide_a_failure() {
    let flag = Interrupt::new();
    let measured = measure(
        &[
            Fault::Add {
                trial: 0,
                at: 0,
                error: 1.0,
            },
            Fault::Interrupted {
                trial: 1,
                step: Step::Evaluate,
                flag: flag.clone(),
            },
        ],
        false,
        &flag,
    );
    assert!(measured.interrupted);
    assert_rejected_without_durations(&measured.configuration);
}

#[test]
fn an_interrupt_before_the_first_stage_leaves_an_empty_configuration() {
    let flag = Interrupt::new();
    flag.set();
    let configuration = measure(&[], false, &flag).configuration;
    assert_eq!(configuration.verdict, Verdict::Incomplete);
    assert!(configuration.trials.is_empty());
    assert_eq!(configuration.keys.map(|keys| keys.key_bytes), None);
}
