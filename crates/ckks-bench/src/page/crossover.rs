//! From which batch on `gemm` is ahead of `diagonal`.

use super::content::Content;
use super::measurement::Measurement;
use std::collections::BTreeMap;
use std::fmt;

/// The smallest batch, of those known, from which `gemm` stays ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crossover {
    /// `diagonal` is ahead, or level, at the next smaller batch.
    From(usize),
    /// `gemm` is ahead at every batch; this is the smallest.
    AtMost(usize),
}

impl Crossover {
    /// The batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Crossover::From(batch) | Crossover::AtMost(batch) => batch,
        }
    }

    /// `None` where `gemm` is not ahead at the largest batch. `ahead` says for each batch whether
    /// it is.
    fn of(ahead: &BTreeMap<usize, bool>) -> Option<Crossover> {
        let (&batch, _) = ahead.iter().rev().take_while(|(_, ahead)| **ahead).last()?;
        Some(if ahead.keys().next() == Some(&batch) {
            Crossover::AtMost(batch)
        } else {
            Crossover::From(batch)
        })
    }
}

impl fmt::Display for Crossover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Crossover::From(batch) => write!(f, "batch {batch}"),
            Crossover::AtMost(batch) => write!(f, "batch {batch} or less"),
        }
    }
}

/// The measured crossover of each pair of a `gemm` and a `diagonal` series, by end-to-end
/// throughput at the batches that both have. Where one was measured several times, the slowest
/// `gemm` meets the fastest `diagonal`.
pub(crate) fn measured(
    content: &Content,
    panel: &[&Measurement],
) -> Vec<(String, Option<Crossover>)> {
    let of_plan = |plan: &'static str| content.series.iter().filter(move |s| s.plan() == plan);
    let mut pairs = Vec::new();
    for gemm in of_plan("gemm") {
        for diagonal in of_plan("diagonal") {
            let rates = |series: &super::series::Series, keep: fn(f64, f64) -> f64| {
                let mut rates: BTreeMap<usize, f64> = BTreeMap::new();
                for measurement in panel.iter().filter(|m| series.has(m)) {
                    let configuration = measurement.configuration.as_ref();
                    if let Some(rate) = configuration.and_then(|c| c.throughput) {
                        rates
                            .entry(measurement.setting.batch)
                            .and_modify(|known| *known = keep(*known, rate.end_to_end))
                            .or_insert(rate.end_to_end);
                    }
                }
                rates
            };
            let (slowest, fastest) = (rates(gemm, f64::min), rates(diagonal, f64::max));
            let ahead: BTreeMap<usize, bool> = slowest
                .iter()
                .filter_map(|(batch, gemm)| Some((*batch, gemm > fastest.get(batch)?)))
                .collect();
            if !ahead.is_empty() {
                let name = format!("{} against {}", gemm.label, diagonal.label);
                pairs.push((name, Crossover::of(&ahead)));
            }
        }
    }
    pairs
}

/// The crossover that the cost model predicts, among the batches whose plans have estimates of
/// both.
pub(crate) fn predicted(panel: &[&Measurement]) -> Option<Crossover> {
    let mut ahead = BTreeMap::new();
    for measurement in panel.iter().filter(|m| m.failure.is_none()) {
        let description = measurement.configuration.as_ref()?.description.as_ref();
        let estimates = description.map(|d| d.plan.estimates.as_slice());
        let total = |plan: &str| {
            let of_plan = estimates?.iter().find(|estimate| estimate.plan == plan);
            of_plan.map(|estimate| estimate.total_seconds)
        };
        if let (Some(gemm), Some(diagonal)) = (total("gemm"), total("diagonal")) {
            ahead.insert(measurement.setting.batch, gemm < diagonal);
        }
    }
    Crossover::of(&ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ahead: &[(usize, bool)]) -> Option<Crossover> {
        Crossover::of(&ahead.iter().copied().collect())
    }

    #[test]
    fn gemm_must_stay_ahead() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1, false), (4, false)]), None);
        assert_eq!(of(&[(1, true), (4, false)]), None);
        assert_eq!(
            of(&[(1, false), (4, true), (16, true)]),
            Some(Crossover::From(4))
        );
        let again = [(1, false), (4, true), (16, false), (64, true)];
        assert_eq!(of(&again), Some(Crossover::From(64)));
        assert_eq!(of(&[(2, true), (4, true)]), Some(Crossover::AtMost(2)));
    }
}
