//! What is installed here: where each library was looked for, what was found, what to set.

mod cuda;
mod inspect;
mod objects;
mod pinned;
mod places;
mod python;
mod repository;
mod search;
mod surroundings;

pub use self::python::named_interpreter;
pub use inspect::{Inspection, Located, inspect};
pub use objects::{BuildRecord, RECORD_SCHEMA, ShimObject, default_folder};
pub use pinned::{FileCheck, FileState, Verification, verify};
pub use places::{Installation, MissingPart, installation};
pub use repository::{ShimSources, shim_sources};
pub use search::Search;
pub use surroundings::Surroundings;

pub(crate) use objects::{digest, record_path};
pub(crate) use search::find_program;
