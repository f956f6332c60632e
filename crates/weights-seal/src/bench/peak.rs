//! The most memory that sealing and opening take.

use super::load::{Load, Target, io_error};
use super::spec::{Destination, Way};
use super::subject::Paths;
use sealed_weights::error::SealError;
use sealed_weights::model::{SealJob, SealOptions};
use sealed_weights::publisher_file;
use sealed_weights::work;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// The file is sealed to the disk.
    Seal,
    /// The sealed file is opened into a file.
    OpenToFile,
    /// The sealed file is opened into fresh memory.
    OpenToMemory,
}

impl Work {
    /// In the order of tables.
    pub const ALL: [Work; 3] = [Work::Seal, Work::OpenToFile, Work::OpenToMemory];

    /// For people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Work::Seal => "seal to the disk",
            Work::OpenToFile => "open into a file",
            Work::OpenToMemory => "open into memory",
        }
    }

    /// Bytes of memory that are the result itself.
    fn output(self, bytes: u64) -> u64 {
        match self {
            Work::Seal | Work::OpenToFile => 0,
            Work::OpenToMemory => bytes,
        }
    }

    /// Does it, once, in a process that has done nothing else.
    pub(super) fn run(
        self,
        paths: &Paths,
        folder: &Path,
        work: &work::Work<'_>,
    ) -> Result<Peak, SealError> {
        let before = peak_bytes();
        let load = |destination| Load {
            way: Way::Publisher,
            destination,
            evict: false,
        };
        match self {
            Work::Seal => {
                let publisher = publisher_file::create(&folder.join("peak-publisher"))?;
                let sealed = folder.join("peak-sealed");
                let options = SealOptions {
                    sync: false,
                    ..SealOptions::default()
                };
                SealJob::prepare(&paths.plain, &sealed, options)?.run(
                    &paths.recipients()?,
                    &publisher,
                    work,
                )?;
                std::fs::remove_dir_all(&sealed).map_err(io_error("remove", &sealed))?;
            }
            Work::OpenToFile => {
                let target = Target::File(folder.join("peak-opened"));
                load(Destination::Shm).run(paths, target, work)?;
            }
            Work::OpenToMemory => {
                load(Destination::FreshHuge).run(paths, Target::Fresh, work)?;
            }
        }
        let bytes = std::fs::metadata(&paths.plain)
            .map_err(io_error("look at", &paths.plain))?
            .len();
        let output_bytes = self.output(bytes);
        Ok(Peak {
            before_bytes: before,
            peak_bytes: peak_bytes(),
            output_bytes,
        })
    }
}

/// Resident memory of a process, in bytes; `None` where the system does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// The most before the work: program, libraries, standard input and output.
    pub before_bytes: Option<u64>,
    /// The most at the end.
    pub peak_bytes: Option<u64>,
    /// Memory that is the result itself; a file's pages belong to no process.
    pub output_bytes: u64,
}

impl Peak {
    /// Beyond the program and the result.
    #[must_use]
    pub fn beyond_output(self) -> Option<u64> {
        let more = self.peak_bytes?.saturating_sub(self.before_bytes?);
        Some(more.saturating_sub(self.output_bytes))
    }
}

/// `VmHWM` of this process.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_holds_what_was_touched() {
        let memory = vec![1_u8; 64 << 20];
        assert!(std::hint::black_box(&memory).iter().all(|b| *b == 1));
        assert!(peak_bytes().unwrap() >= 64 << 20);
        let peak = Peak {
            before_bytes: Some(10),
            peak_bytes: Some(100),
            output_bytes: 80,
        };
        assert_eq!(peak.beyond_output(), Some(10));
    }
}
