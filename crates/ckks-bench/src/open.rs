//! From the name given to `--lib` to a backend.

use ckks_backend::{Backend, BackendError, TrialSpec};

/// Opens a backend by library, device and specification; commands take it as an argument so that
/// tests can put their own backend in its place.
pub type Opener<'a> = dyn Fn(&str, &str, &TrialSpec) -> Result<Box<dyn Backend>, BackendError> + 'a;

pub use ckks_backend::native::parameter_sets;
pub use ckks_backend::{LibraryStatus as Library, check, first_device, libraries, library, open};
