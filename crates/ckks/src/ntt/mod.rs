//! Negacyclic number-theoretic transform over one prime.
//!
//! `forward` maps the coefficients of `a(X) mod X^N + 1` to its values at the odd powers of a
//! primitive 2N-th root ψ, in bit-reversed order: position `i` holds `a(ψ^(2·rev(i) + 1))`, where
//! `rev` reverses log2(N) bits. `inverse` undoes it, including the factor 1/N. Inputs and outputs
//! are canonical residues, so every implementation gives the same bits whatever range it uses
//! inside.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod kernel;
#[cfg(target_arch = "x86_64")]
mod packed;
mod reference;
mod tables;

pub use kernel::Kernel;
pub use tables::NttTable;
