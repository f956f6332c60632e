//! Why a trial could not be done.

use thiserror::Error;

/// A failed step of a trial.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// No backend of that name, or its library is not installed.
    #[error("backend \"{name}\" is not available: {reason}")]
    NotAvailable {
        /// Name given to `--lib`.
        name: String,
        /// What was looked for and what to set.
        reason: String,
    },
    /// The backend cannot do this, by design.
    #[error("{0}")]
    Unsupported(String),
    /// An argument out of range: shape, batch, values.
    #[error("{0}")]
    BadArgument(String),
    /// The configuration is refused before it runs: predicted overflow, noise or memory.
    #[error("{0}")]
    Refused(String),
    /// Steps called out of order.
    #[error("{step} needs {needs} first")]
    OutOfOrder {
        /// The step called.
        step: &'static str,
        /// The step that has to come before it.
        needs: &'static str,
    },
    /// The library reported a failure of its own.
    #[error("{library}: {message}")]
    Library {
        /// The library's name.
        library: String,
        /// Its message, unchanged.
        message: String,
    },
    /// The process that the library runs in failed: it crashed, hung, answered nonsense, or the
    /// library in it failed.
    #[error("{0}")]
    Worker(String),
}
