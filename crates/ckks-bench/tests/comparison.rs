//! `compare`: what is refused, what is named, and the ratios by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use ckks_backend::Delivery;
use ckks_bench::commands::compare::{CompareArgs, compare};
use ckks_bench::comparison::{Comparison, blocking, others};
use ckks_bench::error::BenchError;
use ckks_bench::report::{Report, Stage, Throughput};
use common::{Fault, report, stage};
use std::fs;

/// What a change makes different, and the change.
type Change = (&'static str, fn(&mut Report));

fn base() -> Report {
    report(&["--shape", "5x3,4x4"], &[])
}

/// Runs the command on the two reports; gives its result, what it printed and its JSON file.
fn run(
    a: &Report,
    b: &Report,
    anyway: bool,
) -> (Result<(), BenchError>, String, Option<Comparison>) {
    let folder = tempfile::tempdir().unwrap();
    let [a_json, b_json, json] = ["a", "b", "out"].map(|name| folder.path().join(name));
    for (path, report) in [(&a_json, a), (&b_json, b)] {
        fs::write(path, serde_json::to_string(report).unwrap()).unwrap();
    }
    let args = CompareArgs {
        a: a_json,
        b: b_json,
        anyway,
        json: Some(json.clone()),
    };
    let mut out = Vec::new();
    let result = compare(&args, &mut out).map(|_| ());
    let written = fs::read_to_string(json).ok();
    (
        result,
        String::from_utf8(out).unwrap(),
        written.map(|text| serde_json::from_str(&text).unwrap()),
    )
}

#[test]
fn what_makes_a_comparison_unsound_is_refused() {
    let a = base();
    let changes: [Change; 7] = [
        ("shapes", |b| b.configurations[0].d_out = 7),
        ("batch", |b| {
            b.configurations.iter_mut().for_each(|c| c.batch = 2)
        }),
        ("gate", |b| b.settings.gate.limit = 1e-3),
        ("weights", |b| b.settings.weights = "m.safetensors#w".into()),
        ("input", |b| b.settings.input = "x.npy".into()),
        ("generator", |b| b.settings.generator = "other".into()),
        ("seed", |b| b.settings.seed = 2),
    ];
    for (what, change) in changes {
        let mut b = a.clone();
        change(&mut b);
        let found: Vec<String> = blocking(&a, &b).into_iter().map(|d| d.what).collect();
        assert_eq!(found, [what]);
        let (result, printed, written) = run(&a, &b, false);
        let error = result.unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(
            message.contains(what) && message.contains("--anyway"),
            "{message}"
        );
        assert!(printed.is_empty() && written.is_none(), "{what}");

        let (result, printed, written) = run(&a, &b, true);
        assert!(result.is_ok(), "{what}");
        assert!(printed.contains("NOT COMPARABLE"), "{printed}");
        assert_eq!(written.unwrap().unsound.len(), 1, "{what}");
    }
    assert!(blocking(&a, &a).is_empty());
    let (result, printed, _) = run(&a, &a, false);
    assert!(
        result.is_ok() && !printed.contains("NOT COMPARABLE"),
        "{printed}"
    );
}

#[test]
fn a_rejected_side_is_refused_even_if_both_are() {
    let fault = Fault::Add {
        trial: 0,
        at: 0,
        error: 1.0,
    };
    let (good, bad) = (base(), report(&["--shape", "5x3,4x4"], &[fault]));
    for (a, b) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
        let (result, ..) = run(a, b, false);
        let message = result.unwrap_err().to_string();
        assert!(message.contains("rejected configurations"), "{message}");
        let (result, printed, written) = run(a, b, true);
        assert!(result.is_ok() && printed.contains("REJECTED"), "{printed}");
        let pair = &written.unwrap().configurations[0];
        assert!(pair.stages.iter().all(|stage| stage.ratio.is_none()));
    }
}

#[test]
fn the_seed_of_real_data_is_no_obstacle() {
    let mut a = base();
    a.settings.weights = "m.safetensors#w".into();
    a.settings.input = "x.npy".into();
    let mut b = a.clone();
    b.settings.seed = 2;
    assert!(blocking(&a, &b).is_empty());
    assert_eq!(others(&a, &b)[0].what, "seed");
}

#[test]
fn everything_else_that_differs_is_named() {
    let a = base();
    let changes: [Change; 13] = [
        ("library", |b| description(b).version = "2".into()),
        ("device", |b| description(b).device = "gpu".into()),
        ("kernels", |b| description(b).kernels = "avx512".into()),
        ("plan", |b| description(b).plan.packing.name = "gemm".into()),
        ("parameters", |b| {
            description(b).parameters.digest = "01".into()
        }),
        ("machine", |b| b.host.cpu_model = Some("other".into())),
        ("threads", |b| b.settings.threads = 64),
        ("trials", |b| b.settings.trials = 9),
        ("commit", |b| b.build.commit = Some("abc".into())),
        ("profile", |b| b.build.profile = "other".into()),
        ("ahead", |b| b.settings.ahead = true),
        ("cold", |b| b.settings.cold = true),
        ("link", |b| {
            b.settings.circumstances.delivery = Delivery::Sent
        }),
    ];
    for (what, change) in changes {
        let mut b = a.clone();
        change(&mut b);
        let found: Vec<String> = others(&a, &b).into_iter().map(|d| d.what).collect();
        assert_eq!(found, [what]);
        let (result, printed, _) = run(&a, &b, false);
        assert!(result.is_ok() && printed.contains(what), "{printed}");
    }
    assert!(others(&a, &a).is_empty());
}

/// That of the first configuration: texts of the others stay, and the difference is still one.
fn description(report: &mut Report) -> &mut ckks_backend::Description {
    report.configurations[0].description.as_mut().unwrap()
}

#[test]
fn ratios_by_hand() {
    let mut a = base();
    a.configurations.truncate(1);
    let mut b = a.clone();
    let sides = [
        (&mut a, [2.0, 4.0, 3.0], 1.0),
        (&mut b, [1.0, 1.5, 1.25], 1.5),
    ];
    for (side, evaluation, decryption) in sides {
        let configuration = &mut side.configurations[0];
        configuration.stages = Some(vec![
            stage(Stage::KeyGeneration, &[evaluation[0]]),
            stage(Stage::Encryption, &[1.0, 1.0, 1.0]),
            stage(Stage::Evaluation, &evaluation),
            stage(Stage::Decryption, &[decryption, 0.5, 2.0]),
        ]);
        configuration.throughput = Some(Throughput {
            evaluation: 1.0 / evaluation[2],
            end_to_end: 1.0 / (1.0 + evaluation[2] + decryption),
        });
    }
    b.configurations[0].bytes.upload = Some(82);
    let (result, printed, written) = run(&a, &b, false);
    result.unwrap();
    let pair = written.unwrap().configurations.remove(0);
    let row = |stage| pair.stages.iter().find(|row| row.stage == stage).unwrap();
    // One duration has no spread.
    let keys = row(Stage::KeyGeneration);
    assert_eq!((keys.ratio, keys.distinguishable), (Some(0.5), None));
    // 1.25 / 3, and 1.5 < 2.
    let evaluation = row(Stage::Evaluation);
    assert_eq!(evaluation.ratio, Some(1.25 / 3.0));
    assert_eq!(evaluation.distinguishable, Some(true));
    let decryption = row(Stage::Decryption);
    assert_eq!(
        (decryption.ratio, decryption.distinguishable),
        (Some(1.5), Some(false))
    );
    let [evaluation, end_to_end] = &pair.throughput[..] else {
        panic!("two rates")
    };
    assert!((evaluation.ratio.unwrap() - 2.4).abs() < 1e-12);
    assert_eq!(evaluation.distinguishable, Some(true));
    // A takes 1 + 3 + 1 = 5, B 1 + 1.25 + 1.5 = 3.75; 3.5 to 7 against 2.5 to 4.5.
    assert!((end_to_end.ratio.unwrap() - 5.0 / 3.75).abs() < 1e-12);
    assert_eq!(end_to_end.distinguishable, Some(false));
    let upload = pair.bytes.iter().find(|row| row.name == "upload").unwrap();
    assert_eq!(upload.ratio, Some(2.0));
    for part in [
        "B is 2.40x faster",
        "B is 2.00x larger",
        "not distinguishable",
    ] {
        assert!(printed.contains(part), "no \"{part}\" in:\n{printed}");
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 100),
        "{printed}"
    );
}

#[test]
fn partners_by_shape_then_batch() {
    let a = report(&["--shape", "5x3,4x4"], &[]);
    let b = report(&["--shape", "4x4,5x3"], &[]);
    let (result, _, written) = run(&a, &b, false);
    result.unwrap();
    let shapes: Vec<(usize, usize)> = written
        .unwrap()
        .configurations
        .iter()
        .map(|pair| (pair.d_in, pair.d_out))
        .collect();
    assert_eq!(shapes, [(5, 3), (4, 4)]);
    let other = report(&["--shape", "5x3,7x7", "--batch", "3"], &[]);
    let (_, printed, written) = run(&a, &other, true);
    let written = written.unwrap();
    assert_eq!(written.configurations.len(), 1);
    assert_eq!(
        (
            written.configurations[0].batch_a,
            written.configurations[0].batch_b
        ),
        (1, 3)
    );
    assert_eq!(written.unmatched, ["A: 4x4, batch 1", "B: 7x7, batch 3"]);
    assert!(printed.contains("of the whole batch"), "{printed}");
}

#[test]
fn files_that_are_no_reports() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("text"), "no JSON").unwrap();
    fs::write(path("old"), r#"{"schema": "ckks-bench/1"}"#).unwrap();
    fs::write(path("damaged"), r#"{"schema": "ckks-bench/2"}"#).unwrap();
    let cases = [
        ("missing", "cannot be read"),
        ("text", "no JSON"),
        ("old", "\"ckks-bench/1\""),
        ("damaged", "damaged"),
    ];
    for (name, part) in cases {
        let args = CompareArgs {
            a: path(name),
            b: path(name),
            anyway: true,
            json: None,
        };
        let error = compare(&args, &mut Vec::new()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(
            message.contains(part) && message.contains(name),
            "{message}"
        );
    }
}
