//! A memory file system with huge pages that only this process sees.

use crate::private::namespace::{Memory, enter, mount_memory};
use std::path::Path;

/// Mounts it on a directory, for files of `bytes`; it is gone with the process, which must have
/// one thread.
///
/// # Errors
/// Why this system does not allow it.
pub(super) fn mount(directory: &Path, bytes: u64) -> Result<(), String> {
    enter().map_err(|_| "no mount namespace is permitted here".to_owned())?;
    let memory = Memory {
        size: bytes.next_multiple_of(2 << 20) + (2 << 20),
        huge_pages: true,
    };
    match mount_memory(directory, memory) {
        Ok(mounted) if mounted.huge_pages => Ok(()),
        Ok(_) => Err("this kernel has no huge pages for tmpfs".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
