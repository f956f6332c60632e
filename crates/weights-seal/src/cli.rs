//! The command line.

use crate::commands::bench::BenchArgs;
use crate::commands::exec::ExecArgs;
use crate::commands::inspect::InspectArgs;
use crate::commands::keygen::KeygenArgs;
use crate::commands::open::OpenArgs;
use crate::commands::rewrap::RewrapArgs;
use crate::commands::rotate::RotateArgs;
use crate::commands::seal::SealArgs;
use crate::commands::verify::VerifyArgs;
use clap::{Parser, Subcommand};

/// Seals model weights at rest and opens them only into memory.
///
/// Exit codes: 0 done, 1 the model was refused (altered, not signed by a trusted publisher, an old
/// version, the wrong key), 2 wrong usage or input, 3 a key service did not answer or is not in this
/// build, 130 and 143 interrupted. `exec` gives its command's code, 128 + n where signal n ended it,
/// and its own failures as 125 (126 and 127: the command cannot be run, is not found).
#[derive(Debug, Parser)]
#[command(name = "weights-seal", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a key that opens models and a key that signs them
    Keygen(KeygenArgs),
    /// Seal a model for its recipients and sign it
    Seal(Box<SealArgs>),
    /// Open a model into a directory in memory
    Open(Box<OpenArgs>),
    /// Open a model into private memory and run a command with it
    Exec(Box<ExecArgs>),
    /// Check every byte of models
    Verify(Box<VerifyArgs>),
    /// Show what a sealed model says of itself, without keys
    Inspect(InspectArgs),
    /// Give a model new recipients; its data stays as it is
    Rewrap(Box<RewrapArgs>),
    /// Seal a model anew under a fresh key
    Rotate(Box<RotateArgs>),
    /// Measure sealing and opening on this machine
    Bench(Box<BenchArgs>),
    /// What `bench` starts in processes of their own
    #[command(hide = true)]
    BenchWorker,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
