//! Seals model weights at rest and opens them only into memory: the `weights-seal` program.
//!
//! The format and all cryptography are in [`sealed_weights`]; here are the command line, progress,
//! signals, and the private memory that `exec` runs a command with.
//!
//! * [`mod@bench`] measures all this;
//! * [`commands`] are the subcommands;
//! * [`private`] is a memory file system that only one command sees.

#![cfg(target_os = "linux")]

pub mod bench;
pub mod cancel;
pub mod cli;
pub mod commands;
pub mod error;
pub mod keys;
pub mod memory;
pub mod options;
pub mod private;
pub mod process;
pub mod progress;
pub mod shown;
pub mod units;
