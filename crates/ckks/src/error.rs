//! Errors of this crate.

use thiserror::Error;

/// A parameter set that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// Not an odd prime below 2^31.
    #[error("{value} is not an odd prime below 2^31; RNS moduli must be")]
    NotPrime {
        /// The refused value.
        value: u64,
    },
    /// Too few NTT-friendly primes of that size.
    #[error(
        "fewer than {count} primes of {bits} bits are 1 mod 2*{ring_degree}; use longer primes \
         (at most 31 bits) or a smaller ring degree"
    )]
    NotEnoughPrimes {
        /// Asked bit length.
        bits: u32,
        /// Ring degree N.
        ring_degree: usize,
        /// How many were asked for.
        count: usize,
    },
    /// The prime has no primitive 2N-th root of unity.
    #[error(
        "{prime} has no primitive 2N-th root of unity for N = {ring_degree}; use a prime that is 1 mod 2N"
    )]
    NoRootOfUnity {
        /// The prime.
        prime: u32,
        /// Ring degree N.
        ring_degree: usize,
    },
    /// Ring degree outside the supported powers of two.
    #[error("ring degree {value} is not a power of two from 1024 to 65536")]
    RingDegree {
        /// The refused value.
        value: usize,
    },
    /// log2(QP) above the security table.
    #[error(
        "log2(QP) = {log_qp:.2} exceeds {limit} bits, the most that N = {ring_degree} carries at \
         128-bit classical security (2024 guidelines, Table 5.2, ternary secret); use a larger \
         ring degree or fewer and shorter primes"
    )]
    Insecure {
        /// log2 of the product of all primes, in hundredths of a bit, as `f64` bits are not `Eq`.
        log_qp: crate::security::Centibits,
        /// The table's limit in bits.
        limit: u32,
        /// Ring degree N.
        ring_degree: usize,
    },
    /// Wrong number of ciphertext primes.
    #[error("{count} ciphertext primes were given; this engine takes 1 or 2")]
    CiphertextPrimes {
        /// How many were given.
        count: usize,
    },
    /// log2(Q) too small for the ring degree.
    #[error(
        "log2(Q) = {log_q} leaves no room for the noise at N = {ring_degree}; use ciphertext primes \
         whose product has at least 8 bits more than log2(N)"
    )]
    ModulusTooShort {
        /// Floor of log2(Q).
        log_q: u32,
        /// Ring degree N.
        ring_degree: usize,
    },
    /// The same prime twice.
    #[error("the prime {prime} is used twice; RNS primes must differ")]
    RepeatedPrime {
        /// The prime.
        prime: u32,
    },
    /// No parameter set of that name.
    #[error("there is no parameter set named \"{name}\"; known sets: {known}")]
    UnknownSet {
        /// Asked name.
        name: String,
        /// The names that exist.
        known: String,
    },
}

/// A failed operation on ring elements, ciphertexts or keys.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CkksError {
    /// See [`ParameterError`].
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// More values than slots.
    #[error(
        "{given} values do not fit the {slots} slots of one ciphertext; use several ciphertexts"
    )]
    TooManySlots {
        /// Values given.
        given: usize,
        /// Slots there are.
        slots: usize,
    },
    /// A value that is not a finite number.
    #[error("value {index} is {value}; only finite numbers can be encoded")]
    NotFinite {
        /// Index of the first bad value.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A scale that is not a positive finite number.
    #[error("scale {scale} is not a positive finite number")]
    BadScale {
        /// The scale.
        scale: f64,
    },
    /// An encoded coefficient would wrap around the modulus.
    #[error(
        "encoded values too large: the rms over the slots times the scale is 2^{log_bound:.2}, \
         the modulus carries 2^{log_limit:.2}; use a smaller scale or smaller values"
    )]
    EncodingOverflow {
        /// log2 of the certain bound of the largest coefficient.
        log_bound: f64,
        /// log2 of the largest coefficient that fits.
        log_limit: f64,
    },
    /// No key for a Galois element.
    #[error(
        "no Galois key for {what} (Galois element {element}); generate the key set of the plan \
         that needs it"
    )]
    MissingGaloisKey {
        /// The rotation step, or "conjugation", in words.
        what: String,
        /// The Galois element.
        element: u32,
    },
    /// The parameters carry no key-switching prime.
    #[error(
        "parameter set {name} has no key-switching prime: it serves layers without rotations only"
    )]
    NoKeySwitching {
        /// The set's name.
        name: String,
    },
    /// The operating system refused memory.
    #[error("could not reserve {bytes} bytes: {reason}; use a smaller layer or fewer keys")]
    Allocation {
        /// Asked bytes.
        bytes: u64,
        /// The system's message.
        reason: String,
    },
    /// Objects of different parameter sets met.
    #[error("{what} belongs to other parameters (digest {found}…) than this context ({expected}…)")]
    ContextMismatch {
        /// What kind of object.
        what: &'static str,
        /// First bytes of the digest found, in hex.
        found: String,
        /// First bytes of the digest expected, in hex.
        expected: String,
    },
    /// A shape that does not match.
    #[error("{what}: expected {expected}, got {found}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// Expected count.
        expected: usize,
        /// Count found.
        found: usize,
    },
    /// An answer modulus that the parameters cannot be rounded to.
    #[error("answers cannot be rounded to {bits} bits; use 16 to {max} bits, below log2(Q)")]
    AnswerBits {
        /// Asked bits.
        bits: u32,
        /// Most bits allowed.
        max: u32,
    },
}
