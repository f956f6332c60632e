//! The `weights-seal` program.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use weights_seal::cli::Cli;
use weights_seal::shown;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match weights_seal::commands::execute(cli, &mut std::io::stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Nothing is left to do where even this message cannot be shown.
            let _ = writeln!(
                std::io::stderr(),
                "error: {}",
                shown::message(&error.to_string())
            );
            ExitCode::from(error.exit_code())
        }
    }
}
