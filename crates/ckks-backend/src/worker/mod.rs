//! Libraries under test in a process of their own: `docs/worker-protocol.md`.

mod client;
pub mod ended;
pub mod frame;
pub mod layer;
pub mod message;
mod process;
pub mod resident;
pub mod slots;
pub mod stderr;

pub use client::{Client, WorkerError};
pub use process::{Limits, WorkerFault};
pub use slots::WorkerCommand;

/// An empty reply.
#[derive(serde::Deserialize)]
struct Nothing {}
