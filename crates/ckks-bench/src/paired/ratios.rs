//! Statistics of paired ratios.

use serde::{Deserialize, Serialize};

/// Confidence that an interval must reach.
const CONFIDENCE: f64 = 0.95;

/// Ratios of the rounds: seconds per vector of A over those of B, above 1 where B is faster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ratios {
    /// One per round, in order.
    pub ratios: Vec<f64>,
    /// Smallest.
    pub min: f64,
    /// First quartile, interpolated linearly between the neighbours.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub upper_quartile: f64,
    /// Largest.
    pub max: f64,
    /// Rounds in which B was faster.
    pub b_faster: u64,
    /// Rounds in which A was faster.
    pub a_faster: u64,
    /// Two-sided exact sign test: how likely so lopsided a count would be if each round were won by
    /// either side with probability 1/2, independently. Rounds with a ratio of exactly 1 are left out.
    pub sign_test_p: f64,
    /// Confidence interval of the median; `None` with fewer than six rounds.
    pub interval: Option<Interval>,
}

/// A confidence interval of the median from order statistics. It assumes that the rounds are
/// independent draws from one distribution, and nothing about its shape.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its exact confidence, at least 0.95.
    pub confidence: f64,
}

impl Ratios {
    /// Summarises the ratios; `None` where there are none or one is no positive number.
    #[must_use]
    pub fn of(ratios: Vec<f64>) -> Option<Ratios> {
        if ratios
            .iter()
            .any(|ratio| !(ratio.is_finite() && *ratio > 0.0))
        {
            return None;
        }
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let b_faster = ratios.iter().filter(|ratio| **ratio > 1.0).count() as u64;
        let a_faster = ratios.iter().filter(|ratio| **ratio < 1.0).count() as u64;
        Some(Ratios {
            min,
            lower_quartile: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper_quartile: quantile(&sorted, 0.75),
            max,
            b_faster,
            a_faster,
            sign_test_p: sign_test(a_faster, b_faster),
            interval: interval(&sorted),
            ratios,
        })
    }
}

/// The quantile between the two nearest of the sorted values; at least one value.
fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let place = fraction * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// Probability of at most `k` heads in `n` throws of a fair coin.
fn at_most(k: u64, n: u64) -> f64 {
    // Logarithms, because 2^-n underflows for large n.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = log_term.exp();
    for i in 0..k.min(n) {
        log_term += ((n - i) as f64).ln() - ((i + 1) as f64).ln();
        sum += log_term.exp();
    }
    sum.min(1.0)
}

fn sign_test(one: u64, other: u64) -> f64 {
    (2.0 * at_most(one.min(other), one + other)).min(1.0)
}

/// The narrowest pair of order statistics, as far from either end, that reaches the confidence: the
/// k-th smallest and the k-th largest miss the median with probability 2·P(at most k − 1 heads).
fn interval(sorted: &[f64]) -> Option<Interval> {
    let n = sorted.len() as u64;
    let mut best = None;
    for k in 1..=sorted.len() / 2 {
        let confidence = 1.0 - 2.0 * at_most(k as u64 - 1, n);
        if confidence < CONFIDENCE {
            break;
        }
        best = Some(Interval {
            low: sorted[k - 1],
            high: sorted[sorted.len() - k],
            confidence,
        });
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} for {b}");
    }

    #[test]
    fn coins_by_hand() {
        close(at_most(0, 3), 0.125);
        close(at_most(1, 3), 0.5);
        close(at_most(3, 3), 1.0);
        // 2 · (1 + 10 + 45) / 1024.
        close(sign_test(2, 8), 112.0 / 1024.0);
        close(sign_test(0, 6), 2.0 / 64.0);
        close(sign_test(4, 4), 1.0);
        close(sign_test(0, 0), 1.0);
        // 10,000 throws neither underflow nor lose the half.
        close(at_most(9_999, 9_999), 1.0);
        assert!((at_most(4_999, 9_999) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn statistics_by_hand() {
        let r = Ratios::of(vec![2.0, 0.5, 1.0, 4.0, 3.0]).unwrap();
        assert_eq!((r.min, r.lower_quartile, r.median), (0.5, 1.0, 2.0));
        assert_eq!((r.upper_quartile, r.max), (3.0, 4.0));
        assert_eq!((r.a_faster, r.b_faster), (1, 3));
        // 2 · (1 + 4) / 16.
        close(r.sign_test_p, 0.625);
        // 1 − 2/32 is below 0.95.
        assert_eq!(r.interval, None);
        let even = Ratios::of(vec![1.0, 2.0, 4.0, 8.0]).unwrap();
        assert_eq!(
            (even.lower_quartile, even.median, even.upper_quartile),
            (1.75, 3.0, 5.0)
        );
        assert_eq!(Ratios::of(Vec::new()), None);
        assert_eq!(Ratios::of(vec![1.0, f64::NAN]), None);
        assert_eq!(Ratios::of(vec![1.0, 0.0]), None);
    }

    #[test]
    fn intervals_by_hand() {
        // Six: the ends, 1 − 2/64. Nine: the second, 1 − 2·10/512.
        let up_to = |n: u32| {
            Ratios::of((1..=n).map(f64::from).collect())
                .unwrap()
                .interval
                .unwrap()
        };
        let six = up_to(6);
        assert_eq!((six.low, six.high), (1.0, 6.0));
        close(six.confidence, 1.0 - 2.0 / 64.0);
        let nine = up_to(9);
        assert_eq!((nine.low, nine.high), (2.0, 8.0));
        close(nine.confidence, 1.0 - 20.0 / 512.0);
        // Tables of the sign test: n = 20 takes the 6th.
        assert_eq!((up_to(20).low, up_to(20).high), (6.0, 15.0));
    }

    proptest! {
        #[test]
        fn in_order(ratios in prop::collection::vec(0.01f64..100.0, 1..60)) {
            let r = Ratios::of(ratios).unwrap();
            let order = [r.min, r.lower_quartile, r.median, r.upper_quartile, r.max];
            prop_assert!(order.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!((0.0..=1.0).contains(&r.sign_test_p));
            if let Some(interval) = r.interval {
                prop_assert!(interval.low <= r.median && r.median <= interval.high);
                prop_assert!(interval.confidence >= 0.95);
            }
        }
    }
}
