//! Why stored bytes are no layer.

use crate::error::LinearError;
use ckks::CkksError;
use ckks::WireError;
use thiserror::Error;

/// Why bytes could not be read.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes that are not the stored layer they should be. Prepare the layer again from its weights.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoredError {
    /// Something else.
    #[error("these bytes are no prepared layer: they do not begin with 'CKKSPREP'")]
    NotStored,
    /// A newer format.
    #[error(
        "the prepared layer has format version {found}, this program reads version {supported}; \
         prepare the layer again"
    )]
    Version {
        /// The version.
        found: u16,
        /// What is read.
        supported: u16,
    },
    /// A layer of another plan than asked for.
    #[error(
        "the prepared layer is of form {found} where {expected} is needed (1 diagonal, 2 gemm)"
    )]
    Form {
        /// The form.
        found: u16,
        /// The one needed.
        expected: u16,
    },
    /// The bytes end too early.
    #[error("the prepared layer ends inside its {field}")]
    Truncated {
        /// What was being read.
        field: &'static str,
    },
    /// Another length than the contents need.
    #[error("the prepared layer's {what} is {found} bytes where {expected} are needed")]
    Length {
        /// What is long or short.
        what: &'static str,
        /// Bytes found.
        found: u64,
        /// Bytes needed.
        expected: u64,
    },
    /// A number that no layer has there.
    #[error("the prepared layer's {field} is {found}; {expected}")]
    Field {
        /// Which.
        field: &'static str,
        /// The number.
        found: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// Padding that is not zero.
    #[error("the prepared layer's {field} is not zero")]
    NotZero {
        /// Which padding.
        field: &'static str,
    },
    /// A residue that is not below its prime.
    #[error(
        "a plaintext of the prepared layer holds {found}, which is no residue modulo {modulus}"
    )]
    Residue {
        /// The number.
        found: u32,
        /// The prime.
        modulus: u32,
    },
    /// The bytes could not be read, or are not authentic.
    #[error("the prepared layer cannot be read: {0}")]
    Read(#[source] ReadError),
    /// The manifest in it is not one that a client would accept.
    #[error(transparent)]
    Linear(#[from] LinearError),
}

impl From<CkksError> for StoredError {
    fn from(error: CkksError) -> Self {
        Self::Linear(error.into())
    }
}

impl From<WireError> for StoredError {
    fn from(error: WireError) -> Self {
        Self::Linear(error.into())
    }
}
