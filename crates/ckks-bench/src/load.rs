//! Reading back what this program wrote.

use crate::error::BenchError;
use crate::report::{Report, SCHEMA};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;

/// Reads a report of `run --json`.
///
/// # Errors
/// [`BenchError::Usage`] naming the file where it cannot be read, is no JSON, or has another
/// schema.
pub fn report(path: &Path) -> Result<Report, BenchError> {
    report_of(path, &value(path)?)
}

/// A report from its JSON, checked with [`Report::check`].
///
/// # Errors
/// As [`document`], and where the report has impossible figures.
pub fn report_of(path: &Path, value: &serde_json::Value) -> Result<Report, BenchError> {
    let report: Report = document(path, value, SCHEMA)?;
    report.check().map_err(|reason| {
        BenchError::usage(format!(
            "{} is damaged: {reason}; redo the measurement",
            path.display()
        ))
    })?;
    Ok(report)
}

/// Reads a JSON file, whatever it holds.
///
/// # Errors
/// [`BenchError::Usage`] naming the file.
pub fn value(path: &Path) -> Result<serde_json::Value, BenchError> {
    let text = fs::read_to_string(path).map_err(|error| {
        BenchError::usage(format!("{} cannot be read: {error}", path.display()))
    })?;
    serde_json::from_str(&text)
        .map_err(|error| BenchError::usage(format!("{} is no JSON file: {error}", path.display())))
}

/// The schema that a document names; empty where it names none.
#[must_use]
pub fn schema(value: &serde_json::Value) -> &str {
    value
        .get("schema")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("")
}

/// A document of the schema.
///
/// # Errors
/// [`BenchError::Usage`] naming the file and both schemas, or the field that is wrong.
pub fn document<T: DeserializeOwned>(
    path: &Path,
    value: &serde_json::Value,
    wanted: &str,
) -> Result<T, BenchError> {
    let found = schema(value);
    if found != wanted {
        return Err(BenchError::usage(format!(
            "{} has the schema \"{found}\", but \"{wanted}\" is needed here; redo the measurement \
             with this version",
            path.display()
        )));
    }
    T::deserialize(value).map_err(|error| {
        BenchError::usage(format!(
            "{} is damaged: {error}; redo the measurement",
            path.display()
        ))
    })
}
