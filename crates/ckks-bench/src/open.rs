//! From the name given to `--lib` to a backend.

use ckks_backend::{Backend, BackendError, ParameterReport, TrialSpec};

/// Opens a backend by library, device and specification; commands take it as an argument so that
/// tests can put their own backend in its place.
pub type Opener<'a> = dyn Fn(&str, &str, &TrialSpec) -> Result<Box<dyn Backend>, BackendError> + 'a;

/// What `ckks-bench libs` says about one library.
pub use ckks_backend::LibraryStatus as Library;

/// Every library that this program knows.
#[must_use]
pub fn libraries() -> Vec<Library> {
    ckks_backend::libraries()
}

/// Checks that the backend exists, before any file is read for it.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device.
pub fn check(library: &str, device: &str) -> Result<(), BackendError> {
    ckks_backend::check(library, device)
}

/// Opens the backend of that name.
///
/// # Errors
/// [`BackendError::NotAvailable`] for an unknown name or device, and what the backend itself
/// refuses.
pub fn open(
    library: &str,
    device: &str,
    spec: &TrialSpec,
) -> Result<Box<dyn Backend>, BackendError> {
    ckks_backend::open(library, device, spec)
}

/// The parameter sets of the native backend.
#[must_use]
pub fn parameter_sets() -> Vec<ParameterReport> {
    ckks_backend::native::parameter_sets()
}
