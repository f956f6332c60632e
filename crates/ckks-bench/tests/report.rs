//! The whole of `run` with a backend without encryption: files, tables, exit codes.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use ckks_backend::{Backend, BackendError, TrialSpec};
use ckks_bench::cli::{Cli, Command};
use ckks_bench::commands::run::{Finished, run};
use ckks_bench::error::{BenchError, Outcome};
use ckks_bench::interrupt::Interrupt;
use ckks_bench::options::RunOptions;
use ckks_bench::report::{Report, SCHEMA, Verdict};
use clap::Parser;
use common::{Fault, Plain, Step};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Runs the command line on what `open` returns; gives the result and what was printed.
fn bench(
    line: &[&str],
    interrupt: &Interrupt,
    open: impl Fn(&TrialSpec) -> Result<Plain, BackendError>,
) -> (Result<Finished, BenchError>, String) {
    let mut out = Vec::new();
    let result = bench_to(line, interrupt, open, &mut out);
    (result, String::from_utf8(out).unwrap())
}

fn bench_to(
    line: &[&str],
    interrupt: &Interrupt,
    open: impl Fn(&TrialSpec) -> Result<Plain, BackendError>,
    out: &mut dyn Write,
) -> Result<Finished, BenchError> {
    let arguments = ["ckks-bench", "run", "--quiet"].iter().chain(line);
    let Command::Run(args) = Cli::try_parse_from(arguments.clone()).unwrap().command else {
        panic!("not a run");
    };
    let command_line = arguments.map(|text| (*text).to_owned()).collect();
    let options = RunOptions::new(*args, command_line)?;
    let opener = |_: &str, _: &str, spec: &TrialSpec| {
        open(spec).map(|backend| Box::new(backend) as Box<dyn Backend>)
    };
    run(&options, &opener, interrupt, out)
}

fn good(spec: &TrialSpec) -> Result<Plain, BackendError> {
    Ok(Plain::new(spec, &[]))
}

fn read(path: &Path) -> (Report, serde_json::Value) {
    let text = fs::read_to_string(path).unwrap();
    (
        serde_json::from_str(&text).unwrap(),
        serde_json::from_str(&text).unwrap(),
    )
}

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json").display().to_string();
    (folder, json)
}

#[test]
fn the_file_is_the_documented_struct() {
    let (_folder, json) = folder();
    let line = [
        "--shape",
        "5x3,64x64",
        "--batch",
        "2",
        "--seed",
        "9",
        "--json",
        &json,
    ];
    let (result, printed) = bench(&line, &Interrupt::new(), good);
    let finished = result.unwrap();
    assert_eq!(finished.outcome, Outcome::Passed);

    let (report, value) = read(json.as_ref());
    // Not `assert_eq`: a failure would print both reports.
    assert!(value == serde_json::to_value(&finished.report).unwrap());
    assert!(value == serde_json::to_value(&report).unwrap());
    assert_eq!(value["schema"], SCHEMA);
    assert!(!report.partial);
    assert_eq!(report.settings.seed, 9);
    assert_eq!(report.configurations_planned, 2);
    assert_eq!(value["gpu"], serde_json::Value::Null);
    assert!(report.date.ends_with('Z') && report.date.len() == "2026-01-01T00:00:00Z".len());
    assert!(
        report
            .streaming_read
            .is_some_and(|read| read.bytes_per_second > 1e8)
    );
    assert!(value["configurations"][0]["stages"][2]["median_seconds"].is_f64());

    for part in [
        "5x3, batch 2",
        "64x64, batch 2",
        "| key generation",
        "multiply-accumulate",
    ] {
        assert!(printed.contains(part), "{part} missing in:\n{printed}");
    }
    assert_eq!(
        printed.matches("PASSED").count(),
        4,
        "two verdicts and two lines of the overview"
    );
    assert!(!printed.contains('\u{1b}'), "colour codes in a file");
    for line in printed.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_rejected_configuration_has_no_duration_anywhere() {
    let (_folder, json) = folder();
    let line = ["--shape", "5x3", "--shape", "4x4", "--json", &json];
    let faulty = |spec: &TrialSpec| {
        let faults = [Fault::Add {
            trial: 1,
            at: 2,
            error: 0.25,
        }];
        Ok(Plain::new(spec, if spec.d_in == 5 { &faults } else { &[] }))
    };
    let (result, printed) = bench(&line, &Interrupt::new(), faulty);
    assert_eq!(result.unwrap().outcome, Outcome::Rejected);

    let (report, value) = read(json.as_ref());
    let rejected = &value["configurations"][0];
    assert_eq!(rejected["verdict"], "rejected");
    assert!(rejected["stages"].is_null());
    assert!(rejected["throughput"].is_null());
    assert!(
        rejected["trials"]
            .as_array()
            .unwrap()
            .iter()
            .all(|t| t["durations"].is_null())
    );
    assert_eq!(rejected["rejection"]["stage"], "comparison");
    assert_eq!(rejected["rejection"]["worst"]["output"], 2);
    // The other configuration is not affected.
    assert_eq!(report.configurations[1].verdict, Verdict::Passed);
    assert!(report.configurations[1].stages.is_some());

    let own = printed.split("4x4, batch").next().unwrap();
    assert!(
        own.contains("REJECTED: trial 1 of 3, comparison: max abs error"),
        "{printed}"
    );
    assert!(own.contains("vector 0, output 2"), "{printed}");
    assert!(!own.contains("| key generation"), "durations in:\n{own}");
    assert!(!own.contains("warm-up "), "durations in:\n{own}");
}

#[test]
fn nan_survives_the_file_as_null() {
    let (_folder, json) = folder();
    let nan = |spec: &TrialSpec| {
        Ok(Plain::new(
            spec,
            &[Fault::Replace {
                trial: 0,
                at: 1,
                value: f64::NAN,
            }],
        ))
    };
    let (result, printed) = bench(&["--shape", "5x3", "--json", &json], &Interrupt::new(), nan);
    assert_eq!(result.unwrap().outcome, Outcome::Rejected);
    let (report, value) = read(json.as_ref());
    assert!(value["configurations"][0]["errors"]["max_abs"].is_null());
    assert_eq!(
        report.configurations[0].trials[0]
            .errors
            .unwrap()
            .not_finite,
        1
    );
    assert!(
        printed.contains("warm-up 1 of 1, comparison: 1 of 3 outputs are NaN"),
        "{printed}"
    );
    assert!(printed.contains("got no finite number"), "{printed}");
}

#[test]
fn an_interrupted_run_writes_a_partial_report() {
    let (_folder, json) = folder();
    let flag = Interrupt::new();
    let interrupted = |spec: &TrialSpec| {
        let at = Fault::Interrupted {
            trial: 2,
            step: Step::Evaluate,
            flag: flag.clone(),
        };
        Ok(Plain::new(spec, &[at]))
    };
    let line = ["--shape", "5x3,4x4", "--json", &json];
    let (result, printed) = bench(&line, &flag, interrupted);
    assert_eq!(result.unwrap().outcome, Outcome::Interrupted);
    let (report, value) = read(json.as_ref());
    assert_eq!(value["partial"], true);
    assert_eq!(
        (report.configurations.len(), report.configurations_planned),
        (1, 2)
    );
    assert_eq!(report.configurations[0].verdict, Verdict::Incomplete);
    assert!(report.configurations[0].stages.is_some());
    assert!(
        printed.contains("INCOMPLETE: interrupted; 2 of 4 trials checked"),
        "{printed}"
    );
}

#[test]
fn a_refusal_before_the_run_is_in_the_report() {
    let (_folder, json) = folder();
    let refuse = |spec: &TrialSpec| match spec.d_in {
        5 => Err(BackendError::Refused("overflow predicted".into())),
        _ => good(spec),
    };
    let line = ["--shape", "5x3,4x4", "--json", &json];
    let (result, printed) = bench(&line, &Interrupt::new(), refuse);
    assert_eq!(result.unwrap().outcome, Outcome::Rejected);
    let (report, _) = read(json.as_ref());
    let [refused, other] = &report.configurations[..] else {
        panic!("two configurations")
    };
    assert_eq!(
        refused.rejection.as_ref().unwrap().reason,
        "overflow predicted"
    );
    assert!(refused.description.is_none() && refused.stages.is_none());
    assert_eq!(other.verdict, Verdict::Passed);
    assert!(
        printed.contains("REJECTED: opening the backend: overflow predicted"),
        "{printed}"
    );
}

#[test]
fn other_refusals_end_the_run_before_it_starts() {
    let (_folder, json) = folder();
    let line = ["--shape", "5x3,4x4", "--json", &json];
    let cases: [(fn() -> BackendError, u8); 2] = [
        (|| BackendError::Unsupported("no split".into()), 2),
        (
            || BackendError::NotAvailable {
                name: "x".into(),
                reason: "y".into(),
            },
            3,
        ),
    ];
    for (error, code) in cases {
        let open = |spec: &TrialSpec| {
            if spec.d_in == 4 {
                Err(error())
            } else {
                good(spec)
            }
        };
        let (result, printed) = bench(&line, &Interrupt::new(), open);
        assert_eq!(result.unwrap_err().exit_code(), code);
        assert_eq!(printed, "");
        assert!(!Path::new(&json).exists());
    }
}

#[test]
fn too_much_memory_is_refused_with_both_figures() {
    let huge = |spec: &TrialSpec| Ok(Plain::needing(spec, 1 << 60));
    let (result, printed) = bench(&["--shape", "5x3"], &Interrupt::new(), huge);
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let message = error.to_string();
    assert!(
        message.contains("5x3, batch 1 needs 1152922 TB"),
        "{message}"
    );
    assert!(message.contains("available memory") || message.contains("container limit"));
    assert_eq!(printed, "");
}

#[test]
fn cold_rotates_through_copies() {
    let (_folder, json) = folder();
    let line = ["--shape", "5x3", "--cold", "--json", &json];
    let (result, printed) = bench(&line, &Interrupt::new(), |spec| {
        assert!(spec.replicas >= 1);
        good(spec)
    });
    assert_eq!(result.unwrap().outcome, Outcome::Passed);
    let cold = read(json.as_ref()).0.configurations[0].cold.unwrap();
    // The plain backend says that its layer takes 30 bytes.
    assert_eq!(cold.replicas as u64, cold.target_bytes.div_ceil(30) + 1);
    // 31 bytes are what it then takes.
    assert_eq!(cold.working_set_bytes, cold.replicas as u64 * 31);
    assert!(cold.leaves_caches);
    assert!(printed.contains("cold: evaluations rotate"), "{printed}");
    assert!(!printed.contains("NOT cold"), "{printed}");
}

#[test]
fn a_layer_smaller_than_predicted_is_not_cold() {
    let (_folder, json) = folder();
    let line = ["--shape", "5x3", "--cold", "--json", &json];
    let (result, printed) = bench(&line, &Interrupt::new(), |spec| {
        Ok(Plain::preparing(spec, 15))
    });
    assert_eq!(result.unwrap().outcome, Outcome::Passed);
    let cold = read(json.as_ref()).0.configurations[0].cold.unwrap();
    assert_eq!(cold.working_set_bytes, cold.replicas as u64 * 15);
    assert!(!cold.leaves_caches);
    assert!(
        printed.contains("NOT cold: evaluations rotate"),
        "{printed}"
    );
}

#[test]
fn given_vectors_and_outputs() {
    let (folder, json) = folder();
    let [input, output] =
        ["x.npy", "y.npy"].map(|name| folder.path().join(name).display().to_string());
    let x = [300.0, 2.0, -3.0, 4.0, 0.0, 0.5];
    tensor_io::write_npy_f64(input.as_ref(), 3, 2, &x).unwrap();
    let line = [
        "--shape", "2x4", "--input", &input, "--output", &output, "--json", &json,
    ];
    let (result, _) = bench(&line, &Interrupt::new(), good);
    assert_eq!(result.unwrap().outcome, Outcome::Passed);

    let y = tensor_io::read_npy(output.as_ref()).unwrap();
    assert_eq!((y.rows(), y.width()), (3, 4));
    let weights = ckks_bench::synthetic::weights(1, 2, 4).unwrap();
    let expected = 4.0 * f64::from(weights.row(2)[1]) - 3.0 * f64::from(weights.row(2)[0]);
    assert!((y.data()[4 + 2] - expected).abs() < 1e-8);

    let report = read(json.as_ref()).0;
    assert!(report.settings.gate.scaled);
    assert_eq!(report.settings.input, input);
    assert_eq!(report.configurations[0].batch, 3);
    let errors = report.configurations[0].errors.unwrap();
    assert!(errors.max_abs_reference > 10.0, "so that the scale matters");
    assert!((errors.limit / (1e-4 * errors.max_abs_reference) - 1.0).abs() < 1e-12);
}

#[test]
fn outputs_that_failed_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("y.npy");
    let faulty = |spec: &TrialSpec| {
        Ok(Plain::new(
            spec,
            &[Fault::Add {
                trial: 0,
                at: 0,
                error: 1.0,
            }],
        ))
    };
    let line = ["--shape", "2x4", "--output", output.to_str().unwrap()];
    let (result, printed) = bench(&line, &Interrupt::new(), faulty);
    assert_eq!(result.unwrap().outcome, Outcome::Rejected);
    assert!(!output.exists());
    assert!(printed.contains("--output: not written"), "{printed}");
}

/// A full disk behind standard output.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_standard_output_does_not_lose_the_files() {
    let (folder, json) = folder();
    let output = folder.path().join("y.npy");
    let line = [
        "--shape",
        "2x4",
        "--json",
        &json,
        "--output",
        output.to_str().unwrap(),
    ];
    let result = bench_to(&line, &Interrupt::new(), good, &mut Full);
    assert!(
        matches!(result, Err(BenchError::Output(_))),
        "{:?}",
        result.map(|finished| finished.outcome)
    );
    let report = read(json.as_ref()).0;
    assert!(!report.partial);
    assert_eq!(report.configurations[0].verdict, Verdict::Passed);
    assert_eq!(tensor_io::read_npy(&output).unwrap().width(), 4);

    // With nothing to lose, the run does not go on.
    let opened = std::cell::Cell::new(0);
    let counted = |spec: &TrialSpec| {
        opened.set(opened.get() + 1);
        good(spec)
    };
    let result = bench_to(&["--shape", "2x4"], &Interrupt::new(), counted, &mut Full);
    assert!(matches!(result, Err(BenchError::Output(_))));
    assert_eq!(opened.get(), 1, "only to learn the plan");
}

#[test]
fn memory_is_checked_before_weights_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("x.npy");
    let width = 262_144;
    tensor_io::write_npy_f64(&input, 1, width, &vec![0.5; width]).unwrap();
    let line = [
        "--shape",
        "262144x262144",
        "--input",
        input.to_str().unwrap(),
    ];
    let (result, _) = bench(&line, &Interrupt::new(), good);
    // 4 · 2^36 bytes of weights; a machine that has them may pass.
    if let Err(error) = result {
        assert!(
            error
                .to_string()
                .contains("262144x262144, batch 1 needs 275 GB"),
            "{error}"
        );
    }
}
