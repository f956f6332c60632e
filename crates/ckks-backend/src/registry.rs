//! The libraries that can be asked for by name.

use crate::{Backend, BackendError, TrialSpec, native};

/// What is known about one library on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LibraryStatus {
    /// Name for `--lib`.
    pub name: &'static str,
    /// Devices for `--device`.
    pub devices: &'static [&'static str],
    /// Whether it can be opened here.
    pub available: bool,
    /// What it is.
    pub description: &'static str,
    /// What was looked for, where, and what to set if it is missing.
    pub looked_for: String,
}

/// Every library this program knows.
pub fn libraries() -> Vec<LibraryStatus> {
    vec![LibraryStatus {
        name: "native",
        devices: &["cpu"],
        available: true,
        description: "the engine of this repository",
        looked_for: format!(
            "built in, nothing to install; kernels: {}",
            ckks::simd::SimdLevel::detect().name()
        ),
    }]
}

/// Checks that a library of that name exists here and has that device.
///
/// # Errors
/// [`BackendError::NotAvailable`].
pub fn check(name: &str, device: &str) -> Result<(), BackendError> {
    let missing = |reason| BackendError::NotAvailable {
        name: name.to_owned(),
        reason,
    };
    let known = libraries();
    let Some(library) = known.iter().find(|library| library.name == name) else {
        let names: Vec<_> = known.iter().map(|library| library.name).collect();
        return Err(missing(format!(
            "--lib knows {}; `ckks-bench libs` says what each needs",
            names.join(", ")
        )));
    };
    if !library.devices.contains(&device) {
        return Err(missing(format!(
            "it has no device \"{device}\"; give --device {}",
            library.devices.join(" or ")
        )));
    }
    Ok(())
}

/// Opens a backend by name.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device, and what the backend refuses.
pub fn open(name: &str, device: &str, spec: &TrialSpec) -> Result<Box<dyn Backend>, BackendError> {
    check(name, device)?;
    native::open(spec)
}
