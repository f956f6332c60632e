//! Errors of the trusted side.

use ckks::{CkksError, ParameterDigest, WireError};
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
    /// See [`WireError`].
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Vectors, scales, features or answers that are not as many as expected.
    #[error("{what}: expected {expected}, got {found}")]
    Count {
        /// What was counted.
        what: &'static str,
        /// Expected count.
        expected: u64,
        /// Count found.
        found: u64,
    },
    /// A scale that is not a positive finite number.
    #[error("the scale of vector {vector} is {scale}, not a positive finite number")]
    Scale {
        /// Which vector.
        vector: usize,
        /// Its scale.
        scale: f64,
    },
    /// A value that is not a finite number.
    #[error("value {index} of vector {vector} is {value}; only finite numbers can be encrypted")]
    NotFinite {
        /// Which vector.
        vector: usize,
        /// Which of its values.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A scaled value that would wrap around the modulus.
    #[error(
        "value {index} of vector {vector} is beyond {limit:e} when scaled, which the modulus does \
         not carry; use a smaller scale"
    )]
    TooLarge {
        /// Which vector.
        vector: usize,
        /// Which of its values.
        index: usize,
        /// What is refused; the value itself is secret.
        limit: f64,
    },
}
