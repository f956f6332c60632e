//! What a measurement is asked for, checked.

use std::path::PathBuf;

/// Bytes of a made-up file.
pub const SIZE: u64 = 1_700_000_000;
/// Bytes of a made-up file of a quick run.
pub const QUICK_SIZE: u64 = 64_000_000;
/// Bytes that a raw cipher handles in one run.
const CIPHER_BYTES: u64 = 256 << 20;
/// The same in a quick run.
const QUICK_CIPHER_BYTES: u64 = 16 << 20;

/// What a measurement is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The file; a made-up one if there is none.
    pub file: Option<PathBuf>,
    /// Bytes of a made-up file.
    pub size: u64,
    /// Where sealed and made-up files go.
    pub dir: PathBuf,
    /// A folder on the system's tmpfs.
    pub shm: PathBuf,
    /// How often each case runs, at least once.
    pub rounds: usize,
    /// The most threads and processes; those of the machine if it is not set.
    pub threads: Option<usize>,
    /// Smaller buffers.
    pub quick: bool,
    /// A Python interpreter that has other programs.
    pub peers: Option<PathBuf>,
    /// No progress.
    pub quiet: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
}

impl Options {
    /// Bytes that a raw cipher handles in one run.
    #[must_use]
    pub fn cipher_bytes(&self) -> u64 {
        if self.quick {
            QUICK_CIPHER_BYTES
        } else {
            CIPHER_BYTES
        }
    }

    /// Bytes of each file of the model that gets new recipients.
    #[must_use]
    pub fn shard_bytes(&self) -> u64 {
        if self.quick { 10_000 } else { 1_000_000 }
    }
}
