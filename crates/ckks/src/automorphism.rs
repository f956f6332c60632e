//! Galois automorphisms `X → X^k` in the NTT domain.
//!
//! Position `i` of a transform holds the value at `ψ^e(i)`, `e(i) = 2·rev(i) + 1`, so the
//! automorphism moves the value of exponent `k·e(i)` to position `i`. In bit-reversed order the
//! high bits of a position are the low bits of its exponent, hence 16 consecutive positions come
//! from 16 consecutive positions: with `i = 16B + l`, `e = e_B + (N/8)·rev4(l)`, and
//! `k·e ≡ k·e_B + (N/8)·k·rev4(l) (mod 2N)`, whose residue modulo N/8 depends on B alone. Inside
//! the block the move is `t → k·t + c (mod 16)` on `t = rev4(l)`: one of 16 patterns.

use crate::simd::SimdLevel;
use std::fmt;

/// An odd exponent `k` modulo 2N of an automorphism `X → X^k`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GaloisElement(u32);

impl GaloisElement {
    /// The element of a rotation of the N/2 slots to the left by `step` (negative: to the right):
    /// `5^step mod 2N`.
    pub fn rotation(step: i64, ring_degree: usize) -> Self {
        let slots = (ring_degree / 2) as i64;
        let two_n = 2 * ring_degree as u64;
        let mut exponent = step.rem_euclid(slots) as u64;
        let (mut acc, mut base) = (1u64, 5u64);
        while exponent > 0 {
            if exponent & 1 == 1 {
                acc = acc * base % two_n;
            }
            base = base * base % two_n;
            exponent >>= 1;
        }
        Self(acc as u32)
    }

    /// The element of complex conjugation of all slots, `2N - 1`.
    pub fn conjugation(ring_degree: usize) -> Self {
        Self(2 * ring_degree as u32 - 1)
    }

    /// The element with this exponent, if it is odd and below 2N.
    pub fn from_exponent(exponent: u32, ring_degree: usize) -> Option<Self> {
        (exponent % 2 == 1 && u64::from(exponent) < 2 * ring_degree as u64)
            .then_some(Self(exponent))
    }

    /// The exponent k.
    pub fn exponent(self) -> u32 {
        self.0
    }

    /// Whether this is the identity.
    pub fn is_identity(self) -> bool {
        self.0 == 1
    }

    /// The inverse automorphism.
    pub fn inverse(self, ring_degree: usize) -> Self {
        // Newton iteration modulo a power of two; every odd k is its own inverse mod 8.
        let mut inv = self.0;
        for _ in 0..4 {
            inv = inv.wrapping_mul(2u32.wrapping_sub(self.0.wrapping_mul(inv)));
        }
        Self(inv & (2 * ring_degree as u32 - 1))
    }

    /// What the element does, in words, for messages.
    pub fn describe(self, ring_degree: usize) -> String {
        if self == Self::conjugation(ring_degree) {
            return "conjugation".to_owned();
        }
        let slots = (ring_degree / 2) as i64;
        let mut element = 1u64;
        for step in 0..slots {
            if element == u64::from(self.0) {
                return format!("rotation by {step}");
            }
            element = element * 5 % (2 * ring_degree as u64);
        }
        format!("automorphism X^{}", self.0)
    }
}

/// Tables that apply one automorphism to limbs in the NTT domain.
#[derive(Clone)]
pub struct Automorphism {
    element: GaloisElement,
    /// For each destination block: source block and pattern.
    blocks: Vec<(u16, u16)>,
    patterns: [[u32; 16]; 16],
}

impl fmt::Debug for Automorphism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Automorphism")
            .field("element", &self.element)
            .finish_non_exhaustive()
    }
}

impl Automorphism {
    /// Builds the tables for ring degree N (a power of two, at least 16).
    pub fn new(element: GaloisElement, ring_degree: usize) -> Self {
        let k = element.exponent() as usize;
        let blocks_count = ring_degree / 16;
        let log_blocks = blocks_count.trailing_zeros();
        let reverse_block = |b: usize| {
            if log_blocks == 0 {
                0
            } else {
                b.reverse_bits() >> (usize::BITS - log_blocks)
            }
        };
        let reverse4 = |l: usize| (l.reverse_bits() >> (usize::BITS - 4)) & 15;
        let stride = ring_degree / 8;
        let blocks = (0..blocks_count)
            .map(|block| {
                let exponent = k * (2 * reverse_block(block) + 1);
                let source = reverse_block((exponent % stride) / 2);
                (source as u16, ((exponent / stride) % 16) as u16)
            })
            .collect();
        let mut patterns = [[0u32; 16]; 16];
        for (shift, pattern) in patterns.iter_mut().enumerate() {
            for (lane, source) in pattern.iter_mut().enumerate() {
                *source = reverse4((k * reverse4(lane) + shift) % 16) as u32;
            }
        }
        Self {
            element,
            blocks,
            patterns,
        }
    }

    /// The automorphism's element.
    pub fn element(&self) -> GaloisElement {
        self.element
    }

    /// Number of 16-residue blocks of a limb.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Source block and lane pattern of a destination block.
    #[inline]
    pub fn block(&self, destination: usize) -> (usize, &[u32; 16]) {
        let (source, pattern) = self.blocks[destination];
        (
            usize::from(source),
            &self.patterns[usize::from(pattern) & 15],
        )
    }

    /// Writes the permuted limb `input` to `output`; both hold N residues.
    pub fn apply(&self, level: SimdLevel, input: &[u32], output: &mut [u32]) {
        let output = output.as_chunks_mut::<16>().0;
        self.for_each_block(level, input, |block, value| output[block] = value);
    }

    /// Adds the permuted limb to `output` modulo `q`; both canonical.
    pub fn apply_add(&self, level: SimdLevel, q: u32, input: &[u32], output: &mut [u32]) {
        let output = output.as_chunks_mut::<16>().0;
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx512(_) => unsafe {
                self.add_avx512(q, input.as_chunks::<16>().0, output)
            },
            _ => self.for_each_block(level, input, |block, value| {
                for (o, v) in output[block].iter_mut().zip(value) {
                    let sum = *o + v;
                    *o = sum.min(sum.wrapping_sub(q));
                }
            }),
        }
    }

    /// Hands each permuted block of 16 residues with its destination index to `sink`, in ascending
    /// order.
    ///
    /// # Panics
    /// When `input` does not hold N residues: a programming error.
    #[inline(always)]
    pub fn for_each_block(
        &self,
        level: SimdLevel,
        input: &[u32],
        sink: impl FnMut(usize, [u32; 16]),
    ) {
        let (input, rest) = input.as_chunks::<16>();
        assert!(
            rest.is_empty() && input.len() == self.blocks.len(),
            "a limb holds N residues"
        );
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx512(_) => unsafe { self.walk_avx512(input, sink) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level comes from run-time detection.
            SimdLevel::Avx2(_) => unsafe { self.walk_avx2(input, sink) },
            _ => self.walk(input, sink, permute),
        }
    }

    #[inline(always)]
    fn walk(
        &self,
        input: &[[u32; 16]],
        mut sink: impl FnMut(usize, [u32; 16]),
        permute: impl Fn(&[u32; 16], &[u32; 16]) -> [u32; 16],
    ) {
        for (i, &(source, pattern)) in self.blocks.iter().enumerate() {
            let pattern = &self.patterns[usize::from(pattern) & 15];
            sink(i, permute(&input[usize::from(source)], pattern));
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    fn walk_avx512(&self, input: &[[u32; 16]], sink: impl FnMut(usize, [u32; 16])) {
        self.walk(input, sink, |values, pattern| {
            permute_avx512(values, pattern)
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    fn add_avx512(&self, q: u32, input: &[[u32; 16]], output: &mut [[u32; 16]]) {
        use std::arch::x86_64::{
            _mm512_add_epi32, _mm512_loadu_epi32, _mm512_min_epu32, _mm512_permutexvar_epi32,
            _mm512_set1_epi32, _mm512_storeu_epi32, _mm512_sub_epi32,
        };
        let q = _mm512_set1_epi32(q as i32);
        for (out, &(source, pattern)) in output.iter_mut().zip(&self.blocks) {
            let pattern = &self.patterns[usize::from(pattern) & 15];
            // SAFETY: each pointer is to 16 u32 values.
            unsafe {
                let values = _mm512_loadu_epi32(input[usize::from(source)].as_ptr().cast());
                let pattern = _mm512_loadu_epi32(pattern.as_ptr().cast());
                let moved = _mm512_permutexvar_epi32(pattern, values);
                let sum = _mm512_add_epi32(moved, _mm512_loadu_epi32(out.as_ptr().cast()));
                let reduced = _mm512_min_epu32(sum, _mm512_sub_epi32(sum, q));
                _mm512_storeu_epi32(out.as_mut_ptr().cast(), reduced);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn walk_avx2(&self, input: &[[u32; 16]], sink: impl FnMut(usize, [u32; 16])) {
        self.walk(input, sink, |values, pattern| permute_avx2(values, pattern));
    }
}

/// `out[l] = values[pattern[l]]`: the plain permutation that the vector ones are tested against.
#[inline(always)]
fn permute(values: &[u32; 16], pattern: &[u32; 16]) -> [u32; 16] {
    std::array::from_fn(|lane| values[(pattern[lane] & 15) as usize])
}

/// `out[l] = values[pattern[l]]` for patterns below 16.
///
/// # Safety
/// Outside functions that are compiled for AVX-512F the CPU must have been found to have it.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
pub fn permute_avx512(values: &[u32; 16], pattern: &[u32; 16]) -> [u32; 16] {
    use std::arch::x86_64::{_mm512_loadu_epi32, _mm512_permutexvar_epi32, _mm512_storeu_epi32};
    let mut out = [0; 16];
    // SAFETY: each pointer is to 16 u32 values.
    unsafe {
        let values = _mm512_loadu_epi32(values.as_ptr().cast());
        let pattern = _mm512_loadu_epi32(pattern.as_ptr().cast());
        _mm512_storeu_epi32(
            out.as_mut_ptr().cast(),
            _mm512_permutexvar_epi32(pattern, values),
        );
    }
    out
}

/// `out[l] = values[pattern[l]]` for patterns below 16.
///
/// # Safety
/// Outside functions that are compiled for AVX2 the CPU must have been found to have it.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub fn permute_avx2(values: &[u32; 16], pattern: &[u32; 16]) -> [u32; 16] {
    use std::arch::x86_64::{
        __m256i, _mm256_blendv_epi8, _mm256_cmpgt_epi32, _mm256_loadu_si256,
        _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_storeu_si256,
    };
    let mut out = [0u32; 16];
    let (low, high) = (values[..8].as_ptr(), values[8..].as_ptr());
    for half in [0, 8] {
        // SAFETY: `low`, `high`, `pattern[half..]` and `out[half..]` each start 8 u32 values.
        unsafe {
            let index = _mm256_loadu_si256(pattern[half..].as_ptr().cast::<__m256i>());
            let from_low = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(low.cast()), index);
            let from_high = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(high.cast()), index);
            let is_high = _mm256_cmpgt_epi32(index, _mm256_set1_epi32(7));
            let value = _mm256_blendv_epi8(from_low, from_high, is_high);
            _mm256_storeu_si256(out[half..].as_mut_ptr().cast(), value);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::{Modulus, ntt_primes};
    use crate::ntt::NttTable;

    /// `a(X^k) mod X^N + 1` on coefficients: the definition.
    fn on_coefficients(q: Modulus, k: u32, a: &[u32]) -> Vec<u32> {
        let n = a.len();
        let mut out = vec![0; n];
        for (i, &v) in a.iter().enumerate() {
            let e = i * k as usize % (2 * n);
            out[e % n] = if e < n { v } else { q.neg(v) };
        }
        out
    }

    #[test]
    fn agrees_with_the_definition_on_coefficients_at_every_level() {
        for n in [1024usize, 4096, 65_536] {
            let q = Modulus::new(ntt_primes(31, n, 1).unwrap()[0]).unwrap();
            let table = NttTable::new(q, n).unwrap();
            let a: Vec<u32> = (0..n as u32).map(|i| q.mul(i + 1, 0x9e37_79b9)).collect();
            let mut a_ntt = a.clone();
            table.forward(&mut a_ntt);
            let steps = [0, 1, -1, 3, -3, 31, n as i64 / 4, n as i64 / 2 - 1];
            let mut elements: Vec<_> = steps
                .iter()
                .map(|&s| GaloisElement::rotation(s, n))
                .collect();
            elements.push(GaloisElement::conjugation(n));
            for element in elements {
                let mut expected = on_coefficients(q, element.exponent(), &a);
                table.forward(&mut expected);
                let automorphism = Automorphism::new(element, n);
                for level in SimdLevel::available() {
                    let mut out = vec![0; n];
                    automorphism.apply(level, &a_ntt, &mut out);
                    assert_eq!(out, expected, "{element:?} {level:?}");
                    automorphism.apply_add(level, q.value(), &a_ntt, &mut out);
                    let twice: Vec<u32> = expected.iter().map(|&v| q.add(v, v)).collect();
                    assert_eq!(out, twice, "{element:?} {level:?}");
                }
            }
        }
    }

    #[test]
    fn inverse_elements_cancel() {
        for n in [1024usize, 4096] {
            for k in (1..2 * n as u32).step_by(2) {
                let element = GaloisElement::from_exponent(k, n).unwrap();
                let product = u64::from(element.inverse(n).exponent()) * u64::from(k);
                assert_eq!(product % (2 * n as u64), 1);
            }
        }
        assert_eq!(GaloisElement::from_exponent(2, 1024), None);
        assert_eq!(GaloisElement::from_exponent(2049, 1024), None);
        assert_eq!(
            GaloisElement::rotation(-3, 1024),
            GaloisElement::rotation(509, 1024)
        );
    }
}
