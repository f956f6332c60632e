//! Resident memory of processes, where the system says it (Linux).

use std::fs;

/// Of a process, in bytes.
pub(super) fn of(process: u32) -> Option<u64> {
    in_status(
        &fs::read_to_string(format!("/proc/{process}/status")).ok()?,
        "VmRSS:",
    )
}

/// Largest resident memory of this process since its start, or since the measurement was reset, in
/// bytes.
#[must_use]
pub fn peak() -> Option<u64> {
    in_status(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

fn in_status(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_fields() {
        let status = "VmPeak:\t 9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(in_status(status, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(in_status(status, "VmRSS:"), Some(7 * 1024));
        assert_eq!(in_status("VmHWM:\t x kB\n", "VmHWM:"), None);
        assert_eq!(in_status("", "VmHWM:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_says_what_is_used() {
        assert!(peak().unwrap() > 100_000);
        assert!(of(std::process::id()).unwrap() > 100_000);
    }
}
