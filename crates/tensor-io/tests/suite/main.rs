//! Behaviour of the crate through its public API: files, HTTP servers, Hub repositories, arrays.

// Helper functions of tests fail as tests do.
#![allow(clippy::unwrap_used)]

mod atomic;
mod http;
mod hub;
mod local;
mod npy;
mod properties;
mod support;
