//! Sweeps: all combinations of shapes, batches, plans and threads, each measured in its own
//! process, recorded line by line so that nothing that is finished is ever lost.
//!
//! `docs/sweeps.md` describes the use and the file.

pub mod axes;
pub mod file;
pub mod options;
pub mod point;
pub mod progress;
pub mod record;
pub mod summary;
pub mod worker;
