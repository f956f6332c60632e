//! The `gemm` plan: plaintext–ciphertext products as integer matrix multiplication.
//!
//! Coefficient `i` of ciphertext `j` holds feature `j` of vector `i`, so that the products of a
//! batch are `Y_k = Σ_j w_jk·ct_j` with small integer weights: no rotation, no key switching, no
//! transform, just an integer matrix product modulo `2^52` (Bae, Cheon, Hanrot, Park, Stehlé,
//! *Plaintext-Ciphertext Matrix Multiplication and FHE Bootstrapping*, CRYPTO 2024).
//!
//! A ciphertext is `(b_j, a_j)` with `b_j = m_j + e_j - a_j·s` over `Z_Q[X]/(X^N + 1)`. The masks
//! `a_j` are fixed and public ([`MaskExpander`]): both sides derive them, `b` alone travels, and
//! the server computes `(W·A)_k = Σ_j w_jk·a_j` once for a layer. **Every block of N columns has a
//! fresh secret**: two batches under one secret and the same masks would show the difference of
//! their messages. `ckks_secret::gemm` keeps that rule by its types.
//!
//! | who | what |
//! |---|---|
//! | client | `b_j`, packed: [`UploadBuffer`] |
//! | server | [`UploadView`], `b'_k = Σ_j w_jk·b_j`, rounded: [`AnswerBuffer`] |
//! | server, once for a layer | `(W·A)_k`, rounded: [`MaskProductsBuffer`] |
//! | client | [`AnswerView`], [`MaskProductsView`]; `b'_k + (W·A)_k·s` |

mod direct;
mod masks;
mod params;
mod ring;
mod rounding;
mod wire;

pub use masks::{Epoch, MaskExpander};
pub use params::{GemmParameters, LOG_Q, MODULUS_MASK};
pub use ring::GemmRing;
pub use rounding::{MIN_BITS, round, round_all};
pub use wire::{
    AnswerBuffer, AnswerView, MAX_COLUMNS, MAX_ROWS, MaskProductsBuffer, MaskProductsView,
    MessageTile, UploadBuffer, UploadView, answer_len, mask_products_len, pack, packed_len, unpack,
    upload_len,
};
