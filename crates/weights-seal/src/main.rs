//! The `weights-seal` program.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use weights_seal::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match weights_seal::commands::execute(cli, &mut std::io::stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Nothing is left to do where even this message cannot be shown.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
