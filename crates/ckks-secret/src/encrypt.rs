//! Seeded secret-key encryption with one-time masks.

use crate::error::SecretError;
use crate::random::Csprng;
use crate::sampler::fill_errors;
use crate::secret_key::{SecretKey, small_to_ntt};
use ckks::kernels;
use ckks::xof::Seed;
use ckks::{Context, MaskId, RnsPoly, SeededCiphertext};
use std::fmt;
use zeroize::Zeroize;

/// Gives out each one-time mask of a session once.
///
/// Two ciphertexts under one secret and one mask reveal the difference of their messages, so a
/// mask is a value that [`SecretKey::encrypt`] consumes and that cannot be cloned. Masks may be
/// announced to the server before the vectors exist.
pub struct MaskSource {
    seed: Seed,
    next: u64,
}

impl fmt::Debug for MaskSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskSource")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// The right to encrypt once under one mask.
#[derive(Debug)]
pub struct Mask(MaskId);

impl Mask {
    /// Its public name, which the server may learn ahead of time.
    pub fn id(&self) -> MaskId {
        self.0
    }
}

impl MaskSource {
    /// Masks of one session; counters are 56 bits long.
    pub const LIMIT: u64 = 1 << 56;

    /// A source with a fresh public seed.
    pub fn new(rng: &mut impl Csprng) -> Self {
        let mut seed = Seed([0; 32]);
        rng.fill(&mut seed.0);
        Self { seed, next: 0 }
    }

    /// The next unused mask.
    ///
    /// # Errors
    /// [`SecretError::MasksExhausted`].
    pub fn take(&mut self) -> Result<Mask, SecretError> {
        if self.next >= Self::LIMIT {
            return Err(SecretError::MasksExhausted { limit: Self::LIMIT });
        }
        let counter = self.next;
        self.next += 1;
        Ok(Mask(MaskId {
            seed: self.seed,
            counter,
        }))
    }
}

impl SecretKey {
    /// Encrypts an encoded plaintext (over Q, NTT domain) and consumes the mask:
    /// `c0 = m + e - a·s`.
    ///
    /// # Errors
    /// [`SecretError::OtherParameters`]; [`SecretError::Ckks`] for a plaintext of another shape.
    pub fn encrypt(
        &self,
        context: &Context,
        plaintext: &RnsPoly,
        mask: Mask,
        rng: &mut impl Csprng,
    ) -> Result<SeededCiphertext, SecretError> {
        self.check(context)?;
        context.check_poly(plaintext)?;
        let level = context.level();
        let mut c0 = RnsPoly::zero(context.q_limbs(), context.degree());
        let mut errors = vec![0; context.degree()];
        fill_errors(rng, &mut errors);
        small_to_ntt(context, &errors, &mut c0);
        errors.zeroize();
        let mut product = mask.0.expand(context);
        for limb in 0..context.q_limbs() {
            let q = context.modulus(limb);
            kernels::mul_assign(level, q, product.limb_mut(limb), self.limb(limb));
            kernels::sub_assign(level, q, c0.limb_mut(limb), product.limb(limb));
            kernels::add_assign(level, q, c0.limb_mut(limb), plaintext.limb(limb));
        }
        product.residues_mut().zeroize();
        Ok(SeededCiphertext { c0, mask: mask.0 })
    }
}
