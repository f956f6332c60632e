//! What remains of `exec` when something is killed or left running: nothing to read.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::exec::{exec, kill_at_random, namespaces};
use common::{Fixture, pattern, run};
use nix::sys::signal::Signal;
use std::path::Path;

#[test]
fn what_a_command_leaves_running_loses_the_plaintext() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let script = "tail -f /dev/null >/dev/null 2>&1 & echo $! {}";
    let (code, stdout, stderr) = run(exec(&fixture).args(["--", "sh", "-c", script]));
    assert_eq!(code, 0, "{stderr}");
    let (pid, directory) = stdout.trim().split_once(' ').unwrap();
    let root = Path::new("/proc").join(pid).join("root");
    let seen = root.join(directory.trim_start_matches('/'));
    assert!(root.join("proc").exists());
    assert!(!seen.exists(), "{}", seen.display());
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid.parse().unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_to_read() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("plain/large.bin", &pattern(6_000_000, 3));
    assert_eq!(fixture.seal("plain", "sealed", &[]).0, 0);
    kill_at_random(&fixture, 20);
}
