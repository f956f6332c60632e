//! Signals and changes in the middle of the work: it is stopped there, then it goes on.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::{Fixture, assert_has, files_below, names_in, signal, spawn};
use nix::sys::signal::Signal;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command};

/// Bytes of the large file, all holes: quickly read, and long to seal.
const LARGE: u64 = 150_000_000;
/// Attempts at stopping the program in the middle. One is enough unless the machine is very busy.
const ATTEMPTS: usize = 20;

fn large() -> Fixture {
    let fixture = Fixture::new();
    let file = File::create(fixture.path("plain/large.bin")).unwrap();
    file.set_len(LARGE).unwrap();
    fixture
}

/// Starts the command and stops it (SIGSTOP) while it writes below `beside`: a hidden directory
/// is there. `None` if it was faster.
fn stopped(command: &mut Command, beside: &Path) -> Option<Child> {
    let mut child = spawn(command);
    loop {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        if names_in(beside)
            .iter()
            .any(|name| name.contains(".weights-seal-"))
        {
            signal(&child, Signal::SIGSTOP);
            return Some(child);
        }
        std::thread::yield_now();
    }
}

/// Lets it go on; gives its exit code and standard error. `None` if it was at its end already.
fn go_on(mut child: Child) -> Option<(i32, String)> {
    signal(&child, Signal::SIGCONT);
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let code = child.wait().unwrap().code().unwrap();
    (code != 0).then_some((code, text))
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let fixture = large();
    for (name, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
        (Signal::SIGUSR1, 138),
    ] {
        let (found, text) = (0..ATTEMPTS)
            .find_map(|_| {
                let _ = fs::remove_dir_all(fixture.path("sealed"));
                let child = stopped(
                    &mut fixture.seal_command("plain", "sealed"),
                    &fixture.path(""),
                )?;
                signal(&child, name);
                go_on(child)
            })
            .unwrap();
        assert_eq!(found, code, "{text}");
        assert_has(&text, &["interrupted; nothing was left behind"]);
        assert_eq!(fixture.names(), ["keys", "plain"]);
    }
    // Opening and sealing anew.
    let (code, _, stderr) = fixture.seal("plain", "sealed", &[]);
    assert_eq!(code, 0, "{stderr}");
    let mut open = fixture.command("open");
    open.arg("--to")
        .arg(fixture.path("out"))
        .arg("--allow-disk");
    let mut rotate = fixture.command("rotate");
    rotate.args(["--recipient", &fixture.key(), "--no-sync"]);
    rotate.args(["--sign", &fixture.text("keys/publisher.key")]);
    for command in [&mut open, &mut rotate] {
        let (found, text) = (0..ATTEMPTS)
            .find_map(|_| {
                let _ = fs::remove_dir_all(fixture.path("out"));
                let child = stopped(command, &fixture.path(""))?;
                signal(&child, Signal::SIGTERM);
                go_on(child)
            })
            .unwrap();
        assert_eq!(found, 143, "{text}");
        assert_eq!(fixture.names(), ["keys", "plain", "sealed"]);
    }
    fixture.verify();
}

#[test]
fn a_directory_that_changes_is_not_sealed() {
    let fixture = large();
    let large_file = fixture.path("plain/large.bin");
    let changes: [(&str, &dyn Fn()); 3] = [
        ("large.bin", &|| {
            let mut file = OpenOptions::new().append(true).open(&large_file).unwrap();
            file.write_all(b"more").unwrap();
        }),
        ("files", &|| fixture.write("plain/new.txt", b"new")),
        ("config.json", &|| fixture.write("plain/config.json", b"[]")),
    ];
    for (part, change) in changes {
        let (code, text) = (0..ATTEMPTS)
            .find_map(|_| {
                let _ = fs::remove_dir_all(fixture.path("sealed"));
                let _ = fs::remove_file(fixture.path("plain/new.txt"));
                let child = stopped(
                    &mut fixture.seal_command("plain", "sealed"),
                    &fixture.path(""),
                )?;
                change();
                go_on(child)
            })
            .unwrap();
        assert_eq!(code, 2, "{text}");
        assert_has(&text, &[part, "changed ", "nothing was "]);
        assert_eq!(fixture.names(), ["keys", "plain"]);
    }
    // What was there before is still there.
    let (code, _, stderr) = fixture.seal("plain", "sealed", &[]);
    assert_eq!(code, 0, "{stderr}");
    let before = files_below(&fixture.path("sealed"));
    let failed = (0..ATTEMPTS).find_map(|_| {
        let mut command = fixture.seal_command("plain", "sealed");
        let child = stopped(command.arg("--replace"), &fixture.path(""))?;
        fixture.write("plain/another.txt", b"x");
        let failed = go_on(child);
        fs::remove_file(fixture.path("plain/another.txt")).unwrap();
        failed
    });
    assert_eq!(failed.unwrap().0, 2);
    let after = files_below(&fixture.path("sealed"));
    assert_eq!(before.len(), after.len());
    fixture.verify();
}
