//! `ckks-bench sweep`.

use crate::error::{BenchError, Outcome};
use clap::Args;
use std::io::Write;

/// Options of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn sweep(args: SweepArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let _ = (args, out);
    Err(BenchError::usage("sweep is not there yet"))
}
