//! Element-wise kernels over one limb. Each is one plain loop, compiled for every vector level.
//!
//! Unless said otherwise residues are canonical on both sides.

use crate::modulus::Modulus;
use crate::simd::multiversion;

#[inline(always)]
fn reduce_once(value: u32, q: u32) -> u32 {
    // For value < 2q: the wrapped difference is huge exactly when value < q.
    value.min(value.wrapping_sub(q))
}

/// `t * 2^-32 mod q` for `t < q * 2^32`; the same value as [`Modulus::montgomery_reduce`], written
/// so that it vectorises.
#[inline(always)]
fn montgomery(t: u64, q: u32, q_inv: u32) -> u32 {
    let m = (t as u32).wrapping_mul(q_inv);
    let mq_hi = ((u64::from(m) * u64::from(q)) >> 32) as u32;
    let difference = ((t >> 32) as u32).wrapping_sub(mq_hi);
    difference.min(difference.wrapping_add(q))
}

#[inline(always)]
fn mul_shoup(x: u32, w: u32, w_shoup: u32, q: u32) -> u32 {
    let hi = ((u64::from(x) * u64::from(w_shoup)) >> 32) as u32;
    reduce_once(x.wrapping_mul(w).wrapping_sub(hi.wrapping_mul(q)), q)
}

multiversion! {
    /// `a += b`.
    pub fn add_assign(q: Modulus, a: &mut [u32], b: &[u32]) {
        let q = q.value();
        for (a, b) in a.iter_mut().zip(b) {
            *a = reduce_once(*a + *b, q);
        }
    }
}

multiversion! {
    /// `a -= b`.
    pub fn sub_assign(q: Modulus, a: &mut [u32], b: &[u32]) {
        let q = q.value();
        for (a, b) in a.iter_mut().zip(b) {
            let difference = a.wrapping_sub(*b);
            *a = difference.min(difference.wrapping_add(q));
        }
    }
}

multiversion! {
    /// `a *= b`, point by point.
    pub fn mul_assign(q: Modulus, a: &mut [u32], b: &[u32]) {
        let (qv, q_inv, r2) = (q.value(), q.inverse_mod_word(), q.radix_squared());
        for (a, b) in a.iter_mut().zip(b) {
            let product = montgomery(u64::from(*a) * u64::from(*b), qv, q_inv);
            *a = montgomery(u64::from(product) * u64::from(r2), qv, q_inv);
        }
    }
}

multiversion! {
    /// `a = a * 2^32 mod q`: into Montgomery form.
    pub fn to_montgomery(q: Modulus, a: &mut [u32]) {
        let (qv, q_inv, r2) = (q.value(), q.inverse_mod_word(), q.radix_squared());
        for a in a.iter_mut() {
            *a = montgomery(u64::from(*a) * u64::from(r2), qv, q_inv);
        }
    }
}

multiversion! {
    /// `out0 = Σ_d digits[d]·k0[d]`, `out1 = Σ_d digits[d]·k1[d]` for one or two digits, with the
    /// key in Montgomery form. `digits` holds the digits one after the other, `key` holds for each
    /// digit its two polynomials. Two products stay below `2q² < q·2^32`.
    pub fn key_product(q: Modulus, digits: &[u32], key: &[u32], out0: &mut [u32], out1: &mut [u32]) {
        let n = out0.len();
        let (qv, q_inv) = (q.value(), q.inverse_mod_word());
        if digits.len() == 2 * n {
            let (d0, d1) = digits.split_at(n);
            let (k00, rest) = key.split_at(n);
            let (k01, rest) = rest.split_at(n);
            let (k10, k11) = rest.split_at(n);
            let (d0, d1, k00, k01) = (&d0[..n], &d1[..n], &k00[..n], &k01[..n]);
            let (k10, k11, out1) = (&k10[..n], &k11[..n], &mut out1[..n]);
            for i in 0..n {
                let (x, y) = (u64::from(d0[i]), u64::from(d1[i]));
                out0[i] = montgomery(x * u64::from(k00[i]) + y * u64::from(k10[i]), qv, q_inv);
                out1[i] = montgomery(x * u64::from(k01[i]) + y * u64::from(k11[i]), qv, q_inv);
            }
        } else {
            let (k0, k1) = key.split_at(n);
            for (((x, k0), k1), (o0, o1)) in
                digits.iter().zip(k0).zip(k1).zip(out0.iter_mut().zip(out1.iter_mut()))
            {
                *o0 = montgomery(u64::from(*x) * u64::from(*k0), qv, q_inv);
                *o1 = montgomery(u64::from(*x) * u64::from(*k1), qv, q_inv);
            }
        }
    }
}

multiversion! {
    /// Lifts residues modulo `from` to the centred range and reduces them modulo `to`.
    pub fn lift_centred(from: Modulus, to: Modulus, input: &[u32], output: &mut [u32]) {
        let q = to.value();
        let one_shoup = to.shoup(1);
        let half = from.value() / 2;
        let wrap = to.reduce_u64(u64::from(from.value()));
        for (out, &x) in output.iter_mut().zip(input) {
            let residue = mul_shoup(x, 1, one_shoup, q);
            let shifted = residue.wrapping_sub(wrap);
            let shifted = shifted.min(shifted.wrapping_add(q));
            *out = if x > half { shifted } else { residue };
        }
    }
}

multiversion! {
    /// `x = (x - y)·w mod q`.
    pub fn sub_scale(q: Modulus, w: u32, x: &mut [u32], y: &[u32]) {
        let qv = q.value();
        let w_shoup = q.shoup(w);
        for (x, y) in x.iter_mut().zip(y) {
            *x = mul_shoup(x.wrapping_sub(*y).wrapping_add(qv), w, w_shoup, qv);
        }
    }
}

multiversion! {
    /// Residues of signed values below `2^31` in absolute value.
    pub fn reduce_i32(q: Modulus, input: &[i32], output: &mut [u32]) {
        let qv = q.value();
        let one_shoup = q.shoup(1);
        // 2^31 mod q, added so that the operand is not negative.
        let offset = q.reduce_u64(1 << 31);
        for (out, &x) in output.iter_mut().zip(input) {
            let shifted = (x as u32) ^ 0x8000_0000;
            let difference = mul_shoup(shifted, 1, one_shoup, qv).wrapping_sub(offset);
            *out = difference.min(difference.wrapping_add(qv));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::SimdLevel;

    const PRIMES: [u32; 4] = [12_289, 536_813_569, 1_073_692_673, 2_147_352_577];

    /// Residues that include all extremes, then a fixed pseudo-random walk.
    fn residues(q: u32, salt: u64, len: usize) -> Vec<u32> {
        let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let extremes = [0, 1, q - 1, q - 2, q / 2, q / 2 + 1];
        (0..len)
            .map(|i| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let pick = (state >> 40) as usize;
                if i % 3 == 0 {
                    extremes[pick % 6]
                } else {
                    ((state >> 33) % u64::from(q)) as u32
                }
            })
            .collect()
    }

    #[test]
    fn every_level_agrees_with_wide_integers() {
        const N: usize = 259; // not a multiple of any vector width
        for q in PRIMES {
            let m = Modulus::new(q).unwrap();
            let q128 = u128::from(q);
            let a = residues(q, 1, N);
            let b = residues(q, 2, N);
            for level in SimdLevel::available() {
                let on = |f: &dyn Fn(&mut [u32])| {
                    let mut out = a.clone();
                    f(&mut out);
                    out
                };
                let wide = |f: &dyn Fn(u128, u128) -> u128| -> Vec<u32> {
                    a.iter()
                        .zip(&b)
                        .map(|(&a, &b)| (f(a.into(), b.into()) % q128) as u32)
                        .collect()
                };
                assert_eq!(on(&|x| add_assign(level, m, x, &b)), wide(&|a, b| a + b));
                assert_eq!(
                    on(&|x| sub_assign(level, m, x, &b)),
                    wide(&|a, b| a + q128 - b)
                );
                assert_eq!(on(&|x| mul_assign(level, m, x, &b)), wide(&|a, b| a * b));
                assert_eq!(on(&|x| to_montgomery(level, m, x)), wide(&|a, _| a << 32));
                let w = q - 1;
                let scaled = on(&|x| sub_scale(level, m, w, x, &b));
                assert_eq!(scaled, wide(&|a, b| (a + q128 - b) * u128::from(w)));
            }
        }
    }

    #[test]
    fn key_product_agrees_with_wide_integers() {
        const N: usize = 131;
        for q in PRIMES {
            let m = Modulus::new(q).unwrap();
            for digits in [1usize, 2] {
                let d = residues(q, 3, digits * N);
                let key = residues(q, 4, 2 * digits * N);
                let mut montgomery_key = key.clone();
                to_montgomery(SimdLevel::Portable, m, &mut montgomery_key);
                for level in SimdLevel::available() {
                    let (mut out0, mut out1) = (vec![0; N], vec![0; N]);
                    key_product(level, m, &d, &montgomery_key, &mut out0, &mut out1);
                    for i in 0..N {
                        for (poly, out) in [(0, &out0), (1, &out1)] {
                            let sum: u128 = (0..digits)
                                .map(|j| {
                                    u128::from(d[j * N + i])
                                        * u128::from(key[(2 * j + poly) * N + i])
                                })
                                .sum();
                            assert_eq!(u128::from(out[i]), sum % u128::from(q));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lifts_are_centred() {
        for from in PRIMES {
            for to in PRIMES {
                let (f, t) = (Modulus::new(from).unwrap(), Modulus::new(to).unwrap());
                let input = residues(from, 5, 257);
                for level in SimdLevel::available() {
                    let mut out = vec![0; 257];
                    lift_centred(level, f, t, &input, &mut out);
                    for (&x, &y) in input.iter().zip(&out) {
                        let centred = if x > from / 2 {
                            i64::from(x) - i64::from(from)
                        } else {
                            i64::from(x)
                        };
                        assert_eq!(i64::from(y), centred.rem_euclid(i64::from(to)));
                    }
                }
            }
        }
    }

    #[test]
    fn signed_values_reduce() {
        let values = [0, 1, -1, i32::MAX, i32::MIN, 12_345, -12_345];
        let input: Vec<i32> = (0..100).map(|i| values[i % 7]).collect();
        for q in PRIMES {
            let m = Modulus::new(q).unwrap();
            for level in SimdLevel::available() {
                let mut out = vec![0; 100];
                reduce_i32(level, m, &input, &mut out);
                for (&x, &y) in input.iter().zip(&out) {
                    assert_eq!(i64::from(y), i64::from(x).rem_euclid(i64::from(q)));
                }
            }
        }
    }
}
