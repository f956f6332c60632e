//! What can go wrong on the way from JSON to a page.

use bench_report::ReportError;
use std::path::PathBuf;
use thiserror::Error;

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file, or one of its lines, is not what it should be.
    #[error("{place}: {reason}")]
    Input {
        /// File, and line where there is one.
        place: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The file is no readable sweep; the message names it and the line.
    #[error("{0}")]
    Sweep(String),
    /// The page cannot be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The rows cannot be written down.
    #[error("cannot lay out the CSV: {0}")]
    Csv(String),
}
