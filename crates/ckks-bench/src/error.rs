//! What ends the program, and with which exit code.

use bench_report::output::SameFile;
use ckks_backend::BackendError;
use ckks_backend::shim::ShimError;
use ckks_backend::worker::serve::ServeError;
use std::io;
use tensor_io::TensorError;
use thiserror::Error;

/// Everything that ends the program before a report exists.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Options or input files that make no sense; the message names the flag and the way out.
    #[error("{0}")]
    Usage(String),
    /// A file given to a flag cannot be read or written.
    #[error("{flag}: {source}")]
    File {
        /// The flag that named the file.
        flag: &'static str,
        /// What the file's reader or writer said.
        source: TensorError,
    },
    /// The backend cannot do what was asked, before anything was measured.
    #[error("{0}")]
    Backend(#[from] BackendError),
    /// The shim of a library was not built.
    #[error("{0}")]
    Shim(#[source] ShimError),
    /// The conversation of a worker with the program that started it ended badly.
    #[error("worker: {0}")]
    Worker(#[from] ServeError),
    /// Standard output is gone.
    #[error("cannot write the results to standard output: {0}")]
    Output(#[from] io::Error),
}

impl BenchError {
    /// A usage error from its message.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> BenchError {
        BenchError::Usage(message.into())
    }

    /// The exit code of the program: 2 for usage, 3 for a backend that is not available or what it
    /// needs, 1 for a compiler that failed.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            BenchError::Backend(BackendError::NotAvailable { .. })
            | BenchError::Shim(ShimError::Missing { .. }) => 3,
            BenchError::Shim(ShimError::Compiler { .. }) => 1,
            _ => 2,
        }
    }
}

impl From<SameFile> for BenchError {
    fn from(error: SameFile) -> BenchError {
        BenchError::usage(error.to_string())
    }
}

/// How a run that produced its results ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every configuration passed (or the command measures nothing).
    Passed,
    /// At least one configuration was rejected.
    Rejected,
    /// Ctrl-C ended the run; what was measured before is in the report.
    Interrupted,
}

impl Outcome {
    /// The exit code of the program.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Outcome::Passed => 0,
            Outcome::Rejected => 1,
            // 128 + SIGINT, what shells expect of an interrupted program.
            Outcome::Interrupted => 130,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_the_documented_ones() {
        let missing = BackendError::NotAvailable {
            name: "x".into(),
            reason: "y".into(),
        };
        assert_eq!(BenchError::from(missing).exit_code(), 3);
        assert_eq!(
            BenchError::from(BackendError::Unsupported("z".into())).exit_code(),
            2
        );
        assert_eq!(BenchError::usage("--batch 0").exit_code(), 2);
        let codes =
            [Outcome::Passed, Outcome::Rejected, Outcome::Interrupted].map(Outcome::exit_code);
        assert_eq!(codes, [0, 1, 130]);
    }
}
