//! Cold measurements: rotating through enough copies of a layer that none is still in a cache.

use serde::{Deserialize, Serialize};

/// Working set that no cache of today holds.
const MIN_WORKING_SET: u64 = 256 << 20;

/// How cold a configuration was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cold {
    /// Copies of the prepared layer that the evaluations rotate through.
    pub replicas: usize,
    /// Bytes of all copies: those measured, or those predicted where the layer was not prepared.
    pub working_set_bytes: u64,
    /// Bytes that are certain to leave the caches: the larger of 256 MiB and 4 × L3.
    pub target_bytes: u64,
    /// Whether the copies reach that. Where memory is short, or the weights take much less than
    /// predicted because diagonals of zeros are left out, they do not, and the figures are between
    /// warm and cold.
    pub leaves_caches: bool,
}

impl Cold {
    /// Chooses the number of copies for a layer of `prepared_bytes`, within `spare_bytes` for the
    /// copies beyond the first (`None`: no limit known).
    #[must_use]
    pub fn choose(prepared_bytes: u64, l3_bytes: Option<u64>, spare_bytes: Option<u64>) -> Cold {
        let prepared = prepared_bytes.max(1);
        let target_bytes = MIN_WORKING_SET.max(l3_bytes.unwrap_or(0).saturating_mul(4));
        let wanted = target_bytes.div_ceil(prepared) + 1;
        let affordable = spare_bytes.map_or(u64::MAX, |spare| (spare / prepared).saturating_add(1));
        let replicas = wanted.min(affordable);
        let working_set_bytes = replicas.saturating_mul(prepared_bytes);
        Cold {
            replicas: usize::try_from(replicas).unwrap_or(usize::MAX),
            working_set_bytes,
            target_bytes,
            leaves_caches: working_set_bytes >= target_bytes,
        }
    }

    /// The same copies, judged by the bytes that one of them really takes.
    #[must_use]
    pub fn measured(self, prepared_bytes: u64) -> Cold {
        let working_set_bytes = (self.replicas as u64).saturating_mul(prepared_bytes);
        Cold {
            working_set_bytes,
            leaves_caches: working_set_bytes >= self.target_bytes,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn enough_copies_and_one_more() {
        let cold = Cold::choose(100 * MIB, Some(32 * MIB), None);
        assert_eq!((cold.replicas, cold.target_bytes), (4, 256 * MIB));
        assert!(cold.leaves_caches);
        let large_cache = Cold::choose(100 * MIB, Some(256 * MIB), None);
        assert_eq!(
            (large_cache.replicas, large_cache.target_bytes),
            (12, 1024 * MIB)
        );
    }

    #[test]
    fn a_layer_larger_than_the_caches_takes_two() {
        assert_eq!(Cold::choose(4000 * MIB, None, None).replicas, 2);
    }

    #[test]
    fn memory_caps_the_copies_and_the_report_says_so() {
        let cold = Cold::choose(100 * MIB, None, Some(150 * MIB));
        assert_eq!((cold.replicas, cold.working_set_bytes), (2, 200 * MIB));
        assert!(!cold.leaves_caches);
        assert_eq!(Cold::choose(100 * MIB, None, Some(0)).replicas, 1);
    }

    #[test]
    fn the_measured_size_decides() {
        let cold = Cold::choose(100 * MIB, None, None);
        assert!(cold.leaves_caches);
        let sparse = cold.measured(50 * MIB);
        assert_eq!((sparse.replicas, sparse.working_set_bytes), (4, 200 * MIB));
        assert!(!sparse.leaves_caches);
        assert!(cold.measured(64 * MIB).leaves_caches);
        assert!(sparse.measured(100 * MIB) == cold);
    }

    #[test]
    fn an_empty_layer_is_no_division_by_zero() {
        assert!(!Cold::choose(0, None, None).leaves_caches);
    }
}
