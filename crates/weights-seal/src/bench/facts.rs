//! What is found out once: bytes, sizes, memory.

use super::load::io_error;
use super::peak::{Peak, Work};
use super::subject::{Subject, Watch};
use super::worker::{Answer, Task, Worker};
use crate::error::CliError;
use sealed_weights::error::SealError;
use sealed_weights::work::Progress;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// How evenly byte values are distributed: 8 bits for each byte is random, 0 is always the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entropy {
    /// Of the plain file.
    pub plain_bits_per_byte: f64,
    /// Of the whole sealed file.
    pub sealed_bits_per_byte: f64,
}

/// What sealing adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// The plain file.
    pub plain_bytes: u64,
    /// The sealed file.
    pub sealed_bytes: u64,
    /// Manifest and recipients.
    pub documents_bytes: u64,
}

impl Overhead {
    /// Everything that is not the plain file.
    #[must_use]
    pub fn added_bytes(&self) -> u64 {
        self.sealed_bytes.saturating_sub(self.plain_bytes) + self.documents_bytes
    }

    /// As a part of the plain file.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.added_bytes() as f64 / self.plain_bytes.max(1) as f64
    }
}

/// The most memory of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakFact {
    /// What was done.
    pub work: Work,
    /// With that many threads.
    pub threads: usize,
    /// The memory.
    pub memory: Peak,
    /// Beyond the program before the work and the result itself.
    pub beyond_output_bytes: Option<u64>,
}

/// Entropy of both files.
pub(super) fn entropy(subject: &Subject, watch: &Watch<'_>) -> Result<Entropy, SealError> {
    Ok(Entropy {
        plain_bits_per_byte: bits_per_byte(&subject.paths.plain, watch)?,
        sealed_bits_per_byte: bits_per_byte(&subject.paths.sealed_file(), watch)?,
    })
}

/// Sizes of both files.
pub(super) fn overhead(subject: &Subject) -> Result<Overhead, SealError> {
    let length = |path: &Path| -> Result<u64, SealError> {
        Ok(fs::metadata(path).map_err(io_error("look at", path))?.len())
    };
    let sealed_bytes = length(&subject.paths.sealed_file())?;
    let directory = &subject.paths.sealed;
    let mut all = 0;
    for entry in fs::read_dir(directory).map_err(io_error("list", directory))? {
        all += length(&entry.map_err(io_error("list", directory))?.path())?;
    }
    Ok(Overhead {
        plain_bytes: subject.bytes,
        sealed_bytes,
        documents_bytes: all - sealed_bytes,
    })
}

/// The most memory of each piece of work, each in a process of its own; those that write to a tmpfs
/// only where there is one.
pub(super) fn peaks(
    subject: &Subject,
    shm: Option<&Path>,
    threads: usize,
) -> Result<Vec<PeakFact>, CliError> {
    let mut facts = Vec::new();
    for work in Work::ALL {
        let folder = match (work, shm) {
            (Work::OpenToFile, Some(shm)) => shm,
            (Work::OpenToFile, None) => continue,
            _ => subject.folder.path(),
        };
        let task = Task::Peak {
            work,
            paths: subject.paths.clone(),
            folder: folder.to_path_buf(),
            threads,
        };
        if let Answer::Peak(memory) = Worker::run(&task, &[])? {
            facts.push(PeakFact {
                work,
                threads,
                beyond_output_bytes: memory.beyond_output(),
                memory,
            });
        }
    }
    Ok(facts)
}

fn bits_per_byte(path: &Path, watch: &Watch<'_>) -> Result<f64, SealError> {
    let mut file = File::open(path).map_err(io_error("open", path))?;
    let mut counts = [0_u64; 256];
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).map_err(io_error("read", path))?;
        if read == 0 {
            return Ok(shannon(&counts));
        }
        for byte in &buffer[..read] {
            counts[usize::from(*byte)] += 1;
        }
        if watch.advance(read as u64).is_break() {
            return Err(SealError::Cancelled);
        }
    }
}

/// Shannon entropy in bits.
fn shannon(counts: &[u64; 256]) -> f64 {
    let all: u64 = counts.iter().sum();
    let bits = |count: u64| {
        let share = count as f64 / all as f64;
        -share * share.log2()
    };
    let sum: f64 = counts.iter().filter(|c| **c > 0).map(|c| bits(*c)).sum();
    // Not -0.
    sum.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_by_hand() {
        let mut counts = [0; 256];
        assert_eq!(shannon(&counts), 0.0);
        counts[7] = 5;
        assert_eq!(shannon(&counts), 0.0);
        assert!(shannon(&counts).is_sign_positive());
        counts[8] = 5;
        assert_eq!(shannon(&counts), 1.0);
        assert_eq!(shannon(&[3; 256]), 8.0);
    }
}
