//! `ab`, `model`, `compare` and `cost` as programs, with the native backend.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use program::bench;
use std::fs;

#[test]
fn sides_with_different_numbers_of_threads() {
    let line = [
        "ab",
        "--shape",
        "64x48",
        "--rounds",
        "2",
        "--a=--threads 1",
        "--b=--threads 2 --ahead",
    ];
    let (code, stdout, stderr) = bench(&line);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!(stdout.matches("PASSED").count(), 2, "{stdout}");
    assert!(stdout.contains("1 for A, 2 for B"), "{stdout}");
}

#[test]
fn a_model_and_its_cost() {
    let folder = tempfile::tempdir().unwrap();
    let [config, budget] = ["config.json", "budget.json"].map(|name| folder.path().join(name));
    let text = r#"{"model_type": "qwen3", "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16, "vocab_size": 40}"#;
    fs::write(&config, text).unwrap();
    let (config, budget) = (config.to_str().unwrap(), budget.to_str().unwrap());
    let line = [
        "model",
        "--hf-config",
        config,
        "--prefill",
        "3",
        "--trials",
        "1",
        "--rtt",
        "1ms",
    ];
    let (code, stdout, stderr) = bench(&[&line[..], &["--ahead", "--json", budget]].concat());
    assert_eq!(code, 0, "{stdout}{stderr}");
    // Two groups in attention and two in the mlp of two layers, and the head.
    assert!(
        stdout.contains("9 round trips × 1.00 ms = 9.00 ms"),
        "{stdout}"
    );
    // Tables are as wide as their numbers, text is not.
    let mut text = stdout.lines().filter(|line| !line.starts_with('|'));
    assert!(text.all(|line| line.chars().count() <= 100), "{stdout}");
    let (code, stdout, stderr) = bench(&["cost", budget, "--price", "2.50"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("decode") && stdout.contains("prefill"),
        "{stdout}"
    );
}

#[test]
fn wrong_use_of_model() {
    let cases: [(&[&str], &str); 5] = [
        (&["model"], "--config"),
        (&["model", "--config", "/missing.toml"], "/missing.toml"),
        (
            &["model", "--config", "a", "--hf-config", "b"],
            "--hf-config",
        ),
        (&["model", "--config", "a", "--rtt", "5"], "1ms"),
        (&["model", "--config", "a", "--prefill", "-1"], "--prefill"),
    ];
    for (line, part) in cases {
        let (code, _, stderr) = bench(line);
        assert_eq!(code, 2, "{line:?}");
        assert!(stderr.contains(part), "no \"{part}\" in: {stderr}");
    }
}

#[test]
fn reports_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    for (path, plan) in [(a, "diagonal"), (b, "diagonal-square")] {
        let line = ["run", "--shape", "64x48", "--plan", plan, "--json", path];
        assert_eq!(bench(&line).0, 0);
    }
    let (code, stdout, stderr) = bench(&["compare", a, b]);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("plan") && stdout.contains("evaluation"),
        "{stdout}"
    );
}
