//! Parameter sets: ring degree, primes, and the security row that each satisfies.

use crate::error::ParameterError;
use crate::modulus::{Modulus, ntt_primes};
use crate::security::{self, ERROR_SIGMA, SecurityRow};
use sha2::{Digest, Sha256};
use std::fmt;

/// SHA-256 of a parameter set's canonical description: the identity of a context. Two processes
/// with equal digests compute the same thing with the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParameterDigest(pub [u8; 32]);

impl fmt::Display for ParameterDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for ParameterDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl ParameterDigest {
    /// The first four bytes in hex, for messages.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// How a named set is built; the primes are found, not listed, so that the rule is visible.
struct NamedSet {
    name: &'static str,
    ring_degree: usize,
    q_bits: u32,
    q_count: usize,
    p_bits: u32,
}

const NAMED_SETS: [NamedSet; 2] = [
    NamedSet {
        name: "diagonal-4096",
        ring_degree: 4096,
        q_bits: 29,
        q_count: 2,
        p_bits: 31,
    },
    NamedSet {
        name: "diagonal-8192",
        ring_degree: 8192,
        q_bits: 29,
        q_count: 2,
        p_bits: 31,
    },
];

/// Bits that log2(Q) must have beyond log2(N): the noise of one product with a ternary secret needs
/// them, and decryption of rounded answers works in pieces that long.
const MIN_HEADROOM_BITS: u32 = 8;

/// A checked parameter set.
///
/// Secret: uniform ternary. Errors: discrete Gaussian, σ = 3.19. The product of all primes is
/// within the 128-bit classical row of the 2024 guidelines; a value of this type is the proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameters {
    name: String,
    ring_degree: usize,
    q: Vec<Modulus>,
    p: Option<Modulus>,
    row: SecurityRow,
    digest: ParameterDigest,
}

impl Parameters {
    /// Builds and checks a set.
    ///
    /// `q` are the ciphertext primes (one or two), `p` the key-switching prime; without one the
    /// set serves layers that need no rotations. Primes are below 2^31 and 1 mod 2N.
    ///
    /// # Errors
    /// [`ParameterError`] for a degree without a security row, composite or repeated primes,
    /// primes without a 2N-th root of unity, or log2(QP) above the row's limit.
    pub fn new(
        name: &str,
        ring_degree: usize,
        q: &[u32],
        p: Option<u32>,
    ) -> Result<Self, ParameterError> {
        if q.is_empty() || q.len() > 2 {
            return Err(ParameterError::CiphertextPrimes { count: q.len() });
        }
        let primes: Vec<u32> = q.iter().copied().chain(p).collect();
        let row = security::check(ring_degree, &primes)?;
        for (i, &prime) in primes.iter().enumerate() {
            if primes[..i].contains(&prime) {
                return Err(ParameterError::RepeatedPrime { prime });
            }
            if prime % (2 * ring_degree as u32) != 1 {
                return Err(ParameterError::NoRootOfUnity { prime, ring_degree });
            }
        }
        let log_q: u32 = q
            .iter()
            .map(|prime| u64::from(*prime))
            .product::<u64>()
            .ilog2();
        if log_q < ring_degree.ilog2() + MIN_HEADROOM_BITS {
            return Err(ParameterError::ModulusTooShort { log_q, ring_degree });
        }
        let moduli = |primes: &[u32]| {
            primes
                .iter()
                .map(|&prime| Modulus::new(prime))
                .collect::<Result<Vec<_>, _>>()
        };
        let digest = digest(ring_degree, q, p);
        Ok(Self {
            name: name.to_owned(),
            ring_degree,
            q: moduli(q)?,
            p: p.map(Modulus::new).transpose()?,
            row,
            digest,
        })
    }

    /// The set of that name.
    ///
    /// # Errors
    /// [`ParameterError::UnknownSet`], listing the names that exist.
    pub fn named(name: &str) -> Result<Self, ParameterError> {
        let Some(set) = NAMED_SETS.iter().find(|s| s.name == name) else {
            return Err(ParameterError::UnknownSet {
                name: name.to_owned(),
                known: Self::names().join(", "),
            });
        };
        let q = ntt_primes(set.q_bits, set.ring_degree, set.q_count)?;
        let p = ntt_primes(set.p_bits, set.ring_degree, 1)?;
        Self::new(set.name, set.ring_degree, &q, p.first().copied())
    }

    /// Names of the built-in sets; the first is the default.
    pub fn names() -> Vec<&'static str> {
        NAMED_SETS.iter().map(|s| s.name).collect()
    }

    /// Name of the set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ring degree N.
    pub fn ring_degree(&self) -> usize {
        self.ring_degree
    }

    /// Complex slots, N/2.
    pub fn slots(&self) -> usize {
        self.ring_degree / 2
    }

    /// Ciphertext primes.
    pub fn q(&self) -> &[Modulus] {
        &self.q
    }

    /// Key-switching prime.
    pub fn p(&self) -> Option<Modulus> {
        self.p
    }

    /// Ciphertext modulus Q, below 2^62.
    pub fn q_product(&self) -> u64 {
        self.q.iter().map(|m| u64::from(m.value())).product()
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

/// SHA-256 over the values that decide every byte: degree, primes, distributions.
fn digest(ring_degree: usize, q: &[u32], p: Option<u32>) -> ParameterDigest {
    let mut hash = Sha256::new();
    hash.update(b"ckks parameters v1\0secret uniform ternary\0error discrete gaussian\0");
    hash.update(ERROR_SIGMA.to_le_bytes());
    hash.update((ring_degree as u64).to_le_bytes());
    hash.update((q.len() as u64).to_le_bytes());
    q.iter().for_each(|prime| hash.update(prime.to_le_bytes()));
    hash.update(p.unwrap_or(0).to_le_bytes());
    ParameterDigest(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_sets_satisfy_their_row_with_a_margin() {
        let set = Parameters::named("diagonal-4096").unwrap();
        assert_eq!(set.security().limit, 106);
        assert!(set.security().log_qp.bits() <= 89.0);
        assert!(set.security().margin_bits() >= 17.0);
        assert!(
            Parameters::named("diagonal-8192")
                .unwrap()
                .security()
                .margin_bits()
                >= 125.0
        );
        assert!(matches!(
            Parameters::named("no"),
            Err(ParameterError::UnknownSet { .. })
        ));
    }

    #[test]
    fn unsafe_or_malformed_sets_are_refused() {
        let q = ntt_primes(29, 1024, 3).unwrap();
        let refused = |n, q: &[u32], p| Parameters::new("t", n, q, p).unwrap_err();
        assert!(matches!(
            refused(1024, &q[..1], None),
            ParameterError::Insecure { .. }
        ));
        assert!(matches!(
            refused(1000, &q[..1], None),
            ParameterError::RingDegree { .. }
        ));
        assert!(matches!(
            refused(4096, &[], None),
            ParameterError::CiphertextPrimes { .. }
        ));
        assert!(matches!(
            refused(4096, &q, None),
            ParameterError::CiphertextPrimes { .. }
        ));
        let q = ntt_primes(29, 4096, 1).unwrap()[0];
        assert!(matches!(
            refused(4096, &[q, q], None),
            ParameterError::RepeatedPrime { .. }
        ));
        assert!(matches!(
            refused(4096, &[q + 8192 * 3], None),
            ParameterError::NotPrime { .. } | ParameterError::NoRootOfUnity { .. }
        ));
        assert!(matches!(
            refused(32_768, &[65_537], None),
            ParameterError::ModulusTooShort { .. }
        ));
        assert!(matches!(
            refused(4096, &[3], None),
            ParameterError::NoRootOfUnity { .. }
        ));
    }

    #[test]
    fn digest_depends_on_every_prime_and_not_on_the_name() {
        let q = ntt_primes(29, 4096, 3).unwrap();
        let p = ntt_primes(31, 4096, 2).unwrap();
        let of = |name, q: &[u32], p| Parameters::new(name, 4096, q, p).unwrap().digest();
        let base = of("a", &q[..2], Some(p[0]));
        assert_eq!(base, of("b", &q[..2], Some(p[0])));
        assert_ne!(base, of("a", &q[1..], Some(p[0])));
        assert_ne!(base, of("a", &q[..2], Some(p[1])));
        assert_ne!(base, of("a", &q[..2], None));
    }
}
