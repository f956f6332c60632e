//! The `gemm` plan: many vectors against one layer as a single integer matrix product.
//!
//! Coefficient i of ciphertext j holds feature j of vector i. The answers' ciphertexts are then
//! `Y_k = Σ_j w_jk·ct_j` with small integer weights, and no rotation, key switch or transform is
//! needed: the server multiplies the d_out × d_in integers with the d_in × B residues modulo 2^52
//! that it received, with any number B of columns (Bae, Cheon, Hanrot, Park and Stehlé,
//! *Plaintext-Ciphertext Matrix Multiplication and FHE Bootstrapping*, CRYPTO 2024). The other half
//! of the product, W·A, is the same for all batches, because the masks A are public and fixed for
//! an epoch; each batch has its own secrets instead. [`GemmLayer`] computes it once.

mod client;
mod estimate;
mod kernel;
mod layer;
mod multiply;
mod scales;
mod weights;

pub use client::{BatchScale, GemmClient, GemmManifest};
pub use estimate::{GemmMemory, expected_rms};
pub use kernel::{GemmKernel, peak_multiply_adds_per_second};
pub use layer::{GemmLayer, GemmTimes};
pub use scales::{AnswerLength, DEFAULT_ERROR_BUDGET, LEAST_ERROR_BUDGET, WeightScale};
pub(crate) use weights::PackedWeights;
