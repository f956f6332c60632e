//! The machine that a run was measured on.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::available_parallelism;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine. Fields are `None` where the system does not say.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Model name of the first CPU.
    pub cpu_model: Option<String>,
    /// Logical cores that the process may use.
    pub cores: usize,
    /// All third-level caches together, in bytes.
    pub l3_bytes: Option<u64>,
    /// Instruction sets that matter here, of those that the CPU has.
    pub cpu_features: Vec<String>,
    /// Memory of the machine, or the limit of the container, in bytes.
    pub memory_bytes: Option<u64>,
    /// Operating system and its version.
    pub os: Option<String>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Load averages over 1, 5 and 15 minutes at the start of the run.
    pub load_at_start: Option<[f64; 3]>,
    /// Load averages at its end; `None` until then.
    pub load_at_end: Option<[f64; 3]>,
}

impl Host {
    /// This machine, now.
    #[must_use]
    pub fn current() -> Host {
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let system = system.as_ref();
        let limit = system
            .and_then(System::cgroup_limits)
            .map_or(u64::MAX, |limits| limits.total_memory);
        let named = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Host {
            cpu_model: system.and_then(|system| named(system.cpus().first()?.brand())),
            cores: cores(),
            l3_bytes: l3_bytes(Path::new("/sys/devices/system/cpu")),
            cpu_features: cpu_features(),
            memory_bytes: system
                .map(|system| system.total_memory().min(limit))
                .filter(|&bytes| bytes > 0),
            os: System::long_os_version().ok(),
            kernel: System::kernel_version().ok(),
            load_at_start: load(),
            load_at_end: None,
        }
    }

    /// Whether both are the same machine, whatever its load.
    #[must_use]
    pub fn is_same_machine(&self, other: &Host) -> bool {
        let still = |host: &Host| Host {
            load_at_start: None,
            load_at_end: None,
            ..host.clone()
        };
        still(self) == still(other)
    }
}

/// Logical cores that the process may use; 1 where the system does not say.
#[must_use]
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// Load averages over 1, 5 and 15 minutes; `None` where the system does not say.
#[must_use]
pub fn load() -> Option<[f64; 3]> {
    let load = System::load_average().ok()?;
    Some([load.one, load.five, load.fifteen])
}

/// All third-level caches of the machine, each counted once.
fn l3_bytes(cpus: &Path) -> Option<u64> {
    let read = |path: &Path| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let mut caches = BTreeMap::new();
    for cpu in fs::read_dir(cpus).ok()?.flatten() {
        let Ok(levels) = fs::read_dir(cpu.path().join("cache")) else {
            continue;
        };
        for cache in levels.flatten().map(|entry| entry.path()) {
            if read(&cache.join("level")).as_deref() != Some("3") {
                continue;
            }
            // The CPUs that share a cache name it.
            if let Some(sharers) = read(&cache.join("shared_cpu_list"))
                && let Some(size) = read(&cache.join("size")).and_then(|text| size_of(&text))
            {
                caches.insert(sharers, size);
            }
        }
    }
    Some(caches.values().sum()).filter(|&bytes| bytes > 0)
}

/// `32768K` in bytes.
fn size_of(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<String> {
    let detected = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("aes", is_x86_feature_detected!("aes")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512dq", is_x86_feature_detected!("avx512dq")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512ifma", is_x86_feature_detected!("avx512ifma")),
        ("avx512vbmi", is_x86_feature_detected!("avx512vbmi")),
        ("avx512vnni", is_x86_feature_detected!("avx512vnni")),
    ];
    detected
        .into_iter()
        .filter(|(_, has)| *has)
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_features() -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_by_hand() {
        assert_eq!(size_of("32768K"), Some(32 << 20));
        assert_eq!(size_of("1M"), Some(1 << 20));
        assert_eq!(size_of("512"), Some(512));
        assert_eq!(size_of("K"), None);
        assert_eq!(size_of(""), None);
    }

    #[test]
    fn shared_caches_count_once() {
        let root = tempfile::tempdir().unwrap();
        let add = |cpu: &str, level: &str, size: &str, sharers: &str| {
            let cache = root
                .path()
                .join(cpu)
                .join("cache")
                .join(format!("index{level}"));
            fs::create_dir_all(&cache).unwrap();
            for (name, text) in [
                ("level", level),
                ("size", size),
                ("shared_cpu_list", sharers),
            ] {
                fs::write(cache.join(name), format!("{text}\n")).unwrap();
            }
        };
        add("cpu0", "2", "1024K", "0");
        for (cpu, sharers) in [("cpu0", "0-1"), ("cpu1", "0-1"), ("cpu2", "2-3")] {
            add(cpu, "3", "32768K", sharers);
        }
        assert_eq!(l3_bytes(root.path()), Some(64 << 20));
        assert_eq!(l3_bytes(&root.path().join("missing")), None);
    }

    #[test]
    fn this_machine_has_a_core() {
        let host = Host::current();
        assert!(host.cores >= 1);
        assert_eq!(host.load_at_end, None);
        let later = Host {
            load_at_end: Some([1.0; 3]),
            ..host.clone()
        };
        assert!(host.is_same_machine(&later));
        let larger = Host {
            cores: host.cores + 1,
            ..host.clone()
        };
        assert!(!host.is_same_machine(&larger));
    }
}
