//! Median, smallest and largest of a few durations.

use serde::{Deserialize, Serialize};

/// Summary of the durations of one stage.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Middle value; the mean of the two middle ones where their number is even.
    pub median_seconds: f64,
    /// Smallest value.
    pub min_seconds: f64,
    /// Largest value.
    pub max_seconds: f64,
}

impl Summary {
    /// Summarises the values; `None` where there are none.
    #[must_use]
    pub fn of(seconds: &[f64]) -> Option<Summary> {
        let mut sorted = seconds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min_seconds, &max_seconds) = (sorted.first()?, sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        let median_seconds = (sorted[lower] + sorted[upper]) / 2.0;
        Some(Summary {
            median_seconds,
            min_seconds,
            max_seconds,
        })
    }
}

/// The smallest and the largest value; `None` where there are none.
pub fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((f64::min(low, value), f64::max(high, value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(Summary::of(&[]), None);
        let summary = |values: &[f64]| {
            let s = Summary::of(values).unwrap();
            (s.median_seconds, s.min_seconds, s.max_seconds)
        };
        assert_eq!(summary(&[7.0]), (7.0, 7.0, 7.0));
        assert_eq!(summary(&[3.0, 1.0]), (2.0, 1.0, 3.0));
        assert_eq!(summary(&[5.0, 1.0, 2.0]), (2.0, 1.0, 5.0));
        assert_eq!(summary(&[4.0, 1.0, 3.0, 10.0]), (3.5, 1.0, 10.0));
        assert_eq!(range([].into_iter()), None);
        assert_eq!(range([2.0, 1.0, 3.0].into_iter()), Some((1.0, 3.0)));
    }
}
