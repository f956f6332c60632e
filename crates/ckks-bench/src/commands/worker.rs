//! `ckks-bench worker`: a library under test in a process of its own.

use crate::error::{BenchError, Outcome};
use ckks_backend::worker::layer;
use ckks_backend::worker::serve::serve;
use clap::Args;
use std::path::PathBuf;

/// Options of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Shared object that exports the functions of ckks_backend.h
    #[arg(long, value_name = "PATH", required_unless_present = "native")]
    pub library: Option<PathBuf>,

    /// The engine of this repository
    #[arg(long, conflicts_with = "library")]
    pub native: bool,
}

/// Answers requests as `docs/worker-protocol.md` describes them, until `close`.
pub(super) fn worker(args: &WorkerArgs) -> Result<Outcome, BenchError> {
    match &args.library {
        Some(library) => serve(library)?,
        None => layer::serve()?,
    }
    Ok(Outcome::Passed)
}
