//! Everything that is measured in rounds.

mod ciphers;
mod operations;
mod peers;
mod sealing;
mod transfers;

pub(crate) use ciphers::{cipher_id, hash_id, mask_id};
pub(crate) use peers::{destinations, fresh_process_id, peer_id, place};
pub(crate) use sealing::{copy_id, rotate_id, seal_id};
pub(crate) use transfers::{disk_id, processes_id, transfer_id};

use super::peers::Peers;
use super::spec::Spec;
use super::subject::{Subject, Watch};
use crate::error::CliError;
use sealed_weights::memory::PlainBuffer;
use std::cell::RefCell;
use std::path::Path;

/// What a run of a case gave.
#[derive(Debug)]
pub enum Outcome {
    /// How long it took.
    Seconds(f64),
    /// Why it is not possible on this machine.
    Skipped(String),
}

/// A case and what measures it.
pub struct Case<'a> {
    /// What is measured.
    pub spec: Spec,
    /// One run.
    pub run: Box<dyn FnMut() -> Result<Outcome, CliError> + 'a>,
}

impl std::fmt::Debug for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.spec.fmt(f)
    }
}

impl<'a> Case<'a> {
    fn new(spec: Spec, mut run: impl FnMut() -> Result<f64, CliError> + 'a) -> Case<'a> {
        Case {
            spec,
            run: Box::new(move || Ok(Outcome::Seconds(run()?))),
        }
    }

    /// A case that this machine cannot do.
    fn skipped(spec: Spec, reason: &str) -> Case<'a> {
        let reason = reason.to_owned();
        Case {
            spec,
            run: Box::new(move || Ok(Outcome::Skipped(reason.clone()))),
        }
    }
}

/// What the cases need.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The file.
    pub subject: &'a Subject,
    /// Tells whether to stop.
    pub watch: Watch<'a>,
    /// An empty folder on the system's tmpfs; the reason where there is none with enough room.
    pub shm: Result<&'a Path, String>,
    /// An empty folder that a worker may mount on.
    pub mount: &'a Path,
    /// A buffer of the file's length that has been written to.
    pub warm: RefCell<PlainBuffer>,
    /// Numbers of threads and of processes, ascending from 1.
    pub counts: Vec<usize>,
    /// Bytes that a raw cipher handles in one run.
    pub cipher_bytes: u64,
    /// Bytes of each file of the model that gets new recipients.
    pub shard_bytes: u64,
    /// Bytes that processes may fill together.
    pub memory_bytes: u64,
    /// Other programs.
    pub peers: &'a Peers,
}

impl Bench<'_> {
    /// All cases, in the order of a round: what reads from the disk is last, since it empties the
    /// page cache.
    ///
    /// # Errors
    /// [`CliError`] where a case cannot be prepared.
    pub fn cases(&self) -> Result<Vec<Case<'_>>, CliError> {
        let mut cases = Vec::new();
        self.ciphers(&mut cases);
        self.transfers(&mut cases);
        self.sealing(&mut cases);
        self.operations(&mut cases)?;
        self.peer_cases(&mut cases);
        self.disk(&mut cases);
        Ok(cases)
    }

    /// The most threads.
    #[must_use]
    pub fn most(&self) -> usize {
        self.counts.last().copied().unwrap_or(1)
    }
}

/// 1 to `most`, all of them up to four, then powers of two and the last.
#[must_use]
pub fn counts(most: usize) -> Vec<usize> {
    (1..=most)
        .filter(|n| *n <= 4 || n.is_power_of_two() || *n == most)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn counts_by_hand() {
        assert_eq!(counts(1), [1]);
        assert_eq!(counts(3), [1, 2, 3]);
        assert_eq!(counts(12), [1, 2, 3, 4, 8, 12]);
        assert_eq!(counts(16), [1, 2, 3, 4, 8, 16]);
    }
}
