//! `ckks-bench compare`.

use crate::error::{BenchError, Outcome};
use clap::Args;
use std::io::Write;

/// Options of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn compare(args: &CompareArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let _ = (args, out);
    Err(BenchError::usage("compare is not there yet"))
}
