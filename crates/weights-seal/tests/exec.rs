//! `exec`: the command sees the plaintext, nobody else does, and its end is passed on.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::exec::{Session, exec, namespaces};
use common::{Fixture, assert_has, files_below, names_in, run, signal};
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

const FAILED: i32 = 125;

#[test]
fn exit_codes_and_signals_are_passed_on() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
    ] {
        let (found, _, stderr) = run(exec(&fixture).args(["--", "sh", "-c", script]));
        assert_eq!(found, code, "{script}: {stderr}");
    }
    for (name, code) in [("no-such-command-here", 127), ("/dev/null", 126)] {
        let (found, _, stderr) = run(exec(&fixture).args(["--", name]));
        assert_eq!(found, code);
        assert_has(&stderr, &[name]);
    }
}

#[test]
fn arguments_environment_and_streams_are_passed_on() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let script =
        "printf '%s|' \"$@\"; printf '%s|' \"$WEIGHTS_SEAL_DIR\" \"$PWD\" \"${PHRASE-none}\"";
    let odd = std::ffi::OsStr::from_bytes(b"\xff {}");
    let mut command = exec(&fixture);
    command
        .args([
            "--key",
            "passphrase:env:PHRASE",
            "--",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .args(["a b", "", "--x={}/config.json", "{}{}", "-n"])
        .arg(odd)
        .env("PHRASE", "secret")
        .current_dir(fixture.path("plain"));
    let output = command.output().unwrap();
    let parts: Vec<&[u8]> = output.stdout.split(|byte| *byte == b'|').collect();
    let directory = String::from_utf8(parts[6].to_vec()).unwrap();
    let text = |index: usize| String::from_utf8_lossy(parts[index]).into_owned();
    assert!(
        directory.starts_with("/dev/shm/weights-seal-mount-"),
        "{directory}"
    );
    assert_eq!(text(0), "a b");
    assert_eq!(text(1), "");
    assert_eq!(text(2), format!("--x={directory}/config.json"));
    assert_eq!(text(3), format!("{directory}{directory}"));
    assert_eq!(text(4), "-n");
    assert_eq!(parts[5], [b"\xff ", directory.as_bytes()].concat());
    assert_eq!(text(7), fixture.text("plain"));
    // The command has the plaintext, and not the key to the next version.
    assert_eq!(text(8), "none");
    let (_, stdout, _) = run(exec(&fixture).args(["--placeholder", "@", "--", "echo", "{} @"]));
    assert!(stdout.starts_with("{} /dev/shm/"), "{stdout}");
}

#[test]
fn the_command_sees_the_plaintext_and_cannot_change_it() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let copy = fixture.path("copy");
    for flags in [&[][..], &["--huge-pages", "no"], &["--size", "10MiB"]] {
        let script = "cp -r {} \"$0\"; stat -c %a {} {}/config.json; touch {}/new; \
                      rm -f {}/config.json; echo x >>{}/config.json; grep -c ' ro,nosuid,nodev' \
                      /proc/mounts; grep ^weights-seal /proc/mounts";
        let mut command = exec(&fixture);
        command
            .args(flags)
            .args(["--", "sh", "-c", script])
            .arg(&copy);
        let (_, stdout, stderr) = run(&mut command);
        assert_has(&stdout, &["700\n600\n", " tmpfs ro,nosuid,nodev"]);
        assert_eq!(
            stderr.matches("Read-only file system").count(),
            3,
            "{stderr}"
        );
        assert_eq!(
            stdout.contains("huge=always"),
            !flags.contains(&"no"),
            "{stdout}"
        );
        assert_eq!(files_below(&copy), fixture.plain());
        fs::remove_dir_all(&copy).unwrap();
    }
    let (code, _, stderr) = run(exec(&fixture).args(["--size", "4KiB", "--", "true"]));
    assert_eq!(code, FAILED);
    assert_has(&stderr, &["--size", "nothing was written"]);
}

#[test]
fn nothing_is_seen_from_outside() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let mut session = Session::start(&fixture, &[]);
    let directory = session.directory.clone();
    assert_eq!(names_in(&directory), [""; 0]);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("weights-seal"), "{mounts}");
    // Nor does the supervisor, which outlives the command, see it.
    let seen = format!("/proc/{}/root{}", session.child.id(), directory.display());
    // Only root may look into it at all.
    if common::is_root() {
        assert_eq!(names_in(Path::new(&seen)), [""; 0]);
    }
    assert_eq!(session.finish(), 0);
    assert!(!directory.exists());
}

#[test]
fn an_existing_directory_can_show_it() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    fs::create_dir(fixture.path("here")).unwrap();
    fixture.write("here/own", b"own");
    let here = fixture.text("here");
    let mut command = exec(&fixture);
    command.args(["--at", "here", "--", "sh", "-c", "echo {}; ls here"]);
    let (code, stdout, stderr) = run(command.current_dir(fixture.path("")));
    assert_eq!(code, 0, "{stderr}");
    let names = "config.json\nempty.txt\nmodel.safetensors\nsub\n";
    assert_eq!(stdout, format!("{here}\n{names}"));
    assert_eq!(names_in(&fixture.path("here")), ["own"]);
    let (code, _, stderr) = run(exec(&fixture).args(["--at", "/no/such", "--", "true"]));
    assert_eq!(code, 2);
    assert_has(&stderr, &["--at /no/such"]);
}

#[test]
fn nothing_starts_before_everything_is_verified() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let path = fixture.path("sealed/sub/tokenizer.model.sealed");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let started = fixture.path("started");
    let (code, _, stderr) = run(exec(&fixture).args(["--", "touch"]).arg(&started));
    assert_eq!(code, FAILED);
    assert_has(&stderr, &["tokenizer.model", "chunk 0 of 1"]);
    assert!(!started.exists());
}

#[test]
fn signals_reach_the_command() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    for (name, number) in [
        (Signal::SIGTERM, 15),
        (Signal::SIGINT, 2),
        (Signal::SIGHUP, 1),
        (Signal::SIGUSR1, 10),
    ] {
        let mut session = Session::start(&fixture, &[]);
        signal(&session.child, name);
        assert_eq!(session.wait(), 128 + number);
        assert!(!session.directory.exists());
    }
    // A command that handles it decides itself.
    let script = "trap 'kill $p; exit 9' TERM; tail -f /dev/null & p=$!; echo {}; wait";
    let mut session = Session::of(exec(&fixture).args(["--", "sh", "-c", script]));
    signal(&session.child, Signal::SIGTERM);
    assert_eq!(session.wait(), 9);
}

#[test]
fn limits_and_ignored_signals_stay_those_of_the_caller() {
    if !namespaces() {
        return;
    }
    let fixture = Fixture::sealed();
    let inner = exec(&fixture);
    let shell = |script: &str, command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(inner.get_program());
        run(shell
            .args(inner.get_args())
            .args(["--", "sh", "-c", command]))
    };
    let (code, stdout, stderr) = shell("ulimit -S -c 8 && exec \"$@\"", "ulimit -S -c");
    assert_eq!((code, stdout.as_str()), (0, "8\n"), "{stderr}");
    // As under nohup.
    let (_, stdout, _) = shell("trap '' HUP; exec \"$@\"", "grep SigIgn /proc/self/status");
    let mask = stdout.trim().rsplit('\t').next().unwrap().to_owned();
    assert_eq!(u64::from_str_radix(&mask, 16).unwrap() & 1, 1, "{stdout}");
}

#[test]
fn users_without_privileges_have_it_too() {
    let fixture = Fixture::sealed();
    if !common::is_root() {
        eprintln!("skipped: all other tests run as a user already");
        return;
    }
    fixture.give_to_nobody();
    let mut user = fixture.as_nobody();
    user.args(exec(&fixture).get_args());
    user.args([
        "--",
        "sh",
        "-c",
        "id -u; cat {}/config.json; mount -o remount,rw {} || echo no",
    ]);
    let (code, stdout, stderr) = run(&mut user);
    if stderr.contains("is not permitted here") {
        eprintln!("skipped: user namespaces are not permitted here");
        assert_has(&stderr, &["--no-namespace"]);
        return;
    }
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout, "65534\n{\"marker\":\"plain-text-marker\"}no\n");
    assert_has(&stderr, &["noswap"]);
}

#[test]
fn without_namespaces_a_directory_is_removed_in_the_end() {
    let fixture = Fixture::sealed();
    let mut session = Session::start(&fixture, &["--no-namespace"]);
    assert_eq!(files_below(&session.directory), fixture.plain());
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(&session.directory).unwrap().permissions(),
    );
    assert_eq!(mode & 0o7777, 0o700);
    // Another run does not take it away.
    let mut other = Session::start(&fixture, &["--no-namespace"]);
    assert_eq!(files_below(&session.directory), fixture.plain());
    signal(&other.child, Signal::SIGTERM);
    assert_eq!(other.wait(), 143);
    assert!(!other.directory.exists());
    assert_eq!(session.finish(), 0);
    assert!(!session.directory.exists());
    // Killed: it stays, until the next run.
    let mut killed = Session::start(&fixture, &["--no-namespace"]);
    signal(&killed.child, Signal::SIGKILL);
    killed.read_to_end();
    assert!(killed.directory.exists());
    let (code, _, _) = run(exec(&fixture).args(["--no-namespace", "--", "true"]));
    assert_eq!(code, 0);
    assert!(!killed.directory.exists());
}
