//! `ckks-bench ab`.

use crate::error::{BenchError, Outcome};
use clap::Args;
use std::io::Write;

/// Options of `ab`.
#[derive(Debug, Args)]
pub struct AbArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn ab(args: AbArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let _ = (args, out);
    Err(BenchError::usage("ab is not there yet"))
}
