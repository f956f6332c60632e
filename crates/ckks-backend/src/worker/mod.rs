//! Libraries under test in a process of their own: `docs/worker-protocol.md`.
//!
//! The parent's side is [`slots`] and [`layer`], which make a worker a [`Backend`](crate::Backend);
//! the worker's side is [`serve`] for shared objects of the C ABI and [`layer::serve`].

pub mod bootstrap;
mod client;
pub mod ended;
pub mod frame;
pub mod layer;
pub mod message;
mod process;
pub mod resident;
pub mod serve;
mod session;
pub mod slots;
mod start;
pub mod stderr;
mod streams;
mod texts;

pub use client::{Client, WorkerError};
pub use process::{Limits, WorkerFault};
pub use start::{PARENT_VARIABLE, WorkerCommand};

/// An empty reply.
#[derive(serde::Deserialize)]
struct Nothing {}
