//! Parameter sets of the `gemm` plan.

use crate::error::ParameterError;
use crate::params::ParameterDigest;
use crate::security::{self, Centibits, ERROR_SIGMA, SecurityRow};
use sha2::{Digest, Sha256};

/// log2 of the ciphertext modulus: what one 52-bit multiply-add of AVX-512 IFMA keeps.
pub const LOG_Q: u32 = 52;
/// `2^52 - 1`: reduces modulo Q.
pub const MODULUS_MASK: u64 = (1 << LOG_Q) - 1;

/// Names and ring degrees.
const NAMED_SETS: [(&str, usize); 1] = [("gemm-2048", 2048)];

/// A checked parameter set: `Z_Q[X]/(X^N + 1)` with `Q = 2^52` and no key-switching modulus.
///
/// Secret: uniform ternary, fresh for every block of N columns. Errors: discrete Gaussian,
/// σ = 3.19. log2(Q) is within the 128-bit classical row of the 2024 guidelines; a value of this
/// type is the proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GemmParameters {
    name: &'static str,
    ring_degree: usize,
    row: SecurityRow,
    digest: ParameterDigest,
}

impl GemmParameters {
    /// The set of that name.
    ///
    /// # Errors
    /// [`ParameterError::UnknownSet`], listing the names that exist.
    pub fn named(name: &str) -> Result<Self, ParameterError> {
        let Some(&(name, ring_degree)) = NAMED_SETS.iter().find(|(known, _)| *known == name) else {
            return Err(ParameterError::UnknownSet {
                name: name.to_owned(),
                known: Self::names().join(", "),
            });
        };
        let row = security::check_bits(ring_degree, Centibits::from_bits(LOG_Q.into()))?;
        Ok(Self {
            name,
            ring_degree,
            row,
            digest: digest(ring_degree),
        })
    }

    /// Names of the built-in sets; the first is the default.
    pub fn names() -> Vec<&'static str> {
        NAMED_SETS.iter().map(|(name, _)| *name).collect()
    }

    /// Name of the set.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Ring degree N: columns of one block.
    pub fn ring_degree(&self) -> usize {
        self.ring_degree
    }

    /// log2 of the modulus Q, which is a power of two.
    pub fn log_q(&self) -> u32 {
        LOG_Q
    }

    /// Blocks of at most N columns that a batch is cut into, each with a secret of its own.
    pub fn blocks(&self, columns: usize) -> usize {
        columns.div_ceil(self.ring_degree)
    }

    /// The security row this set satisfies.
    pub fn security(&self) -> SecurityRow {
        self.row
    }

    /// Identity of the set.
    pub fn digest(&self) -> ParameterDigest {
        self.digest
    }
}

/// SHA-256 over the values that decide every byte: degree, modulus, distributions.
fn digest(ring_degree: usize) -> ParameterDigest {
    let mut hash = Sha256::new();
    hash.update(b"ckks gemm parameters v1\0secret uniform ternary\0error discrete gaussian\0");
    hash.update(ERROR_SIGMA.to_le_bytes());
    hash.update((ring_degree as u64).to_le_bytes());
    hash.update(LOG_Q.to_le_bytes());
    ParameterDigest(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;

    #[test]
    fn the_set_satisfies_its_row() {
        let set = GemmParameters::named("gemm-2048").unwrap();
        assert_eq!((set.ring_degree(), set.log_q()), (2048, 52));
        assert_eq!(set.security().limit, 53);
        assert_eq!(set.security().margin_bits(), 1.0);
        assert_eq!([1, 2048, 2049, 4100].map(|b| set.blocks(b)), [1, 1, 2, 3]);
    }

    #[test]
    fn a_longer_modulus_or_a_smaller_ring_is_refused() {
        let refused = |n, bits| security::check_bits(n, Centibits::from_bits(bits)).unwrap_err();
        assert!(matches!(
            refused(2048, 53.01),
            ParameterError::Insecure { limit: 53, .. }
        ));
        assert!(matches!(
            refused(1024, 52.0),
            ParameterError::Insecure { limit: 26, .. }
        ));
        assert!(matches!(
            refused(2000, 52.0),
            ParameterError::RingDegree { value: 2000 }
        ));
    }

    #[test]
    fn names_of_the_two_plans_are_apart() {
        let error = GemmParameters::named("diagonal-4096").unwrap_err();
        assert!(error.to_string().contains("gemm-2048"));
        assert!(Parameters::named("gemm-2048").is_err());
    }
}
