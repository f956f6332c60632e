//! Memory: what a run may use, and the refusal of one that needs more.

use crate::error::BenchError;
use bench_report::units;
use std::fs;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Memory that the process may still use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Available {
    /// Bytes.
    pub bytes: u64,
    /// Where the figure comes from.
    pub source: &'static str,
}

impl Available {
    /// What the machine has available, or the limit of the container where that is less.
    ///
    /// `None` where the system does not say.
    #[must_use]
    pub fn now() -> Option<Available> {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok()?;
        let machine = Available {
            bytes: system.available_memory(),
            source: "available memory",
        };
        // The limit and not what is free of it: the page cache counts as used there.
        let container = system.cgroup_limits().map(|limits| Available {
            bytes: limits.total_memory,
            source: "container limit",
        });
        [Some(machine), container]
            .into_iter()
            .flatten()
            .filter(|available| available.bytes > 0)
            .min_by_key(|available| available.bytes)
    }

    /// Refuses what would not fit.
    ///
    /// # Errors
    /// [`BenchError::Usage`] that names what is needed, what there is, and the way out.
    pub fn check(&self, configuration: &str, needed: u64) -> Result<(), BenchError> {
        if needed <= self.bytes {
            return Ok(());
        }
        Err(BenchError::usage(format!(
            "{configuration} needs {} of memory, but the {} is {}; take a smaller --shape or \
             --batch, leave --cold out, or use a machine with more memory",
            units::bytes(needed),
            self.source,
            units::bytes(self.bytes),
        )))
    }
}

/// What the program itself holds beside the backend: weights in f32, vectors and two results in
/// f64, vectors and a result in f32.
#[must_use]
pub fn own_bytes(d_in: usize, d_out: usize, batch: usize) -> u64 {
    let [d_in, d_out, batch] = [d_in, d_out, batch].map(|value| value as u64);
    let weights = d_in.saturating_mul(d_out).saturating_mul(4);
    let vector = d_in
        .saturating_mul(12)
        .saturating_add(d_out.saturating_mul(20));
    let vectors = batch.saturating_mul(vector);
    weights.saturating_add(vectors)
}

/// Starts a new measurement of the largest resident memory. Has no effect outside Linux.
pub fn reset_peak() {
    // 5 resets VmHWM (proc_pid_clear_refs(5)). Where that is not allowed the figure keeps the peak
    // of the whole process, which is never too small.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident memory since [`reset_peak`], in bytes; `None` outside Linux.
pub use ckks_backend::worker::resident::peak;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_names_both_figures_and_the_way_out() {
        let available = Available {
            bytes: 2_000_000_000,
            source: "container limit",
        };
        assert!(available.check("8x8", 2_000_000_000).is_ok());
        let error = available.check("2048x248320", 4_070_000_000).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        for part in [
            "2048x248320",
            "4.07 GB",
            "container limit is 2.00 GB",
            "--batch",
            "--cold",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn own_bytes_by_hand() {
        // 4·(3·5) + 2·(12·3 + 20·5)
        assert_eq!(own_bytes(3, 5, 2), 60 + 272);
        assert_eq!(own_bytes(usize::MAX, 2, 1), u64::MAX);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn linux_says_what_is_used_and_available() {
        assert!(peak().unwrap() > 100_000);
        assert!(Available::now().unwrap().bytes > 1_000_000);
    }
}
