//! `ckks-bench report`.

use crate::error::{BenchError, Outcome};
use clap::Args;
use std::io::Write;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn report(args: &ReportArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    let _ = (args, out);
    Err(BenchError::usage("report is not there yet"))
}
