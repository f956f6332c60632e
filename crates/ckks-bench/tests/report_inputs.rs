//! Inputs and outputs of `ckks-bench report`: what is refused, what is written.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod program;

use ckks_bench::page::{self, Inputs};
use program::program;
use std::path::Path;

/// Made up, see `report_page.rs`.
const SWEEP: &str = include_str!("data/made-up-sweep.jsonl");

#[test]
fn a_sweep_that_is_cut_off_is_partial() {
    let cut = &SWEEP[..SWEEP.len() - 50];
    let mut inputs = Inputs::default();
    inputs.add(Path::new("cut.jsonl"), cut.as_bytes()).unwrap();
    let page = page::page(&inputs, "Title").unwrap();
    assert_eq!(
        page.partial,
        ["cut.jsonl: the sweep's last line is cut off"]
    );
}

fn refusal(name: &str, content: &str) -> String {
    let mut inputs = Inputs::default();
    inputs
        .add(Path::new(name), content.as_bytes())
        .unwrap_err()
        .to_string()
}

#[test]
fn inputs_that_are_no_good_are_named() {
    let old = r#"{"schema": "ckks-bench/1"}"#;
    let message = refusal("folder/old.json", old);
    for part in [
        "folder/old.json",
        "ckks-bench/1",
        "ckks-bench/2",
        "measure again",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = refusal("none.json", "{}\n");
    assert!(message.contains("no field \"schema\"") && message.contains("run --json"));
    assert!(refusal("nothing.json", "").contains("nothing.json: the file is empty"));
    let broken = "{\"schema\": \"ckks-bench/2\",\n \"partial\": 3}";
    let message = refusal("broken.json", broken);
    assert!(message.contains("broken.json, line 2"), "{message}");
    let lines: Vec<&str> = SWEEP.lines().collect();
    let damaged = format!("{}\n{}\n{{}}\n{}\n", lines[0], lines[1], lines[2]);
    let message = refusal("damaged.jsonl", &damaged);
    assert!(message.contains("damaged.jsonl, line 3"), "{message}");
    let older = lines[1].replace("ckks-bench/2", "ckks-bench/1");
    let message = refusal("older.jsonl", &format!("{}\n{older}\n", lines[0]));
    assert!(
        message.contains("batch 1 plan diagonal") && message.contains("ckks-bench/1"),
        "{message}"
    );
}

#[test]
fn the_command_writes_what_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("sweep.jsonl");
    std::fs::write(&input, SWEEP).unwrap();
    let run = |arguments: &[&str]| {
        assert_cmd::Command::from_std(program())
            .current_dir(folder.path())
            .arg("report")
            .args(arguments)
            .assert()
    };
    let message = |assert: assert_cmd::assert::Assert| {
        String::from_utf8(assert.code(2).get_output().stderr.clone()).unwrap()
    };
    assert!(message(run(&["sweep.jsonl"])).contains("--html FILE"));
    assert!(message(run(&["sweep.jsonl", "--csv", "sweep.jsonl"])).contains("--csv and INPUT"));
    let twice = ["sweep.jsonl", "--html", "x.html", "--csv", "./x.html"];
    assert!(message(run(&twice)).contains("--html and --csv name the same file"));
    assert!(message(run(&["none.json", "--csv", "a.csv"])).contains("cannot read none.json"));
    assert!(!folder.path().join("a.csv").exists());
    run(&[
        "sweep.jsonl",
        "--html",
        "p.html",
        "--markdown",
        "p.md",
        "--csv",
        "p.csv",
        "--png",
        "pictures",
    ])
    .code(0)
    .stdout("10 of 12 measurements passed, 1 rejected, 1 failed without a report.\n");
    let written = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(written("p.html").starts_with("<!DOCTYPE html>"));
    assert!(written("p.md").starts_with("# Encrypted linear layers"));
    assert!(written("p.csv").starts_with("source,"));
    let pictures = std::fs::read_dir(folder.path().join("pictures"))
        .unwrap()
        .count();
    assert!(pictures >= 5, "{pictures}");
}

#[test]
fn a_point_that_did_not_finish_shows_no_report() {
    let finished = r#""outcome":{"kind":"finished"}"#;
    let refused = r#""outcome":{"kind":"refused","reason":"r"}"#;
    assert!(SWEEP.contains(finished));
    let mut inputs = Inputs::default();
    let content = SWEEP.replace(finished, refused);
    inputs.add(Path::new("s"), content.as_bytes()).unwrap();
    for measurement in &inputs.measurements {
        assert!(measurement.configuration.is_none() && measurement.failure.is_some());
    }
}
