//! Every command on a model, compared with the plaintext.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::{Fixture, assert_has, files_below, names_in, program, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const REFUSED: i32 = 1;
const USAGE: i32 = 2;

#[test]
fn keys_are_private_and_never_overwritten() {
    let fixture = Fixture::new();
    let keys = fixture.path("keys");
    let before = files_below(&keys);
    assert_eq!(
        names_in(&keys),
        ["model.key", "publisher.key", "publisher.pub"]
    );
    for name in ["model.key", "publisher.key"] {
        let mode = fs::metadata(keys.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{name}");
    }
    let public = String::from_utf8(before["publisher.pub"].clone()).unwrap();
    let digits = public
        .strip_prefix("sealed-weights-publisher-pub-1 ")
        .unwrap();
    assert_eq!(digits.trim_end().len(), 64);
    for flags in [&[][..], &["--key-only"], &["--publisher-only"]] {
        let (code, _, stderr) = run(program().args(["keygen", "--out"]).arg(&keys).args(flags));
        assert_eq!(code, USAGE);
        assert_has(&stderr, &["--out", "never overwritten"]);
    }
    assert_eq!(files_below(&keys), before);
    // One half is there: the other is not made either.
    fs::remove_file(keys.join("publisher.key")).unwrap();
    let (code, _, _) = run(program()
        .args(["keygen", "--out"])
        .arg(&keys)
        .arg("--publisher-only"));
    assert_eq!(code, USAGE);
    assert!(!keys.join("publisher.key").exists());
    for (flag, names) in [
        ("--key-only", &["model.key"][..]),
        ("--publisher-only", &["publisher.key", "publisher.pub"]),
    ] {
        let out = fixture.path(flag);
        let (code, _, _) = run(program().args(["keygen", "--out"]).arg(&out).arg(flag));
        assert_eq!(
            (code, names_in(&out)),
            (0, names.iter().map(|n| (*n).to_owned()).collect())
        );
    }
}

#[test]
fn what_is_sealed_is_opened() {
    let fixture = Fixture::new();
    for flags in [
        &[][..],
        &[
            "--suite",
            "chacha20-poly1305",
            "--chunk-size",
            "4KiB",
            "--public-header",
        ],
        &[
            "--model",
            "Name of a model",
            "--model-version",
            "7",
            "--threads",
            "1",
        ],
    ] {
        let (code, stdout, stderr) = fixture.seal("plain", "sealed", flags);
        assert_eq!(code, 0, "{stderr}");
        assert_has(
            &stdout,
            &["GB/s", "4 files", "publisher ", "manifest SHA-256 "],
        );
        assert_eq!(
            stderr.contains("chacha20-poly1305, because --suite"),
            flags.contains(&"--suite")
        );
        for (name, bytes) in files_below(&fixture.path("sealed")) {
            let marker = b"plain-text-marker";
            assert!(
                !bytes.windows(marker.len()).any(|part| part == marker),
                "{name}"
            );
        }
        fixture.verify();
        assert_eq!(fixture.opened(), fixture.plain());
        fs::remove_dir_all(fixture.path("sealed")).unwrap();
    }
    // Keys and publishers from the environment; the digest, and the publisher as digits.
    let (_, stdout, _) = fixture.seal("plain", "sealed", &[]);
    let digest = stdout
        .lines()
        .find_map(|l| l.strip_prefix("manifest SHA-256 "))
        .unwrap();
    let publisher = stdout
        .lines()
        .find_map(|l| l.strip_prefix("publisher "))
        .unwrap();
    let (code, _, stderr) = run(program()
        .arg("verify")
        .arg(fixture.path("sealed"))
        .args(["--expect-digest", digest, "--min-version", "1"])
        .env("WEIGHTS_SEAL_KEY", format!("\n{}\n", fixture.key()))
        .env("WEIGHTS_SEAL_PUBLISHER", publisher));
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn plaintext_goes_to_memory_unless_told() {
    let fixture = Fixture::sealed();
    let to = fixture.path("opened");
    let (code, _, stderr) = run(fixture.command("open").arg("--to").arg(&to));
    if code == 0 {
        eprintln!("skipped: the temporary directory is a memory file system");
        return;
    }
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["--allow-disk", "/dev/shm"]);
    assert!(!to.exists());
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let to = memory.path().join("model");
    let (code, stdout, stderr) = run(fixture.command("open").arg("--to").arg(&to));
    assert_eq!(code, 0, "{stderr}");
    assert_has(&stdout, &["opened", "GB/s"]);
    assert_eq!(files_below(&to), fixture.plain());
    let mode = fs::metadata(to.join("config.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
    // Not into something that is there.
    let (code, _, _) = run(fixture.command("open").arg("--to").arg(&to));
    assert_eq!(code, USAGE);
}

#[test]
fn verifying_says_what_was_checked() {
    let fixture = Fixture::sealed();
    let (code, stdout, _) = run(&mut fixture.command("verify"));
    assert_eq!(code, 0);
    assert_has(
        &stdout,
        &[
            "tag and hash of every chunk",
            "trusted publisher",
            "authentic",
            "GB/s",
        ],
    );
    let (_, stdout, _) = run(fixture.command("verify").args(["--trust", "key-holders"]));
    assert_has(&stdout, &["| tag of every chunk"]);
    let mut no_key = program();
    no_key
        .arg("verify")
        .arg(fixture.path("sealed"))
        .arg("--no-key");
    let (code, stdout, _) = run(no_key.args(["--publisher", &fixture.publisher()]));
    assert_eq!(code, 0);
    assert_has(
        &stdout,
        &["hash of every chunk of ciphertext", "nothing was decrypted"],
    );
    assert!(!stdout.contains("authentic"), "{stdout}");
    // One bit, in the last byte of the ciphertext: with and without a key.
    let path = fixture.path("sealed/model.safetensors.sealed");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, &bytes).unwrap();
    for command in [&mut no_key, &mut fixture.command("verify")] {
        let (code, stdout, stderr) = run(command);
        assert_eq!((code, stdout.as_str()), (REFUSED, ""));
        assert_has(&stderr, &["model.safetensors.sealed", "chunk 0 of 1"]);
    }
}

#[test]
fn inspection_promises_nothing() {
    let fixture = Fixture::sealed();
    let (code, stdout, _) = run(program().arg("inspect").arg(fixture.path("sealed")));
    assert_eq!(code, 0);
    assert_has(
        &stdout,
        &[
            "Nothing here is verified",
            "aes-256-gcm",
            "1.00 MiB",
            "overhead",
            "sub/tokenizer.model",
        ],
    );
    let (_, stdout, _) = run(program()
        .arg("inspect")
        .arg(fixture.path("sealed"))
        .arg("--json"));
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["schema"], "weights-seal-inspect-1");
    assert_eq!(json["version"], 1);
    let public = fs::read_to_string(fixture.publisher()).unwrap();
    assert!(public.contains(json["publisher"].as_str().unwrap()));
    let plain: usize = fixture.plain().values().map(Vec::len).sum();
    let sealed: usize = files_below(&fixture.path("sealed"))
        .values()
        .map(Vec::len)
        .sum();
    assert_eq!(json["plain_bytes"], plain);
    assert_eq!(json["sealed_bytes"], sealed);
    assert_eq!(json["files"].as_array().unwrap().len(), 4);
    assert_eq!(json["recipients"].as_array().unwrap().len(), 1);
}

#[test]
fn new_recipients_and_new_keys() {
    let fixture = Fixture::sealed();
    run(program()
        .args(["keygen", "--key-only", "--out"])
        .arg(fixture.path("other")));
    let other = format!("key-file:{}", fixture.text("other/model.key"));
    let opens = |key: &str| {
        let mut command = program();
        command
            .arg("verify")
            .arg(fixture.path("sealed"))
            .args(["--key", key]);
        run(command.args(["--publisher", &fixture.publisher()])).0 == 0
    };
    assert!(opens(&fixture.key()) && !opens(&other));
    let (code, stdout, _) = run(fixture
        .command("rewrap")
        .args(["--add", "--recipient", &other]));
    assert_eq!((code, stdout.matches("key-file").count()), (0, 2));
    assert!(opens(&fixture.key()) && opens(&other));
    let (code, stdout, _) = run(fixture
        .command("rewrap")
        .args(["--recipient", &fixture.key()]));
    assert_eq!(code, 0);
    assert_has(&stdout, &["weights-seal rotate"]);
    assert!(opens(&fixture.key()) && !opens(&other));

    let before = files_below(&fixture.path("sealed"));
    let (code, stdout, stderr) = run(fixture
        .command("rotate")
        .args([
            "--recipient",
            &fixture.key(),
            "--sign",
            &fixture.text("keys/publisher.key"),
        ])
        .args(["--suite", "chacha20-poly1305", "--no-sync"]));
    assert_eq!(code, 0, "{stderr}");
    assert_has(&stdout, &["version 2", "anew"]);
    assert_eq!(fixture.opened(), fixture.plain());
    for (name, bytes) in files_below(&fixture.path("sealed")) {
        assert_ne!(before[&name], bytes, "{name}");
    }
    let (code, _, stderr) = run(fixture.command("verify").args(["--min-version", "3"]));
    assert_eq!(code, REFUSED);
    assert_has(&stderr, &["version 2", "older than the version 3"]);
    assert_eq!(fixture.names(), ["keys", "other", "plain", "sealed"]);
}
