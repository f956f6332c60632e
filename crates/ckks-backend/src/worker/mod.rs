//! Libraries under test in a process of their own: `docs/worker-protocol.md`.

pub mod frame;
pub mod message;
