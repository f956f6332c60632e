//! Galois keys.

use crate::error::SecretError;
use crate::random::Csprng;
use crate::sampler::fill_errors;
use crate::secret_key::{SecretKey, small_to_ntt};
use ckks::automorphism::{Automorphism, GaloisElement};
use ckks::kernels;
use ckks::keyswitch::expand_key_digit;
use ckks::xof::Seed;
use ckks::{Context, RnsPoly, SeededGaloisKey};
use rayon::prelude::*;
use zeroize::Zeroize;

impl SecretKey {
    /// Galois keys of the given elements, sorted and without duplicates, under one fresh public
    /// seed. Hybrid key switching, one digit for each ciphertext prime: digit d of element σ
    /// encrypts `P·g_d·s` under `σ^-1(s)`.
    ///
    /// # Errors
    /// [`SecretError::OtherParameters`]; [`SecretError::Ckks`] when the set has no key-switching
    /// prime.
    pub fn galois_keys<R: Csprng>(
        &self,
        context: &Context,
        elements: &[GaloisElement],
        rng: &mut R,
    ) -> Result<Vec<SeededGaloisKey>, SecretError> {
        self.check(context)?;
        let mut elements: Vec<_> = elements
            .iter()
            .copied()
            .filter(|e| !e.is_identity())
            .collect();
        elements.sort_unstable();
        elements.dedup();
        if elements.is_empty() {
            return Ok(Vec::new());
        }
        context.require_key_switching()?;
        let mut seed = Seed([0; 32]);
        rng.fill(&mut seed.0);
        let tasks: Vec<_> = elements
            .into_iter()
            .map(|element| (element, rng.fork()))
            .collect();
        Ok(tasks
            .into_par_iter()
            .map(|(element, mut rng)| self.galois_key(context, element, seed, &mut rng))
            .collect())
    }

    fn galois_key(
        &self,
        context: &Context,
        element: GaloisElement,
        seed: Seed,
        rng: &mut impl Csprng,
    ) -> SeededGaloisKey {
        let (n, level) = (context.degree(), context.level());
        let inverse = Automorphism::new(element.inverse(n), n);
        let mut target = RnsPoly::zero(context.qp_limbs(), n);
        for limb in 0..context.qp_limbs() {
            inverse.apply(level, self.limb(limb), target.limb_mut(limb));
        }
        let mut errors = vec![0; n];
        let mut scaled_secret = vec![0; n];
        let digits = (0..context.q_limbs())
            .map(|d| {
                // b_d = e - a_d·σ^-1(s) + P·g_d·s
                let mut mask = expand_key_digit(context, &seed, element, d);
                let mut b = RnsPoly::zero(context.qp_limbs(), n);
                fill_errors(rng, &mut errors);
                small_to_ntt(context, &errors, &mut b);
                for limb in 0..context.qp_limbs() {
                    let q = context.modulus(limb);
                    let product = mask.limb_mut(limb);
                    kernels::mul_assign(level, q, product, target.limb(limb));
                    kernels::sub_assign(level, q, b.limb_mut(limb), product);
                }
                let q = context.modulus(d);
                let p = context.modulus(context.q_limbs()).value();
                let p = q.reduce_u64(u64::from(p));
                scaled_secret.copy_from_slice(self.limb(d));
                let factor = vec![p; n];
                kernels::mul_assign(level, q, &mut scaled_secret, &factor);
                kernels::add_assign(level, q, b.limb_mut(d), &scaled_secret);
                // The product a·σ^-1(s) would give the secret away.
                mask.residues_mut().zeroize();
                b
            })
            .collect();
        errors.zeroize();
        scaled_secret.zeroize();
        target.residues_mut().zeroize();
        SeededGaloisKey {
            element,
            seed,
            digits,
        }
    }
}
