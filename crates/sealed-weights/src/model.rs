//! Whole models: directories of files, sealed, opened, rewrapped and rotated.

mod documents;
mod extract;
mod policy;
mod rewrap;
mod rotate;
mod seal;
mod sealed;
mod signed;
mod source;
mod staging;
mod tensors;

pub use extract::{ExtractOptions, Extraction, is_memory_file_system};
pub use policy::Policy;
pub use rewrap::{Rewrap, rewrap};
pub use rotate::{RotateOptions, Rotation};
pub use seal::{SealJob, SealOptions};
pub use sealed::SealedModel;
pub use signed::SignedModel;
pub use tensors::Tensor;
