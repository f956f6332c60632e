//! `ab`: the order of the rounds, the options of each side, the gate.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use ckks_backend::{Backend, BackendError, PlanChoice, TrialSpec};
use ckks_bench::cli::{Cli, Command};
use ckks_bench::commands::ab::ab;
use ckks_bench::error::{BenchError, Outcome};
use ckks_bench::interrupt::Interrupt;
use ckks_bench::paired::{PairedReport, SCHEMA};
use ckks_bench::report::Verdict;
use clap::Parser;
use common::{Fault, Plain, Step};
use std::fs;
use std::sync::Mutex;

type Run = (
    Result<(PairedReport, Outcome), BenchError>,
    String,
    Option<String>,
);
type Open<'a> = dyn Fn(&TrialSpec) -> Result<Plain, BackendError> + Sync + 'a;

fn run(a: &str, b: &str, line: &[&str], interrupt: &Interrupt, open: &Open<'_>) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("ab.json");
    let start = [
        "ckks-bench",
        "ab",
        "--quiet",
        "--json",
        json.to_str().unwrap(),
        "--a",
        a,
        "--b",
        b,
    ];
    let Command::Ab(args) = Cli::try_parse_from(start.iter().chain(line))
        .unwrap()
        .command
    else {
        panic!("not ab");
    };
    let opener = |_: &str, _: &str, spec: &TrialSpec| Ok(Box::new(open(spec)?) as Box<dyn Backend>);
    let mut out = Vec::new();
    let result = ab(&args, Vec::new(), &opener, interrupt, &mut out);
    let printed = String::from_utf8(out).unwrap();
    (result, printed, fs::read_to_string(json).ok())
}

fn good(spec: &TrialSpec) -> Result<Plain, BackendError> {
    Ok(Plain::new(spec, &[]))
}

#[test]
fn rounds_alternate_and_every_round_has_its_ratio() {
    let line = ["--shape", "64x48", "--rounds", "7", "--warmup", "1"];
    let (result, printed, json) = run("--batch 3", "--batch 6", &line, &Interrupt::new(), &good);
    let (report, outcome) = result.unwrap();
    assert_eq!(outcome, Outcome::Passed);
    let value: serde_json::Value = serde_json::from_str(&json.unwrap()).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert!(value == serde_json::to_value(&report).unwrap());

    let rounds = report.rounds.as_ref().unwrap();
    // The warm-up was the first A B.
    let order: Vec<bool> = rounds.iter().map(|round| round.a_first).collect();
    assert_eq!(order, [false, true, false, true, false, true, false]);
    let evaluation = report.evaluation.as_ref().unwrap();
    let end_to_end = report.end_to_end.as_ref().unwrap();
    for (index, round) in rounds.iter().enumerate() {
        // Per vector: 3 in A, 6 in B.
        let wanted = round.a.evaluation / round.b.evaluation * 2.0;
        assert!((evaluation.ratios[index] / wanted - 1.0).abs() < 1e-12);
        let whole = |t: &ckks_bench::paired::Timing| t.encryption + t.evaluation + t.decryption;
        let wanted = whole(&round.a) / whole(&round.b) * 2.0;
        assert!((end_to_end.ratios[index] / wanted - 1.0).abs() < 1e-12);
    }
    let mut sorted = evaluation.ratios.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(evaluation.median, sorted[3]);
    assert_eq!(
        (report.a.verdict, report.b.verdict),
        (Verdict::Passed, Verdict::Passed)
    );
    for part in ["sign test", "quartiles", "batch 3", "batch 6", "of its own"] {
        assert!(printed.contains(part), "no \"{part}\" in:\n{printed}");
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 100),
        "{printed}"
    );
}

#[test]
fn a_side_takes_the_common_options_that_it_does_not_give() {
    let line = [
        "--shape",
        "5x3",
        "--rounds",
        "1",
        "--ahead",
        "--plan",
        "gemm",
        "--threads",
        "1",
        "--gate",
        "0.5",
        "--seed",
        "9",
    ];
    let (a, b) = ("--plan diagonal --batch 4 --params 'two words'", "");
    let (result, ..) = run(a, b, &line, &Interrupt::new(), &good);
    let report = result.unwrap().0;
    let (a, b) = (&report.a.spec, &report.b.spec);
    assert_eq!((a.plan, b.plan), (PlanChoice::Diagonal, PlanChoice::Gemm));
    assert_eq!((a.batch, b.batch), (4, 1));
    assert_eq!(
        (a.params.as_deref(), b.params.as_deref()),
        (Some("two words"), None)
    );
    for spec in [a, b] {
        assert!(spec.ahead);
        assert_eq!(
            (spec.d_in, spec.d_out, spec.threads, spec.seed),
            (5, 3, 1, 9)
        );
        assert_eq!(spec.gate, 0.5);
    }
}

#[test]
fn options_that_make_no_sense() {
    let cases: [(&str, &str, &[&str], &str); 6] = [
        ("--batch 0", "", &[], "--a \"--batch 0\""),
        ("", "--color red", &[], "--color"),
        ("--plan 'gemm", "", &[], "not closed"),
        ("", "words", &[], "words"),
        ("--shape 4x4", "--shape 4x5", &[], "one layer"),
        ("", "", &["--shape", "4x4,4x5"], "one --shape"),
    ];
    for (a, b, line, part) in cases {
        let (result, printed, _) = run(a, b, line, &Interrupt::new(), &good);
        let error = result.unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(
            error.to_string().contains(part),
            "no \"{part}\" in: {error}"
        );
        assert_eq!(printed, "");
    }
}

#[test]
fn a_failure_rejects_the_side_and_gives_no_ratio() {
    let faults = [
        Fault::Add {
            trial: 2,
            at: 0,
            error: 0.25,
        },
        Fault::Fails {
            trial: 1,
            step: Step::Evaluate,
        },
        Fault::Fails {
            trial: 0,
            step: Step::Prepare,
        },
        Fault::Short { trial: 0 },
        Fault::Replace {
            trial: 0,
            at: 1,
            value: f64::NAN,
        },
    ];
    for fault in faults {
        let open = |spec: &TrialSpec| {
            let faulty = spec.batch == 2;
            Ok(Plain::new(
                spec,
                if faulty {
                    std::slice::from_ref(&fault)
                } else {
                    &[]
                },
            ))
        };
        let line = ["--shape", "5x3", "--rounds", "4"];
        let (result, printed, json) = run("", "--batch 2", &line, &Interrupt::new(), &open);
        let (report, outcome) = result.unwrap();
        assert_eq!(outcome, Outcome::Rejected, "{fault:?}");
        assert_eq!(report.b.verdict, Verdict::Rejected, "{fault:?}");
        assert_eq!(report.a.verdict, Verdict::Incomplete, "{fault:?}");
        assert!(report.b.reason.is_some());
        assert!(
            report.rounds.is_none() && report.evaluation.is_none() && report.end_to_end.is_none()
        );
        assert!(
            printed.contains("REJECTED") && printed.contains("No ratio"),
            "{printed}"
        );
        assert!(json.unwrap().contains("\"rejected\""));
    }
}

#[test]
fn a_refused_side_is_rejected_and_a_missing_library_ends_the_run() {
    let refuse = |spec: &TrialSpec| match spec.batch {
        2 => Err(BackendError::Refused("too noisy".into())),
        _ => good(spec),
    };
    let (result, printed, _) = run(
        "",
        "--batch 2",
        &["--shape", "5x3"],
        &Interrupt::new(),
        &refuse,
    );
    assert_eq!(result.unwrap().1, Outcome::Rejected);
    assert!(printed.contains("too noisy"), "{printed}");
    let missing = |_: &TrialSpec| {
        Err(BackendError::NotAvailable {
            name: "x".into(),
            reason: "y".into(),
        })
    };
    let (result, ..) = run("", "", &["--shape", "5x3"], &Interrupt::new(), &missing);
    assert_eq!(result.unwrap_err().exit_code(), 3);
}

#[test]
fn an_interrupted_run_keeps_its_rounds() {
    let interrupt = Interrupt::new();
    let open = |spec: &TrialSpec| {
        let fault = Fault::Interrupted {
            trial: 3,
            step: Step::Encrypt,
            flag: interrupt.clone(),
        };
        Ok(Plain::new(spec, &[fault]))
    };
    let line = ["--shape", "5x3", "--rounds", "10", "--warmup", "1"];
    let (result, printed, _) = run("", "", &line, &interrupt, &open);
    let (report, outcome) = result.unwrap();
    assert_eq!((outcome, report.partial), (Outcome::Interrupted, true));
    // The warm-up, and rounds 1 to 3: the round under way is finished.
    assert_eq!(report.rounds.unwrap().len(), 3);
    assert!(printed.contains("INTERRUPTED: 10"), "{printed}");
}

#[test]
fn each_side_stays_on_a_thread_of_its_own() {
    let threads = Mutex::new(Vec::new());
    let open = |spec: &TrialSpec| {
        let id = std::thread::current().id();
        threads.lock().unwrap().push((spec.batch, id));
        good(spec)
    };
    let line = ["--shape", "5x3", "--rounds", "1"];
    run("", "--batch 2", &line, &Interrupt::new(), &open)
        .0
        .unwrap();
    let threads = threads.into_inner().unwrap();
    // The check of memory opened both here before.
    let own: Vec<_> = threads
        .iter()
        .filter(|(_, id)| *id != std::thread::current().id())
        .collect();
    assert_eq!(own.len(), 2);
    assert_ne!(own[0].1, own[1].1);
}
