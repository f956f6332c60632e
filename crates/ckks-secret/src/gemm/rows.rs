//! Public ring elements kept ready for products with secrets.

use ckks::CkksError;
use ckks::gemm::{GemmRing, LOG_Q};
use ckks::memory::{Block, BlockBuffer};
use rayon::prelude::*;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// How the elements are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// 8 bytes for a coefficient; products by inner products.
    Coefficients,
    /// 4 bytes for each of two or three residues; products by transforms.
    Transformed {
        /// Auxiliary primes.
        limbs: usize,
    },
}

/// Public ring elements modulo `2^bits`, in the form that suits the expected number of columns.
pub(super) struct PublicRows {
    ring: Arc<GemmRing>,
    form: Form,
    bits: u32,
    count: usize,
    data: BlockBuffer,
}

impl PublicRows {
    /// Builds `count` rows in parallel; `fill` writes the N coefficients of a row, below `2^bits`.
    pub(super) fn build(
        ring: &Arc<GemmRing>,
        count: usize,
        bits: u32,
        columns: usize,
        fill: impl Fn(usize, &mut [u64]) + Sync,
    ) -> Result<Self, CkksError> {
        let form = if columns <= ring.direct_columns(bits) {
            Form::Coefficients
        } else {
            let limbs = ring.limbs(bits);
            Form::Transformed { limbs }
        };
        let row_len = form.words(ring.degree());
        let blocks = (count.saturating_mul(row_len)).div_ceil(size_of::<Block>() / 4);
        let mut data = BlockBuffer::zeroed(blocks)?;
        let words = data.blocks_mut().as_flattened_mut();
        let rows = words.par_chunks_exact_mut(row_len).enumerate();
        rows.for_each_init(
            || vec![0; ring.degree()],
            |coefficients, (row, out)| match form {
                Form::Coefficients => fill(row, bytemuck::cast_slice_mut(out)),
                Form::Transformed { .. } => {
                    fill(row, coefficients);
                    ring.transform_public(coefficients, bits, out);
                }
            },
        );
        Ok(Self {
            ring: Arc::clone(ring),
            form,
            bits,
            count,
            data,
        })
    }

    pub(super) fn ring(&self) -> &Arc<GemmRing> {
        &self.ring
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> u64 {
        (self.data.len() * size_of::<Block>()) as u64
    }

    /// A small secret polynomial in the form that products with these rows need.
    pub(super) fn factor(&self, small: &[i32]) -> Factor {
        let n = self.ring.degree();
        match self.form {
            Form::Coefficients => {
                let mut window = Zeroizing::new(vec![0; 2 * n]);
                self.ring.window(small, &mut window);
                Factor::Window(window)
            }
            Form::Transformed { .. } => {
                let mut transformed = Zeroizing::new(vec![0; 3 * n]);
                self.ring.transform_small(small, &mut transformed);
                Factor::Transformed(transformed)
            }
        }
    }

    /// Scratch of [`PublicRows::multiply`].
    pub(super) fn scratch(&self) -> ProductScratch {
        let n = self.ring.degree();
        let limbs = match self.form {
            Form::Coefficients => 0,
            Form::Transformed { limbs } => limbs,
        };
        ProductScratch(vec![0; limbs * n])
    }

    /// The first `out.len()` coefficients of a row times a factor made by these rows, times
    /// `2^(52-bits)`, modulo `2^64`, of which the low 52 bits count.
    pub(super) fn multiply(
        &self,
        row: usize,
        factor: &Factor,
        scratch: &mut ProductScratch,
        out: &mut [u64],
    ) {
        let len = self.form.words(self.ring.degree());
        let words = self.data.blocks().as_flattened();
        let row = &words[row * len..][..len];
        match factor {
            Factor::Window(window) => {
                self.ring
                    .multiply_direct(bytemuck::cast_slice(row), window, out);
            }
            Factor::Transformed(small) => {
                self.ring
                    .multiply_transformed(row, small, &mut scratch.0, out);
            }
        }
        let shift = LOG_Q - self.bits;
        if shift > 0 {
            out.iter_mut().for_each(|v| *v <<= shift);
        }
    }
}

impl Form {
    /// 32-bit words of a row.
    fn words(self, degree: usize) -> usize {
        match self {
            Self::Coefficients => 2 * degree,
            Self::Transformed { limbs } => limbs * degree,
        }
    }
}

/// A secret polynomial, ready for products with [`PublicRows`]. Zeroised when dropped.
pub(super) enum Factor {
    Window(Zeroizing<Vec<u64>>),
    Transformed(Zeroizing<Vec<u32>>),
}

/// Residues of a product that would give the secret away. Zeroised when dropped.
pub(super) struct ProductScratch(Vec<u32>);

impl Drop for ProductScratch {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
