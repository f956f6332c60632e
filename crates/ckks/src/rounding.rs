//! Answers rounded to a short power-of-two modulus before they are sent.
//!
//! `v = round(c·2^t/Q) mod 2^t` on each coefficient turns a ciphertext modulo Q into one modulo
//! 2^t with the scale multiplied by `2^t/Q`; the rounding adds noise of variance
//! `(1 + 2N/3)/12` in units of the new modulus (uniform ternary secret). Computed as
//! `(c·floor(2^(t+64)/Q) + 2^63) >> 64`, which is within 1/2 + 1/64 of `c·2^t/Q` and the same
//! integer on every machine.

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::CkksError;
use crate::kernels;
use crate::poly::RnsPoly;

/// Fewest bits of an answer coefficient.
pub const MIN_ANSWER_BITS: u32 = 16;
/// Bits of an answer coefficient unless chosen otherwise.
pub const DEFAULT_ANSWER_BITS: u32 = 40;

/// A ciphertext modulo `2^bits`, in coefficient form: what the client receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    bits: u32,
    c0: Vec<u64>,
    c1: Vec<u64>,
}

impl Answer {
    /// Assembles an answer from its coefficients, all below `2^bits`.
    ///
    /// # Errors
    /// [`CkksError::AnswerBits`], or [`CkksError::Shape`] when the halves differ in length or a
    /// coefficient is too large.
    pub fn from_coefficients(bits: u32, c0: Vec<u64>, c1: Vec<u64>) -> Result<Self, CkksError> {
        if !(MIN_ANSWER_BITS..=61).contains(&bits) {
            return Err(CkksError::AnswerBits { bits, max: 61 });
        }
        if c0.len() != c1.len() {
            let (expected, found) = (c0.len(), c1.len());
            return Err(CkksError::Shape {
                what: "coefficients of c1",
                expected,
                found,
            });
        }
        if let Some(at) = c0.iter().chain(&c1).position(|&v| v >> bits != 0) {
            let (expected, found) = (c0.len() + c1.len(), at);
            return Err(CkksError::Shape {
                what: "coefficients below 2^bits",
                expected,
                found,
            });
        }
        Ok(Self { bits, c0, c1 })
    }

    /// Bits of each coefficient.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Coefficients of c0.
    pub fn c0(&self) -> &[u64] {
        &self.c0
    }

    /// Coefficients of c1.
    pub fn c1(&self) -> &[u64] {
        &self.c1
    }
}

impl Context {
    /// Most bits that answers of this context can keep: one less than log2(Q) leaves the rounding
    /// a rounding.
    pub fn max_answer_bits(&self) -> u32 {
        self.parameters().q_product().ilog2()
    }

    /// Rounds a ciphertext to an answer of `bits` bits. The input is not changed.
    ///
    /// # Errors
    /// [`CkksError::AnswerBits`], [`CkksError::Shape`].
    pub fn round_answer(&self, ciphertext: &Ciphertext, bits: u32) -> Result<Answer, CkksError> {
        let c0 = self.round_poly(ciphertext.c0.clone(), bits)?;
        let c1 = self.round_poly(ciphertext.c1.clone(), bits)?;
        Ok(Answer { bits, c0, c1 })
    }

    /// Rounds one polynomial of the NTT domain to coefficients modulo `2^bits`.
    ///
    /// # Errors
    /// [`CkksError::AnswerBits`], [`CkksError::Shape`].
    pub fn round_poly(&self, mut poly: RnsPoly, bits: u32) -> Result<Vec<u64>, CkksError> {
        let max = self.max_answer_bits();
        if !(MIN_ANSWER_BITS..=max).contains(&bits) {
            return Err(CkksError::AnswerBits { bits, max });
        }
        self.check_poly(&poly)?;
        self.inverse(&mut poly);
        let q = u128::from(self.parameters().q_product());
        // 2^(bits+64)/Q is below 2^66 only in theory: bits ≤ log2(Q), so it fits 64 bits unless Q
        // is a power of two, which a product of odd primes is not.
        let ratio = (1u128 << (bits + 64)) / q;
        let mask = (1u64 << bits) - 1;
        let mut values = self.reconstruct(&poly);
        if let Some(ratio) = u64::try_from(ratio).ok().filter(|r| r >> 62 == 0) {
            kernels::scale_round(self.level(), ratio, mask, &mut values);
        } else {
            for v in &mut values {
                *v = ((u128::from(*v) * ratio + (1 << 63)) >> 64) as u64 & mask;
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_within_its_bound_of_the_exact_quotient() {
        let context = Context::named("diagonal-4096").unwrap();
        let q = context.parameters().q_product();
        let mut poly = RnsPoly::zero(2, 4096);
        let values: Vec<u64> = (0..4096u64)
            .map(|i| match i {
                0 => 0,
                1 => q - 1,
                2 => q / 2,
                3 => q / 2 + 1,
                _ => i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q,
            })
            .collect();
        for limb in 0..2 {
            let m = context.modulus(limb);
            for (out, &v) in poly.limb_mut(limb).iter_mut().zip(&values) {
                *out = m.reduce_u64(v);
            }
        }
        context.forward(&mut poly);
        for bits in [16, 32, 40, context.max_answer_bits()] {
            let rounded = context.round_poly(poly.clone(), bits).unwrap();
            for (&v, &r) in values.iter().zip(&rounded) {
                // |r·Q - v·2^bits| ≤ (1/2 + 1/64)·Q modulo 2^bits·Q, in exact integers.
                let modulus = i128::from(q) << bits;
                let mut d = i128::from(r) * i128::from(q) - (i128::from(v) << bits);
                d = d.rem_euclid(modulus);
                d = d.min(modulus - d);
                assert!(d * 64 <= 33 * i128::from(q), "bits {bits}, {v} -> {r}");
            }
        }
        assert!(context.round_poly(poly.clone(), 15).is_err());
        assert!(
            context
                .round_poly(poly, context.max_answer_bits() + 1)
                .is_err()
        );
    }

    #[test]
    fn malformed_answers_are_refused() {
        assert!(Answer::from_coefficients(40, vec![0; 4], vec![0; 3]).is_err());
        assert!(Answer::from_coefficients(40, vec![1 << 40; 4], vec![0; 4]).is_err());
        assert!(Answer::from_coefficients(64, vec![0; 4], vec![0; 4]).is_err());
        assert!(Answer::from_coefficients(40, vec![(1 << 40) - 1; 4], vec![0; 4]).is_ok());
    }
}
