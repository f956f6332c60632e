//! Ciphertexts and the operations on them.

use crate::automorphism::GaloisElement;
use crate::context::Context;
use crate::error::CkksError;
use crate::kernels;
use crate::keyswitch::GaloisKey;
use crate::poly::RnsPoly;
use crate::upcoming::Upcoming;
use crate::xof::{Domain, Seed, expand_uniform};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// An encryption `(c0, c1)` with `c0 + c1·s = m + e`, over Q, in the NTT domain.
///
/// It carries no scale: the scale is the client's own, and would leak the norm of its vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ciphertext {
    /// The half that carries the message.
    pub c0: RnsPoly,
    /// The uniform half.
    pub c1: RnsPoly,
}

/// A fresh encryption as sent: `c1` is a seed and a counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededCiphertext {
    /// The half that carries the message.
    pub c0: RnsPoly,
    /// Where `c1` comes from.
    pub mask: MaskId,
}

/// Names one uniform `c1`: a session's public seed and a counter that is used once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MaskId {
    /// The session's public seed.
    pub seed: Seed,
    /// One-time counter, below 2^56.
    pub counter: u64,
}

impl MaskId {
    /// The uniform `c1` it stands for.
    pub fn expand(&self, context: &Context) -> RnsPoly {
        let mut poly = RnsPoly::zero(context.q_limbs(), context.degree());
        for limb in 0..poly.limbs() {
            let modulus = context.modulus(limb);
            let out = poly.limb_mut(limb);
            expand_uniform(
                &self.seed,
                Domain::Ciphertext,
                self.counter,
                limb as u8,
                modulus,
                out,
            );
        }
        poly
    }
}

impl SeededCiphertext {
    /// The full ciphertext.
    ///
    /// # Errors
    /// [`CkksError::Shape`] when `c0` does not fit the context.
    pub fn expand(&self, context: &Context) -> Result<Ciphertext, CkksError> {
        context.check_poly(&self.c0)?;
        Ok(Ciphertext {
            c0: self.c0.clone(),
            c1: self.mask.expand(context),
        })
    }
}

/// Galois keys by element.
#[derive(Clone, Debug, Default)]
pub struct GaloisKeys(BTreeMap<GaloisElement, GaloisKey>);

impl GaloisKeys {
    /// Adds a key, replacing one of the same element.
    pub fn insert(&mut self, key: GaloisKey) {
        self.0.insert(key.element(), key);
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.0.values().map(GaloisKey::memory_bytes).sum()
    }

    /// The key of an element.
    ///
    /// # Errors
    /// [`CkksError::MissingGaloisKey`], naming the rotation; [`CkksError::ContextMismatch`] for a
    /// key of other parameters.
    pub fn get(&self, element: GaloisElement, context: &Context) -> Result<&GaloisKey, CkksError> {
        let key = self
            .0
            .get(&element)
            .ok_or_else(|| CkksError::MissingGaloisKey {
                what: element.describe(context.degree()),
                element: element.exponent(),
            })?;
        context.check_digest("a Galois key", key.digest())?;
        Ok(key)
    }
}

impl FromIterator<GaloisKey> for GaloisKeys {
    fn from_iter<I: IntoIterator<Item = GaloisKey>>(keys: I) -> Self {
        let mut out = Self::default();
        keys.into_iter().for_each(|key| out.insert(key));
        out
    }
}

/// Operations; none changes its inputs.
impl Context {
    /// Refuses a polynomial of another shape.
    ///
    /// # Errors
    /// [`CkksError::Shape`].
    pub fn check_poly(&self, poly: &RnsPoly) -> Result<(), CkksError> {
        let expected = self.q_limbs() * self.degree();
        let found = poly.residues().len();
        if poly.degree() == self.degree() && found == expected {
            return Ok(());
        }
        Err(CkksError::Shape {
            what: "residues of a polynomial",
            expected,
            found,
        })
    }

    fn check(&self, ciphertext: &Ciphertext) -> Result<(), CkksError> {
        self.check_poly(&ciphertext.c0)?;
        self.check_poly(&ciphertext.c1)
    }

    fn combine(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        f: impl Fn(usize, &mut [u32], &[u32]),
    ) -> Result<Ciphertext, CkksError> {
        self.check(a)?;
        self.check(b)?;
        let mut out = a.clone();
        for limb in 0..self.q_limbs() {
            f(limb, out.c0.limb_mut(limb), b.c0.limb(limb));
            f(limb, out.c1.limb_mut(limb), b.c1.limb(limb));
        }
        Ok(out)
    }

    /// `a + b`.
    ///
    /// # Errors
    /// [`CkksError::Shape`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combine(a, b, |limb, x, y| {
            kernels::add_assign(self.level(), self.modulus(limb), x, y);
        })
    }

    /// `a - b`.
    ///
    /// # Errors
    /// [`CkksError::Shape`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, CkksError> {
        self.combine(a, b, |limb, x, y| {
            kernels::sub_assign(self.level(), self.modulus(limb), x, y);
        })
    }

    /// The product with a plaintext, slot by slot; scales multiply.
    ///
    /// # Errors
    /// [`CkksError::Shape`].
    pub fn mul_plain(&self, a: &Ciphertext, plain: &RnsPoly) -> Result<Ciphertext, CkksError> {
        self.check(a)?;
        self.check_poly(plain)?;
        let mut out = a.clone();
        for limb in 0..self.q_limbs() {
            let q = self.modulus(limb);
            kernels::mul_assign(self.level(), q, out.c0.limb_mut(limb), plain.limb(limb));
            kernels::mul_assign(self.level(), q, out.c1.limb_mut(limb), plain.limb(limb));
        }
        Ok(out)
    }

    /// Slots rotated to the left by `step`; negative steps rotate to the right.
    ///
    /// # Errors
    /// [`CkksError::MissingGaloisKey`], [`CkksError::Shape`].
    pub fn rotate(
        &self,
        a: &Ciphertext,
        step: i64,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext, CkksError> {
        let mut out = self.rotate_hoisted(a, &[step], keys)?;
        out.pop().ok_or(CkksError::Shape {
            what: "rotations",
            expected: 1,
            found: 0,
        })
    }

    /// All slots conjugated.
    ///
    /// # Errors
    /// [`CkksError::MissingGaloisKey`], [`CkksError::Shape`].
    pub fn conjugate(&self, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext, CkksError> {
        let mut out = self.apply_hoisted(a, &[GaloisElement::conjugation(self.degree())], keys)?;
        out.pop().ok_or(CkksError::Shape {
            what: "automorphisms",
            expected: 1,
            found: 0,
        })
    }

    /// Several rotations of one ciphertext that share one decomposition.
    ///
    /// # Errors
    /// [`CkksError::MissingGaloisKey`], [`CkksError::Shape`].
    pub fn rotate_hoisted(
        &self,
        a: &Ciphertext,
        steps: &[i64],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        let elements: Vec<_> = steps
            .iter()
            .map(|&s| GaloisElement::rotation(s, self.degree()))
            .collect();
        self.apply_hoisted(a, &elements, keys)
    }

    fn apply_hoisted(
        &self,
        a: &Ciphertext,
        elements: &[GaloisElement],
        keys: &GaloisKeys,
    ) -> Result<Vec<Ciphertext>, CkksError> {
        self.check(a)?;
        let wanted: Vec<Option<&GaloisKey>> = elements
            .iter()
            .map(|&e| {
                if e.is_identity() {
                    Ok(None)
                } else {
                    keys.get(e, self).map(Some)
                }
            })
            .collect::<Result<_, _>>()?;
        let mut digits = Vec::new();
        if wanted.iter().any(Option::is_some) {
            self.require_key_switching()?;
            digits.resize(self.decomposition_len(), 0);
            let mut scratch = self.buffer(1);
            self.decompose(
                |limb| a.c1.limb(limb),
                &mut digits,
                &mut scratch,
                &mut Upcoming::none(),
            );
        }
        Ok(wanted
            .into_par_iter()
            .map(|key| key.map_or_else(|| a.clone(), |key| self.apply_key(a, &digits, key)))
            .collect())
    }

    fn apply_key(&self, a: &Ciphertext, digits: &[u32], key: &GaloisKey) -> Ciphertext {
        let (n, limbs, level) = (self.degree(), self.qp_limbs(), self.level());
        let mut product = self.buffer(2 * limbs);
        let mut scratch = self.buffer(1);
        self.key_product(digits, key, &mut product);
        let mut out = Ciphertext {
            c0: RnsPoly::zero(self.q_limbs(), n),
            c1: RnsPoly::zero(self.q_limbs(), n),
        };
        let (u0, u1) = product.split_at_mut(limbs * n);
        self.mod_down(u0, &mut scratch, &mut Upcoming::none());
        self.mod_down(u1, &mut scratch, &mut Upcoming::none());
        for limb in 0..self.q_limbs() {
            let range = limb * n..(limb + 1) * n;
            kernels::add_assign(
                level,
                self.modulus(limb),
                &mut u0[range.clone()],
                a.c0.limb(limb),
            );
            key.automorphism()
                .apply(level, &u0[range.clone()], out.c0.limb_mut(limb));
            key.automorphism()
                .apply(level, &u1[range], out.c1.limb_mut(limb));
        }
        out
    }
}
