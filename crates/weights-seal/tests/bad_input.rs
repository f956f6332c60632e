//! Bad input: a clear error, nothing lost, nothing left behind.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod common;

use common::{Fixture, assert_has, files_below, is_root, program, run, safetensors, with_header};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

const REFUSED: i32 = 1;
const USAGE: i32 = 2;

/// Sealing `plain` fails with these words and leaves the folder as it was.
fn assert_not_sealed(fixture: &Fixture, arguments: &[&str], parts: &[&str]) {
    let before = fixture.names();
    let (code, stdout, stderr) = fixture.seal("plain", "sealed", arguments);
    assert_eq!((code, stdout.as_str()), (USAGE, ""), "{stderr}");
    assert_has(&stderr, parts);
    assert_eq!(fixture.names(), before);
}

#[test]
fn files_that_are_no_safetensors() {
    let fixture = Fixture::new();
    let twice = "{\"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\
                  \"w\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    let mut long = safetensors(&[("w", b"abc")]);
    long[..8].copy_from_slice(&5_000_000_000u64.to_le_bytes());
    let cases: [(&[u8], &str); 6] = [
        (b"not a safetensors file at all", "model.safetensors"),
        (b"short", "model.safetensors"),
        (b"", "model.safetensors"),
        (&with_header("{\"w\":", b""), "model.safetensors"),
        (&with_header(twice, b"ab"), "'w'"),
        (&long, "5000000000"),
    ];
    for (bytes, part) in cases {
        fixture.write("plain/model.safetensors", bytes);
        assert_not_sealed(&fixture, &[], &["model.safetensors", "safetensors", part]);
    }
}

#[test]
fn links_out_of_the_directory() {
    let fixture = Fixture::new();
    fixture.write("outside.bin", b"from outside");
    symlink("../outside.bin", fixture.path("plain/link.bin")).unwrap();
    assert_not_sealed(
        &fixture,
        &[],
        &["link.bin", "outside.bin", "--follow-links"],
    );
    let (code, _, stderr) = fixture.seal("plain", "sealed", &["--follow-links"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(fixture.opened()["link.bin"], b"from outside");
    // One that stays inside needs no permission.
    let fixture = Fixture::new();
    symlink("config.json", fixture.path("plain/link.json")).unwrap();
    let (code, _, stderr) = fixture.seal("plain", "sealed", &[]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(fixture.opened(), fixture.plain());
}

#[test]
fn sources_that_are_no_model() {
    let fixture = Fixture::new();
    fs::remove_dir_all(fixture.path("plain")).unwrap();
    assert_not_sealed(&fixture, &[], &["plain", "No such file"]);
    fs::create_dir(fixture.path("plain")).unwrap();
    assert_not_sealed(&fixture, &[], &["plain", "holds no files"]);
    nix::unistd::mkfifo(&fixture.path("plain/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_not_sealed(&fixture, &[], &["pipe", "neither a regular file"]);
    // Into itself.
    fs::remove_file(fixture.path("plain/pipe")).unwrap();
    fixture.write("plain/config.json", b"{}");
    let (code, _, stderr) = fixture.seal("plain", "plain/sealed", &[]);
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["plain/sealed"]);
}

#[test]
fn what_is_there_is_replaced_by_a_newer_version_only() {
    let fixture = Fixture::sealed();
    let before = files_below(&fixture.path("sealed"));
    for (arguments, parts) in [
        (&[][..], &["sealed exists", "--replace"][..]),
        (
            &["--replace", "--model", "other"],
            &["--replace", "another model", "--model"],
        ),
        (
            &["--replace", "--model-version", "1"],
            &["--model-version 1", "version of", "is 2"],
        ),
    ] {
        assert_not_sealed(&fixture, arguments, parts);
    }
    // Another publisher's model.
    run(program()
        .args(["keygen", "--out"])
        .arg(fixture.path("others")));
    let mut command = program();
    command
        .arg("seal")
        .args([fixture.path("plain"), fixture.path("sealed")]);
    command.args(["--replace", "--recipient", &fixture.key(), "--sign"]);
    let (code, _, stderr) = run(command.arg(fixture.path("others/publisher.key")));
    assert_eq!(code, 2);
    assert_has(&stderr, &["the key given is that of", "would refuse it"]);
    assert_eq!(files_below(&fixture.path("sealed")), before);
    let (code, stdout, _) = fixture.seal("plain", "sealed", &["--replace"]);
    assert_eq!(code, 0);
    assert_has(&stdout, &["version 2"]);
    assert_eq!(fixture.names(), ["keys", "others", "plain", "sealed"]);
}

#[test]
fn a_newer_format() {
    for (file, begin) in [
        (
            "sealed/model.safetensors.sealed",
            b"SEALEDWT\x01\0".as_slice(),
        ),
        ("sealed/sealed.manifest", b"sealed-weights manifest 1"),
        ("sealed/sealed.recipients", b"sealed-weights recipients 1"),
    ] {
        let fixture = Fixture::sealed();
        let mut bytes = fs::read(fixture.path(file)).unwrap();
        assert!(bytes.starts_with(begin), "{file}");
        let last = begin.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[last] += 1;
        fixture.write(file, &bytes);
        for name in ["verify", "open"] {
            let mut command = fixture.command(name);
            if name == "open" {
                command
                    .arg("--to")
                    .arg(fixture.path("out"))
                    .arg("--allow-disk");
            }
            let (code, _, stderr) = run(&mut command);
            assert_eq!(code, REFUSED, "{stderr}");
            assert_has(&stderr, &[file, "newer"]);
        }
        assert_eq!(fixture.names(), ["keys", "plain", "sealed"]);
    }
}

#[test]
fn models_that_are_not_whole() {
    let fixture = Fixture::sealed();
    let whole = files_below(&fixture.path("sealed"));
    for name in whole.keys() {
        fs::remove_file(fixture.path("sealed").join(name)).unwrap();
        let (code, _, stderr) = run(&mut fixture.command("verify"));
        assert_eq!(code, REFUSED, "{stderr}");
        let stated = name.rsplit('/').next().unwrap();
        assert_has(&stderr, &[stated]);
        fs::write(fixture.path("sealed").join(name), &whole[name]).unwrap();
    }
    fixture.write("sealed/extra", b"");
    let (code, _, stderr) = run(&mut fixture.command("verify"));
    assert_eq!(code, REFUSED);
    assert_has(&stderr, &["extra", "not in the signed manifest"]);
}

#[test]
fn destinations_that_are_too_small() {
    let fixture = Fixture::sealed();
    // A file system of 64 KiB, in a namespace of the shell's.
    let mount = fixture.path("small");
    fs::create_dir(&mount).unwrap();
    let script =
        "mount -t tmpfs -o size=64k none \"$0\" && \"$@\"; code=$?; ls -A \"$0\"; exit $code";
    let options = if is_root() { "-m" } else { "-Urm" };
    let in_small = |command: &Command| {
        let mut shell = Command::new("unshare");
        shell.args([options, "sh", "-c", script]).arg(&mount);
        shell.arg(command.get_program()).args(command.get_args());
        run(&mut shell)
    };
    if in_small(&Command::new("true")).0 != 0 {
        eprintln!("skipped: mounting is not permitted here");
        return;
    }
    let mut open = fixture.command("open");
    open.arg("--to").arg(mount.join("model"));
    for command in [fixture.seal_command("plain", "small/sealed"), open] {
        let (code, stdout, stderr) = in_small(&command);
        // ls lists nothing: neither the destination nor anything hidden.
        assert_eq!((code, stdout.as_str()), (USAGE, ""), "{stderr}");
        assert_has(
            &stderr,
            &["has room for", "are needed", "nothing was written"],
        );
    }
}

#[test]
fn no_permission() {
    let fixture = Fixture::sealed();
    let mode = |name: &str, mode| {
        fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    if is_root() && run(fixture.as_nobody().arg("--version")).0 != 0 {
        eprintln!("skipped: setpriv is missing");
        return;
    }
    let as_user = |command: &Command| {
        let mut user = if is_root() {
            fixture.as_nobody()
        } else {
            program()
        };
        run(user.args(command.get_args()))
    };
    let before = files_below(&fixture.path("sealed"));
    // A source that cannot be read.
    for name in ["keys/model.key", "keys/publisher.key"] {
        if is_root() {
            nix::unistd::chown(&fixture.path(name), Some(65534.into()), None).unwrap();
        }
    }
    mode("keys", 0o755);
    fs::create_dir(fixture.path("out")).unwrap();
    mode("out", 0o777);
    mode("plain/config.json", 0o000);
    let (code, _, stderr) = as_user(&fixture.seal_command("plain", "out/sealed"));
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["config.json", "Permission denied"]);
    mode("plain/config.json", 0o644);
    // A destination that cannot be written.
    mode("out", 0o555);
    let (code, _, stderr) = as_user(&fixture.seal_command("plain", "out/sealed"));
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["out", "Permission denied"]);
    assert_eq!(common::names_in(&fixture.path("out")), [""; 0]);
    // Data that cannot be read.
    mode("sealed", 0o755);
    mode("sealed/config.json.sealed", 0o000);
    let (code, _, stderr) = as_user(&fixture.command("verify"));
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["config.json.sealed", "Permission denied"]);
    mode("sealed/config.json.sealed", 0o644);
    // A key that others may read.
    mode("keys/model.key", 0o644);
    let (code, _, stderr) = as_user(&fixture.command("verify"));
    assert_eq!(code, USAGE);
    assert_has(&stderr, &["--key", "model.key", "chmod 600"]);
    mode("keys/model.key", 0o600);
    fixture.verify();
    assert_eq!(files_below(&fixture.path("sealed")), before);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing() {
    let fixture = Fixture::sealed();
    let mut open = fixture.command("open");
    open.arg("--to")
        .arg(fixture.path("out"))
        .arg("--allow-disk");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 8; exec \"$@\"", "sh"]);
    shell.arg(open.get_program()).args(open.get_args());
    let (code, _, stderr) = run(&mut shell);
    assert_eq!(code, USAGE, "{stderr}");
    assert_has(&stderr, &["too large"]);
    assert_eq!(fixture.names(), ["keys", "plain", "sealed"]);
}
