//! CKKS building blocks that the trusted client and the untrusted server share: parameters and
//! their security table, RNS rings and transforms, the encoder, ciphertexts, evaluation keys and
//! the operations on them, and the wire format. Nothing in this crate holds a secret.
//!
//! The scheme is CKKS (Cheon, Kim, Kim, Song, ASIACRYPT 2017) over `Z_Q[X]/(X^N + 1)`, with
//! parameters for depth-one linear layers: no rescaling, two 29-bit primes, one key-switching
//! prime.

pub mod automorphism;
pub mod ciphertext;
pub mod context;
pub mod encoder;
pub mod error;
pub mod gemm;
pub mod kernels;
pub mod keyswitch;
pub mod memory;
pub mod modulus;
pub mod ntt;
pub mod params;
pub mod poly;
pub mod rounding;
pub mod security;
pub mod simd;
pub mod upcoming;
pub mod wire;
pub mod xof;

pub use ciphertext::{Ciphertext, GaloisKeys, MaskId, SeededCiphertext};
pub use context::Context;
pub use error::{CkksError, ParameterError};
pub use gemm::GemmParameters;
pub use keyswitch::{GaloisKey, SeededGaloisKey};
pub use params::{ParameterDigest, Parameters};
pub use poly::RnsPoly;
pub use rounding::Answer;
pub use rustfft::num_complex::Complex64;
pub use wire::{Wire, WireError};
