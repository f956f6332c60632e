//! Parameter sets of the foreign libraries.

use ckks::error::ParameterError;
use ckks::security::{Centibits, SecurityRow, check_bits};
use serde::{Deserialize, Serialize};

/// A parameter set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// Name for `--params`.
    pub name: String,
    /// Where it comes from.
    pub source: String,
    /// Ring degree N.
    pub ring_degree: usize,
    /// Slots of a ciphertext.
    pub slots: usize,
    /// Bits of the words that residues are kept in.
    pub word: u32,
    /// The library's level at which the layer is evaluated.
    pub level: u32,
    /// log2 of the scale.
    pub scale_bits: f64,
    /// Digits of key switching.
    pub digits: u32,
    /// The primes of the whole modulus.
    #[serde(rename = "primes")]
    pub groups: Vec<PrimeGroup>,
    /// Where the library combines groups into levels: primes of each group of Q that a level has.
    #[serde(default)]
    pub levels: Vec<Vec<usize>>,
    /// Distribution of the secret.
    pub secret: Secret,
    /// Distribution of the error.
    pub error: String,
    /// Standard deviation of the error.
    pub error_sigma: f64,
    /// log2(QP) of the largest modulus under which anything is published.
    pub log_qp: f64,
    /// Why the row of the security table applies although a distribution is not the table's;
    /// required exactly where one is not.
    #[serde(default)]
    pub departure: Option<String>,
    /// What else matters.
    #[serde(default)]
    pub note: Option<String>,
}

/// Primes that the library treats alike.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrimeGroup {
    /// The library's name for them.
    pub group: String,
    /// The modulus they belong to.
    pub modulus: Modulus,
    /// The primes, where they are fixed.
    #[serde(default)]
    pub values: Vec<u64>,
    /// Their lengths in bits, where the library chooses the primes.
    #[serde(default)]
    pub bits: Vec<u32>,
}

/// Which modulus a prime belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Modulus {
    /// The ciphertext modulus.
    Q,
    /// The key-switching modulus.
    P,
}

impl Modulus {
    /// As a letter.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Modulus::Q => "Q",
            Modulus::P => "P",
        }
    }
}

/// Distribution of a secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Secret {
    /// Each coefficient −1, 0 or 1 with probability 1/3: the one of the security table.
    UniformTernary {},
    /// A fixed number of coefficients ±1, the others 0.
    FixedWeightTernary {
        /// That number.
        weight: usize,
    },
}

impl Secret {
    /// In words.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Secret::UniformTernary {} => "uniform ternary".to_owned(),
            Secret::FixedWeightTernary { weight } => {
                format!("ternary with exactly {weight} coefficients other than 0")
            }
        }
    }
}

impl PrimeGroup {
    /// log2 of the product of the primes; for lengths an upper bound.
    #[must_use]
    pub fn log2(&self) -> f64 {
        let values: f64 = self.values.iter().map(|&prime| (prime as f64).log2()).sum();
        values + self.bits.iter().map(|&bits| f64::from(bits)).sum::<f64>()
    }

    /// Number of primes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len() + self.bits.len()
    }
}

impl Preset {
    /// log2 of the product of all primes.
    #[must_use]
    pub fn log2_of_all(&self) -> f64 {
        self.groups.iter().map(PrimeGroup::log2).sum()
    }

    /// The row of the security table that the set keeps to.
    ///
    /// # Errors
    /// [`ParameterError`] for a ring degree without a row and a modulus above its limit.
    pub fn security(&self) -> Result<SecurityRow, ParameterError> {
        check_bits(self.ring_degree, Centibits::from_bits(self.log_qp))
    }
}
