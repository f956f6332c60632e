//! Errors of the trusted side.

use ckks::{CkksError, ParameterDigest};
use thiserror::Error;

/// A failed key generation, encryption or decryption.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The operating system gave no randomness.
    #[error("the operating system's random source failed: {0}; nothing was generated")]
    Randomness(getrandom::Error),
    /// See [`CkksError`].
    #[error(transparent)]
    Ckks(#[from] CkksError),
    /// A key of other parameters.
    #[error(
        "this secret key belongs to parameters {key}, not to {context}; use the key's own context"
    )]
    OtherParameters {
        /// Digest of the key's parameters.
        key: ParameterDigest,
        /// Digest of the context's parameters.
        context: ParameterDigest,
    },
    /// All one-time counters of a session are used.
    #[error("all {limit} one-time masks of this session are used; start a session with fresh keys")]
    MasksExhausted {
        /// How many a session has.
        limit: u64,
    },
}
