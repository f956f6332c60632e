//! The `ckks-bench` program.

use ckks_bench::cli::{Cli, Command};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    if matches!(cli.command, Command::Run(_) | Command::Worker(_)) {
        ckks_bench::sweep::worker::end_with_parent();
    }
    match ckks_bench::commands::execute(cli, &mut std::io::stdout()) {
        Ok(outcome) => ExitCode::from(outcome.exit_code()),
        Err(error) => {
            // Nothing is left to do where even this message cannot be shown.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
