//! Canonical embedding between complex slots and integer polynomials.
//!
//! With ζ = exp(iπ/N), slot `j` of `a(X)` is `a(ζ^(5^j))`, j in `0..N/2` (Cheon, Kim, Kim, Song,
//! ASIACRYPT 2017). The exponents `5^j mod 2N` are exactly those that are 1 mod 4, so with
//! `b_i = (a_i + i·a_(i+N/2))·ζ^i` the values at `ζ^(4k+1)` are one complex DFT of length N/2:
//! `a(ζ^(4k+1)) = Σ_i b_i·ω^(ki)`, `ω = exp(2πi/(N/2))`, since `ζ^(N/2) = i`.
//!
//! Scaling: `Σ_i a_i² = (2/N)·Σ_j |slot_j|²`, so no coefficient exceeds the rms of the slots.

use crate::error::CkksError;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

/// Transforms for one ring degree.
#[derive(Clone)]
pub struct Encoder {
    slots: usize,
    forward: Arc<dyn Fft<f64>>,
    backward: Arc<dyn Fft<f64>>,
    /// ζ^i for i in `0..N/2`.
    twist: Vec<Complex64>,
    /// DFT position of slot j: `(5^j mod 2N - 1) / 4`.
    position: Vec<u32>,
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// Precomputes the tables of ring degree N, a power of two of at least 4.
    pub fn new(ring_degree: usize) -> Self {
        let slots = ring_degree / 2;
        let mut planner = FftPlanner::new();
        let mut exponent = 1usize;
        let position = (0..slots)
            .map(|_| {
                let at = (exponent - 1) / 4;
                exponent = exponent * 5 % (2 * ring_degree);
                at as u32
            })
            .collect();
        Self {
            slots,
            forward: planner.plan_fft_forward(slots),
            backward: planner.plan_fft_inverse(slots),
            twist: (0..slots)
                .map(|i| Complex64::cis(PI * i as f64 / ring_degree as f64))
                .collect(),
            position,
        }
    }

    /// Number of complex slots, N/2.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// DFT position of slot `j`. Values written there may be handed to
    /// [`Encoder::embed_positions`] without another permutation.
    #[inline]
    pub fn position(&self, slot: usize) -> usize {
        self.position[slot] as usize
    }

    /// Slots to real coefficients, without rounding: `coefficients[i] = scale · a_i`.
    /// Missing slots are zero.
    ///
    /// # Errors
    /// [`CkksError::TooManySlots`], [`CkksError::NotFinite`], [`CkksError::BadScale`].
    pub fn embed(&self, values: &[Complex64], scale: f64) -> Result<Vec<f64>, CkksError> {
        if values.len() > self.slots {
            return Err(CkksError::TooManySlots {
                given: values.len(),
                slots: self.slots,
            });
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(CkksError::BadScale { scale });
        }
        let mut buffer = vec![Complex64::ZERO; self.slots];
        for (index, (value, &position)) in values.iter().zip(&self.position).enumerate() {
            if !(value.re.is_finite() && value.im.is_finite()) {
                let value = if value.re.is_finite() {
                    value.im
                } else {
                    value.re
                };
                return Err(CkksError::NotFinite { index, value });
            }
            buffer[position as usize] = *value;
        }
        let mut coefficients = vec![0.0; 2 * self.slots];
        let mut scratch = vec![Complex64::ZERO; self.scratch_len()];
        self.embed_positions(&mut buffer, scale, &mut coefficients, &mut scratch);
        Ok(coefficients)
    }

    /// Complex scratch values that [`Encoder::embed_positions`] needs.
    pub fn scratch_len(&self) -> usize {
        self.forward
            .get_inplace_scratch_len()
            .max(self.backward.get_inplace_scratch_len())
    }

    /// [`Encoder::embed`] on a buffer in DFT order (see [`Encoder::position`]), which it
    /// overwrites; for the preparation of many plaintexts. `coefficients` has N entries.
    pub fn embed_positions(
        &self,
        buffer: &mut [Complex64],
        scale: f64,
        coefficients: &mut [f64],
        scratch: &mut [Complex64],
    ) {
        self.forward.process_with_scratch(buffer, scratch);
        let factor = scale / self.slots as f64;
        let (low, high) = coefficients.split_at_mut(self.slots);
        for (((b, twist), low), high) in buffer.iter().zip(&self.twist).zip(low).zip(high) {
            let a = b * twist.conj() * factor;
            *low = a.re;
            *high = a.im;
        }
    }

    /// Real coefficients to slots, divided by `scale`. `coefficients` has N entries.
    ///
    /// # Errors
    /// [`CkksError::Shape`], [`CkksError::BadScale`].
    pub fn evaluate(&self, coefficients: &[f64], scale: f64) -> Result<Vec<Complex64>, CkksError> {
        if coefficients.len() != 2 * self.slots {
            return Err(CkksError::Shape {
                what: "coefficients of a plaintext",
                expected: 2 * self.slots,
                found: coefficients.len(),
            });
        }
        if !(scale.is_finite() && scale > 0.0) {
            return Err(CkksError::BadScale { scale });
        }
        let (low, high) = coefficients.split_at(self.slots);
        let mut buffer: Vec<Complex64> = low
            .iter()
            .zip(high)
            .zip(&self.twist)
            .map(|((&re, &im), twist)| Complex64::new(re, im) * twist)
            .collect();
        let mut scratch = vec![Complex64::ZERO; self.scratch_len()];
        self.backward
            .process_with_scratch(&mut buffer, &mut scratch);
        let inverse = 1.0 / scale;
        Ok(self
            .position
            .iter()
            .map(|&p| buffer[p as usize] * inverse)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slot j by definition: `Σ a_i ζ^(5^j i)`, with exact angle reduction.
    fn slot_by_definition(a: &[f64], j: usize) -> Complex64 {
        let n = a.len();
        let exponent = (0..j).fold(1usize, |e, _| e * 5 % (2 * n));
        a.iter()
            .enumerate()
            .map(|(i, &v)| Complex64::cis(PI * (exponent * i % (2 * n)) as f64 / n as f64) * v)
            .sum()
    }

    #[test]
    fn slots_are_values_at_powers_of_five() {
        let encoder = Encoder::new(1024);
        let a: Vec<f64> = (0..1024).map(|i| ((i * 37 % 101) as f64) - 50.0).collect();
        let slots = encoder.evaluate(&a, 1.0).unwrap();
        for j in [0, 1, 2, 17, 255, 256, 511] {
            assert!((slots[j] - slot_by_definition(&a, j)).norm() < 1e-8, "{j}");
        }
    }

    #[test]
    fn embedding_inverts_evaluation_and_is_bounded_by_the_rms() {
        let encoder = Encoder::new(4096);
        let z: Vec<Complex64> = (0..2048)
            .map(|j| Complex64::new((j as f64).sin() * 3.0, (j as f64 * 0.7).cos()))
            .collect();
        let a = encoder.embed(&z, 1000.0).unwrap();
        let rms = (z.iter().map(|v| v.norm_sqr()).sum::<f64>() / 2048.0).sqrt();
        let norm = a.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!((norm - 1000.0 * rms).abs() < 1e-6 * norm);
        let back = encoder.evaluate(&a, 1000.0).unwrap();
        assert!(back.iter().zip(&z).all(|(x, y)| (x - y).norm() < 1e-12));
    }

    #[test]
    fn bad_values_are_refused() {
        let encoder = Encoder::new(1024);
        let mut z = vec![Complex64::ZERO; 513];
        assert!(matches!(
            encoder.embed(&z, 1.0),
            Err(CkksError::TooManySlots { given: 513, .. })
        ));
        z.truncate(512);
        z[5].im = f64::NAN;
        assert!(matches!(
            encoder.embed(&z, 1.0),
            Err(CkksError::NotFinite { index: 5, .. })
        ));
        z[5].im = f64::NEG_INFINITY;
        assert!(matches!(
            encoder.embed(&z, 1.0),
            Err(CkksError::NotFinite { index: 5, .. })
        ));
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                encoder.embed(&z[..2], scale),
                Err(CkksError::BadScale { .. })
            ));
        }
        assert!(encoder.evaluate(&[0.0; 3], 1.0).is_err());
    }
}
