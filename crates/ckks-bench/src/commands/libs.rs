//! `ckks-bench libs`.

use super::print;
use crate::error::{BenchError, Outcome};
use crate::{open, tables};
use std::io::Write;

pub(super) fn libs(out: &mut dyn Write) -> Result<Outcome, BenchError> {
    print(out, &tables::libraries(&open::libraries()))?;
    Ok(Outcome::Passed)
}
