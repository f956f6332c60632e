//! `ckks-bench cost`.

use crate::error::{BenchError, Outcome};
use clap::Args;
use std::io::Write;

/// Options of `cost`.
#[derive(Debug, Args)]
pub struct CostArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn cost(args: &CostArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let _ = (args, out);
    Err(BenchError::usage("cost is not there yet"))
}
