//! The attacks that sealed models must withstand: one test for each, and the table of all of them
//! in `docs/sealed-attacks.md`, which is made from the same list.
//!
//! Whoever attacks here can do anything to the files. Those "and listed" hold the model key and the
//! publisher's key too: they show that the inner checks hold when the outer ones are got around.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod directory;
mod documents;
mod error_name;
mod forge;
mod gcm;
mod header;
mod holder;
mod outputs;
mod places;
mod regions;
mod registry;
mod site;
mod table;
