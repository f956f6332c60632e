//! Decryption of a batch.

use super::products::{CachedMaskProducts, check};
use super::rows::{Factor, ProductScratch};
use super::secret::BatchSecret;
use crate::error::SecretError;
use ckks::gemm::{AnswerView, LOG_Q};
use ckks::simd::multiversion;
use rayon::prelude::*;
use zeroize::Zeroizing;

impl BatchSecret {
    /// Decrypts the answer to this batch, and destroys the secrets, also when it fails.
    ///
    /// Returns `outputs × columns` integers, row by row: value `k·columns + i` is output `k` of
    /// vector `i`, `Σ_j w_jk·m_ij` plus noise, centred modulo `2^52`. Rounding does not change the
    /// scale: coefficients of fewer bits are multiplied up again.
    ///
    /// Size, bits and masks of the answer are compared with the client's own (`answer_bits`, those
    /// of `products`, and the batch's columns), not believed. Whether the integers are right is
    /// another matter: a server can send any.
    ///
    /// # Errors
    /// [`SecretError::OtherParameters`] and [`SecretError::Count`] for mask products of other
    /// parameters or another epoch, or an answer of another shape; [`SecretError::Wire`] for bytes
    /// that are no answer.
    pub fn decrypt(
        self,
        products: &CachedMaskProducts,
        answer_bits: u32,
        answer: &[u8],
    ) -> Result<Vec<i64>, SecretError> {
        let rows = products.rows();
        let ring = rows.ring();
        let parameters = ring.parameters();
        if parameters.digest() != self.digest {
            return Err(SecretError::OtherParameters {
                key: self.digest,
                context: parameters.digest(),
            });
        }
        let epochs = (self.epoch.0, products.epoch().0);
        check("epoch of the mask products", epochs.0, epochs.1)?;
        let view = AnswerView::parse(parameters, answer)?;
        let (outputs, columns) = (products.outputs(), self.columns);
        check(
            "outputs of the answer",
            outputs as u64,
            view.outputs() as u64,
        )?;
        check(
            "columns of the answer",
            columns as u64,
            view.columns() as u64,
        )?;
        check("bits of the answer", answer_bits.into(), view.bits().into())?;
        let factors: Vec<Factor> = self.blocks().map(|s| rows.factor(s)).collect();
        let degree = ring.degree();
        let mut decrypted = vec![0; outputs * columns];
        decrypted
            .par_chunks_exact_mut(columns)
            .enumerate()
            .for_each_init(
                || Scratch::new(degree.min(columns), rows.scratch()),
                |scratch, (k, out)| {
                    for (block, (out, factor)) in out.chunks_mut(degree).zip(&factors).enumerate() {
                        let values = &mut scratch.values[..out.len()];
                        let product = &mut scratch.products[..out.len()];
                        view.unpack(k, block * degree, values);
                        rows.multiply(k, factor, &mut scratch.residues, product);
                        add_centred(ring.level(), values, LOG_Q - answer_bits, product, out);
                    }
                },
            );
        Ok(decrypted)
    }
}

/// Buffers of one thread; the products would give the secret away.
struct Scratch {
    values: Vec<u64>,
    products: Zeroizing<Vec<u64>>,
    residues: ProductScratch,
}

impl Scratch {
    fn new(columns: usize, residues: ProductScratch) -> Self {
        Self {
            values: vec![0; columns],
            products: Zeroizing::new(vec![0; columns]),
            residues,
        }
    }
}

multiversion! {
    /// `values·2^shift + products`, centred modulo `2^52`.
    fn add_centred(values: &[u64], shift: u32, products: &[u64], out: &mut [i64]) {
        let above = u64::BITS - LOG_Q;
        for ((out, value), product) in out.iter_mut().zip(values).zip(products) {
            let sum = (value << shift).wrapping_add(*product);
            *out = ((sum << above) as i64) >> above;
        }
    }
}
