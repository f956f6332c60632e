//! One trait for every library under test.
//!
//! A trial is always the same sequence, each step timed apart by the caller:
//! `open` → [`Backend::generate_keys`] → [`Backend::prepare`] → (with `--ahead`:
//! [`Backend::evaluate_ahead`]) → [`Backend::encrypt`] → [`Backend::evaluate`] →
//! [`Backend::decrypt`]. A backend holds both sides of the protocol, client and server, because
//! it exists to measure them; the service keeps them in separate processes.

pub mod discovery;
mod error;
pub mod native;
mod registry;
pub mod shim;
mod trial;
pub mod vendor;
pub mod worker;

pub use discovery::Located;
pub use error::BackendError;
pub use registry::{
    DEFAULT_DEVICE, LibraryStatus, check, first_device, known, libraries, library, open,
    open_bootstrap,
};
pub use trial::{
    Backend, Calibration, Circumstances, Counts, Delivery, Description, EvaluationReport,
    GemmClientRates, KeyReport, MaskProducts, MemoryUse, Packing, ParameterReport, Phase,
    PlanChoice, PlanEstimate, PlanReport, Predicted, PrepareReport, TransferReport, TrialSpec,
};
