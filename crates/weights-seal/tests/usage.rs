//! Wrong usage: the message names the flag, nothing secret is repeated, and the exit code says what
//! kind of failure it is.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::{Fixture, assert_has, program, run};

const REFUSED: i32 = 1;
const USAGE: i32 = 2;

#[test]
fn secrets_do_not_belong_on_the_command_line() {
    let fixture = Fixture::sealed();
    for text in [
        "passphrase:hunter2",
        "hunter2",
        "hunter2:x",
        "Passphrase:hunter2",
    ] {
        let mut open = program();
        open.arg("verify")
            .arg(fixture.path("sealed"))
            .args(["--key", text]);
        let mut seal = fixture.seal_command("plain", "other");
        seal.args(["--recipient", text]);
        for (command, flag) in [(&mut open, "--key"), (&mut seal, "--recipient")] {
            let (code, stdout, stderr) = run(command);
            assert_eq!((code, stdout.as_str()), (USAGE, ""), "{stderr}");
            assert_has(&stderr, &[flag]);
            if text == "passphrase:hunter2" {
                assert!(!stderr.contains("hunter2"), "{stderr}");
                assert_has(&stderr, &["env:VAR", "file:PATH", "command line"]);
            }
        }
    }
    assert_eq!(fixture.names(), ["keys", "plain", "sealed"]);
}

#[test]
fn passphrases_come_from_the_environment() {
    let fixture = Fixture::sealed();
    let passphrase = "passphrase:env:PHRASE";
    let (code, stdout, stderr) = run(fixture
        .command("rewrap")
        .args(["--recipient", passphrase])
        .env("PHRASE", "correct horse"));
    assert_eq!(code, 0, "{stderr}");
    assert_has(&stdout, &["passphrase"]);
    let verify = |phrase: &str| {
        let mut command = program();
        command.arg("verify").arg(fixture.path("sealed"));
        command.args(["--key", passphrase, "--publisher", &fixture.publisher()]);
        run(command.env("PHRASE", phrase))
    };
    assert_eq!(verify("correct horse").0, 0);
    let (code, _, stderr) = verify("wrong horse");
    assert_eq!(code, REFUSED);
    assert_has(&stderr, &["passphrase", "not the right one"]);
    assert!(!stderr.contains("horse"), "{stderr}");
    // Nobody can be asked.
    let mut command = program();
    command.arg("verify").arg(fixture.path("sealed"));
    let (code, _, stderr) =
        run(command.args(["--key", "passphrase", "--publisher", &fixture.publisher()]));
    assert_ne!(code, 0);
    assert_has(&stderr, &["no terminal"]);
}

#[test]
fn what_is_insisted_on() {
    let fixture = Fixture::sealed();
    run(program()
        .args(["keygen", "--out"])
        .arg(fixture.path("others")));
    let others = fixture.text("others/publisher.pub");
    let (key, zeros) = (fixture.key(), "0".repeat(64));
    let other_key = format!("key-file:{}", fixture.text("others/model.key"));
    let publisher = fixture.publisher();
    let private = fixture.text("keys/publisher.key");
    let missing = fixture.text("keys/none");
    let cases: [(i32, &[&str], &[&str]); 9] = [
        (
            USAGE,
            &["--key", &key],
            &["--publisher KEY", "--any-publisher"],
        ),
        (
            USAGE,
            &["--publisher", &publisher],
            &["--key KEY", "WEIGHTS_SEAL_KEY"],
        ),
        (
            REFUSED,
            &["--key", &key, "--publisher", &others],
            &["not a trusted publisher"],
        ),
        (
            REFUSED,
            &["--key", &other_key, "--any-publisher"],
            &["none of the keys given"],
        ),
        (
            REFUSED,
            &["--key", &key, "--any-publisher", "--expect-digest", &zeros],
            &["SHA-256", &zeros],
        ),
        (
            USAGE,
            &["--key", &key, "--publisher", &missing],
            &["--publisher", "keys/none"],
        ),
        (
            USAGE,
            &["--key", &key, "--publisher", &private],
            &["--publisher", "private half"],
        ),
        (
            USAGE,
            &["--key", &key, "--any-publisher", "--publisher", &others],
            &["--any-publisher"],
        ),
        (
            USAGE,
            &["--no-key", "--any-publisher", "--trust", "key-holders"],
            &["--trust key-holders", "--no-key"],
        ),
    ];
    for (expected, arguments, parts) in cases {
        let mut command = program();
        command
            .arg("verify")
            .arg(fixture.path("sealed"))
            .args(arguments);
        let (code, stdout, stderr) = run(&mut command);
        assert_eq!(
            (code, stdout.as_str()),
            (expected, ""),
            "{arguments:?}: {stderr}"
        );
        assert_has(&stderr, parts);
    }
    let (code, _, _) = run(program().arg("verify").arg(fixture.path("sealed")).args([
        "--key",
        &key,
        "--any-publisher",
    ]));
    assert_eq!(code, 0);
}

#[test]
fn values_out_of_range() {
    let fixture = Fixture::sealed();
    let cases: [(&[&str], &[&str]); 7] = [
        (&["--chunk-size", "1000"], &["--chunk-size", "power of two"]),
        (
            &["--chunk-size", "128MiB"],
            &["--chunk-size", "power of two"],
        ),
        (&["--chunk-size", "x"], &["--chunk-size", "1MiB"]),
        (
            &["--suite", "rot13"],
            &["--suite", "aes-256-gcm and chacha20-poly1305"],
        ),
        (&["--threads", "0"], &["--threads", "from 1 to 4096"]),
        (&["--model-version", "x"], &["--model-version"]),
        (&["--sign", "keys/none"], &["--sign"]),
    ];
    for (arguments, parts) in cases {
        let (code, stdout, stderr) = fixture.seal("plain", "other", arguments);
        assert_eq!(
            (code, stdout.as_str()),
            (USAGE, ""),
            "{arguments:?}: {stderr}"
        );
        assert_has(&stderr, parts);
    }
    for digest in ["", "00", &"G".repeat(64)] {
        let (code, _, stderr) = run(fixture.command("verify").args(["--expect-digest", digest]));
        assert_eq!(code, USAGE);
        assert_has(
            &stderr,
            &["--expect-digest", "64 lower-case hexadecimal digits"],
        );
    }
    assert_eq!(fixture.names(), ["keys", "plain", "sealed"]);
}

#[test]
fn what_may_be_a_secret_is_not_repeated() {
    let fixture = Fixture::sealed();
    let digits = "0123456789abcdef".repeat(4);
    let publisher = format!("sealed-weights-publisher-1 {digits}");
    let key = format!("key-file:sealed-weights-key-1 {digits}");
    let cases: [(&str, &str); 4] = [
        ("--publisher", &publisher),
        ("--key", &digits),
        ("--key", "hunter2"),
        ("--key", &key),
    ];
    for (flag, text) in cases {
        let mut command = program();
        command.arg("verify").arg(fixture.path("sealed"));
        if flag == "--key" {
            command.arg("--any-publisher");
        }
        let (code, _, stderr) = run(command.args([flag, text]));
        assert_eq!(code, USAGE, "{stderr}");
        assert_has(&stderr, &[flag, "not shown because it may be a secret"]);
        assert!(!stderr.contains(&digits[..16]), "{stderr}");
        assert!(!stderr.contains("hunter2"), "{stderr}");
    }
    let (code, _, stderr) = fixture.seal("plain", "other", &[]);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn directories_that_are_not_there_and_names_that_forge() {
    let fixture = Fixture::sealed();
    for name in ["inspect", "verify"] {
        let mut command = program();
        command.arg(name).arg(fixture.path("none\n\u{1b}[2Jx"));
        if name == "verify" {
            command.args(["--no-key", "--any-publisher"]);
        }
        let (code, _, stderr) = run(&mut command);
        assert_eq!(code, USAGE);
        assert_has(&stderr, &["none\\n\\u{1b}[2Jx: no such directory"]);
    }
}

#[test]
fn a_report_that_cannot_be_written_undoes_nothing() {
    let fixture = Fixture::new();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = fixture
        .seal_command("plain", "sealed")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_has(&stderr, &["done, but the report could not be written"]);
    fixture.verify();
}
