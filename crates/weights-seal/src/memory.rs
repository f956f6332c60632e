//! How much memory is left for plaintext.

use crate::error::CliError;
use crate::units;
use std::fs;
use std::path::{Path, PathBuf};

/// Left for everything but the plaintext: chunks being decrypted, tables, the command's start.
const MARGIN: u64 = 64 << 20;

/// Fails if `needed` bytes of plaintext do not fit into memory now. A file system in memory states
/// room up to its limit, whether or not the memory is there; the failure would come in the middle
/// of the work, or as the end of some other process.
///
/// # Errors
/// [`CliError::Usage`] with what is there and what is needed.
pub fn check(needed: u64) -> Result<(), CliError> {
    let Some((available, limit)) = available() else {
        return Ok(());
    };
    if needed.saturating_add(MARGIN) <= available {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "the model takes {} in memory, and {} are available ({limit}); nothing was written",
        units::bytes(needed),
        units::bytes(available),
    )))
}

/// Bytes available to this process, and by which limit. `None` where the system does not say.
fn available() -> Option<(u64, &'static str)> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let machine = field(&meminfo, "MemAvailable:")?.saturating_mul(1024);
    match group_headroom() {
        Some(group) if group < machine => Some((group, "limit of the control group")),
        _ => Some((machine, "MemAvailable of the machine")),
    }
}

/// The least room in this process's control group (version 2) and those above it.
fn group_headroom() -> Option<u64> {
    let root = Path::new("/sys/fs/cgroup");
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut directory: PathBuf = root.join(group);
    let mut least = None;
    while directory.starts_with(root) {
        if let Some(room) = headroom(&directory) {
            least = Some(least.map_or(room, |least: u64| least.min(room)));
        }
        if !directory.pop() {
            break;
        }
    }
    least
}

fn headroom(group: &Path) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // Cached files are given up when memory is wanted.
    let cached = read("memory.stat").and_then(|stat| field(&stat, "inactive_file"));
    Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

/// The number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemFree:  1 kB\nMemAvailable:   23 kB\ninactive_file 7\n";
        assert_eq!(field(text, "MemAvailable:"), Some(23));
        assert_eq!(field(text, "inactive_file"), Some(7));
        assert_eq!(field(text, "missing"), None);
    }

    #[test]
    fn what_no_machine_has_does_not_fit() {
        assert!(check(0).is_ok());
        let message = check(1 << 60).unwrap_err().to_string();
        assert!(message.contains("nothing was written"), "{message}");
    }

    #[test]
    fn a_group_has_its_limit_less_what_it_cannot_give_up() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(headroom(folder.path()), None);
        write("memory.max", "max\n");
        write("memory.current", "600\n");
        assert_eq!(headroom(folder.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(headroom(folder.path()), Some(400));
        write("memory.stat", "anon 1\ninactive_file 500\n");
        assert_eq!(headroom(folder.path()), Some(900));
    }
}
