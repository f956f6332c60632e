//! `sweep` end to end: worker processes, the file, and what is left of a sweep that is killed.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use ckks_bench::report::Verdict;
use ckks_bench::sweep::record::{PointOutcome, PointRecord, read_sweep};
use program::program;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn command(output: &Path, arguments: &[&str]) -> Command {
    let mut command = program();
    command
        .args(["sweep", "--threads", "1", "--warmup", "0"])
        .arg("--output")
        .arg(output)
        .args(arguments);
    command
}

/// Runs a sweep to its end; gives its exit code, standard output and standard error.
fn sweep(output: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = command(output, arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.jsonl");
    (folder, path)
}

fn points(path: &Path) -> Vec<PointRecord> {
    read_sweep(path).unwrap().points
}

fn keys(path: &Path) -> Vec<String> {
    points(path).into_iter().map(|record| record.key).collect()
}

fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Starts a sweep and waits until it has printed the lines of so many points.
fn start(output: &Path, arguments: &[&str], finished: usize) -> Child {
    let mut child = command(output, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let passed = printed.map(Result::unwrap).filter(|l| l.contains("PASSED"));
    assert_eq!(passed.take(finished).count(), finished);
    child
}

const AXES: [&str; 4] = ["--shape", "8x8,5x3", "--batch", "1,2,4"];
const EXPECTED: [&str; 6] = [
    "native/cpu 8x8 batch 1 plan auto threads 1",
    "native/cpu 8x8 batch 2 plan auto threads 1",
    "native/cpu 8x8 batch 4 plan auto threads 1",
    "native/cpu 5x3 batch 1 plan auto threads 1",
    "native/cpu 5x3 batch 2 plan auto threads 1",
    "native/cpu 5x3 batch 4 plan auto threads 1",
];

#[test]
fn every_point_is_measured_in_its_own_process() {
    let (folder, path) = file();
    let (code, stdout, stderr) = sweep(&path, &AXES);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!(keys(&path), EXPECTED);
    for record in points(&path) {
        assert_eq!(record.outcome, PointOutcome::Finished);
        assert!(record.passed() && record.seconds > 0.0);
        let report = record.report.unwrap();
        let [configuration] = &report.configurations[..] else {
            panic!("not one configuration");
        };
        assert_eq!(configuration.verdict, Verdict::Passed);
        assert_eq!(
            (configuration.d_in, configuration.d_out, configuration.batch),
            (record.point.d_in, record.point.d_out, record.point.batch)
        );
        assert_eq!(report.settings.threads, 1);
        assert_eq!(report.settings.max_seconds, Some(20.0));
    }
    // What is cheaper for so small a layer depends on the machine.
    let first = points(&path).remove(0).report.unwrap();
    let chosen = first.configurations[0].description.as_ref().unwrap();
    let chosen = format!("auto chose, by batch: 1 {}", chosen.plan.packing.name);
    for part in ["8x8, 1 thread, native on cpu", "| batch |", &chosen] {
        assert!(stdout.contains(part), "no \"{part}\" in\n{stdout}");
    }
    assert_eq!(stdout.matches("PASSED").count(), 6, "{stdout}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "files left over");

    // All is there: nothing is run and nothing is written.
    let before = fs::read(&path).unwrap();
    let (code, stdout, _) = sweep(&path, &AXES);
    assert_eq!(code, 0);
    assert!(stdout.contains("6 points already in"), "{stdout}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// The file after a sweep that ended early goes on to have every point once, and the lines that
/// were there are the same bytes.
fn assert_resumes(path: &Path, at_least: usize) {
    let before = lines(path);
    let whole = read_sweep(path).unwrap().points.len();
    assert!(whole >= at_least, "{whole} of {at_least} points are there");
    let (code, stdout, stderr) = sweep(path, &AXES);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let after = lines(path);
    assert_eq!(after[..=whole], before[..=whole], "a finished line changed");
    assert_eq!(after.len(), 1 + EXPECTED.len(), "a point is there twice");
    assert_eq!(keys(path), EXPECTED);
}

#[cfg(unix)]
#[test]
fn a_sweep_killed_at_any_point_loses_none_that_is_finished() {
    for finished in [1, 4] {
        let (_folder, path) = file();
        let mut child = start(&path, &AXES, finished);
        // SIGKILL: nothing of the program runs after it.
        child.kill().unwrap();
        child.wait().unwrap();
        assert_resumes(&path, finished);
    }
}

#[test]
fn a_line_that_is_cut_off_is_measured_again() {
    let (_folder, path) = file();
    let axes = ["--shape", "5x3", "--batch", "1,2"];
    assert_eq!(sweep(&path, &axes).0, 0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let (code, stdout, _) = sweep(&path, &axes);
    assert_eq!(code, 0);
    assert!(stdout.contains("was not whole and was cut off"), "{stdout}");
    assert!(stdout.contains("1 point already in"), "{stdout}");
    assert_eq!(keys(&path), EXPECTED[3..5]);
    let first_lines = lines(&path)[..2].join("\n");
    assert!(whole.starts_with(first_lines.as_bytes()));
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_what_is_finished() {
    let (_folder, path) = file();
    let mut child = start(&path, &AXES, 2);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!read_sweep(&path).unwrap().truncated);
    assert_resumes(&path, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_ends_with_its_sweep() {
    // Its worker has work for hours when the sweep is killed.
    let (_folder, path) = file();
    let axes = [
        "--shape",
        "2048x1024",
        "--trials",
        "10000",
        "--point-seconds",
        "99999",
    ];
    let mut child = start(&path, &axes, 0);
    let workers = format!("/proc/{0}/task/{0}/children", child.id());
    let worker = loop {
        let children = fs::read_to_string(&workers).unwrap();
        if let Some(pid) = children.split_whitespace().next() {
            break pid.to_owned();
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel ends it without delay; a worker that lived on would keep this loop for hours.
    let state = || fs::read_to_string(format!("/proc/{worker}/stat"));
    while state().is_ok_and(|stat| !stat.contains(") Z ")) {
        std::thread::yield_now();
    }
    assert!(points(&path).is_empty());
}

#[test]
fn a_file_in_use_and_a_file_begun_differently_are_refused() {
    let (_folder, path) = file();
    let axes = ["--shape", "5x3"];
    assert_eq!(sweep(&path, &axes).0, 0);
    let held = fs::File::open(&path).unwrap();
    held.try_lock().unwrap();
    let (code, _, stderr) = sweep(&path, &axes);
    assert_eq!(code, 2);
    assert!(stderr.contains("another sweep writes"), "{stderr}");
    drop(held);

    let other = ["--shape", "5x3", "--seed", "7", "--gate", "1e-3"];
    let (code, _, stderr) = sweep(&path, &other);
    assert_eq!(code, 2);
    for part in [
        "settings.seed is 1 in the file and 7 now",
        "settings.gate",
        "--force",
    ] {
        assert!(stderr.contains(part), "no \"{part}\" in {stderr}");
    }
    // Other axes are no other sweep.
    let (code, ..) = sweep(&path, &["--shape", "5x3,4x4"]);
    assert_eq!(code, 0);
    assert_eq!(points(&path).len(), 2);
    let forced = [&other[..], &["--force", "--batch", "2"]].concat();
    assert_eq!(sweep(&path, &forced).0, 0);
    assert_eq!(points(&path).len(), 3);
}

#[test]
fn points_that_fail_are_points() {
    let (_folder, path) = file();
    // A gate that no output passes, and a library that is not there.
    let axes = [
        "--shape",
        "5x3",
        "--lib",
        "native,nothing",
        "--gate",
        "1e-13",
    ];
    let (code, stdout, stderr) = sweep(&path, &axes);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let records = points(&path);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].outcome, PointOutcome::Finished);
    assert_eq!(
        records[0].configuration().unwrap().verdict,
        Verdict::Rejected
    );
    let PointOutcome::NotAvailable { reason } = &records[1].outcome else {
        panic!("{:?}", records[1].outcome);
    };
    assert!(reason.contains("\"nothing\" is not available"), "{reason}");
    assert!(records[1].report.is_none());

    // Skipped without --retry-failed; with it only what did not finish is run again.
    let before = lines(&path);
    assert_eq!(sweep(&path, &axes).0, 1);
    assert_eq!(lines(&path), before);
    assert_eq!(
        sweep(&path, &[&axes[..], &["--retry-failed"]].concat()).0,
        1
    );
    assert_eq!(lines(&path).len(), before.len() + 1);
    assert_eq!(points(&path).len(), 2);
}

#[test]
fn a_layer_too_large_is_refused_and_a_slow_one_times_out() {
    let (_folder, path) = file();
    let axes = ["--shape", "262144x262144,5x3"];
    let (code, ..) = sweep(&path, &axes);
    assert_eq!(code, 1);
    let records = points(&path);
    assert!(
        matches!(&records[0].outcome, PointOutcome::Refused { reason } if reason.contains("memory")),
        "{:?}",
        records[0].outcome
    );
    assert!(records[1].passed());

    let (_folder, path) = file();
    let axes = [
        "--shape",
        "2048x1024",
        "--batch",
        "4096",
        "--timeout",
        "0.1",
    ];
    let (code, stdout, _) = sweep(&path, &axes);
    assert_eq!(code, 1);
    let outcome = points(&path).remove(0).outcome;
    assert!(
        matches!(
            outcome,
            PointOutcome::TimedOut {
                limit_seconds: 0.1,
                ..
            }
        ),
        "{outcome:?}"
    );
    assert!(stdout.contains("TIMED OUT"), "{stdout}");
}

#[test]
fn a_dry_run_lists_the_points() {
    let line = [
        "sweep",
        "--dry-run",
        "--threads",
        "1",
        "--shape",
        "8x8,5x3",
        "--batch",
        "1,2,4",
    ];
    let output = program().args(line).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout, format!("{}\n6 points\n", EXPECTED.join("\n")));
}

#[cfg(target_os = "linux")]
#[test]
fn only_run_heeds_the_variable_of_workers() {
    let with_variable = |line: &[&str]| {
        // No process has this id.
        let mut command = program();
        command.env("CKKS_BENCH_PARENT", "2147483647").args(line);
        command.output().unwrap()
    };
    assert_eq!(with_variable(&["params"]).status.code(), Some(0));
    let run = with_variable(&["run", "--shape", "5x3"]);
    assert_eq!(run.status.code(), Some(130));
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert!(stderr.contains("CKKS_BENCH_PARENT"), "{stderr}");
}

#[test]
fn wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("c.toml");
    fs::write(&config, "bathc = 4\n").unwrap();
    let config = config.to_str().unwrap();
    let cases: [(&[&str], &str); 7] = [
        (
            &["--output", config, "--config", config],
            "--output and --config name the same file",
        ),
        (&[], "--output"),
        (
            &["--dry-run", "--batch", "1,x"],
            "\"x\" is not a whole number",
        ),
        (&["--dry-run", "--threads", "0"], "not between 1 and 4096"),
        (&["--dry-run", "--timeout", "0"], "--timeout"),
        (&["--dry-run", "--config", config], "bathc"),
        (&["--dry-run", "--config", "missing.toml"], "missing.toml"),
    ];
    for (arguments, part) in cases {
        let output = program().arg("sweep").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}
