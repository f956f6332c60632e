//! The subcommands.

pub mod bench;
pub mod exec;
pub mod inspect;
pub mod keygen;
pub mod open;
pub mod rewrap;
pub mod rotate;
pub mod seal;
pub mod verify;

use crate::cli::{Cli, Command};
use crate::error::CliError;
use crate::process;
use crate::shown;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Runs the subcommand; gives the exit code.
///
/// # Errors
/// [`CliError`], whose exit code says what kind of failure it was.
pub fn execute(cli: Cli, out: &mut dyn Write) -> Result<u8, CliError> {
    // exec protects its child, which is the process that sees secrets; a worker protects itself
    // when it has mounted what it needs.
    if !matches!(cli.command, Command::Exec(_) | Command::BenchWorker) {
        process::forbid_dumps();
        process::ignore_file_size_signal();
    }
    match cli.command {
        Command::Keygen(args) => keygen::keygen(&args, out),
        Command::Seal(args) => seal::seal(&args, out),
        Command::Open(args) => open::open(&args, out),
        Command::Exec(args) => return exec::exec(*args),
        Command::Verify(args) => verify::verify(&args, out),
        Command::Inspect(args) => inspect::inspect(&args, out),
        Command::Rewrap(args) => rewrap::rewrap(&args, out),
        Command::Rotate(args) => rotate::rotate(&args, out),
        Command::Bench(args) => bench::bench(&args, out),
        Command::BenchWorker => bench::work(out),
    }
    .map(|()| 0)
}

/// Prints; a reader that has seen enough (`| head`) is no failure.
fn print(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(CliError::Output),
    }
}

/// Prints what was done. A failure does not undo it, and says so.
fn report(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    print(out, text).map_err(|error| match error {
        CliError::Output(error) => CliError::NotReported(error),
        other => other,
    })
}

/// The message for a directory that is not there, in place of one about its manifest.
fn check_exists(sealed: &Path) -> Result<(), CliError> {
    match std::fs::metadata(sealed) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(CliError::usage(format!(
            "{}: no such directory",
            shown::path(sealed)
        ))),
        _ => Ok(()),
    }
}

/// Prints to standard error, unless told to be quiet.
fn note(quiet: bool, text: &str) {
    if !quiet {
        let _ = writeln!(std::io::stderr(), "note: {text}");
    }
}
