//! Products of public ring elements with small secret ones, modulo `X^N + 1` and `2^52`.
//!
//! Two ways, both exact, and both without branches or addresses that depend on the secret:
//!
//! * **transforms** over auxiliary primes, for many columns. A centred public coefficient is at
//!   most `2^(bits-1)` and a small one at most 1, so a coefficient of the product is at most
//!   `N·2^(bits-1)` in absolute value: three 29-bit primes hold it for 52 bits (`2^62`), two for
//!   the rounded mask products of usual size. The public side is transformed once and kept.
//! * **inner products** with rows of the secret's negacyclic matrix ([`super::direct`]), for few.

use super::GemmParameters;
use super::direct::inner_products;
use crate::error::ParameterError;
use crate::kernels;
use crate::modulus::{Modulus, ntt_primes};
use crate::ntt::{Kernel, NttTable};
use crate::simd::{SimdLevel, multiversion};
use std::sync::Arc;

/// Bits of the auxiliary primes; three of them hold every product.
const PRIME_BITS: u32 = 29;
/// Auxiliary primes.
const PRIMES: usize = 3;

/// Columns up to which inner products beat transforms over two and over three primes. Measured with
/// `cargo bench -p ckks-secret --bench gemm_client -- crossover` on Zen 4, one thread, AVX-512: an
/// inner product takes 0.13 µs, a product by transforms 3.9 and 7.1 µs.
const DIRECT_COLUMNS: [usize; 2] = [30, 56];

/// Tables for products in the ring of a parameter set. Immutable; shared by all threads.
#[derive(Debug)]
pub struct GemmRing {
    parameters: GemmParameters,
    tables: [NttTable; PRIMES],
    garner: Garner,
    level: SimdLevel,
}

impl GemmRing {
    /// Precomputes the tables.
    ///
    /// # Errors
    /// [`ParameterError`] when a prime has no transform of this degree.
    pub fn new(parameters: GemmParameters) -> Result<Arc<Self>, ParameterError> {
        Self::with_level(parameters, SimdLevel::detect())
    }

    /// [`GemmRing::new`] with chosen vector instructions, to compare them; `level` is lowered to
    /// what the machine has.
    ///
    /// # Errors
    /// As [`GemmRing::new`].
    pub fn with_level(
        parameters: GemmParameters,
        level: SimdLevel,
    ) -> Result<Arc<Self>, ParameterError> {
        let level = level.min(SimdLevel::detect());
        let kernel = match level {
            SimdLevel::Portable => Kernel::Reference,
            SimdLevel::Avx2(_) => Kernel::Avx2,
            SimdLevel::Avx512(_) => Kernel::Avx512,
        };
        let degree = parameters.ring_degree();
        let primes = ntt_primes(PRIME_BITS, degree, PRIMES)?;
        let table = |prime: u32| {
            let table = NttTable::new(Modulus::new(prime)?, degree)?;
            Ok::<_, ParameterError>(table.clone().with_kernel(kernel).unwrap_or(table))
        };
        let tables = [table(primes[0])?, table(primes[1])?, table(primes[2])?];
        let garner = Garner::new([0, 1, 2].map(|i| tables[i].modulus()));
        Ok(Arc::new(Self {
            parameters,
            tables,
            garner,
            level,
        }))
    }

    /// The parameters.
    pub fn parameters(&self) -> &GemmParameters {
        &self.parameters
    }

    /// Ring degree N.
    pub fn degree(&self) -> usize {
        self.parameters.ring_degree()
    }

    /// Vector instructions in use.
    pub fn level(&self) -> SimdLevel {
        self.level
    }

    /// Auxiliary primes that public elements of `bits` bits need, two or three.
    pub fn limbs(&self, bits: u32) -> usize {
        // N·2^(bits-1) must not exceed half the product of the primes.
        let two = self.garner.product.ilog2() - 1;
        if bits + self.degree().ilog2() - 1 <= two {
            2
        } else {
            PRIMES
        }
    }

    /// Columns up to which products with public elements of `bits` bits are faster by
    /// [`GemmRing::multiply_direct`] than by [`GemmRing::multiply_transformed`].
    pub fn direct_columns(&self, bits: u32) -> usize {
        DIRECT_COLUMNS[self.limbs(bits) - 2]
    }

    /// Transforms a public element with coefficients modulo `2^bits` (bits above are ignored): N
    /// residues for each of the `out.len()/N` first primes, as many as [`GemmRing::limbs`] says.
    ///
    /// # Panics
    /// When the lengths are not N and a multiple of N: a programming error, not an input error.
    pub fn transform_public(&self, coefficients: &[u64], bits: u32, out: &mut [u32]) {
        let n = self.degree();
        assert_eq!(coefficients.len(), n, "a ring element has N coefficients");
        for (table, out) in self.tables.iter().zip(out.chunks_exact_mut(n)) {
            centred_to_montgomery(self.level, table.modulus(), bits, coefficients, out);
            table.forward(out);
        }
    }

    /// Transforms a small element, coefficients in {-1, 0, 1}: N residues for each of the three
    /// primes.
    ///
    /// # Panics
    /// When the lengths are not N and 3N: a programming error, not an input error.
    pub fn transform_small(&self, small: &[i32], out: &mut [u32]) {
        let n = self.degree();
        assert_eq!(small.len(), n, "a ring element has N coefficients");
        assert_eq!(out.len(), PRIMES * n, "a small element has three limbs");
        for (table, out) in self.tables.iter().zip(out.chunks_exact_mut(n)) {
            kernels::reduce_i32(self.level, table.modulus(), small, out);
            table.forward(out);
        }
    }

    /// Coefficients of the product of two transformed elements modulo `2^64`, of which the low 52
    /// bits are the ring's, the first `out.len()` of them. `scratch` takes as many residues as
    /// `public` has; it is left with values that give the secret away.
    ///
    /// # Panics
    /// When the lengths do not fit: a programming error, not an input error.
    pub fn multiply_transformed(
        &self,
        public: &[u32],
        small: &[u32],
        scratch: &mut [u32],
        out: &mut [u64],
    ) {
        let n = self.degree();
        assert_eq!(scratch.len(), public.len(), "scratch for every limb");
        let limbs = public.len() / n;
        let operands = public.chunks_exact(n).zip(small.chunks_exact(n));
        for ((table, (a, s)), out) in self
            .tables
            .iter()
            .zip(operands)
            .zip(scratch.chunks_exact_mut(n))
        {
            multiply_montgomery(self.level, table.modulus(), a, s, out);
            table.inverse(out);
        }
        let (first, rest) = scratch.split_at(n);
        let (second, third) = rest.split_at(n);
        match limbs {
            2 => two_limbs(self.level, &self.garner, first, second, out),
            _ => three_limbs(self.level, &self.garner, first, second, third, out),
        }
    }

    /// The secret side of inner products: 2N words from which [`GemmRing::multiply_direct`] reads.
    ///
    /// # Panics
    /// When the lengths are not N and 2N: a programming error, not an input error.
    pub fn window(&self, small: &[i32], out: &mut [u64]) {
        super::direct::window(small, out);
    }

    /// The first `out.len()` coefficients of the product modulo `2^64`, of which the low 52 bits
    /// are the ring's.
    ///
    /// # Panics
    /// When the lengths are not N, 2N and at most N: a programming error, not an input error.
    pub fn multiply_direct(&self, public: &[u64], window: &[u64], out: &mut [u64]) {
        let n = self.degree();
        assert_eq!(public.len(), n, "a ring element has N coefficients");
        assert_eq!(window.len(), 2 * n, "a window has 2N words");
        assert!(out.len() <= n, "a product has N coefficients");
        inner_products(self.level, public, window, out);
    }
}

/// `t * 2^-32 mod q`, canonical, for `t < q * 2^32`, written so that it vectorises.
#[inline(always)]
fn montgomery(t: u64, q: u32, q_inv: u32) -> u32 {
    let m = (t as u32).wrapping_mul(q_inv);
    let mq_hi = ((u64::from(m) * u64::from(q)) >> 32) as u32;
    let difference = ((t >> 32) as u32).wrapping_sub(mq_hi);
    difference.min(difference.wrapping_add(q))
}

multiversion! {
    /// Centred residues modulo `2^bits` in Montgomery form: `c + 2^(bits-1)` is not negative and
    /// below `q·2^32`; two reductions bring it to Montgomery form, and the offset is taken away.
    fn centred_to_montgomery(q: Modulus, bits: u32, coefficients: &[u64], out: &mut [u32]) {
        let (qv, q_inv) = (q.value(), q.inverse_mod_word());
        let half = 1u64 << (bits - 1);
        let mask = u64::MAX >> (u64::BITS - bits);
        let offset = q.to_montgomery(q.reduce_u64(half));
        // 2^96 mod q: the first reduction divides by 2^32, the second brings 2^64.
        let factor = q.to_montgomery(q.radix_squared());
        for (out, &v) in out.iter_mut().zip(coefficients) {
            let t = v.wrapping_add(half) & mask;
            let reduced = montgomery(t, qv, q_inv);
            let scaled = montgomery(u64::from(reduced) * u64::from(factor), qv, q_inv);
            let difference = scaled.wrapping_sub(offset);
            *out = difference.min(difference.wrapping_add(qv));
        }
    }
}

multiversion! {
    fn multiply_montgomery(q: Modulus, a: &[u32], b: &[u32], out: &mut [u32]) {
        let (qv, q_inv) = (q.value(), q.inverse_mod_word());
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = montgomery(u64::from(a) * u64::from(b), qv, q_inv);
        }
    }
}

/// A constant with its Shoup quotient.
#[derive(Clone, Copy, Debug)]
struct Factor {
    value: u32,
    shoup: u32,
}

impl Factor {
    fn new(q: Modulus, value: u32) -> Self {
        let shoup = q.shoup(value);
        Self { value, shoup }
    }

    /// `x` times the constant, in `0..2q` for any `x`.
    #[inline(always)]
    fn times(self, x: u32, q: u32) -> u32 {
        let high = ((u64::from(x) * u64::from(self.shoup)) >> 32) as u32;
        x.wrapping_mul(self.value)
            .wrapping_sub(high.wrapping_mul(q))
    }
}

/// Constants of the mixed-radix reconstruction `x = d0 + d1·q0 + d2·q0·q1` (Garner, 1959).
#[derive(Clone, Copy, Debug)]
struct Garner {
    q: [u32; PRIMES],
    /// `q0·q1`.
    product: u64,
    /// `q0^-1 mod q1`.
    q0_mod_q1: Factor,
    /// `(q0·q1)^-1 mod q2`.
    product_mod_q2: Factor,
    /// `q1^-1 mod q2`.
    q1_mod_q2: Factor,
}

impl Garner {
    fn new([q0, q1, q2]: [Modulus; PRIMES]) -> Self {
        let inverse = |value: Modulus, q: Modulus| q.inv(value.value() % q.value());
        let q1_inverse = inverse(q1, q2);
        let product_inverse = q2.mul(inverse(q0, q2), q1_inverse);
        Self {
            q: [q0, q1, q2].map(Modulus::value),
            product: u64::from(q0.value()) * u64::from(q1.value()),
            q0_mod_q1: Factor::new(q1, inverse(q0, q1)),
            product_mod_q2: Factor::new(q2, product_inverse),
            q1_mod_q2: Factor::new(q2, q1_inverse),
        }
    }

    /// The digit `d1`, canonical. The primes have 29 bits, so any residue is below twice any of
    /// them, and sums of four stay below 2^32.
    #[inline(always)]
    fn second(&self, r0: u32, r1: u32) -> u32 {
        let q1 = self.q[1];
        let lazy = self.q0_mod_q1.times(r1 + 2 * q1 - r0, q1);
        lazy.min(lazy.wrapping_sub(q1))
    }

    /// The digit `d2`, canonical.
    #[inline(always)]
    fn third(&self, r0: u32, d1: u32, r2: u32) -> u32 {
        let q2 = self.q[2];
        let high = self.product_mod_q2.times(r2 + 2 * q2 - r0, q2);
        let lazy = high + 2 * q2 - self.q1_mod_q2.times(d1, q2);
        let lazy = lazy.min(lazy.wrapping_sub(2 * q2));
        lazy.min(lazy.wrapping_sub(q2))
    }
}

/// The last digit centred: the integer is much smaller than half the product of the primes, so a
/// negative one has its last digit in the upper half.
#[inline(always)]
fn centred(digit: u32, q: u32) -> u64 {
    let negative = u32::from(digit > q / 2).wrapping_neg();
    digit.wrapping_sub(q & negative) as i32 as i64 as u64
}

multiversion! {
    fn two_limbs(garner: &Garner, r0: &[u32], r1: &[u32], out: &mut [u64]) {
        let garner = *garner;
        for ((out, &r0), &r1) in out.iter_mut().zip(r0).zip(r1) {
            let digit = centred(garner.second(r0, r1), garner.q[1]);
            *out = digit.wrapping_mul(garner.q[0].into()).wrapping_add(r0.into());
        }
    }
}

multiversion! {
    fn three_limbs(garner: &Garner, r0: &[u32], r1: &[u32], r2: &[u32], out: &mut [u64]) {
        let garner = *garner;
        for (((out, &r0), &r1), &r2) in out.iter_mut().zip(r0).zip(r1).zip(r2) {
            let second = garner.second(r0, r1);
            let third = centred(garner.third(r0, second, r2), garner.q[2]);
            *out = (u64::from(second) * u64::from(garner.q[0]))
                .wrapping_add(r0.into())
                .wrapping_add(third.wrapping_mul(garner.product));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;
    use crate::gemm::{LOG_Q, MODULUS_MASK};

    const N: usize = 2048;

    fn values(mut state: u64) -> impl FnMut() -> u64 {
        move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }
    }

    /// `a·s mod (X^N + 1, 2^bits)` by definition, with `a` as it is, not centred.
    fn schoolbook(a: &[u64], s: &[i32], bits: u32) -> Vec<u64> {
        let mut out = vec![0i128; N];
        for (i, &s) in s.iter().enumerate() {
            for (j, &a) in a.iter().enumerate() {
                let term = i128::from(a) * i128::from(s);
                match i + j {
                    k if k < N => out[k] += term,
                    k => out[k - N] -= term,
                }
            }
        }
        out.iter().map(|v| v.rem_euclid(1 << bits) as u64).collect()
    }

    fn publics(bits: u32) -> Vec<Vec<u64>> {
        let top = u64::MAX >> (64 - bits);
        let half = 1 << (bits - 1);
        let mut next = values(u64::from(bits));
        vec![
            vec![0; N],
            vec![top; N],
            vec![half; N],
            vec![half - 1; N],
            (0..N)
                .map(|i| if i % 2 == 0 { half } else { half - 1 })
                .collect(),
            (0..N)
                .map(|i| if i < N / 3 { half } else { half - 1 })
                .collect(),
            (0..N).map(|_| next() & top).collect(),
        ]
    }

    fn smalls() -> Vec<Vec<i32>> {
        let mut next = values(99);
        let mut one = vec![0; N];
        one[N - 1] = -1;
        vec![
            vec![0; N],
            vec![1; N],
            vec![-1; N],
            one,
            (0..N).map(|i| if i <= N / 2 { 1 } else { -1 }).collect(),
            (0..N).map(|_| (next() % 3) as i32 - 1).collect(),
        ]
    }

    #[test]
    fn both_ways_give_the_exact_product_on_every_level() {
        let parameters = GemmParameters::named("gemm-2048").unwrap();
        for bits in [16, 29, 46, 47, 52] {
            for a in publics(bits) {
                for s in smalls() {
                    let exact = schoolbook(&a, &s, bits);
                    let mask = u64::MAX >> (64 - bits);
                    for level in SimdLevel::available() {
                        let ring = GemmRing::with_level(parameters.clone(), level).unwrap();
                        let limbs = ring.limbs(bits);
                        assert_eq!(limbs, if bits <= 46 { 2 } else { 3 });
                        let mut public = vec![0; limbs * N];
                        ring.transform_public(&a, bits, &mut public);
                        let mut small = vec![0; 3 * N];
                        ring.transform_small(&s, &mut small);
                        let mut scratch = vec![0; limbs * N];
                        for len in [N, 100] {
                            let mut out = vec![1; len];
                            ring.multiply_transformed(&public, &small, &mut scratch, &mut out);
                            assert!(out.iter().zip(&exact).all(|(o, e)| o & mask == *e));
                        }
                        let mut window = vec![0; 2 * N];
                        ring.window(&s, &mut window);
                        for len in [1, 3, 4, 5, 64, 70] {
                            let mut out = vec![1; len];
                            ring.multiply_direct(&a, &window, &mut out);
                            assert!(out.iter().zip(&exact).all(|(o, e)| o & mask == *e));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn inner_products_reach_the_last_coefficient() {
        let ring = GemmRing::new(GemmParameters::named("gemm-2048").unwrap()).unwrap();
        let (a, s) = (publics(52).pop().unwrap(), smalls().pop().unwrap());
        let mut window = vec![0; 2 * N];
        ring.window(&s, &mut window);
        let mut out = vec![0; N];
        ring.multiply_direct(&a, &window, &mut out);
        out.iter_mut().for_each(|v| *v &= MODULUS_MASK);
        assert_eq!(out, schoolbook(&a, &s, LOG_Q));
    }
}
