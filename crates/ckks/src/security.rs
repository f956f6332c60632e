//! The 128-bit security table that every parameter set is checked against.
//!
//! Source: J.-P. Bossuat et al., *Security Guidelines for Implementing Homomorphic Encryption*
//! (IACR ePrint 2024/463), Table 5.2: largest log2 of the whole modulus for a uniform ternary
//! secret and Gaussian errors of σ = 3.19 at 128-bit **classical** security. Nothing is
//! interpolated, and nothing here claims 128-bit quantum security.

use crate::error::ParameterError;
use std::fmt;

/// Rows of the table: ring degree and largest log2(QP).
pub const TABLE: [(usize, u32); 7] = [
    (1 << 10, 26),
    (1 << 11, 53),
    (1 << 12, 106),
    (1 << 13, 214),
    (1 << 14, 430),
    (1 << 15, 868),
    (1 << 16, 1747),
];

/// Standard deviation of the error distribution that the table assumes.
pub const ERROR_SIGMA: f64 = 3.19;

/// A number of bits, kept in hundredths so that it can be compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Centibits(u32);

impl Centibits {
    /// Rounds up, so that a limit is never passed by rounding.
    pub fn from_bits(bits: f64) -> Self {
        Self((bits * 100.0).ceil() as u32)
    }

    /// The value in bits.
    pub fn bits(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl fmt::Display for Centibits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.bits(), f)
    }
}

/// The table row that a parameter set satisfies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityRow {
    /// Ring degree N of the row.
    pub ring_degree: usize,
    /// Largest log2(QP) of the row, in bits.
    pub limit: u32,
    /// log2(QP) of the set.
    pub log_qp: Centibits,
}

impl SecurityRow {
    /// Bits between the set's log2(QP) and the limit.
    pub fn margin_bits(&self) -> f64 {
        f64::from(self.limit) - self.log_qp.bits()
    }
}

/// Checks the product of all primes (ciphertext and key switching) against the table.
///
/// # Errors
/// As [`check_bits`].
pub fn check(ring_degree: usize, primes: &[u32]) -> Result<SecurityRow, ParameterError> {
    let bits = primes.iter().map(|&p| f64::from(p).log2()).sum();
    check_bits(ring_degree, Centibits::from_bits(bits))
}

/// Checks the length of the whole modulus against the table.
///
/// # Errors
/// [`ParameterError::RingDegree`] for a degree without a row, [`ParameterError::Insecure`] above
/// the row's limit.
pub fn check_bits(ring_degree: usize, log_qp: Centibits) -> Result<SecurityRow, ParameterError> {
    let Some(&(_, limit)) = TABLE.iter().find(|(n, _)| *n == ring_degree) else {
        return Err(ParameterError::RingDegree { value: ring_degree });
    };
    if log_qp.bits() > f64::from(limit) {
        return Err(ParameterError::Insecure {
            log_qp,
            limit,
            ring_degree,
        });
    }
    Ok(SecurityRow {
        ring_degree,
        limit,
        log_qp,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_published_ones() {
        // Recomputed from the guidelines' table, row by row, not from `TABLE`.
        let published = [26, 53, 106, 214, 430, 868, 1747];
        for (i, limit) in published.into_iter().enumerate() {
            let n = 1024 << i;
            let most = vec![1 << 1; limit];
            assert_eq!(check(n, &most).unwrap().limit as usize, limit);
            let beyond = vec![1 << 1; limit + 1];
            assert!(matches!(
                check(n, &beyond),
                Err(ParameterError::Insecure { .. })
            ));
        }
    }

    #[test]
    fn degrees_without_a_row_are_refused() {
        for n in [0, 512, 1000, 3000, 131_072] {
            assert!(matches!(
                check(n, &[3]),
                Err(ParameterError::RingDegree { .. })
            ));
        }
    }
}
