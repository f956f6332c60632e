//! How the errors of a configuration are distributed.

use serde::{Deserialize, Serialize};

/// log10 of the lower edge of the first bin.
pub const FIRST_EDGE: f64 = -12.0;
/// Bins in a decade.
pub const BINS_PER_DECADE: usize = 4;
/// Number of bins: up to 10^2.
pub const BINS: usize = 14 * BINS_PER_DECADE;

/// Counts of absolute errors in logarithmic bins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Histogram {
    /// Bin i counts errors from 10^(-12 + i/4) to 10^(-12 + (i + 1)/4), 56 bins.
    pub counts: Vec<u64>,
    /// Errors below the first bin, exact outputs among them.
    pub below: u64,
    /// Errors beyond the last bin.
    pub above: u64,
    /// Outputs that are NaN or infinite.
    pub not_finite: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BINS],
            below: 0,
            above: 0,
            not_finite: 0,
        }
    }
}

impl Histogram {
    /// Counts the errors of one trial.
    pub fn add(&mut self, expected: &[f64], actual: &[f64]) {
        for (want, got) in expected.iter().zip(actual) {
            if !got.is_finite() {
                self.not_finite += 1;
                continue;
            }
            let bin = ((got - want).abs().log10() - FIRST_EDGE) * BINS_PER_DECADE as f64;
            if bin < 0.0 {
                self.below += 1;
            } else {
                match self.counts.get_mut(bin as usize) {
                    Some(count) => *count += 1,
                    None => self.above += 1,
                }
            }
        }
    }

    /// The edges of bin `i`, in units of the error.
    #[must_use]
    pub fn edges(i: usize) -> [f64; 2] {
        let edge = |i: usize| 10f64.powf(FIRST_EDGE + i as f64 / BINS_PER_DECADE as f64);
        [edge(i), edge(i + 1)]
    }

    /// Outputs counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.below + self.above + self.not_finite
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_bin() {
        let mut histogram = Histogram::default();
        let expected = [0.0; 9];
        let errors = [
            0.0,
            -1e-13,
            1.1e-12,
            -2e-6,
            3e-6,
            99.0,
            101.0,
            f64::NAN,
            f64::INFINITY,
        ];
        histogram.add(&expected, &errors);
        // 10^-5.75 = 1.78e-6 and 10^-5.5 = 3.16e-6 are the edges of bin 25.
        let filled: Vec<_> = (0..BINS).filter(|&i| histogram.counts[i] > 0).collect();
        assert_eq!(filled, [0, 25, 55]);
        assert_eq!(histogram.counts[25], 2);
        assert_eq!(
            (histogram.below, histogram.above, histogram.not_finite),
            (2, 1, 2)
        );
        assert_eq!(histogram.total(), 9);
        let [low, high] = Histogram::edges(25);
        assert!(low < 2e-6 && 3e-6 < high);
    }
}
