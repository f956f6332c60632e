//! From the name given to `--lib` to a backend.

use ckks_backend::{Backend, BackendError, ParameterReport, TrialSpec};

/// Opens a backend by library, device and specification; commands take it as an argument so that
/// tests can put their own backend in its place.
pub type Opener<'a> = dyn Fn(&str, &str, &TrialSpec) -> Result<Box<dyn Backend>, BackendError> + 'a;

/// What `ckks-bench libs` says about one library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Library {
    /// Name for `--lib`.
    pub name: &'static str,
    /// Whether it can be opened here.
    pub available: bool,
    /// What it is.
    pub description: &'static str,
    /// What was looked for, and what to set where it is missing.
    pub looked_for: String,
}

/// Every library that this program knows.
#[must_use]
pub fn libraries() -> Vec<Library> {
    vec![Library {
        name: "native",
        available: false,
        description: "the engine of this repository, devices: cpu",
        looked_for: "built in; nothing to install".to_owned(),
    }]
}

/// Checks that the backend exists, before any file is read for it.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device.
pub fn check(library: &str, device: &str) -> Result<(), BackendError> {
    let missing = |reason: String| {
        Err(BackendError::NotAvailable {
            name: library.to_owned(),
            reason,
        })
    };
    match (library, device) {
        ("native", "cpu") => Ok(()),
        ("native", _) => missing(format!(
            "it has no device \"{device}\"; give --device cpu or leave --device out"
        )),
        _ => {
            let known: Vec<&str> = libraries().iter().map(|library| library.name).collect();
            missing(format!(
                "--lib knows {}; `ckks-bench libs` says what each needs",
                known.join(", ")
            ))
        }
    }
}

/// Opens the backend of that name.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device, and what the backend itself
/// refuses.
pub fn open(
    library: &str,
    device: &str,
    _spec: &TrialSpec,
) -> Result<Box<dyn Backend>, BackendError> {
    check(library, device)?;
    Err(BackendError::NotAvailable {
        name: library.to_owned(),
        reason: "this build does not contain it".to_owned(),
    })
}

/// The parameter sets of the native backend.
#[must_use]
pub fn parameter_sets() -> Vec<ParameterReport> {
    Vec::new()
}
