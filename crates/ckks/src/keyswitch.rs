//! Hybrid key switching with one digit for each ciphertext prime (Han, Ki, CT-RSA 2020; gadget of
//! Bajard et al., SAC 2016), hoisted (Halevi, Shoup, CRYPTO 2018).
//!
//! A digit of `c1` is its residue modulo q_d, lifted centred. The key of an automorphism σ holds,
//! for each digit, an encryption of `P·g_d·s` under `σ^-1(s)`, where `g_d` is 1 modulo q_d and 0
//! modulo the other primes. So `Σ_d digit_d·key_d` divided by P encrypts `c1·s` under `σ^-1(s)`,
//! and σ is applied last, on the result: hoisted rotations share the digits, and fewer limbs are
//! permuted than when the digits are.
//!
//! Polynomials over QP are `[q_0, …, P]`, limb after limb.

use crate::automorphism::{Automorphism, GaloisElement};
use crate::context::Context;
use crate::error::CkksError;
use crate::kernels;
use crate::memory::{Block, BlockBuffer};
use crate::modulus::Modulus;
use crate::params::ParameterDigest;
use crate::poly::RnsPoly;
use crate::upcoming::Upcoming;
use crate::xof::{Domain, Seed, expand_uniform};
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;

/// A Galois key as generated and sent: the uniform half is a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeededGaloisKey {
    /// The automorphism.
    pub element: GaloisElement,
    /// Public seed of the uniform halves; must be unique to this key set.
    pub seed: Seed,
    /// One polynomial over QP for each digit.
    pub digits: Vec<RnsPoly>,
}

/// A Galois key ready for evaluation, in Montgomery form: `[limb][N/16][digit][polynomial][16]`,
/// so that a key product reads one stream. Keys expanded together share one buffer.
#[derive(Clone)]
pub struct GaloisKey {
    digest: ParameterDigest,
    automorphism: Automorphism,
    data: Arc<BlockBuffer>,
    /// First block.
    start: usize,
    /// Blocks of one limb.
    limb_len: usize,
    /// Blocks.
    len: usize,
}

impl fmt::Debug for GaloisKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GaloisKey")
            .field("element", &self.element())
            .finish_non_exhaustive()
    }
}

/// XOF object number of the uniform half of one digit.
fn key_object(element: GaloisElement, digit: usize) -> u64 {
    u64::from(element.exponent()) << 8 | digit as u64
}

/// The uniform half of one digit of a Galois key, over QP, in the NTT domain.
pub fn expand_key_digit(
    context: &Context,
    seed: &Seed,
    element: GaloisElement,
    digit: usize,
) -> RnsPoly {
    let mut poly = RnsPoly::zero(context.qp_limbs(), context.degree());
    for limb in 0..context.qp_limbs() {
        let object = key_object(element, digit);
        let modulus = context.modulus(limb);
        expand_uniform(
            seed,
            Domain::GaloisKey,
            object,
            limb as u8,
            modulus,
            poly.limb_mut(limb),
        );
    }
    poly
}

impl GaloisKey {
    /// Expands a received key.
    ///
    /// # Errors
    /// [`CkksError::NoKeySwitching`] or [`CkksError::Shape`] when the key does not fit the context;
    /// [`CkksError::Allocation`].
    pub fn expand(context: &Context, key: &SeededGaloisKey) -> Result<Self, CkksError> {
        let mut keys = Self::expand_all(context, std::slice::from_ref(key))?;
        keys.pop().ok_or(CkksError::Shape {
            what: "keys",
            expected: 1,
            found: 0,
        })
    }

    /// Expands received keys into one buffer, in parallel.
    ///
    /// # Errors
    /// As [`GaloisKey::expand`]; nothing is expanded then.
    pub fn expand_all(context: &Context, keys: &[SeededGaloisKey]) -> Result<Vec<Self>, CkksError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        context.require_key_switching()?;
        keys.iter().try_for_each(|key| check_shape(context, key))?;
        let limb_len = context.q_limbs() * 2 * context.degree() / 16;
        let len = context.qp_limbs() * limb_len;
        let mut buffer = BlockBuffer::zeroed(keys.len().saturating_mul(len))?;
        buffer
            .blocks_mut()
            .par_chunks_mut(len)
            .zip(keys)
            .for_each(|(blocks, key)| expand_into(context, key, blocks));
        let data = Arc::new(buffer);
        Ok(keys
            .iter()
            .enumerate()
            .map(|(i, key)| Self {
                digest: context.digest(),
                automorphism: Automorphism::new(key.element, context.degree()),
                data: Arc::clone(&data),
                start: i * len,
                limb_len,
                len,
            })
            .collect())
    }

    /// Residues of one limb, `[N/16][digit][polynomial][16]`.
    fn limb(&self, limb: usize) -> &[u32] {
        let start = self.start + limb * self.limb_len;
        self.data.blocks()[start..start + self.limb_len].as_flattened()
    }

    /// The key's memory, to be fetched before it is used.
    pub fn upcoming(&self) -> Upcoming<'_> {
        Upcoming::new(&self.data.blocks()[self.start..self.start + self.len])
    }

    /// Identity of the parameters it was expanded for.
    pub fn digest(&self) -> ParameterDigest {
        self.digest
    }

    /// The automorphism's element.
    pub fn element(&self) -> GaloisElement {
        self.automorphism.element()
    }

    /// Tables that apply the automorphism.
    pub fn automorphism(&self) -> &Automorphism {
        &self.automorphism
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.len * size_of::<Block>()
    }
}

fn check_shape(context: &Context, key: &SeededGaloisKey) -> Result<(), CkksError> {
    let shape = |what, expected, found| {
        if expected == found {
            Ok(())
        } else {
            Err(CkksError::Shape {
                what,
                expected,
                found,
            })
        }
    };
    shape(
        "digits of a Galois key",
        context.q_limbs(),
        key.digits.len(),
    )?;
    for digit in &key.digits {
        shape(
            "coefficients of a Galois key digit",
            context.degree(),
            digit.degree(),
        )?;
        shape(
            "limbs of a Galois key digit",
            context.qp_limbs(),
            digit.limbs(),
        )?;
    }
    Ok(())
}

fn expand_into(context: &Context, key: &SeededGaloisKey, blocks: &mut [Block]) {
    let digits = context.q_limbs();
    let limb_len = blocks.len() / context.qp_limbs();
    for (d, b) in key.digits.iter().enumerate() {
        let mut halves = [
            b.clone(),
            expand_key_digit(context, &key.seed, key.element, d),
        ];
        for (poly, half) in halves.iter_mut().enumerate() {
            for (limb, blocks) in blocks.chunks_exact_mut(limb_len).enumerate() {
                let values = half.limb_mut(limb);
                kernels::to_montgomery(context.level(), context.modulus(limb), values);
                for (i, value) in values.as_chunks::<16>().0.iter().enumerate() {
                    blocks[(i * digits + d) * 2 + poly] = *value;
                }
            }
        }
    }
}

impl Context {
    /// The key-switching prime.
    ///
    /// # Errors
    /// [`CkksError::NoKeySwitching`] when the set has none.
    pub fn require_key_switching(&self) -> Result<Modulus, CkksError> {
        self.parameters()
            .p()
            .ok_or_else(|| CkksError::NoKeySwitching {
                name: self.parameters().name().to_owned(),
            })
    }

    /// Residues of a decomposition: `[limb of QP][digit][N]`.
    pub fn decomposition_len(&self) -> usize {
        self.qp_limbs() * self.q_limbs() * self.degree()
    }

    /// Decomposes `c1`, given limb by limb in the NTT domain, into digits over QP in the NTT
    /// domain. Costs one inverse transform for each limb and one forward for each digit and
    /// foreign prime (6 in all for two ciphertext primes). `scratch` has N residues. `upcoming` is
    /// fetched on the way: usually the key that the digits will meet.
    pub fn decompose<'a>(
        &self,
        c1: impl Fn(usize) -> &'a [u32],
        digits: &mut [u32],
        scratch: &mut [u32],
        upcoming: &mut Upcoming<'_>,
    ) {
        let (count, n) = (self.q_limbs(), self.degree());
        for d in 0..count {
            // The lift leaves the residue modulo its own prime as it is. Copied first: the limb may
            // come from far, and is read once.
            let own = (d * count + d) * n;
            digits[own..own + n].copy_from_slice(c1(d));
            scratch.copy_from_slice(&digits[own..own + n]);
            self.table(d).inverse_fetching(scratch, upcoming);
            for limb in (0..self.qp_limbs()).filter(|&limb| limb != d) {
                let at = (limb * count + d) * n;
                let out = &mut digits[at..at + n];
                let (from, to) = (self.modulus(d), self.modulus(limb));
                kernels::lift_centred(self.level(), from, to, scratch, out);
                self.table(limb).forward_fetching(out, upcoming);
            }
        }
    }

    /// `Σ_d digit_d·key_d` over QP: two polynomials, one after the other. Not yet divided by P,
    /// not yet permuted.
    pub fn key_product(&self, digits: &[u32], key: &GaloisKey, out: &mut [u32]) {
        let (count, n, limbs) = (self.q_limbs(), self.degree(), self.qp_limbs());
        let (out0, out1) = out.split_at_mut(limbs * n);
        for limb in 0..limbs {
            let at = limb * count * n;
            kernels::key_product(
                self.level(),
                self.modulus(limb),
                &digits[at..at + count * n],
                key.limb(limb),
                &mut out0[limb * n..(limb + 1) * n],
                &mut out1[limb * n..(limb + 1) * n],
            );
        }
    }

    /// Divides one polynomial over QP by P, rounding to nearest: the ciphertext limbs of `poly`
    /// become the quotient, its P limb is destroyed. One inverse transform and one forward for
    /// each ciphertext prime. `scratch` has N residues. `upcoming` is fetched on the way: usually
    /// the next key.
    pub fn mod_down(&self, poly: &mut [u32], scratch: &mut [u32], upcoming: &mut Upcoming<'_>) {
        let (count, n) = (self.q_limbs(), self.degree());
        let (q_part, p_part) = poly.split_at_mut(count * n);
        self.table(count).inverse_fetching(p_part, upcoming);
        for (limb, out) in q_part.chunks_exact_mut(n).enumerate() {
            let (from, to) = (self.modulus(count), self.modulus(limb));
            kernels::lift_centred(self.level(), from, to, p_part, scratch);
            self.table(limb).forward_fetching(scratch, upcoming);
            kernels::sub_scale(self.level(), to, self.p_inverse(limb), out, scratch);
        }
    }
}
