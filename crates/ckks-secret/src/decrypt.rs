//! Decryption.

use crate::error::SecretError;
use crate::secret_key::SecretKey;
use ckks::kernels;
use ckks::{Answer, Ciphertext, Context, RnsPoly};
use zeroize::{Zeroize, Zeroizing};

impl SecretKey {
    /// Decrypts a ciphertext over Q to centred integer coefficients.
    ///
    /// # Errors
    /// [`SecretError::OtherParameters`]; [`SecretError::Ckks`] for another shape.
    pub fn decrypt(
        &self,
        context: &Context,
        ciphertext: &Ciphertext,
    ) -> Result<Vec<i64>, SecretError> {
        self.check(context)?;
        context.check_poly(&ciphertext.c0)?;
        context.check_poly(&ciphertext.c1)?;
        let mut message = ciphertext.c1.clone();
        for limb in 0..context.q_limbs() {
            let q = context.modulus(limb);
            kernels::mul_assign(context.level(), q, message.limb_mut(limb), self.limb(limb));
            kernels::add_assign(
                context.level(),
                q,
                message.limb_mut(limb),
                ciphertext.c0.limb(limb),
            );
        }
        context.inverse(&mut message);
        let values = Zeroizing::new(context.reconstruct(&message));
        let centred = centre(&values, context.parameters().q_product());
        message.residues_mut().zeroize();
        Ok(centred)
    }

    /// Decrypts a rounded answer to centred integer coefficients modulo `2^bits`; the message's
    /// scale is the ciphertext's times `2^bits/Q`.
    ///
    /// `c1·s` is wanted modulo 2^bits, and the transforms are modulo Q. Cut into pieces of w bits
    /// with `N·2^w ≤ Q/2`, centred, each product with a ternary secret is exact.
    ///
    /// # Errors
    /// [`SecretError::OtherParameters`]; [`SecretError::Ckks`] for another shape.
    pub fn decrypt_answer(
        &self,
        context: &Context,
        answer: &Answer,
    ) -> Result<Vec<i64>, SecretError> {
        self.check(context)?;
        let n = context.degree();
        if answer.c0().len() != n {
            let found = answer.c0().len();
            let what = "coefficients of an answer";
            return Err(ckks::CkksError::Shape {
                what,
                expected: n,
                found,
            }
            .into());
        }
        let bits = answer.bits();
        let modulus = 1u64 << bits;
        let piece_bits = context.parameters().q_product().ilog2() - n.ilog2() - 1;
        let mut total = answer.c0().to_vec();
        // Centred modulo 2^bits first, so that one piece suffices whenever bits ≤ piece_bits + 1.
        let mut rest: Vec<i64> = answer
            .c1()
            .iter()
            .map(|&v| centre_power_of_two(v, bits))
            .collect();
        let mut shift = 0;
        while shift < bits {
            let last = bits - shift <= piece_bits + 1;
            let mut piece = RnsPoly::zero(context.q_limbs(), n);
            for (i, r) in rest.iter_mut().enumerate() {
                let low = if last {
                    *r
                } else {
                    centre_power_of_two(*r as u64 & ((1 << piece_bits) - 1), piece_bits)
                };
                *r = (*r - low) >> piece_bits;
                for limb in 0..context.q_limbs() {
                    let q = context.modulus(limb);
                    piece.limb_mut(limb)[i] = q.reduce_i64(low);
                }
            }
            context.forward(&mut piece);
            for limb in 0..context.q_limbs() {
                let q = context.modulus(limb);
                kernels::mul_assign(context.level(), q, piece.limb_mut(limb), self.limb(limb));
            }
            context.inverse(&mut piece);
            // c1·s for a c1 the server knows: it would give the secret away.
            let values = Zeroizing::new(context.reconstruct(&piece));
            let product = Zeroizing::new(centre(&values, context.parameters().q_product()));
            for (t, p) in total.iter_mut().zip(product.iter()) {
                *t = t.wrapping_add((*p as u64) << shift) & (modulus - 1);
            }
            piece.residues_mut().zeroize();
            if last {
                break;
            }
            shift += piece_bits;
        }
        Ok(total
            .into_iter()
            .map(|v| centre_power_of_two(v, bits))
            .collect())
    }
}

fn centre(values: &[u64], q: u64) -> Vec<i64> {
    let centred = |&v: &u64| {
        if v > q / 2 {
            v as i64 - q as i64
        } else {
            v as i64
        }
    };
    values.iter().map(centred).collect()
}

/// `v` in `0..2^bits` lifted to `-2^(bits-1) .. 2^(bits-1)`.
fn centre_power_of_two(v: u64, bits: u32) -> i64 {
    let shift = 64 - bits;
    ((v << shift) as i64) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centring_powers_of_two() {
        assert_eq!(centre_power_of_two(0, 16), 0);
        assert_eq!(centre_power_of_two(32_767, 16), 32_767);
        assert_eq!(centre_power_of_two(32_768, 16), -32_768);
        assert_eq!(centre_power_of_two(65_535, 16), -1);
    }
}
