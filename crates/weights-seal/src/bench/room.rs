//! Whether there is room for a measurement, known before it starts.

use super::load::io_error;
use super::options::Options;
use crate::error::CliError;
use crate::units;
use nix::sys::statvfs::statvfs;
use std::fs;
use std::path::Path;

/// What the memory allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes that processes may fill together.
    pub(super) memory_for_processes: u64,
}

/// Refuses a file that is too large for the disk or the memory.
pub(super) fn check(options: &Options) -> Result<Room, CliError> {
    let bytes = match &options.file {
        None => options.size,
        Some(file) => {
            let metadata = fs::metadata(file).map_err(io_error("look at", file))?;
            if !metadata.is_file() || metadata.len() == 0 {
                return Err(CliError::usage(format!(
                    "{} is empty or no file; --file takes a file of weights",
                    file.display()
                )));
            }
            metadata.len()
        }
    };
    // Sealed, and sealed again; the plain file, if it is made up; with each program once more.
    let copies = 2 + u64::from(options.file.is_none()) + 2 * u64::from(options.peers.is_some());
    let needed = bytes
        .saturating_mul(copies)
        .saturating_add(bytes / 1024 + (512 << 20));
    let free = free(&options.dir)?;
    if free < needed {
        return Err(CliError::usage(format!(
            "{} has {} free, and {} are needed for a file of {}; name another place with --dir or \
             a smaller --size",
            options.dir.display(),
            units::bytes(free),
            units::bytes(needed),
            units::bytes(bytes)
        )));
    }
    // The warm buffer, what is opened, and the plain and the sealed file in the page cache.
    let needed = bytes.saturating_mul(4);
    let available = available_memory().unwrap_or(u64::MAX);
    if available < needed {
        return Err(CliError::usage(format!(
            "{} of memory are available, and {} are needed for a file of {}; choose a smaller \
             --size or --file",
            units::bytes(available),
            units::bytes(needed),
            units::bytes(bytes)
        )));
    }
    Ok(Room {
        memory_for_processes: available.saturating_sub(needed) / 2 + bytes,
    })
}

/// Whether a tmpfs takes one file; why not.
pub(super) fn on_tmpfs(folder: &Path, bytes: u64) -> Result<(), String> {
    let free = free(folder).map_err(|error| error.to_string())?;
    if free >= bytes {
        return Ok(());
    }
    Err(format!(
        "{} has {} free, and {} are needed",
        folder.parent().unwrap_or(folder).display(),
        units::bytes(free),
        units::bytes(bytes)
    ))
}

fn free(folder: &Path) -> Result<u64, CliError> {
    let stat = statvfs(folder).map_err(|errno| io_error("look at", folder)(errno.into()))?;
    // A tmpfs without a limit states no blocks at all.
    if stat.blocks() == 0 {
        return Ok(u64::MAX);
    }
    Ok(stat.blocks_available() * stat.fragment_size())
}

/// `MemAvailable`.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
