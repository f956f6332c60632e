//! `kill -9` at random moments of sealing over an old version, of rotating and of rewrapping: the
//! directory is always exactly the old version or the new one, and the next run clears away what the
//! killed one left.
//!
//! `WEIGHTS_SEAL_CRASHES` sets the number of kills of each, 100 by default.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::{Fixture, Random, program, run, spawn};
use sealed_weights::model::{Policy, SealedModel};
use sealed_weights::publisher_file;
use sealed_weights::recipient::key_file::KeyFile;
use sealed_weights::work::Work;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn crashes() -> u64 {
    let text = std::env::var("WEIGHTS_SEAL_CRASHES");
    text.map_or(100, |text| {
        text.parse().expect("WEIGHTS_SEAL_CRASHES is a number")
    })
}

/// What the directory is: its version, its plaintext, and which of two keys opens it.
#[derive(Debug, PartialEq)]
struct State {
    version: u64,
    key: usize,
    plain: BTreeMap<String, Vec<u8>>,
}

/// Reads and checks every byte of the sealed directory.
fn state(fixture: &Fixture) -> State {
    let publisher = publisher_file::read_public(&fixture.path("keys/publisher.pub")).unwrap();
    let open = |key: &str| {
        let key = KeyFile::read(&fixture.path(key)).unwrap();
        let policy = Policy::publisher(publisher);
        SealedModel::open(&fixture.path("sealed"), &[Box::new(key)], policy)
    };
    let (key, model) = match open("keys/model.key") {
        Ok(model) => (0, model),
        Err(_) => (1, open("other/model.key").unwrap()),
    };
    let files = model.manifest().files.iter().map(|file| {
        let bytes = model
            .file(file.path.as_str())
            .unwrap()
            .read_all(&Work::default());
        (file.path.to_string(), bytes.unwrap().to_vec())
    });
    State {
        version: model.manifest().version,
        key,
        plain: files.collect(),
    }
}

/// Names of hidden directories, in which runs prepare what will be.
fn hidden(fixture: &Fixture) -> BTreeSet<String> {
    let names = fixture.names().into_iter();
    names
        .filter(|name| name.contains(".weights-seal-"))
        .collect()
}

/// Waits until the run has made its hidden directory, or has ended.
fn wait_for_hidden(fixture: &Fixture, child: &mut Child, before: &BTreeSet<String>) {
    while child.try_wait().unwrap().is_none() && hidden(fixture).is_subset(before) {
        std::thread::yield_now();
    }
}

/// How long a run takes, from its start and from when it has made its hidden directory.
#[derive(Clone, Copy, Default)]
struct Times {
    whole: Duration,
    writing: Duration,
}

fn measure(fixture: &Fixture, command: &mut Command) -> Times {
    let (start, before) = (Instant::now(), hidden(fixture));
    let mut child = spawn(command);
    wait_for_hidden(fixture, &mut child, &before);
    let writing = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Times {
        whole: start.elapsed(),
        writing: writing.elapsed(),
    }
}

/// A fixture whose `other` is a second key.
fn two_keys() -> Fixture {
    let fixture = Fixture::in_memory().and_sealed();
    let mut keygen = program();
    run(keygen
        .args(["keygen", "--key-only", "--out"])
        .arg(fixture.path("other")));
    fixture
}

/// Kills `command` at random moments. `before` prepares a turn; `new` says what the directory is
/// if the command has done its work on the old state.
fn kill_at_random(
    fixture: &Fixture,
    seed: u64,
    command: impl Fn(&State) -> Command,
    before: impl Fn(&State),
    new: impl Fn(&State) -> State,
) {
    let mut random = Random(seed);
    let mut old = state(fixture);
    // The longest of three runs.
    let mut times = Times::default();
    for _ in 0..3 {
        before(&old);
        let run = measure(fixture, &mut command(&old));
        times.whole = times.whole.max(run.whole);
        times.writing = times.writing.max(run.writing);
        let now = state(fixture);
        assert_eq!(now, new(&old));
        old = now;
    }
    let (mut kept, mut replaced) = (0, 0);
    for turn in 0..crashes() {
        before(&old);
        let (expected, there) = (new(&old), hidden(fixture));
        let mut child = spawn(&mut command(&old));
        // Most of a run is over before it writes: every other kill comes after that.
        let span = if turn % 2 == 0 {
            times.whole
        } else {
            wait_for_hidden(fixture, &mut child, &there);
            times.writing
        };
        // The moment is the purpose of this wait.
        let moment = Instant::now() + span.mul_f64(random.fraction());
        while Instant::now() < moment {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let now = state(fixture);
        if now == old {
            kept += 1;
        } else {
            assert_eq!(now, expected, "turn {turn}");
            replaced += 1;
            old = now;
        }
        // Each run clears away what the one before left, unless it is killed before that.
        assert!(
            hidden(fixture).len() <= 1,
            "turn {turn}: {:?}",
            fixture.names()
        );
    }
    eprintln!("killed {} times: {kept} old, {replaced} new", crashes());
    before(&old);
    let (code, _, stderr) = run(&mut command(&old));
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(hidden(fixture), BTreeSet::new());
    assert_eq!(state(fixture), new(&old));
}

#[test]
fn sealing_over_an_old_version() {
    let fixture = two_keys();
    let config = |version: u64| format!("{{\"version\":{version}}}").into_bytes();
    kill_at_random(
        &fixture,
        1,
        |_| {
            let mut command = fixture.seal_command("plain", "sealed");
            command.args(["--replace", "--model", "plain"]);
            command
        },
        |old| fixture.write("plain/config.json", &config(old.version + 1)),
        |old| State {
            version: old.version + 1,
            key: 0,
            plain: fixture.plain(),
        },
    );
}

#[test]
fn rotating() {
    let fixture = two_keys();
    let keys = [
        fixture.key(),
        format!("key-file:{}", fixture.text("other/model.key")),
    ];
    kill_at_random(
        &fixture,
        2,
        |old| {
            let mut command = program();
            command.arg("rotate").arg(fixture.path("sealed"));
            command.args(["--key", &keys[old.key], "--recipient", &keys[1 - old.key]]);
            command.args(["--publisher", &fixture.publisher(), "--no-sync"]);
            command.args(["--sign", &fixture.text("keys/publisher.key")]);
            command
        },
        |_| {},
        |old| State {
            version: old.version + 1,
            key: 1 - old.key,
            plain: fixture.plain(),
        },
    );
}

#[test]
fn rewrapping() {
    let fixture = two_keys();
    let keys = [
        fixture.key(),
        format!("key-file:{}", fixture.text("other/model.key")),
    ];
    let data =
        |fixture: &Fixture| fs::read(fixture.path("sealed/model.safetensors.sealed")).unwrap();
    let before = data(&fixture);
    kill_at_random(
        &fixture,
        3,
        |old| {
            let mut command = program();
            command.arg("rewrap").arg(fixture.path("sealed"));
            command.args(["--key", &keys[old.key], "--recipient", &keys[1 - old.key]]);
            command.args(["--publisher", &fixture.publisher()]);
            command
        },
        |_| {},
        |old| State {
            version: 1,
            key: 1 - old.key,
            plain: fixture.plain(),
        },
    );
    assert_eq!(data(&fixture), before);
}
