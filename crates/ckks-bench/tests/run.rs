//! `run`, `plan` and `params` with the native backend, end to end.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use ckks_bench::commands::PlanDocument;
use ckks_bench::report::{Configuration, Report, Stage, Verdict};
use program::bench;
use std::fs;
use std::path::Path;

/// Runs `run` with a report; gives the exit code and the report.
fn report(arguments: &[&str]) -> (i32, Report) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let line = ["run", "--quiet", "--json", json.to_str().unwrap()];
    let (code, stdout, stderr) = bench(&[&line, arguments].concat());
    let text = fs::read_to_string(&json).unwrap_or_else(|_| panic!("no report: {stdout}{stderr}"));
    (code, serde_json::from_str(&text).unwrap())
}

fn assert_passed(configuration: &Configuration) {
    let name = format!("{}x{}", configuration.d_in, configuration.d_out);
    assert_eq!(
        configuration.verdict,
        Verdict::Passed,
        "{name}: {:?}",
        configuration.rejection
    );
    let errors = configuration.errors.unwrap();
    assert!(errors.max_abs.unwrap() <= 1e-4, "{name}");
    assert!(
        errors.observed_over_predicted.unwrap() <= 1.5,
        "{name}: {errors:?}"
    );
    let bytes = configuration.bytes;
    assert!(
        bytes.upload.unwrap() > 0 && bytes.download.unwrap() > 0,
        "{name}"
    );
}

#[test]
fn small_shapes_pass() {
    let (code, report) = report(&["--shape", "5x3,64x64,1x1,7x7", "--trials", "2"]);
    assert_eq!(code, 0);
    assert!(!report.partial);
    assert_eq!(report.configurations.len(), 4);
    for configuration in &report.configurations {
        assert_passed(configuration);
        assert!(configuration.security_margin.unwrap() >= 0.0);
        let stages = configuration.stages.as_ref().unwrap();
        let has = |stage| stages.iter().any(|summary| summary.stage == stage);
        assert!(has(Stage::KeyGeneration) && has(Stage::WeightPreparation));
        assert!(has(Stage::Encryption) && has(Stage::Evaluation) && has(Stage::Decryption));
        // What the backend measures inside a stage cannot take longer than the stage.
        for trial in &configuration.trials {
            for stage in trial.durations.as_ref().unwrap() {
                let inside: f64 = stage.phases.iter().map(|phase| phase.seconds).sum();
                assert!(inside <= stage.seconds * 1.01 + 1e-5, "{stage:?}");
            }
        }
    }
}

#[test]
fn batches_and_plans_pass() {
    for plan in ["auto", "diagonal", "diagonal-square", "gemm"] {
        let (code, report) = report(&["--shape", "64x48", "--batch", "3", "--plan", plan]);
        assert_eq!(code, 0, "{plan}");
        assert_passed(&report.configurations[0]);
    }
}

#[test]
fn the_split_passes() {
    let (code, report) = report(&["--shape", "64x64", "--ahead"]);
    assert_eq!(code, 0);
    assert_passed(&report.configurations[0]);
    let stages = report.configurations[0].stages.as_ref().unwrap();
    for wanted in [Stage::AheadOfTimeEvaluation, Stage::OnlineEvaluation] {
        assert!(stages.iter().any(|stage| stage.stage == wanted), "{wanted}");
    }
}

#[test]
fn a_gate_below_the_noise_rejects_without_durations() {
    let (code, report) = report(&["--shape", "64x64", "--gate", "1e-13"]);
    assert_eq!(code, 1);
    let configuration = &report.configurations[0];
    assert_eq!(configuration.verdict, Verdict::Rejected);
    assert!(configuration.stages.is_none());
    assert!(
        configuration
            .trials
            .iter()
            .all(|trial| trial.durations.is_none())
    );
}

fn safetensors(path: &Path, d_out: usize, d_in: usize, values: &[f32]) {
    let end = values.len() * 4;
    let header =
        format!(r#"{{"w":{{"dtype":"F32","shape":[{d_out},{d_in}],"data_offsets":[0,{end}]}}}}"#);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, bytes).unwrap();
}

#[test]
fn real_weights_and_vectors_give_their_product() {
    let folder = tempfile::tempdir().unwrap();
    let [model, x, y] = ["m.safetensors", "x.npy", "y.npy"].map(|name| folder.path().join(name));
    // W as [out, in]: y = (x0 + 2·x1 + 3·x2, -x0 + 0.5·x2).
    safetensors(&model, 2, 3, &[1.0, 2.0, 3.0, -1.0, 0.0, 0.5]);
    tensor_io::write_npy_f64(&x, 2, 3, &[1.0, 2.0, 3.0, -4.0, 0.25, 8.0]).unwrap();
    let source = format!("{}#w", model.display());
    let line = ["--weights", &source, "--input", x.to_str().unwrap()];
    let (code, report) = report(&[&line[..], &["--output", y.to_str().unwrap()]].concat());
    assert_eq!(code, 0, "{:?}", report.configurations[0].rejection);
    assert_eq!(report.settings.weights, source);
    let y = tensor_io::read_npy(&y).unwrap();
    for (got, want) in y.data().iter().zip([14.0, 0.5, 20.5, 8.0]) {
        assert!((got - want).abs() < 1e-3, "{got} for {want}");
    }
}

#[test]
fn plans_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("plan.json");
    let line = [
        "plan",
        "--plan",
        "diagonal",
        "--shape",
        "5x3,576x1536",
        "--json",
        json.to_str().unwrap(),
    ];
    let (code, stdout, _) = bench(&line);
    assert_eq!(code, 0);
    for part in [
        "5x3, batch 1",
        "576x1536, batch 1",
        "packing",
        "key switches",
        "reason",
    ] {
        assert!(stdout.contains(part), "no \"{part}\" in:\n{stdout}");
    }
    assert!(
        stdout.lines().all(|line| line.chars().count() <= 100),
        "{stdout}"
    );
    let document: PlanDocument = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(document.plans.len(), 2);
    assert!(document.plans.iter().all(|plan| plan.description.is_some()));
}

#[test]
fn parameter_sets_are_listed_and_unknown_ones_refused() {
    let (code, stdout, _) = bench(&["params"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("diagonal-4096"), "{stdout}");
    let (code, stdout, stderr) = bench(&["run", "--params", "no-such-set"]);
    assert_eq!(code, 2, "{stderr}");
    assert_eq!(stdout, "");
    assert!(
        stderr.contains("no-such-set") && stderr.contains("diagonal-4096"),
        "{stderr}"
    );
}
