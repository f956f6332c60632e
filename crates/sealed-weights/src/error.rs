//! What can go wrong, each with the offending value, the limit and the way out.
//!
//! Paths and other text from outside are escaped: no control character reaches a terminal.

mod document;
mod header;
mod key;
mod model;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use document::DocumentDefect;
pub use header::HeaderDefect;
pub use key::KeyError;
pub use model::ModelError;

use crate::path::shown;

/// Sealing or opening failed. Nothing is left behind, and what was there is unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SealError {
    /// Reading, writing or looking at a file failed.
    #[error("cannot {action} {}: {source}", shown(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },

    /// The operating system gave no randomness.
    #[error("the operating system gives no randomness, without which nothing is sealed")]
    Randomness,

    /// The cryptographic library refused an operation.
    #[error("the cryptographic library refused an operation; this is a defect, please report it")]
    Cipher,

    /// Memory for the plaintext was refused.
    #[error("cannot reserve {bytes} bytes of memory for the plaintext: {source}")]
    Memory {
        /// Bytes wanted.
        bytes: usize,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },

    /// The core header is not acceptable.
    #[error("{}: {defect}", shown(path))]
    Header {
        /// The sealed file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        defect: HeaderDefect,
    },

    /// The manifest or the recipients section is not acceptable.
    #[error("{}: {defect}", shown(path))]
    Document {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        #[source]
        defect: DocumentDefect,
    },

    /// The file is not as long as its header says.
    #[error(
        "{}: it has {found} bytes, but its header states {expected}; it was truncated or extended",
        shown(path)
    )]
    Length {
        /// The sealed file.
        path: PathBuf,
        /// Its length.
        found: u64,
        /// What the header states.
        expected: u64,
    },

    /// The key commitment does not match.
    #[error(
        "{}: its header was altered, or it was sealed with another key; nothing was decrypted",
        shown(path)
    )]
    Commitment {
        /// The sealed file.
        path: PathBuf,
    },

    /// The bytes between the tables and the ciphertext are not zero.
    #[error(
        "{}: the padding before the data is not zero; the file was altered",
        shown(path)
    )]
    Padding {
        /// The sealed file.
        path: PathBuf,
    },

    /// A tag does not match its chunk.
    #[error(
        "{}: chunk {chunk} of {chunks} (bytes {begin} to {end}) was altered, moved or damaged; the \
         output was wiped. Restore the file from a copy",
        shown(path)
    )]
    Tag {
        /// The sealed file.
        path: PathBuf,
        /// The chunk, from 0.
        chunk: u64,
        /// How many there are.
        chunks: u64,
        /// Its first byte in the plaintext.
        begin: u64,
        /// One past its last byte.
        end: u64,
    },

    /// A chunk is not the one the publisher signed, though a key holder may have made it.
    #[error(
        "{}: chunk {chunk} of {chunks} is not what the publisher signed: it was altered, moved or \
         damaged, or someone who holds the key replaced it. The output was wiped; restore the file \
         from a copy",
        shown(path)
    )]
    ChunkHash {
        /// The sealed file.
        path: PathBuf,
        /// The chunk, from 0.
        chunk: u64,
        /// How many there are.
        chunks: u64,
    },

    /// The tables of a file are not those the publisher signed.
    #[error(
        "{}: its tags and hashes are not what the publisher signed (root {found}, signed \
         {signed}); the file was altered or belongs to another version",
        shown(path)
    )]
    Root {
        /// The sealed file.
        path: PathBuf,
        /// Root of the tables found.
        found: String,
        /// Root in the manifest.
        signed: String,
    },

    /// The readable copy of the safetensors header is not that of the sealed file.
    #[error(
        "{}: its public header is not that of the sealed tensors; the file was altered",
        shown(path)
    )]
    PublicHeader {
        /// The sealed file.
        path: PathBuf,
    },

    /// The source changed between being opened and being sealed.
    #[error(
        "{} changed while it was read; nothing was sealed. Seal it when no program writes to it",
        shown(path)
    )]
    SourceChanged {
        /// The plaintext file.
        path: PathBuf,
    },

    /// A range lies outside the plaintext.
    #[error(
        "bytes {begin} to {end} are outside the {length} bytes of {}",
        shown(path)
    )]
    Range {
        /// The sealed file.
        path: PathBuf,
        /// First byte wanted.
        begin: u64,
        /// One past the last.
        end: u64,
        /// Bytes of plaintext.
        length: u64,
    },

    /// The work was cancelled.
    #[error("cancelled; nothing was left behind")]
    Cancelled,

    /// A worker thread ended without an answer.
    #[error("a worker thread failed; this is a defect, please report it")]
    Worker,

    /// A recipient or identity refused.
    #[error(transparent)]
    Key(#[from] KeyError),

    /// The model as a whole is not acceptable.
    #[error(transparent)]
    Model(#[from] ModelError),
}
