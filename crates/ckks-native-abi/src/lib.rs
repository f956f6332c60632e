//! The engine of this repository as a shared object of the backend ABI,
//! `libckks_backend_native.so`.
//!
//! It exists to test the ABI with a library that encrypts, and as the example of an
//! implementation. It is *not* how the engine is measured: layers run here as baby steps and giant
//! steps on single ciphertext operations, without the engine's own packing, streams of prepared
//! weights, rounding of weights at random, or short answers. `--lib native` has all of those.
//!
//! One parameter set, `diagonal-4096`: 2048 complex slots, Q of two 29-bit primes. Answers are not
//! rescaled; fixed scales leave room for slots up to about 3.9 (`describe` has it as `largest`),
//! which is right for layers with weights of ±1/√inputs and vectors of ±1.
//!
//! `engine` is safe code with one method for each function; `export` has the functions
//! themselves: it checks pointers, catches panics, and keeps the message of the last failure.

mod engine;
mod evaluate;
pub mod export;
mod failure;
mod spec;
