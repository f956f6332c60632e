//! `weights-seal bench` from end to end, on small files. What is asserted is what is found out,
//! never how fast.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use assert_cmd::Command;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn program() -> Command {
    Command::cargo_bin("weights-seal").unwrap()
}

/// Folders for a run, outside of which it writes nothing.
struct Places {
    disk: TempDir,
    shm: TempDir,
    out: TempDir,
}

impl Places {
    fn new() -> Places {
        Places {
            disk: TempDir::new().unwrap(),
            shm: TempDir::new().unwrap(),
            out: TempDir::new().unwrap(),
        }
    }

    fn command(&self) -> Command {
        let mut command = program();
        command
            .args(["bench", "--quick", "--dir"])
            .arg(self.disk.path())
            .arg("--shm")
            .arg(self.shm.path());
        command
    }

    fn out(&self, name: &str) -> std::path::PathBuf {
        self.out.path().join(name)
    }

    fn are_empty(&self) -> bool {
        [&self.disk, &self.shm]
            .iter()
            .all(|folder| fs::read_dir(folder.path()).unwrap().next().is_none())
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Length of a sealed file without a public header, from docs/sealed-format.md: 136 bytes and the
/// path, the commitment, for each chunk a tag and a hash, padding to a page, the data.
fn sealed_length(path: &str, length: u64) -> u64 {
    let front = 136 + path.len() as u64 + 32 + length.div_ceil(MIB) * (16 + 32);
    front.div_ceil(4096) * 4096 + length
}

#[test]
fn a_quick_run_measures_everything_and_leaves_nothing() {
    let places = Places::new();
    let (record, markdown, html) = (
        places.out("r.json"),
        places.out("r.md"),
        places.out("r.html"),
    );
    places
        .command()
        .args(["--threads", "2"])
        .arg("--json")
        .arg(&record)
        .arg("--markdown")
        .arg(&markdown)
        .arg("--html")
        .arg(&html)
        .assert()
        .success()
        .stdout("");
    assert!(places.are_empty());

    let record = json(&record);
    assert_eq!(record["schema"], "weights-seal-bench");
    assert_eq!(record["schema_version"], 1);
    assert_eq!(record["rounds"], 1);
    assert_eq!(record["subject"]["made_up"], true);
    assert_eq!(record["subject"]["tensor"]["bytes"], 23_040_000);

    let plain = record["overhead"]["plain_bytes"].as_u64().unwrap();
    assert_eq!(plain, record["subject"]["bytes"].as_u64().unwrap());
    assert!((64_000_000..64_001_000).contains(&plain));
    assert_eq!(
        record["overhead"]["sealed_bytes"].as_u64().unwrap(),
        sealed_length("model.safetensors", plain)
    );
    let documents = record["overhead"]["documents_bytes"].as_u64().unwrap();
    assert!((500..5000).contains(&documents), "{documents}");
    let bits = |which: &str| record["entropy"][which].as_f64().unwrap();
    assert!(bits("sealed_bits_per_byte") > 7.99);
    let plain_bits = bits("plain_bits_per_byte");
    assert!((5.0..7.9).contains(&plain_bits), "{plain_bits}");

    check_cases(record["cases"].as_array().unwrap());
    for peak in record["peaks"].as_array().unwrap() {
        let beyond = peak["beyond_output_bytes"].as_u64().unwrap();
        assert!(beyond < 64_000_000, "{peak}");
    }
    let rows = record["cold_start"].as_array().unwrap();
    assert!(rows.len() >= 6);
    for row in rows {
        let rate = row["bytes_per_second"].as_f64().unwrap();
        let last = row["models"].as_array().unwrap().last().unwrap();
        assert_eq!(last["bytes"], 140e9);
        let seconds = last["seconds"].as_f64().unwrap();
        assert!((seconds * rate / 140e9 - 1.0).abs() < 1e-9);
    }

    let markdown = fs::read_to_string(&markdown).unwrap();
    for title in [
        "Opening",
        "Threads",
        "Processes",
        "Sealing and rotating",
        "Single tensors, recipients, keys",
        "Other programs",
        "Loading times by model size (computed)",
        "Ciphers alone",
        "Bytes",
        "Memory",
        "Floors",
        "Machine and measurement",
    ] {
        assert!(markdown.contains(&format!("\n## {title}\n")), "{title}");
    }
    assert!(markdown.contains("Not compared with other programs: --peers was not given"));
    let html = fs::read_to_string(&html).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg"));
}

/// Every kind of case is there, ran once, and took time.
fn check_cases(cases: &[Value]) {
    let skippable = |id: &str| id.contains("huge-tmpfs") || id.contains("aes-off");
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let seconds = case["seconds"].as_array().unwrap();
        if case["skipped"].is_null() {
            assert_eq!(seconds.len(), 1, "{id}");
            assert!(seconds[0].as_f64().unwrap() > 0.0, "{id}");
        } else {
            assert!(skippable(id), "{id}: {}", case["skipped"]);
        }
        // What a case is compared with was measured too.
        for other in case["floor"].as_str().into_iter().chain(
            case["parts"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|part| part["case"].as_str()),
        ) {
            assert!(
                cases.iter().any(|case| case["id"] == other),
                "{id}: {other}"
            );
        }
    }
    let mut wanted: Vec<String> = ["rewrap", "unwrap-key-file", "unwrap-passphrase"]
        .map(|name| format!("operation/{name}"))
        .to_vec();
    for threads in ["1t", "2t"] {
        for way in ["plain", "key-holders", "publisher"] {
            for to in ["warm", "fresh-huge", "fresh-small", "shm", "huge-tmpfs"] {
                wanted.push(format!("open/{to}/{way}/{threads}"));
            }
        }
        for suite in ["aes-256-gcm", "chacha20-poly1305"] {
            for library in ["aws-lc", "ring"] {
                wanted.push(format!("cipher/{library}/{suite}/seal/{threads}"));
                wanted.push(format!("cipher/{library}/{suite}/open/{threads}"));
            }
        }
        for name in ["seal", "seal-fsync", "rotate", "floor/copy", "floor/memcpy"] {
            wanted.push(format!("{name}/{threads}"));
        }
        wanted.push(format!("operation/tensor/{threads}"));
        wanted.push(format!("cipher/blake3/{threads}"));
    }
    for way in ["plain", "key-holders", "publisher"] {
        wanted.push(format!("processes/fresh-huge/{way}/2p"));
        wanted.push(format!("disk/fresh-huge/{way}/2t"));
    }
    for state in ["on", "off"] {
        wanted.push(format!("mask/aes-256-gcm/aes-{state}"));
        wanted.push(format!("mask/chacha20-poly1305/aes-{state}"));
    }
    for id in wanted {
        let found = cases.iter().filter(|case| case["id"] == id.as_str());
        assert_eq!(found.count(), 1, "{id}");
    }
}

#[test]
fn a_constant_file_has_no_entropy_and_looks_random_when_sealed() {
    let places = Places::new();
    let file = places.out("constant.bin");
    let length = 3 * MIB + 5;
    fs::write(&file, vec![7; length as usize]).unwrap();
    let output = places.out("r.json");
    places
        .command()
        .args(["--threads", "1", "--rounds", "2"])
        .arg("--file")
        .arg(&file)
        .arg("--json")
        .arg(&output)
        .arg("--peers")
        .arg(places.out("no-python"))
        .assert()
        .success();
    assert!(places.are_empty());
    assert_eq!(fs::read(&file).unwrap().len() as u64, length);

    let record = json(&output);
    assert_eq!(record["entropy"]["plain_bits_per_byte"], 0.0);
    let sealed = record["entropy"]["sealed_bits_per_byte"].as_f64().unwrap();
    assert!(sealed > 7.9, "{sealed}");
    assert_eq!(
        record["overhead"]["sealed_bytes"].as_u64().unwrap(),
        sealed_length("constant.bin", length)
    );
    let missing = record["peers"]["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 2);
    assert!(missing[0].as_str().unwrap().contains("no-python"));
    for case in record["cases"].as_array().unwrap() {
        let runs = case["seconds"].as_array().unwrap();
        if case["id"].as_str().unwrap().contains("tensor") {
            assert_eq!(case["skipped"], "the file is not safetensors");
        } else if case["skipped"].is_null() {
            assert_eq!(runs.len(), 2, "{case}");
            // The first round is told apart.
            assert_eq!(case["summary"]["median_seconds"], runs[1], "{case}");
        }
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let places = Places::new();
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("weights-seal"))
        .args(["bench", "--quick", "--rounds", "100000", "--dir"])
        .arg(places.disk.path())
        .arg("--shm")
        .arg(places.shm.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Handlers are there before the first file is.
    while places.are_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    // Not SIGINT, which a process in the background may have been started to ignore.
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(places.are_empty());
}

#[test]
fn what_cannot_be_measured_is_refused_before_the_work() {
    let places = Places::new();
    let empty = places.out("empty.bin");
    fs::write(&empty, "").unwrap();
    let same = places.out("same");
    let (empty, same) = (empty.to_str().unwrap(), same.to_str().unwrap());
    let none = places.out("none");
    let none = none.to_str().unwrap();
    for (arguments, message) in [
        (vec!["--file", empty], "is empty or no file"),
        (vec!["--file", none], "none"),
        (
            vec!["--file", empty, "--size", "1GB"],
            "cannot be used with",
        ),
        (vec!["--size", "8000000TB"], "a smaller --size"),
        (vec!["--size", "many"], "expected a size"),
        (vec!["--threads", "0"], "0"),
        (vec!["--rounds", "0"], "0"),
        (vec!["--json", same, "--html", same], "name the same file"),
        (vec!["--file", empty, "--json", empty], "name the same file"),
        (vec!["--json", "/nonexistent/r.json"], "/nonexistent"),
    ] {
        let output = places.command().args(&arguments).assert().code(2);
        let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(text.contains(message), "{arguments:?}: {text}");
    }
    assert!(places.are_empty());
    let mut elsewhere = program();
    elsewhere.args(["bench", "--quick", "--dir", none]);
    elsewhere.assert().code(2);
}

#[test]
fn a_worker_without_a_task_says_what_it_is() {
    let output = program()
        .arg("bench-worker")
        .write_stdin("{}\n")
        .assert()
        .code(2);
    let text = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(text.contains("is started by bench"), "{text}");
}
