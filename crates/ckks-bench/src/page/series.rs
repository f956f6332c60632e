//! The lines of the plots: measurements that differ in shape, threads and batch only.

use super::measurement::{Measurement, Setting};
use bench_report::plot::Ink;

/// The colours' order: a plan has the same colour on every page.
const PLANS: [&str; 3] = ["diagonal", "gemm", "diagonal-square"];

/// A line of the plots.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What tells it from the others, e.g. `gemm` or `native diagonal, cold`.
    pub(crate) label: String,
    /// Its colour.
    pub(crate) ink: Ink,
    /// Its measurements all have this in common; shape, threads and batch mean nothing.
    key: Setting,
}

/// All series of a page.
#[derive(Clone, Debug)]
pub(crate) struct AllSeries(Vec<Series>);

fn key(measurement: &Measurement) -> Setting {
    Setting {
        shape: (0, 0),
        threads: 0,
        batch: 0,
        ..measurement.setting.clone()
    }
}

impl AllSeries {
    /// Sorts the measurements into series and gives those names and colours.
    pub(crate) fn new(measurements: &[Measurement]) -> AllSeries {
        let mut keys: Vec<Setting> = measurements.iter().map(key).collect();
        let rank = |plan: &str| PLANS.iter().position(|p| *p == plan).unwrap_or(PLANS.len());
        keys.sort_by(|a, b| (rank(&a.plan), a).cmp(&(rank(&b.plan), b)));
        keys.dedup();
        let varies = |of: fn(&Setting) -> String| {
            let first = keys.first().map(of);
            keys.iter().any(|key| Some(of(key)) != first)
        };
        let (library, device) = (varies(|k| k.library.clone()), varies(|k| k.device.clone()));
        let (ahead, cold) = (
            varies(|k| k.ahead.to_string()),
            varies(|k| k.cold.to_string()),
        );
        let mut taken = Vec::new();
        let series = keys.iter().map(|key| {
            let mut label = match key.plan.as_str() {
                "" => "plan unknown".to_owned(),
                plan => plan.to_owned(),
            };
            if library {
                label = format!("{} {label}", key.library);
            }
            if ahead && key.ahead {
                label = format!("{label} --ahead");
            }
            for (say, text) in [
                (device, key.device.as_str()),
                (cold, if key.cold { "cold" } else { "warm" }),
            ] {
                if say {
                    label = format!("{label}, {text}");
                }
            }
            // The plan's own colour for its first series, the next free one for the others.
            let own = rank(&key.plan);
            let colour = (own..)
                .chain(0..)
                .take(64)
                .find(|colour| {
                    !taken.contains(colour) && (*colour == own || *colour >= PLANS.len())
                })
                .unwrap_or(own);
            taken.push(colour);
            Series {
                label,
                ink: Ink::Series(colour),
                key: key.clone(),
            }
        });
        AllSeries(series.collect())
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Series> {
        self.0.iter()
    }

    /// The series of a measurement.
    pub(crate) fn of(&self, measurement: &Measurement) -> Option<&Series> {
        self.0.iter().find(|series| series.has(measurement))
    }

    /// Its place among them.
    pub(crate) fn position(&self, measurement: &Measurement) -> Option<usize> {
        self.0.iter().position(|series| series.has(measurement))
    }

    /// The name of a measurement's series.
    pub(crate) fn label(&self, measurement: &Measurement) -> String {
        self.of(measurement)
            .map_or_else(String::new, |series| series.label.clone())
    }

    /// The colour of a measurement's series.
    pub(crate) fn ink(&self, measurement: &Measurement) -> Ink {
        self.of(measurement).map_or(Ink::Muted, |series| series.ink)
    }
}

impl Series {
    /// Whether the measurement is on this line.
    pub(crate) fn has(&self, measurement: &Measurement) -> bool {
        key(measurement) == self.key
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &str {
        &self.key.plan
    }
}
