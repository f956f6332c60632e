//! `cost`: the formula on a report, and what has no cost.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;
mod program;

use ckks_bench::commands::cost::{CostArgs, cost};
use ckks_bench::cost::Costs;
use ckks_bench::report::{Report, Stage};
use common::{Fault, report, stage};
use program::program;
use std::fs;

fn run(reports: &[Report], price_per_gb: Option<f64>) -> (Costs, String) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("cost");
    let write = |(index, report): (usize, &Report)| {
        let path = folder.path().join(index.to_string());
        fs::write(&path, serde_json::to_string(report).unwrap()).unwrap();
        path
    };
    let args = CostArgs {
        reports: reports.iter().enumerate().map(write).collect(),
        price: 3.6,
        currency: "EUR".into(),
        per_hour_of: Some("H100".into()),
        price_per_gb,
        json: Some(json.clone()),
    };
    let mut out = Vec::new();
    cost(&args, &mut out).unwrap();
    let text = fs::read_to_string(json).unwrap();
    (
        serde_json::from_str(&text).unwrap(),
        String::from_utf8(out).unwrap(),
    )
}

fn close(a: Option<f64>, b: f64) {
    let a = a.unwrap();
    assert!((a - b).abs() < 1e-9 * b, "{a} for {b}");
}

#[test]
fn costs_by_hand() {
    let mut whole = report(&["--shape", "5x3", "--batch", "4"], &[]);
    whole.configurations[0].stages = Some(vec![
        stage(Stage::Encryption, &[0.001, 0.003, 0.002]),
        stage(Stage::Evaluation, &[0.004, 0.004, 0.9]),
        stage(Stage::Decryption, &[0.002]),
    ]);
    let mut split = report(&["--shape", "5x3", "--ahead"], &[]);
    split.configurations[0].stages = Some(vec![
        stage(Stage::Encryption, &[1.0]),
        stage(Stage::AheadOfTimeEvaluation, &[2.0]),
        stage(Stage::OnlineEvaluation, &[4.0]),
        stage(Stage::Decryption, &[8.0]),
    ]);
    let (costs, printed) = run(&[whole, split], Some(0.1));
    let [whole, split] = &costs.configurations[..] else {
        panic!("two costs")
    };
    // 3.6 an hour is 0.001 a second. 4 ms for 4 vectors: 0.001 s each, 10^-6 each.
    close(whole.evaluation, 1.0);
    close(whole.end_to_end, 2.0);
    // 41 + 51 bytes for 4 vectors: 23 bytes each, 0.023 GB a million.
    close(whole.transfer, 0.0023);
    // The server does both parts: 6 s of 15 s.
    close(split.evaluation, 6000.0);
    close(split.end_to_end, 15_000.0);
    for part in ["EUR", "H100", "(3,600 × B)", "6000.00", "0.00230"] {
        assert!(printed.contains(part), "no \"{part}\" in:\n{printed}");
    }
    assert!(
        printed.lines().all(|line| line.chars().count() <= 100),
        "{printed}"
    );
}

#[test]
fn what_was_rejected_has_no_cost() {
    let fault = Fault::Add {
        trial: 0,
        at: 0,
        error: 1.0,
    };
    let (costs, printed) = run(&[report(&["--shape", "5x3"], &[fault])], Some(0.1));
    let cost = &costs.configurations[0];
    assert_eq!(
        (cost.evaluation, cost.end_to_end, cost.transfer),
        (None, None, None)
    );
    assert!(
        printed.contains("no cost: 5x3, batch 1, REJECTED"),
        "{printed}"
    );
}

#[test]
fn the_limits_themselves_are_prices() {
    for price in ["1e-9", "1e9"] {
        let line = ["cost", "missing.json", "--price", price];
        let output = program().args(line).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("missing.json cannot be read"), "{message}");
    }
    let line = ["cost", "missing.json", "--price", "1e10"];
    let output = program().args(line).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("between 1e-9 and 1e9"), "{message}");
}

#[test]
fn prices_are_within_limits() {
    for price in ["0", "-1", "NaN", "inf", "x", "", "9e-10", "1.1e9"] {
        for flag in ["--price", "--price-per-gb"] {
            let given = format!("{flag}={price}");
            let line = ["cost", "report.json", "--price=2.5", &given];
            let line = if flag == "--price" {
                [line[0], line[1], &given, "--currency=EUR"]
            } else {
                line
            };
            let output = program().args(line).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{given}");
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(
                message.contains(flag) && message.contains("2.50"),
                "{message}"
            );
        }
    }
}
