//! JSON files.

use crate::error::BenchError;
use bench_report::output;
use serde::Serialize;
use std::path::Path;
use tensor_io::check_writable;

/// Checks, before any work, that the file given to `--json` can be written.
pub(super) fn check_json(path: Option<&Path>) -> Result<(), BenchError> {
    path.map_or(Ok(()), check_writable)
        .map_err(|source| BenchError::File {
            flag: "--json",
            source,
        })
}

/// Writes the value to the file given to `--json`, whole or not at all.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), BenchError> {
    output::write_json(path, value).map_err(|source| BenchError::File {
        flag: "--json",
        source,
    })
}
