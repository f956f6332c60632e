//! Measures encrypted linear layers and checks every answer against a plaintext reference.
//!
//! The rules of the measurement are few and strict. Every output of every trial is compared with a
//! float64 product of the same inputs. A configuration with any failed trial, warm-ups included,
//! is rejected: it stays in the report with its error and its reason, and loses its durations.
//! Every stage is timed apart, and none is left out.
//!
//! * [`trial::run_trials`] runs one configuration on any [`ckks_backend::Backend`];
//! * [`report::Report`] is the result, the source of the tables and of the JSON file;
//! * [`commands`] are the subcommands of the `ckks-bench` program.

pub mod bootstrap;
pub mod calibration;
pub mod cli;
pub mod cold;
pub mod commands;
pub mod comparison;
pub mod cost;
pub mod error;
pub mod gate;
pub mod histogram;
pub mod inputs;
pub mod interrupt;
pub mod load;
pub mod memory;
pub mod model;
pub mod open;
pub mod options;
pub mod page;
pub mod paired;
pub mod plausible;
pub mod progress;
pub mod reference;
pub mod report;
pub mod sealed;
pub mod shape;
pub mod streaming;
pub mod sweep;
pub mod synthetic;
pub mod tables;
pub mod trial;
