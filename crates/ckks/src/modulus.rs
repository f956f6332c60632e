//! Word-sized prime moduli and their exact arithmetic.

use crate::error::ParameterError;

/// Largest supported bit length of an RNS prime. Below 2^31, `2q` fits a 32-bit lane, which is
/// what the vectorised butterflies need.
pub const MAX_PRIME_BITS: u32 = 31;

/// An odd prime `q < 2^31` with the constants its reductions need.
///
/// All residues are canonical, that is in `0..q`, unless a function documents a wider range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Modulus {
    q: u32,
    /// `q^-1 mod 2^32`, for Montgomery reduction with a subtraction.
    q_inv: u32,
    /// `2^32 mod q`.
    r: u32,
    /// `2^64 mod q`.
    r2: u32,
}

impl Modulus {
    /// Builds the constants of a prime modulus.
    ///
    /// # Errors
    /// [`ParameterError::NotPrime`] when `q` is not an odd prime below 2^31.
    pub fn new(q: u32) -> Result<Self, ParameterError> {
        if q < 3 || q >> MAX_PRIME_BITS != 0 || !is_prime(q) {
            return Err(ParameterError::NotPrime { value: q.into() });
        }
        // Newton iteration: q is its own inverse mod 8, and each step doubles the valid bits.
        let mut q_inv = q;
        for _ in 0..4 {
            q_inv = q_inv.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(q_inv)));
        }
        let r = ((1u64 << 32) % u64::from(q)) as u32;
        let r2 = ((u64::from(r) * u64::from(r)) % u64::from(q)) as u32;
        Ok(Self { q, q_inv, r, r2 })
    }

    /// The prime itself.
    #[inline]
    pub const fn value(self) -> u32 {
        self.q
    }

    /// `q^-1 mod 2^32`.
    #[inline]
    pub const fn inverse_mod_word(self) -> u32 {
        self.q_inv
    }

    /// `2^32 mod q`, the Montgomery radix.
    #[inline]
    pub const fn radix(self) -> u32 {
        self.r
    }

    /// `2^64 mod q`, the square of the Montgomery radix.
    #[inline]
    pub const fn radix_squared(self) -> u32 {
        self.r2
    }

    /// Bit length of the prime.
    #[inline]
    pub const fn bits(self) -> u32 {
        32 - self.q.leading_zeros()
    }

    /// `a + b mod q` for canonical operands.
    #[inline]
    pub const fn add(self, a: u32, b: u32) -> u32 {
        let s = a + b;
        if s >= self.q { s - self.q } else { s }
    }

    /// `a - b mod q` for canonical operands.
    #[inline]
    pub const fn sub(self, a: u32, b: u32) -> u32 {
        if a >= b { a - b } else { a + self.q - b }
    }

    /// `-a mod q` for a canonical operand.
    #[inline]
    pub const fn neg(self, a: u32) -> u32 {
        if a == 0 { 0 } else { self.q - a }
    }

    /// `a * b mod q` for any 32-bit operands.
    #[inline]
    pub const fn mul(self, a: u32, b: u32) -> u32 {
        ((a as u64 * b as u64) % self.q as u64) as u32
    }

    /// `t mod q` for any 64-bit value.
    #[inline]
    pub const fn reduce_u64(self, t: u64) -> u32 {
        (t % self.q as u64) as u32
    }

    /// The canonical residue of a signed value.
    #[inline]
    pub const fn reduce_i64(self, t: i64) -> u32 {
        t.rem_euclid(self.q as i64) as u32
    }

    /// Montgomery reduction: `t * 2^-32 mod q`, canonical, for `t < q * 2^32`
    /// (Montgomery, Math. Comp. 44, 1985; the variant that subtracts).
    #[inline]
    pub const fn montgomery_reduce(self, t: u64) -> u32 {
        let m = (t as u32).wrapping_mul(self.q_inv);
        let mq_hi = ((m as u64 * self.q as u64) >> 32) as u32;
        let hi = (t >> 32) as u32;
        if hi >= mq_hi {
            hi - mq_hi
        } else {
            hi.wrapping_sub(mq_hi).wrapping_add(self.q)
        }
    }

    /// `a * 2^32 mod q`: the Montgomery form of a canonical residue.
    #[inline]
    pub const fn to_montgomery(self, a: u32) -> u32 {
        self.montgomery_reduce(a as u64 * self.r2 as u64)
    }

    /// `a^e mod q`.
    pub const fn pow(self, a: u32, mut e: u64) -> u32 {
        let mut base = a % self.q;
        let mut acc = 1 % self.q;
        while e > 0 {
            if e & 1 == 1 {
                acc = self.mul(acc, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        acc
    }

    /// `a^-1 mod q`, for `a` not divisible by `q`.
    pub const fn inv(self, a: u32) -> u32 {
        self.pow(a, self.q as u64 - 2)
    }

    /// Shoup's quotient `floor(w * 2^32 / q)` of a canonical constant `w`, used to multiply by `w`
    /// with one high product (V. Shoup, NTL; D. Harvey, J. Symb. Comp. 60, 2014).
    #[inline]
    pub const fn shoup(self, w: u32) -> u32 {
        (((w as u64) << 32) / self.q as u64) as u32
    }

    /// `x * w mod q` in `0..2q`, for any 32-bit `x` and a canonical `w` with its Shoup quotient.
    #[inline]
    pub const fn mul_shoup_lazy(self, x: u32, w: u32, w_shoup: u32) -> u32 {
        let hi = ((x as u64 * w_shoup as u64) >> 32) as u32;
        x.wrapping_mul(w).wrapping_sub(hi.wrapping_mul(self.q))
    }

    /// `x` lifted to the centred range `-(q-1)/2 ..= (q-1)/2`.
    #[inline]
    pub const fn centre(self, x: u32) -> i32 {
        if x > self.q / 2 {
            x as i32 - self.q as i32
        } else {
            x as i32
        }
    }
}

/// Deterministic Miller–Rabin for 32-bit integers: the bases 2, 7 and 61 decide every
/// value below 4,759,123,141 (Jaeschke, Math. Comp. 61, 1993).
pub const fn is_prime(value: u32) -> bool {
    if value < 2 {
        return false;
    }
    let small = [2u32, 3, 5, 7, 11, 13, 61];
    let mut i = 0;
    while i < small.len() {
        if value == small[i] {
            return true;
        }
        if value.is_multiple_of(small[i]) {
            return false;
        }
        i += 1;
    }
    let n = value as u64;
    let s = (n - 1).trailing_zeros();
    let d = (n - 1) >> s;
    let bases = [2u64, 7, 61];
    let mut i = 0;
    while i < bases.len() {
        let mut x = 1u64;
        let mut base = bases[i];
        let mut e = d;
        while e > 0 {
            if e & 1 == 1 {
                x = x * base % n;
            }
            base = base * base % n;
            e >>= 1;
        }
        let mut witness = x != 1 && x != n - 1;
        let mut r = 1;
        while witness && r < s {
            x = x * x % n;
            if x == n - 1 {
                witness = false;
            }
            r += 1;
        }
        if witness {
            return false;
        }
        i += 1;
    }
    true
}

/// The largest `count` primes below `2^bits` that are 1 modulo `2 * ring_degree`, descending.
///
/// # Errors
/// [`ParameterError::NotEnoughPrimes`] when fewer exist at that bit length.
pub fn ntt_primes(bits: u32, ring_degree: usize, count: usize) -> Result<Vec<u32>, ParameterError> {
    let step = 2 * ring_degree as u64;
    let short = ParameterError::NotEnoughPrimes {
        bits,
        ring_degree,
        count,
    };
    if bits > MAX_PRIME_BITS || step == 0 || (1u64 << bits) <= step {
        return Err(short);
    }
    let mut candidate = ((1u64 << bits) - 1) / step * step + 1;
    if candidate >= 1 << bits {
        candidate -= step;
    }
    let mut primes = Vec::new();
    while primes.len() < count && candidate >> (bits - 1) != 0 {
        if is_prime(candidate as u32) {
            primes.push(candidate as u32);
        }
        candidate -= step;
    }
    if primes.len() < count {
        Err(short)
    } else {
        Ok(primes)
    }
}

/// A primitive `2N`-th root of unity modulo `q`: the one reached from the smallest generator
/// candidate, so that it is the same on every machine.
///
/// # Errors
/// [`ParameterError::NoRootOfUnity`] when `2N` does not divide `q - 1`.
pub fn primitive_root(modulus: Modulus, ring_degree: usize) -> Result<u32, ParameterError> {
    let q = modulus.value();
    let order = 2 * ring_degree as u64;
    if order == 0 || !u64::from(q - 1).is_multiple_of(order) {
        return Err(ParameterError::NoRootOfUnity {
            prime: q,
            ring_degree,
        });
    }
    // x^((q-1)/2N) has order dividing 2N, a power of two; it is primitive exactly when its N-th
    // power is -1.
    for x in 2..q {
        let root = modulus.pow(x, u64::from(q - 1) / order);
        if modulus.pow(root, order / 2) == q - 1 {
            return Ok(root);
        }
    }
    Err(ParameterError::NoRootOfUnity {
        prime: q,
        ring_degree,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primality_agrees_with_trial_division() {
        let trial = |n: u32| {
            n >= 2
                && (2..)
                    .take_while(|d| d * d <= n)
                    .all(|d| !n.is_multiple_of(d))
        };
        for n in 0..20_000 {
            assert_eq!(is_prime(n), trial(n), "{n}");
        }
        // Strong pseudoprimes to base 2, and the largest primes below 2^31 and 2^32.
        for n in [2047u32, 3277, 4033, 3_215_031_751] {
            assert!(!is_prime(n), "{n}");
        }
        assert!(is_prime(2_147_483_647));
        assert!(is_prime(4_294_967_291));
    }

    #[test]
    fn ntt_primes_have_the_asked_form() {
        for (bits, degree) in [(29, 4096), (31, 4096), (31, 65_536), (26, 1024)] {
            let primes = ntt_primes(bits, degree, 2).unwrap();
            for p in primes {
                assert!(is_prime(p));
                assert_eq!(u64::from(p) % (2 * degree as u64), 1);
                assert_eq!(32 - p.leading_zeros(), bits);
            }
        }
        assert!(ntt_primes(14, 4096, 10).is_err());
        assert!(ntt_primes(32, 4096, 1).is_err());
    }

    #[test]
    fn arithmetic_agrees_with_u128() {
        for q in [3u32, 17, 536_813_569, 2_147_352_577, 2_147_483_647] {
            let Ok(m) = Modulus::new(q) else {
                panic!("{q} is prime")
            };
            let values = [0, 1, 2 % q, q / 2, q / 2 + 1, q - 2, q - 1];
            for a in values {
                assert_eq!(
                    m.to_montgomery(a),
                    ((u128::from(a) << 32) % u128::from(q)) as u32
                );
                assert_eq!(m.montgomery_reduce(u64::from(m.to_montgomery(a))), a);
                if a != 0 {
                    assert_eq!(m.mul(a, m.inv(a)), 1);
                }
                assert_eq!(
                    i64::from(m.centre(a)).rem_euclid(i64::from(q)),
                    i64::from(a)
                );
                for b in values {
                    let (a1, b1, q1) = (u128::from(a), u128::from(b), u128::from(q));
                    assert_eq!(u128::from(m.mul(a, b)), a1 * b1 % q1);
                    assert_eq!(u128::from(m.add(a, b)), (a1 + b1) % q1);
                    assert_eq!(u128::from(m.sub(a, b)), (a1 + q1 - b1) % q1);
                    let lazy = m.mul_shoup_lazy(a, b, m.shoup(b));
                    assert!(u64::from(lazy) < 2 * u64::from(q));
                    assert_eq!(u128::from(lazy) % q1, a1 * b1 % q1);
                }
            }
        }
    }

    #[test]
    fn composites_are_refused() {
        for q in [0, 1, 2, 4, 2047, 1 << 31, u32::MAX] {
            assert!(Modulus::new(q).is_err(), "{q}");
        }
    }

    #[test]
    fn roots_are_primitive() {
        for degree in [1024usize, 4096, 65_536] {
            let m = Modulus::new(ntt_primes(31, degree, 1).unwrap()[0]).unwrap();
            let root = primitive_root(m, degree).unwrap();
            assert_eq!(m.pow(root, degree as u64), m.value() - 1);
        }
        assert!(primitive_root(Modulus::new(17).unwrap(), 1024).is_err());
    }
}
