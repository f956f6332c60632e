//! What is wrong with a core header.

use thiserror::Error;

use crate::core_header::{ChunkSize, FORMAT_VERSION, MAX_CHUNKS, MAX_PUBLIC_HEADER};

/// What is wrong with a core header.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderDefect {
    /// Not a sealed file.
    #[error(
        "it is not a sealed file (it does not begin with 'SEALEDWT'); plaintext in the place of a \
         sealed file is refused"
    )]
    NotSealed,
    /// A newer format.
    #[error(
        "it has format version {found}, and this program reads version {FORMAT_VERSION}; use a newer weights-seal"
    )]
    Version {
        /// The version.
        found: u16,
    },
    /// An unknown suite.
    #[error("it has the unknown cipher suite {found}; 1 is AES-256-GCM and 2 ChaCha20-Poly1305")]
    Suite {
        /// The number.
        found: u16,
    },
    /// A chunk size out of range.
    #[error(
        "the chunk size is {found} bytes; it must be a power of two from {} to {}",
        ChunkSize::MIN,
        ChunkSize::MAX
    )]
    ChunkSize {
        /// The size.
        found: u32,
    },
    /// A chunk count that is not that of the length.
    #[error("it states {found} chunks where its length needs {expected}")]
    ChunkCount {
        /// The count.
        found: u64,
        /// What length and chunk size give.
        expected: u64,
    },
    /// More chunks than the format allows.
    #[error("{length} bytes need more than {MAX_CHUNKS} chunks; use a larger chunk size")]
    TooLong {
        /// The plaintext's length.
        length: u64,
    },
    /// Reserved bytes that are not zero.
    #[error("its reserved bytes are {found:?} where zero is expected")]
    Reserved {
        /// The bytes.
        found: [u8; 2],
    },
    /// Length and hash of the public header do not fit each other or the file.
    #[error(
        "it states a public header of {length} bytes, which does not fit its hash, its plaintext \
         or the limit of {MAX_PUBLIC_HEADER}"
    )]
    PublicHeader {
        /// The length.
        length: u32,
    },
    /// A path that the format refuses.
    #[error("its path is not acceptable: {reason}")]
    Path {
        /// Which rule it breaks.
        reason: String,
    },
    /// The file ends inside the header.
    #[error("it ends inside its header, at the field '{field}'")]
    Truncated {
        /// The field.
        field: &'static str,
    },
}
