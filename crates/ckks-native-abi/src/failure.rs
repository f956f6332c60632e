//! Failures with the status that they have in the ABI.

use ckks::CkksError;
use ckks_abi::Status;
use ckks_secret::SecretError;

/// A failed call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

/// A failure that is the caller's.
pub(crate) fn refuse(message: impl Into<String>) -> Failure {
    Failure::new(Status::BadArgument, message)
}

impl From<CkksError> for Failure {
    fn from(error: CkksError) -> Self {
        let status = match &error {
            CkksError::Allocation { .. } => Status::OutOfMemory,
            CkksError::NotFinite { .. } | CkksError::EncodingOverflow { .. } => Status::BadArgument,
            _ => Status::LibraryError,
        };
        Self::new(status, error.to_string())
    }
}

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Ckks(error) => error.into(),
            error => Self::new(Status::LibraryError, error.to_string()),
        }
    }
}
