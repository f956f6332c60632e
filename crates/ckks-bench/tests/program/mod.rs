//! The program as a process, with a cache folder of its own: the user's is neither read nor written.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

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
