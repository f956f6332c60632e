//! The C ABI of a CKKS library under test, from the side of the caller.
//!
//! `cuda/include/ckks_backend.h` is the reference: it says what each function does, who owns what,
//! and in which order calls come. [`sys`] has its declarations, generated when this crate is built.
//! [`Library`] loads a shared object that exports them and [`Context`] makes the calls, with slices
//! instead of pointers and a [`Result`] for each.
//!
//! # What the wrapper guarantees
//!
//! * An object of another ABI version, or without one of the functions, is not used at all.
//! * No call gets a null pointer, a length that is not that of its buffer, or a program whose terms
//!   lie outside its arrays ([`Program`] is checked when it is made).
//! * The object stays loaded for as long as a context of it exists, and a context is freed once.
//! * A context stays on its thread: the ABI has one thread make all calls.
//! * After a status that leaves a context undefined ([`Status::is_fatal`]) no call reaches the
//!   object but the one that frees it.
//! * What an object reports is not believed: lengths of texts are limited, texts are UTF-8, and
//!   values that it did not write are found.
//!
//! An object is native code in this process all the same. One that crashes, hangs or exits takes
//! the process with it, so load it in a process that may end: `ckks-bench worker`.
//!
//! # Building
//!
//! The declarations are made by bindgen, which needs **libclang** (Debian and Ubuntu: `apt install
//! libclang-dev`; elsewhere set `LIBCLANG_PATH` to the folder that has it). Users of the built
//! program do not need it.

mod context;
mod error;
mod library;
mod program;
mod symbols;
mod text;

pub use context::{Context, UNWRITTEN};
pub use error::{AbiError, LoadError, MESSAGE_LIMIT, Status};
pub use library::Library;
pub use program::{Giant, Program, ProgramError, Term};
pub use sys::{
    CKKS_BACKEND_ABI_VERSION as ABI_VERSION, ckks_backend_key_report as KeyReport,
    ckks_backend_memory as Memory, ckks_backend_prepare_report as PrepareReport,
    ckks_backend_transfer as Transfer,
};
pub use text::TEXT_LIMIT;

/// Declarations of `ckks_backend.h`, as bindgen makes them.
#[allow(
    missing_docs,
    missing_debug_implementations,
    non_camel_case_types,
    unsafe_op_in_unsafe_fn,
    unreachable_pub,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    reason = "generated"
)]
pub mod sys {
    include!(concat!(env!("OUT_DIR"), "/ckks_backend.rs"));
}
