//! Precomputed tables of a parameter set, shared by all threads.

use crate::encoder::Encoder;
use crate::error::{CkksError, ParameterError};
use crate::kernels;
use crate::modulus::Modulus;
use crate::ntt::{Kernel, NttTable};
use crate::params::{ParameterDigest, Parameters};
use crate::poly::{AlignedResidues, RnsPoly, zeroed};
use crate::simd::SimdLevel;
use rustfft::num_complex::Complex64;
use std::sync::Arc;

/// Transforms and constants of one parameter set. Immutable, hence `Send + Sync`; two contexts
/// with equal [`Context::digest`] are interchangeable, whatever process made them.
#[derive(Debug)]
pub struct Context {
    parameters: Parameters,
    /// Transforms of the ciphertext primes, then of the key-switching prime if there is one.
    tables: Vec<NttTable>,
    encoder: Encoder,
    /// P^-1 modulo each ciphertext prime.
    p_inverse: Vec<u32>,
    /// q_0^-1 mod q_1, for the CRT of two limbs.
    crt_inverse: u32,
    level: SimdLevel,
}

impl Context {
    /// Precomputes the tables.
    ///
    /// # Errors
    /// [`ParameterError`] when a prime has no transform of this degree.
    pub fn new(parameters: Parameters) -> Result<Arc<Self>, ParameterError> {
        Self::with_level(parameters, SimdLevel::detect())
    }

    /// [`Context::new`] with chosen vector instructions, to compare them; `level` is lowered to
    /// what the machine has.
    ///
    /// # Errors
    /// As [`Context::new`].
    pub fn with_level(
        parameters: Parameters,
        level: SimdLevel,
    ) -> Result<Arc<Self>, ParameterError> {
        let level = level.min(SimdLevel::detect());
        let kernel = match level {
            SimdLevel::Portable => Kernel::Reference,
            SimdLevel::Avx2(_) => Kernel::Avx2,
            SimdLevel::Avx512(_) => Kernel::Avx512,
        };
        let degree = parameters.ring_degree();
        let tables = parameters
            .q()
            .iter()
            .copied()
            .chain(parameters.p())
            .map(|modulus| {
                let table = NttTable::new(modulus, degree)?;
                if table.kernel() == kernel {
                    return Ok(table);
                }
                Ok(table.clone().with_kernel(kernel).unwrap_or(table))
            })
            .collect::<Result<Vec<_>, ParameterError>>()?;
        let p_inverse = match parameters.p() {
            Some(p) => parameters
                .q()
                .iter()
                .map(|q| q.inv(q.reduce_u64(u64::from(p.value()))))
                .collect(),
            None => Vec::new(),
        };
        let crt_inverse = match parameters.q() {
            [q0, q1] => q1.inv(q1.reduce_u64(u64::from(q0.value()))),
            _ => 0,
        };
        let encoder = Encoder::new(degree);
        Ok(Arc::new(Self {
            encoder,
            parameters,
            tables,
            p_inverse,
            crt_inverse,
            level,
        }))
    }

    /// The context of a named parameter set.
    ///
    /// # Errors
    /// As [`Parameters::named`].
    pub fn named(name: &str) -> Result<Arc<Self>, ParameterError> {
        Self::new(Parameters::named(name)?)
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Identity of the parameters.
    pub fn digest(&self) -> ParameterDigest {
        self.parameters.digest()
    }

    /// Vector instructions in use.
    pub fn level(&self) -> SimdLevel {
        self.level
    }

    /// Ring degree N.
    pub fn degree(&self) -> usize {
        self.parameters.ring_degree()
    }

    /// Complex slots, N/2.
    pub fn slots(&self) -> usize {
        self.parameters.slots()
    }

    /// Limbs of a ciphertext polynomial.
    pub fn q_limbs(&self) -> usize {
        self.parameters.q().len()
    }

    /// Limbs of a polynomial over QP.
    pub fn qp_limbs(&self) -> usize {
        self.tables.len()
    }

    /// Transform of limb `i` of QP.
    pub fn table(&self, i: usize) -> &NttTable {
        &self.tables[i]
    }

    /// Modulus of limb `i` of QP.
    pub fn modulus(&self, i: usize) -> Modulus {
        self.tables[i].modulus()
    }

    /// P^-1 modulo ciphertext prime `i`.
    pub(crate) fn p_inverse(&self, i: usize) -> u32 {
        self.p_inverse[i]
    }

    /// The canonical embedding.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Refuses an object made under other parameters.
    ///
    /// # Errors
    /// [`CkksError::ContextMismatch`].
    pub fn check_digest(
        &self,
        what: &'static str,
        found: ParameterDigest,
    ) -> Result<(), CkksError> {
        if found == self.digest() {
            return Ok(());
        }
        Err(CkksError::ContextMismatch {
            what,
            found: found.short(),
            expected: self.digest().short(),
        })
    }

    /// Encodes complex slots at a scale: the plaintext `round(scale · embedding)` in the NTT
    /// domain. Missing slots are zero; the input is not changed.
    ///
    /// # Errors
    /// [`CkksError::EncodingOverflow`] when a coefficient could reach Q/2 (the bound, rms times
    /// scale, is certain), and as [`Encoder::embed`].
    pub fn encode(&self, values: &[Complex64], scale: f64) -> Result<RnsPoly, CkksError> {
        let coefficients = self.encoder.embed(values, scale)?;
        let energy: f64 = values.iter().map(|v| v.norm_sqr()).sum();
        let bound = (energy / self.slots() as f64).sqrt() * scale + 1.0;
        let limit = self.parameters.q_product() as f64 / 2.0;
        if bound.is_nan() || bound >= limit {
            return Err(CkksError::EncodingOverflow {
                log_bound: bound.log2(),
                log_limit: limit.log2(),
            });
        }
        let mut poly = RnsPoly::zero(self.q_limbs(), self.degree());
        self.round_to_residues(&coefficients, &mut poly);
        self.forward(&mut poly);
        Ok(poly)
    }

    /// Rounds real coefficients (below 2^62 in absolute value) to the nearest integers and reduces
    /// them modulo each prime.
    pub fn round_to_residues(&self, coefficients: &[f64], poly: &mut RnsPoly) {
        let small = coefficients.iter().all(|c| c.abs() < f64::from(1 << 30));
        if small {
            let rounded: Vec<i32> = coefficients
                .iter()
                .map(|c| c.round_ties_even() as i32)
                .collect();
            for limb in 0..poly.limbs() {
                kernels::reduce_i32(
                    self.level,
                    self.modulus(limb),
                    &rounded,
                    poly.limb_mut(limb),
                );
            }
            return;
        }
        for limb in 0..poly.limbs() {
            let q = self.modulus(limb);
            for (out, c) in poly.limb_mut(limb).iter_mut().zip(coefficients) {
                *out = q.reduce_i64(c.round_ties_even() as i64);
            }
        }
    }

    /// Coefficients to the NTT domain, all limbs.
    pub fn forward(&self, poly: &mut RnsPoly) {
        for limb in 0..poly.limbs() {
            self.tables[limb].forward(poly.limb_mut(limb));
        }
    }

    /// NTT domain to coefficients, all limbs.
    pub fn inverse(&self, poly: &mut RnsPoly) {
        for limb in 0..poly.limbs() {
            self.tables[limb].inverse(poly.limb_mut(limb));
        }
    }

    /// The integers in `0..Q` that the residues of one coefficient-domain polynomial stand for.
    pub fn reconstruct(&self, poly: &RnsPoly) -> Vec<u64> {
        let first = poly.limb(0);
        if poly.limbs() == 1 {
            return first.iter().map(|&v| u64::from(v)).collect();
        }
        let mut out = vec![0; first.len()];
        let (q0, q1) = (self.modulus(0), self.modulus(1));
        let high = poly.limb(1);
        kernels::garner(self.level, q0, q1, self.crt_inverse, first, high, &mut out);
        out
    }

    /// A zeroed buffer of `limbs · N` residues.
    pub fn buffer(&self, limbs: usize) -> AlignedResidues {
        zeroed(limbs * self.degree())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconstruction_inverts_reduction() {
        let context = Context::named("diagonal-4096").unwrap();
        let q = context.parameters().q_product();
        let mut poly = RnsPoly::zero(2, 4096);
        let values: Vec<u64> = (0..4096u64)
            .map(|i| match i {
                0 => 0,
                1 => q - 1,
                2 => q / 2,
                _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q,
            })
            .collect();
        for limb in 0..2 {
            let m = context.modulus(limb);
            for (out, &v) in poly.limb_mut(limb).iter_mut().zip(&values) {
                *out = m.reduce_u64(v);
            }
        }
        assert_eq!(context.reconstruct(&poly), values);
    }

    #[test]
    fn encoding_rounds_and_refuses_overflow() {
        let context = Context::named("diagonal-4096").unwrap();
        let at = |v: f64| vec![Complex64::new(v, 0.0); 2048];
        // A constant in every slot is the constant polynomial; its first coefficient is the value.
        for value in [1.0, -1.0, 1e-3, -1234.5, 0.0] {
            let scale = (1u64 << 40) as f64;
            let mut poly = context.encode(&at(value), scale).unwrap();
            context.inverse(&mut poly);
            let q = i128::from(context.parameters().q_product());
            let coefficients = context.reconstruct(&poly);
            let expected = (value * scale).round_ties_even() as i128;
            assert!((i128::from(coefficients[0]) - expected.rem_euclid(q)).abs() <= 1);
        }
        let limit = context.parameters().q_product() as f64 / 2.0;
        assert!(context.encode(&at(0.99 * limit), 1.0).is_ok());
        let refused = context.encode(&at(1.01 * limit), 1.0);
        assert!(matches!(refused, Err(CkksError::EncodingOverflow { .. })));
        let refused = context.encode(&at(1e300), 1e300);
        assert!(matches!(refused, Err(CkksError::EncodingOverflow { .. })));
    }
}
