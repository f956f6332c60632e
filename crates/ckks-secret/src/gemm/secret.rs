//! The secrets of one batch.

use crate::random::Csprng;
use crate::sampler::fill_ternary;
use ckks::ParameterDigest;
use ckks::gemm::{Epoch, GemmParameters};
use std::fmt;
use zeroize::Zeroizing;

/// The secrets of one batch, uniform ternary, one for each block of N columns. It decrypts the
/// batch's answer, once, and can do nothing else. Zeroised when dropped; neither printable,
/// clonable nor serialisable.
#[must_use = "without its secret the answer to a batch cannot be read"]
pub struct BatchSecret {
    pub(super) digest: ParameterDigest,
    pub(super) epoch: Epoch,
    pub(super) columns: usize,
    ring_degree: usize,
    secrets: Zeroizing<Vec<i32>>,
}

impl fmt::Debug for BatchSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchSecret(…)")
    }
}

impl BatchSecret {
    /// Draws the secrets of a batch.
    pub(super) fn generate(
        parameters: &GemmParameters,
        epoch: Epoch,
        columns: usize,
        rng: &mut impl Csprng,
    ) -> Self {
        let ring_degree = parameters.ring_degree();
        let mut secrets = Zeroizing::new(vec![0; parameters.blocks(columns) * ring_degree]);
        fill_ternary(rng, &mut secrets);
        Self {
            digest: parameters.digest(),
            epoch,
            columns,
            ring_degree,
            secrets,
        }
    }

    /// Vectors of the batch.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The secret of each block.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[i32]> {
        self.secrets.chunks_exact(self.ring_degree)
    }
}
