//! How `exec` is started: with signals ignored, secrets in its variables, an unfit directory.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::exec::{Session, exec};
use common::{Fixture, assert_has, is_root, run, signal};
use nix::sys::signal::Signal;
use std::process::Command;

#[test]
fn the_end_is_heard_of_where_the_caller_ignores_it() {
    let fixture = Fixture::sealed();
    let inner = exec(&fixture);
    let mut shell = Command::new("timeout");
    shell.args([
        "-s",
        "KILL",
        "60",
        "sh",
        "-c",
        "trap '' CHLD; exec \"$@\"",
        "sh",
    ]);
    shell.arg(inner.get_program()).args(inner.get_args());
    let (code, _, stderr) = run(shell.args(["--no-namespace", "--", "sh", "-c", "exit 7"]));
    assert_eq!(code, 7, "{stderr}");
}

#[test]
fn more_signals_leave_no_plaintext() {
    let fixture = Fixture::sealed();
    for (name, number) in [(Signal::SIGALRM, 14), (Signal::SIGXCPU, 24)] {
        let mut session = Session::start(&fixture, &["--no-namespace"]);
        signal(&session.child, name);
        assert_eq!(session.wait(), 128 + number);
        assert!(!session.directory.exists());
    }
}

#[test]
fn the_command_cannot_read_the_variables_of_its_supervisor() {
    let fixture = Fixture::sealed();
    let script = "cat /proc/$PPID/environ; echo end";
    let arguments = ["--no-namespace", "--", "sh", "-c", script];
    let mut command = if is_root() {
        fixture.give_to_nobody();
        let mut command = fixture.as_nobody();
        command.args(exec(&fixture).get_args());
        command
    } else {
        exec(&fixture)
    };
    let (code, stdout, stderr) = run(command.args(arguments).env("PHRASE", "secret"));
    assert_eq!((code, stdout.as_str()), (0, "end\n"), "{stderr}");
    assert_has(&stderr, &["Permission denied"]);
}

#[test]
fn directories_that_would_hide_the_model_are_refused() {
    let fixture = Fixture::sealed();
    for at in ["sealed", ""] {
        let at = fixture.path(at);
        let (code, _, stderr) = run(exec(&fixture).arg("--at").arg(at).args(["--", "true"]));
        assert_eq!(code, 2, "{stderr}");
        assert_has(&stderr, &["--at", "would be hidden"]);
    }
}
