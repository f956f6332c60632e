//! The secret key.

use crate::error::SecretError;
use crate::random::Csprng;
use crate::sampler::fill_ternary;
use ckks::kernels;
use ckks::{Context, ParameterDigest, RnsPoly};
use std::fmt;
use zeroize::Zeroize;

/// A uniform ternary secret. Zeroised when dropped; neither printable, clonable nor serialisable.
pub struct SecretKey {
    digest: ParameterDigest,
    /// The secret over QP in the NTT domain.
    poly: RnsPoly,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.poly.residues_mut().zeroize();
    }
}

impl SecretKey {
    /// Draws a fresh secret, uniform over {-1, 0, 1}^N.
    pub fn generate(context: &Context, rng: &mut impl Csprng) -> Self {
        let mut coefficients = vec![0; context.degree()];
        fill_ternary(rng, &mut coefficients);
        let mut poly = RnsPoly::zero(context.qp_limbs(), context.degree());
        small_to_ntt(context, &coefficients, &mut poly);
        coefficients.zeroize();
        Self {
            digest: context.digest(),
            poly,
        }
    }

    /// Limb `i` over QP in the NTT domain.
    pub(crate) fn limb(&self, i: usize) -> &[u32] {
        self.poly.limb(i)
    }

    /// Refuses a context of other parameters.
    pub(crate) fn check(&self, context: &Context) -> Result<(), SecretError> {
        if self.digest == context.digest() {
            return Ok(());
        }
        Err(SecretError::OtherParameters {
            key: self.digest,
            context: context.digest(),
        })
    }
}

/// Small signed coefficients to residues in the NTT domain, all limbs of `poly`.
pub(crate) fn small_to_ntt(context: &Context, coefficients: &[i32], poly: &mut RnsPoly) {
    for limb in 0..poly.limbs() {
        let q = context.modulus(limb);
        kernels::reduce_i32(context.level(), q, coefficients, poly.limb_mut(limb));
    }
    context.forward(poly);
}
