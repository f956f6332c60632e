//! Weights as small integers, stored for the kernel.

use crate::dither::dither;
use crate::error::LinearError;
use crate::gemm::kernel::{ENTRY_BYTES, PADDING, PANEL, WEIGHT_BYTES, store};
use crate::gemm::scales::{LARGEST_WEIGHT, WEIGHT_NORM, WeightScale};
use crate::noise::NORMS;
use crate::norm::euclidean;
use ckks::memory::BlockBuffer;
use rayon::prelude::*;
use tensor_io::WeightMatrix;

/// Largest weight before rounding at random, which may add 1.
const LARGEST_BEFORE_ROUNDING: f64 = LARGEST_WEIGHT - 1.0;

/// Integer weights, `[panel of 8 outputs][input][8 outputs]`, three bytes each.
#[derive(Debug)]
pub(crate) struct PackedWeights {
    bytes: BlockBuffer,
    d_in: usize,
    d_out: usize,
}

impl PackedWeights {
    /// Bytes that a layer of this shape takes.
    pub(crate) fn bytes_for(d_in: usize, d_out: usize) -> u64 {
        (d_out.div_ceil(PANEL) as u64) * (d_in * ENTRY_BYTES) as u64 + PADDING as u64
    }

    /// Scales each output's weights to the norm [`WEIGHT_NORM`], or less where a single weight
    /// would not fit its three bytes, and rounds at random.
    ///
    /// # Errors
    /// [`LinearError::Magnitude`] for an output whose norm double precision does not carry;
    /// [`LinearError::Ckks`] when memory runs out.
    pub(crate) fn new(weights: &WeightMatrix) -> Result<(Self, Vec<WeightScale>), LinearError> {
        let (d_in, d_out) = (weights.d_in(), weights.d_out());
        let mut packed = Self::zero(d_in, d_out)?;
        let panel_bytes = packed.panel_bytes();
        let panels = d_out.div_ceil(PANEL);
        let scales = packed.bytes.bytes_mut()[..panels * panel_bytes]
            .par_chunks_exact_mut(panel_bytes)
            .enumerate()
            .map(|(panel, bytes)| {
                let outputs = panel * PANEL..d_out.min((panel + 1) * PANEL);
                let mut scaled = vec![0.0; d_in];
                outputs
                    .enumerate()
                    .map(|(place, k)| quantise(weights.row(k), k, place, &mut scaled, bytes))
                    .collect::<Result<Vec<_>, _>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((packed, scales.concat()))
    }

    /// Weights that are all zero.
    ///
    /// # Errors
    /// [`LinearError::Ckks`] when memory runs out.
    pub(crate) fn zero(d_in: usize, d_out: usize) -> Result<Self, LinearError> {
        let blocks = Self::bytes_for(d_in, d_out).div_ceil(64) as usize;
        Ok(Self {
            bytes: BlockBuffer::zeroed(blocks)?,
            d_in,
            d_out,
        })
    }

    /// Bytes of all panels, without what pads them.
    pub(crate) fn stored_len(d_in: usize, d_out: usize) -> u64 {
        (d_out.div_ceil(PANEL) as u64) * (d_in * ENTRY_BYTES) as u64
    }

    /// All panels.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.bytes.bytes()[..self.panels() * self.panel_bytes()]
    }

    /// All panels, mutable.
    pub(crate) fn stored_mut(&mut self) -> &mut [u8] {
        let end = self.panels() * self.panel_bytes();
        &mut self.bytes.bytes_mut()[..end]
    }

    /// Whether the places of the last panel that have no output hold zeros.
    pub(crate) fn unused_are_zero(&self) -> bool {
        let used = (self.d_out - (self.panels() - 1) * PANEL) * WEIGHT_BYTES;
        self.panel(self.panels() - 1, 0)[..self.panel_bytes()]
            .chunks_exact(ENTRY_BYTES)
            .all(|entry| entry[used..].iter().all(|byte| *byte == 0))
    }

    fn panel_bytes(&self) -> usize {
        self.d_in * ENTRY_BYTES
    }

    pub(crate) fn d_in(&self) -> usize {
        self.d_in
    }

    pub(crate) fn d_out(&self) -> usize {
        self.d_out
    }

    pub(crate) fn panels(&self) -> usize {
        self.d_out.div_ceil(PANEL)
    }

    /// The weights of one panel from an input on, and all that follows them in memory.
    pub(crate) fn panel(&self, panel: usize, first_input: usize) -> &[u8] {
        &self.bytes.bytes()[panel * self.panel_bytes() + first_input * ENTRY_BYTES..]
    }

    /// Bytes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes.bytes().len() as u64
    }

    /// A copy elsewhere in memory.
    pub(crate) fn duplicate(&self) -> Result<Self, LinearError> {
        let mut bytes = BlockBuffer::zeroed(self.bytes.len())?;
        bytes.bytes_mut().copy_from_slice(self.bytes.bytes());
        Ok(Self { bytes, ..*self })
    }
}

/// Rounds the weights of output `k` and stores them at `place` of its panel.
fn quantise(
    weights: &[f32],
    k: usize,
    place: usize,
    scaled: &mut [f64],
    panel: &mut [u8],
) -> Result<WeightScale, LinearError> {
    let norm = euclidean(weights.iter().map(|&w| f64::from(w)));
    if norm == 0.0 {
        return Ok(WeightScale::ZERO);
    }
    if !NORMS.contains(&norm) {
        return Err(LinearError::Magnitude {
            what: "the weights of an output",
            norm,
        });
    }
    let largest = weights.iter().fold(0f64, |m, &w| m.max(f64::from(w).abs()));
    let scale = (WEIGHT_NORM / norm).min(LARGEST_BEFORE_ROUNDING / largest);
    for (scaled, &weight) in scaled.iter_mut().zip(weights) {
        *scaled = f64::from(weight) * scale;
    }
    // A zero stays exact: its dithered value is within ±1/2.
    dither(scaled, 0, k as u64);
    let mut energy = 0.0;
    for (j, &value) in scaled.iter().enumerate() {
        let rounded = value
            .round_ties_even()
            .clamp(-LARGEST_WEIGHT, LARGEST_WEIGHT);
        energy += rounded * rounded;
        let at = j * ENTRY_BYTES + place * WEIGHT_BYTES;
        store(rounded as i32, &mut panel[at..at + WEIGHT_BYTES]);
    }
    Ok(WeightScale {
        scale,
        norm: energy.sqrt(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl PackedWeights {
        /// The integer weight of input `j` and output `k`.
        pub(crate) fn get(&self, j: usize, k: usize) -> i32 {
            let at = j * ENTRY_BYTES + k % PANEL * WEIGHT_BYTES;
            let bytes = &self.panel(k / PANEL, 0)[at..];
            i32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]) >> 8
        }
    }

    /// The matrix whose output `k` has the weights `rows[k]`.
    pub(crate) fn matrix(rows: &[Vec<f32>]) -> WeightMatrix {
        #![allow(clippy::unwrap_used, reason = "a helper of tests")]
        WeightMatrix::from_output_major(rows[0].len(), rows.len(), rows.concat()).unwrap()
    }

    #[test]
    fn integers_are_the_scaled_weights_within_one() {
        let wave = |k: usize| (0..300).map(|j| ((j * 7 + k * 13) as f32).sin()).collect();
        let mut rows: Vec<Vec<f32>> = (0..11).map(wave).collect();
        // One weight alone, one that dominates, tiny and huge ones, none.
        rows[3] = vec![0.0; 300];
        rows[3][299] = -5.0;
        rows[4][17] = 1e6;
        rows[5].iter_mut().for_each(|w| *w *= 1e-30);
        rows[6].iter_mut().for_each(|w| *w *= 1e30);
        rows[7] = vec![0.0; 300];
        rows[8].iter_mut().for_each(|w| *w *= -1.0);
        let (packed, scales) = PackedWeights::new(&matrix(&rows)).unwrap();
        for (k, row) in rows.iter().enumerate() {
            let WeightScale { scale, norm } = scales[k];
            let mut energy = 0.0;
            for (j, &weight) in row.iter().enumerate() {
                let integer = f64::from(packed.get(j, k));
                assert!((integer - f64::from(weight) * scale).abs() < 1.0, "{k} {j}");
                if weight == 0.0 {
                    assert_eq!(integer, 0.0);
                }
                energy += integer * integer;
            }
            assert!((energy.sqrt() - norm).abs() <= 1e-9 * norm);
            // All 24 bits are used, or the norm is the one that was aimed at.
            let full = (norm - WEIGHT_NORM).abs() < 1e-5 * WEIGHT_NORM;
            let largest = (0..300).map(|j| packed.get(j, k).abs()).max();
            assert!(full || largest >= Some(8_388_605) || norm == 0.0, "{k}");
        }
        assert_eq!(scales[7], WeightScale::ZERO);
        // Outputs beyond the last are zero.
        assert!((11..16).all(|k| (0..300).all(|j| packed.get(j, k) == 0)));
    }

    #[test]
    fn rounding_has_no_bias() {
        // 30,000 equal weights, scaled to 1.0e5 and a fraction: rounding to nearest would make
        // the same error everywhere. At random the mean error has standard deviation at most
        // 0.5/√30000 = 0.0029; 6 of them fail with probability 2e-9, and the dither is fixed.
        let (packed, scales) = PackedWeights::new(&matrix(&[vec![0.1; 30_000]])).unwrap();
        let exact = f64::from(0.1f32) * scales[0].scale;
        let fraction = exact.fract();
        assert!(fraction > 0.1 && fraction < 0.9, "{fraction}");
        let sum: f64 = (0..30_000).map(|j| f64::from(packed.get(j, 0))).sum();
        assert!((sum / 30_000.0 - exact).abs() < 0.0174);
    }

    #[test]
    fn magnitudes_that_double_precision_does_not_carry_are_refused() {
        // f32 holds at most 3.4e38 and at least 1e-45, both well inside.
        for weight in [f32::MAX, f32::MIN_POSITIVE, 1e-45] {
            let (packed, scales) = PackedWeights::new(&matrix(&[vec![weight; 3]])).unwrap();
            assert!(packed.get(2, 0) > 1 << 22);
            assert!(scales[0].scale.is_finite());
        }
    }
}
