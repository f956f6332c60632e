//! The program as a process, with a cache folder of its own: the user's is neither read nor written.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

use ckks_backend::vendor;
use std::path::Path;
use std::process::Command;

/// The program, without arguments. Its figures of this machine are kept in the build folder.
pub(crate) fn program() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("ckks-bench"));
    command.env(
        "XDG_CACHE_HOME",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
    );
    command
}

/// Runs the program; gives its exit code, standard output and standard error.
pub(crate) fn bench(arguments: &[&str]) -> (i32, String, String) {
    let output = program().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The program with no library installed: no variable of the user's, an empty data folder, no
/// Python.
pub(crate) fn bare(folder: &Path) -> Command {
    let mut command = program();
    let variables = vendor::all().iter().flat_map(|pinned| &pinned.variables);
    for variable in variables {
        command.env_remove(&variable.name);
    }
    command
        .env_remove("CPATH")
        .env_remove("CPLUS_INCLUDE_PATH")
        .env_remove("CKKS_BACKEND_PATH")
        .env_remove("CKKS_SHIMS")
        .env_remove("CKKS_WORKERS")
        .env("PATH", folder)
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder.join("data"));
    command
}

/// Exit code, standard output, standard error; white space, which tables break lines with, is
/// single blanks.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let code = output.status.code().unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no \"{part}\" in: {text}");
    }
}
