//! `ckks-bench model`.

use crate::error::{BenchError, Outcome};
use crate::open::Opener;
use clap::Args;
use std::io::Write;

/// Options of `model`.
#[derive(Debug, Args)]
pub struct ModelArgs {}

/// Not there yet.
///
/// # Errors
/// [`BenchError::Usage`].
pub fn model(
    args: ModelArgs,
    opener: &Opener<'_>,
    out: &mut dyn Write,
) -> Result<Outcome, BenchError> {
    let _ = (args, opener, out);
    Err(BenchError::usage("model is not there yet"))
}
