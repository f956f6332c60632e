//! `run` on libraries that misbehave in every way: each is a rejected trial with its reason, or a
//! library that is not available, and never more than that.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "common/objects.rs"]
mod objects;
mod program;

use objects::object;
use program::{assert_has, program, run};
use serde_json::Value;

const LAYER: [&str; 10] = [
    "--shape",
    "24x16",
    "--batch",
    "4",
    "--trials",
    "1",
    "--warmup",
    "1",
    "--threads",
    "1",
];

/// Exit code, both outputs, and the only configuration of the report, if there is one.
fn measured(fault: &str, more: &[&str]) -> (i32, String, Option<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("report.json");
    let mut command = program();
    command
        .args(["run", "--quiet", "--lib"])
        .arg(object(fault))
        .args(LAYER)
        .args(more)
        .arg("--json")
        .arg(&json);
    let (code, stdout, stderr) = run(&mut command);
    let report: Option<Value> = std::fs::read(&json)
        .ok()
        .map(|bytes| serde_json::from_slice(&bytes).unwrap());
    let configuration = report.map(|report| report["configurations"][0].clone());
    (code, format!("{stdout} {stderr}"), configuration)
}

/// The configuration is rejected at that stage for that reason, without a duration.
fn rejected(fault: &str, more: &[&str], stage: &str, reason: &[&str]) {
    let (code, text, configuration) = measured(fault, more);
    assert_eq!(code, 1, "{fault}: {text}");
    let configuration = configuration.unwrap();
    assert_eq!(configuration["verdict"], "rejected", "{fault}");
    let rejection = &configuration["rejection"];
    assert_eq!(rejection["stage"], stage, "{fault}: {rejection}");
    assert_has(rejection["reason"].as_str().unwrap(), reason);
    assert_eq!(configuration["stages"], Value::Null, "{fault}");
    for trial in configuration["trials"].as_array().unwrap() {
        assert_eq!(trial["durations"], Value::Null, "{fault}");
    }
}

fn unavailable(fault: &str, reason: &[&str]) {
    let (code, text, configuration) = measured(fault, &[]);
    assert_eq!(code, 3, "{fault}: {text}");
    assert!(configuration.is_none(), "{fault}");
    assert_has(&text, &["is not available"]);
    assert_has(&text, reason);
}

/// The plain object computes without encryption, so its answers are exact up to the order of sums.
#[test]
fn the_object_without_a_fault_passes() {
    for slots in ["plain", "SLOTS=64", "COMPLEX=1", "COMPLEX=1 SLOTS=32"] {
        let (code, text, configuration) = measured(slots, &["--stage-timeout", "60"]);
        assert_eq!(code, 0, "{slots}: {text}");
        let configuration = configuration.unwrap();
        let error = configuration["errors"]["max_abs"].as_f64().unwrap();
        assert!(error < 1e-12, "{slots}: {error}");
        assert!(configuration["bytes"]["peak_resident"].as_u64().unwrap() > 100_000);
    }
}

#[test]
fn output_of_the_library_breaks_nothing() {
    for fault in ["stdout", "stderr", "stdin"] {
        let (code, text, _) = measured(fault, &[]);
        assert_eq!(code, 0, "{fault}: {text}");
    }
}

#[test]
fn what_cannot_be_loaded_is_not_available() {
    unavailable("version", &["speaks version 42"]);
    unavailable("missing-symbol", &["ckks_backend_synchronise"]);
    unavailable("no-object", &["no-object.so"]);
    unavailable("status-probe=3", &[]);
    unavailable("status-open=3", &[]);
    let absent = [
        "run",
        "--lib",
        "./nothing/libckks_backend_x.so",
        "--shape",
        "8x8",
    ];
    let (code, _, stderr) = run(program().args(absent));
    assert_eq!(code, 3, "{stderr}");
    assert_has(&stderr, &["libckks_backend_x.so", "no such file"]);
}

#[test]
fn ends_of_the_process_are_told_apart() {
    let ended = |fault: &str, how: &str| {
        rejected(
            fault,
            &[],
            "evaluation",
            &["evaluate", how, "without having answered"],
        );
    };
    ended("exit=0", "exited with status 0");
    ended("exit=1", "exited with status 1");
    ended("signal=11", "SIGSEGV");
    ended("signal=6", "SIGABRT");
    rejected("free-exit", &[], "close", &["exited with status 0"]);
}

#[test]
fn a_hang_is_ended_at_the_limit() {
    let limit = ["--stage-timeout", "0.5"];
    rejected(
        "hang",
        &limit,
        "evaluation",
        &["did not answer within 500ms"],
    );
}

#[test]
fn a_leak_is_ended_at_the_limit() {
    // It would take 600 MiB and then hang: the limit of memory is what ends it.
    let limit = ["--memory-limit", "200", "--stage-timeout", "300"];
    rejected(
        "leak=600",
        &limit,
        "evaluation",
        &["bytes of memory", "limit is 209715200"],
    );
}

#[test]
fn wrong_answers_are_rejected_by_the_gate() {
    rejected("nan", &[], "comparison", &["NaN or infinite"]);
    rejected("infinity", &[], "comparison", &["NaN or infinite"]);
    rejected("wrong", &[], "comparison", &["max abs error"]);
}

#[test]
fn too_few_values_are_no_answer() {
    rejected("short", &[], "decryption", &["value"]);
    rejected("few", &[], "evaluation", &["answers"]);
}

#[test]
fn failures_keep_the_library_s_message() {
    for (status, code) in [
        (4, "out-of-memory"),
        (5, "device-fault"),
        (6, "library-error"),
        (7, "internal"),
    ] {
        rejected(&format!("status={status}"), &[], "evaluation", &[code]);
    }
    unavailable("utf8", &["UTF-8"]);
    for fault in ["json", "needed", "growing", "unterminated", "empty-text"] {
        let (code, text, _) = measured(fault, &[]);
        assert!(matches!(code, 1 | 3), "{fault}: {code}, {text}");
    }
}

#[test]
fn impossible_contexts_are_refused() {
    for slots in ["0", "3", "1099511627776", "-4"] {
        let fault = format!("slots={slots}");
        let (code, text, _) = measured(&fault, &[]);
        assert_eq!(code, 1, "{fault}: {text}");
        assert_has(&text, &["slots"]);
    }
}

#[test]
fn what_no_foreign_library_does_is_said() {
    for (flags, part) in [
        (["--plan", "gemm"].as_slice(), "--plan gemm"),
        (&["--ahead"], "--ahead"),
        (&["--cold"], "--cold"),
    ] {
        let (code, text, _) = measured("plain", flags);
        assert_eq!(code, 2, "{text}");
        assert_has(&text, &[part, "native"]);
    }
    for flag in ["--params", "--mode"] {
        let (code, text, _) = measured("plain", &[flag, "nope"]);
        assert_eq!(code, 2, "{text}");
        assert_has(&text, &[flag, "nope", "has"]);
    }
    let native = ["run", "--shape", "8x8", "--mode", "fused"];
    let (code, text, stderr) = run(program().args(native));
    assert_eq!(code, 2, "{text} {stderr}");
}

/// The engine of this repository, in a process of its own, computes what it computes without one.
#[test]
fn the_native_engine_runs_in_a_worker() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = |more: &[&str], name: &str| {
        let path = folder.path().join(name);
        let mut command = program();
        let (code, stdout, stderr) = run(command
            .args(["run", "--quiet", "--output"])
            .arg(&path)
            .args(LAYER)
            .args(more));
        assert_eq!(code, 0, "{stdout} {stderr}");
        std::fs::read(path).unwrap()
    };
    for plan in ["diagonal", "gemm"] {
        let here = outputs(&["--plan", plan], "here.npy");
        let there = outputs(&["--plan", plan, "--isolate"], "there.npy");
        assert!(here == there, "{plan}: other outputs from the same seed");
    }
    outputs(&["--isolate", "--plan", "diagonal", "--ahead"], "ahead.npy");
}

/// The plain object refreshes by copying; the one with a wrong answer is caught by the gate, which
/// decides, not the library's success.
#[test]
fn bootstrapping_is_gated() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("bootstrap.json");
    let bootstrap = |fault: &str, more: &[&str]| {
        let mut command = program();
        command.args(["bootstrap", "--trials", "2", "--lib"]);
        let (code, stdout, stderr) = run(command
            .arg(object(fault))
            .args(more)
            .arg("--json")
            .arg(&json));
        let report = std::fs::read(&json).ok();
        let report = report.map(|bytes| serde_json::from_slice::<Value>(&bytes).unwrap());
        let _ = std::fs::remove_file(&json);
        (code, format!("{stdout} {stderr}"), report)
    };
    let (code, text, report) = bootstrap("BOOTSTRAP=1", &[]);
    assert_eq!(code, 0, "{text}");
    let report = report.unwrap();
    assert_eq!(report["schema"], "ckks-bench-bootstrap/1");
    assert_eq!(report["trials"].as_array().unwrap().len(), 3);
    assert_eq!(report["trials"][2]["errors"]["max_abs"], 0.0);
    for (fault, reason) in [
        ("wrong", "above the gate"),
        ("nan", "not finite"),
        ("short", "value"),
    ] {
        let (code, text, report) = bootstrap(&format!("{fault} BOOTSTRAP=1"), &[]);
        assert_eq!(code, 1, "{fault}: {text}");
        let report = report.unwrap();
        assert_eq!(report["verdict"], "rejected", "{fault}");
        assert_has(report["reason"].as_str().unwrap(), &[reason]);
        for trial in report["trials"].as_array().unwrap() {
            assert_eq!(trial["durations"], Value::Null, "{fault}");
        }
    }
    for fault in ["plain", "status-open=2"] {
        // Neither can bootstrap, and both say so.
        let (code, text, _) = bootstrap(fault, &[]);
        assert!(matches!(code, 1 | 2), "{fault}: {code}, {text}");
    }
    let (code, text, _) = run(program().args(["bootstrap", "--lib", "native"]));
    assert_eq!(code, 2, "{text}");
}
