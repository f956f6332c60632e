//! The cost model's figures of this machine, measured once and kept.

use bench_report::host::Host;
use ckks_backend::{BackendError, Calibration, native};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Name and version of the file's format.
const SCHEMA: &str = "ckks-bench-calibration/2";

/// A kept measurement, with what it holds for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Kept {
    schema: String,
    /// Version of the program.
    version: String,
    /// Kernels chosen at run time.
    kernels: String,
    cpu: Option<String>,
    profile: String,
    calibration: Calibration,
}

impl Kept {
    fn holds_for(&self, other: &Kept) -> bool {
        Kept {
            calibration: other.calibration,
            ..self.clone()
        } == *other
    }
}

/// The figures of this machine: those kept in the user's cache folder, or newly measured in about
/// a second and kept. `fresh` measures in any case. A cache that cannot be read or written costs
/// the measurement, nothing else.
///
/// # Errors
/// What the measurement fails with.
pub fn of_this_machine(host: &Host, fresh: bool) -> Result<Calibration, BackendError> {
    let folder = cache_folder();
    load_or_measure(folder.as_deref(), host, fresh, native::calibrate)
}

fn load_or_measure(
    folder: Option<&Path>,
    host: &Host,
    fresh: bool,
    measure: impl FnOnce() -> Result<Calibration, BackendError>,
) -> Result<Calibration, BackendError> {
    let path = folder.map(|folder| folder.join("calibration.json"));
    let mut now = Kept {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernels: native::kernels(),
        cpu: host.cpu_model.clone(),
        profile: bench_report::build!().profile,
        calibration: Calibration::default(),
    };
    let kept = path
        .as_deref()
        .filter(|_| !fresh)
        .and_then(|path| std::fs::read(path).ok())
        .and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok())
        .filter(|kept| kept.holds_for(&now) && kept.calibration.is_usable());
    if let Some(kept) = kept {
        return Ok(kept.calibration);
    }
    now.calibration = measure()?;
    if let Some(path) = path {
        keep(&path, &now);
    }
    Ok(now.calibration)
}

/// Writes the file whole or not at all: other runs may read it at the same time.
fn keep(path: &Path, kept: &Kept) {
    let Ok(text) = serde_json::to_vec_pretty(kept) else {
        return;
    };
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    // Without a cache the next run measures again.
    let _ = tensor_io::write_atomically(path, |file| file.write_all(&text));
}

/// `$XDG_CACHE_HOME/ckks-bench`, or `~/.cache/ckks-bench`; none where neither is known.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |variable: &str| {
        std::env::var_os(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("ckks-bench"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(diagonal_evaluation: f64) -> Calibration {
        Calibration {
            diagonal_evaluation,
            ..Calibration::default()
        }
    }

    #[test]
    fn measured_once_for_each_machine() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("new folder");
        let mut host = Host::current();
        let never = || -> Result<Calibration, BackendError> { panic!("measured again") };
        let load = |host: &Host, fresh, figure| {
            load_or_measure(Some(&cache), host, fresh, || Ok(figures(figure))).unwrap()
        };
        assert_eq!(load(&host, false, 1.25), figures(1.25));
        let again = load_or_measure(Some(&cache), &host, false, never).unwrap();
        assert_eq!(again, figures(1.25));
        assert_eq!(load(&host, true, 1.5), figures(1.5));
        assert_eq!(load(&host, false, 9.0), figures(1.5));
        host.cpu_model = Some("another".to_owned());
        assert_eq!(load(&host, false, 2.0), figures(2.0));
    }

    #[test]
    fn a_broken_or_senseless_file_is_measured_over() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::current();
        let path = folder.path().join("calibration.json");
        let load = |figure| {
            load_or_measure(Some(folder.path()), &host, false, || Ok(figures(figure))).unwrap()
        };
        std::fs::write(&path, b"{ \"schema\": ").unwrap();
        assert_eq!(load(1.25), figures(1.25));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("1.25", "-1.25")).unwrap();
        assert_eq!(load(1.5), figures(1.5));
        let without = load_or_measure(None, &host, false, || Ok(figures(3.0))).unwrap();
        assert_eq!(without, figures(3.0));
    }
}
