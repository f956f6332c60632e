//! Every usage error: its message and its exit code.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

mod program;

use program::{bench, program};
use std::fs;

const USAGE: i32 = 2;
const NOT_AVAILABLE: i32 = 3;

fn assert_refused(arguments: &[&str], code: i32, parts: &[&str]) {
    let (actual, stdout, stderr) = bench(arguments);
    assert_eq!(actual, code, "{arguments:?}: {stderr}");
    assert_eq!(stdout, "", "{arguments:?}");
    for part in parts {
        assert!(
            stderr.contains(part),
            "{arguments:?}: no \"{part}\" in: {stderr}"
        );
    }
}

#[test]
fn values_out_of_range() {
    let cases: [(&[&str], &[&str]); 20] = [
        (&["--shape", "0x5"], &["--shape", "0x5", "input width is 0"]),
        (
            &["--shape", "5x"],
            &["--shape", "5x", "output width", "2048x1024"],
        ),
        (&["--shape", "axb"], &["--shape", "axb", "not a number"]),
        (&["--shape", "5x3,7"], &["--shape", "'7'", "INxOUT"]),
        (
            &["--shape", "262145x1"],
            &["--shape", "262145", "limit of 262144"],
        ),
        (&["--shape="], &["--shape"]),
        (&["--batch", "0"], &["--batch", "at least 1"]),
        (&["--batch", "-1"], &["--batch"]),
        (&["--batch", "2000000"], &["--batch", "at most 1048576"]),
        (&["--trials", "0"], &["--trials", "at least 1"]),
        (&["--trials", "x"], &["--trials", "whole number"]),
        (&["--threads", "0"], &["--threads", "at least 1"]),
        (&["--warmup", "-1"], &["--warmup"]),
        (&["--gate", "0"], &["--gate", "above 0"]),
        (&["--gate", "-1e-4"], &["--gate", "above 0"]),
        (&["--gate", "NaN"], &["--gate", "finite"]),
        (&["--gate", "inf"], &["--gate", "finite"]),
        (&["--seed", "-1"], &["--seed"]),
        (&["--plan", "square"], &["--plan", "diagonal-square"]),
        (&["--transpose"], &["--weights"]),
    ];
    for (arguments, parts) in cases {
        let line: Vec<&str> = ["run"].iter().chain(arguments).copied().collect();
        assert_refused(&line, USAGE, parts);
    }
}

#[test]
fn unknown_backends() {
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &["run", "--lib", "nope"],
            &["\"nope\" is not available", "native", "ckks-bench libs"],
        ),
        (
            &["plan", "--lib", "nope"],
            &["\"nope\" is not available", "native"],
        ),
        (
            &["run", "--device", "tpu"],
            &["\"native\"", "\"tpu\"", "--device cpu"],
        ),
    ];
    for (arguments, parts) in cases {
        assert_refused(arguments, NOT_AVAILABLE, parts);
    }
}

#[test]
fn files_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("file");
    let path = path.to_str().unwrap();
    let directory = folder.path().to_str().unwrap();
    for flag in ["--json", "--output"] {
        assert_refused(
            &["run", flag, path],
            USAGE,
            &[flag, path, "writable directory"],
        );
        assert_refused(&["run", flag, directory], USAGE, &[flag, directory]);
    }
    for command in ["plan", "params"] {
        assert_refused(&[command, "--json", path], USAGE, &["--json", path]);
    }
    let same = folder.path().join("same");
    let same = same.to_str().unwrap();
    let line = ["run", "--json", same, "--output", same];
    assert_refused(&line, USAGE, &["--json and --output name the same file"]);
    assert!(
        fs::read_dir(&folder).unwrap().next().is_none(),
        "nothing is left behind"
    );
}

#[test]
fn files_that_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(name("d")).unwrap();
    fs::write(name("old"), b"precious").unwrap();
    let [new, old] = ["new", "old"].map(name);
    let [new_again, old_again] = ["d/../new", "d/../old"].map(name);
    let weights = format!("{old_again}#w");
    let cases = [
        ("--json", &new, "--output", &new),
        ("--json", &new, "--output", &new_again),
        ("--json", &old, "--input", &old_again),
        ("--output", &old, "--input", &old),
        ("--json", &old, "--weights", &weights),
        ("--output", &old, "--weights", &weights),
    ];
    for (flag, path, other_flag, other) in cases {
        let message = format!("{flag} and {other_flag} name the same file");
        let line = ["run", flag, path, other_flag, other];
        assert_refused(&line, USAGE, &[&message]);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&old, name("link")).unwrap();
        let line = ["run", "--json", &name("link"), "--input", &old];
        assert_refused(&line, USAGE, &["--json and --input name the same file"]);
    }
    assert_eq!(fs::read(&old).unwrap(), b"precious");
    assert!(!folder.path().join("new").exists());
}

#[test]
fn no_command_overwrites_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old").display().to_string();
    fs::write(&file, b"precious").unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["cost", &file, "--price", "1"], "REPORT"),
        (&["compare", &file, "none"], "A.json"),
        (&["compare", "none", &file], "B.json"),
        (&["model", "--config", &file], "--config"),
        (&["model", "--hf-config", &file], "--hf-config"),
    ];
    for (line, input) in cases {
        let line = [line, &["--json", &file]].concat();
        let message = format!("--json and {input} name the same file");
        assert_refused(&line, USAGE, &[&message]);
        assert_eq!(fs::read(&file).unwrap(), b"precious");
    }
}

#[test]
fn a_file_is_the_same_by_its_bare_name() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("new").display().to_string();
    let output = program()
        .current_dir(folder.path())
        .args(["run", "--json", "new", "--output", &full])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(USAGE));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.contains("--json and --output name the same file"),
        "{stderr}"
    );
}

#[test]
fn inputs_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    tensor_io::write_npy_f64(&path, 3, 2, &[1.0; 6]).unwrap();
    let path = path.to_str().unwrap();
    let width = ["run", "--shape", "5x3", "--input", path];
    assert_refused(
        &width,
        USAGE,
        &["--input", path, "width 2", "5x3 takes 5", "--shape 2xOUT"],
    );
    let batch = ["run", "--shape", "2x3", "--batch", "4", "--input", path];
    assert_refused(
        &batch,
        USAGE,
        &["--batch 4", path, "3 rows", "leave --batch out"],
    );
    let several = ["run", "--shape", "2x3,2x4", "--output", path];
    assert_refused(&several, USAGE, &["--output", "2 shapes"]);
}

#[test]
fn inputs_that_are_no_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    tensor_io::write_npy_f64(&path, 2, 2, &[1.0, 2.0, 3.0, f64::NAN]).unwrap();
    let nan = ["run", "--shape", "2x3", "--input", path.to_str().unwrap()];
    assert_refused(&nan, USAGE, &["--input", "NaN", "1"]);
    fs::write(&path, b"no array").unwrap();
    assert_refused(&nan, USAGE, &["--input", path.to_str().unwrap()]);
    let missing = ["run", "--input", "does-not-exist.npy"];
    assert_refused(&missing, USAGE, &["--input", "does-not-exist.npy"]);
}

#[test]
fn weights_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.safetensors");
    let header = br#"{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.extend([1.0f32; 6].iter().flat_map(|value| value.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    let source = format!("{}#w", path.display());

    // Stored [out, in] = [2, 3]: a layer of 3 inputs and 2 outputs.
    let shape = ["run", "--weights", &source, "--shape", "2x3"];
    assert_refused(
        &shape,
        USAGE,
        &["--shape 2x3", "which is 3x2", "--transpose"],
    );
    let several = ["run", "--weights", &source, "--shape", "3x2,4x4"];
    assert_refused(&several, USAGE, &["--shape 4x4"]);
    let name = format!("{}#v", path.display());
    assert_refused(&["run", "--weights", &name], USAGE, &["--weights", "'v'"]);
    let scheme = ["run", "--weights", "ftp://host/m.safetensors#w"];
    assert_refused(&scheme, USAGE, &["--weights", "hf://"]);
    let missing = ["run", "--weights", "does-not-exist.safetensors#w"];
    assert_refused(&missing, USAGE, &["--weights", "does-not-exist"]);
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["plan", "--help"],
        &["--version"],
    ] {
        let (code, stdout, _) = bench(arguments);
        assert_eq!(code, 0);
        assert!(!stdout.is_empty());
    }
    let (code, _, stderr) = bench(&[]);
    assert_eq!(code, USAGE);
    assert!(stderr.contains("Usage"), "{stderr}");
}

#[test]
fn libs_lists_native() {
    let (code, stdout, _) = bench(&["libs"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("native"), "{stdout}");
}
