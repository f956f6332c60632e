//! Element-wise kernels over one limb. Each is one plain loop, compiled for every vector level;
//! the hottest have an AVX-512 version of their own.
//!
//! Unless said otherwise residues are canonical on both sides.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::modulus::Modulus;
use crate::simd::{SimdLevel, multiversion};

/// Calls the AVX-512 version when the level has one and the length is whole vectors.
macro_rules! or_avx512 {
    ($level:expr, $len:expr, $fast:ident($($arg:expr),*), $plain:expr) => {
        match $level {
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512(_) if $len % avx512::LANES == 0 => {
                // SAFETY: levels above portable come from run-time detection only.
                unsafe { avx512::$fast($($arg),*) }
            }
            _ => $plain,
        }
    };
}

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

/// `a *= b`, point by point.
pub fn mul_assign(level: SimdLevel, q: Modulus, a: &mut [u32], b: &[u32]) {
    or_avx512!(
        level,
        a.len(),
        mul_assign(q, a, b),
        plain_mul_assign(level, q, a, b)
    );
}

multiversion! {
    fn plain_mul_assign(q: Modulus, a: &mut [u32], b: &[u32]) {
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

/// `out0 = Σ_d digits[d]·k0[d]`, `out1 = Σ_d digits[d]·k1[d]` for one or two digits, with the
/// key in Montgomery form. `digits` holds the digits one after the other; `key` is one stream,
/// `[N/16][digit][polynomial][16]`. Two products stay below `2q² < q·2^32`. N is a multiple of 16.
pub fn key_product(
    level: SimdLevel,
    q: Modulus,
    digits: &[u32],
    key: &[u32],
    out0: &mut [u32],
    out1: &mut [u32],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512(_) if digits.len() == 2 * out0.len() => {
            // SAFETY: levels above portable come from run-time detection only.
            unsafe { avx512::key_product(q, digits, key, out0, out1) }
        }
        _ => plain_key_product(level, q, digits, key, out0, out1),
    }
}

multiversion! {
    fn plain_key_product(
        q: Modulus,
        digits: &[u32],
        key: &[u32],
        out0: &mut [u32],
        out1: &mut [u32],
    ) {
        let n = out0.len();
        let count = digits.len() / n;
        let (qv, q_inv) = (q.value(), q.inverse_mod_word());
        let key = key.as_chunks::<16>().0;
        let outputs = out0.as_chunks_mut::<16>().0.iter_mut().zip(out1.as_chunks_mut::<16>().0);
        for (i, (out0, out1)) in outputs.enumerate() {
            let (mut sum0, mut sum1) = ([0u64; 16], [0u64; 16]);
            for d in 0..count {
                let x = &digits.as_chunks::<16>().0[d * (n / 16) + i];
                let (k0, k1) = (&key[2 * (i * count + d)], &key[2 * (i * count + d) + 1]);
                for lane in 0..16 {
                    sum0[lane] += u64::from(x[lane]) * u64::from(k0[lane]);
                    sum1[lane] += u64::from(x[lane]) * u64::from(k1[lane]);
                }
            }
            for lane in 0..16 {
                out0[lane] = montgomery(sum0[lane], qv, q_inv);
                out1[lane] = montgomery(sum1[lane], qv, q_inv);
            }
        }
    }
}

/// Lifts residues modulo `from` to the centred range and reduces them modulo `to`.
pub fn lift_centred(
    level: SimdLevel,
    from: Modulus,
    to: Modulus,
    input: &[u32],
    output: &mut [u32],
) {
    or_avx512!(
        level,
        output.len(),
        lift_centred(from, to, input, output),
        plain_lift_centred(level, from, to, input, output)
    );
}

multiversion! {
    fn plain_lift_centred(from: Modulus, to: Modulus, input: &[u32], output: &mut [u32]) {
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

/// `x = (x - y)·w mod q`.
pub fn sub_scale(level: SimdLevel, q: Modulus, w: u32, x: &mut [u32], y: &[u32]) {
    or_avx512!(
        level,
        x.len(),
        sub_scale(q, w, x, y),
        plain_sub_scale(level, q, w, x, y)
    );
}

multiversion! {
    fn plain_sub_scale(q: Modulus, w: u32, x: &mut [u32], y: &[u32]) {
        let qv = q.value();
        let w_shoup = q.shoup(w);
        for (x, y) in x.iter_mut().zip(y) {
            *x = mul_shoup(x.wrapping_sub(*y).wrapping_add(qv), w, w_shoup, qv);
        }
    }
}

multiversion! {
    /// The integers below `q0·q1` with residues `low` and `high`, by Garner's formula
    /// `low + q0·((high - low)·q0^-1 mod q1)`; `inverse` is `q0^-1 mod q1`.
    pub fn garner(
        q0: Modulus,
        q1: Modulus,
        inverse: u32,
        low: &[u32],
        high: &[u32],
        out: &mut [u64],
    ) {
        let (q0v, q1v) = (q0.value(), q1.value());
        let (one_shoup, inverse_shoup) = (q1.shoup(1), q1.shoup(inverse));
        for ((out, &low), &high) in out.iter_mut().zip(low).zip(high) {
            let low_mod = mul_shoup(low, 1, one_shoup, q1v);
            let difference = high.wrapping_sub(low_mod).wrapping_add(q1v);
            let digit = mul_shoup(difference, inverse, inverse_shoup, q1v);
            *out = u64::from(low) + u64::from(q0v) * u64::from(digit);
        }
    }
}

multiversion! {
    /// `(v·ratio + 2^63) >> 64` masked, in 32-bit pieces; needs `v < 2^62` and `ratio < 2^62`, so
    /// that the middle sum stays below 2^64.
    pub fn scale_round(ratio: u64, mask: u64, values: &mut [u64]) {
        let (ratio_high, ratio_low) = (ratio >> 32, ratio & 0xffff_ffff);
        for v in values.iter_mut() {
            let (high, low) = (*v >> 32, *v & 0xffff_ffff);
            let middle = high * ratio_low + low * ratio_high + ((low * ratio_low) >> 32);
            *v = (high * ratio_high + ((middle + (1 << 31)) >> 32)) & mask;
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
        // Whole vectors, and not a multiple of any vector width.
        for (n, q) in [256, 259].into_iter().flat_map(|n| PRIMES.map(|q| (n, q))) {
            let m = Modulus::new(q).unwrap();
            let q128 = u128::from(q);
            let a = residues(q, 1, n);
            let b = residues(q, 2, n);
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
        for (n, q) in [16, 144].into_iter().flat_map(|n| PRIMES.map(|q| (n, q))) {
            let m = Modulus::new(q).unwrap();
            for digits in [1usize, 2] {
                let d = residues(q, 3, digits * n);
                let key = residues(q, 4, 2 * digits * n);
                let mut montgomery_key = key.clone();
                to_montgomery(SimdLevel::Portable, m, &mut montgomery_key);
                for level in SimdLevel::available() {
                    let (mut out0, mut out1) = (vec![0; n], vec![0; n]);
                    key_product(level, m, &d, &montgomery_key, &mut out0, &mut out1);
                    for i in 0..n {
                        for (poly, out) in [(0, &out0), (1, &out1)] {
                            let sum: u128 = (0..digits)
                                .map(|j| {
                                    let at = ((i / 16 * digits + j) * 2 + poly) * 16 + i % 16;
                                    u128::from(d[j * n + i]) * u128::from(key[at])
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
                for (len, level) in [256, 257]
                    .into_iter()
                    .flat_map(|l| SimdLevel::available().into_iter().map(move |v| (l, v)))
                {
                    let input = residues(from, 5, len);
                    let mut out = vec![0; len];
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
