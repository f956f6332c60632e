//! Model weights that are encrypted at rest and opened only into memory.
//!
//! A **sealed model** is a directory: for every file of a model a sealed one of the same length
//! plus a small header, a signed manifest, and the model key wrapped for one or more recipients.
//! `docs/sealed-format.md` specifies the bytes. The format binds every chunk to its place, every
//! file to its model, key and path, and the whole to a publisher's signature.

#![cfg(unix)]

pub mod cipher;
pub mod content;
pub mod core_header;
mod document;
pub mod error;
pub mod ids;
pub mod manifest;
pub mod memory;
pub mod model;
pub mod path;
mod plain;
pub mod private_file;
pub mod publisher_file;
pub mod recipient;
pub mod recipients;
mod regular;
pub mod schedule;
mod seal_file;
pub mod sealed_file;
pub mod secret;
pub mod signing;
pub mod suite;
pub mod work;
