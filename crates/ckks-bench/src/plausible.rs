//! What a report that was read back must satisfy, whoever wrote it.

use crate::cli::MAX_BATCH;
use crate::report::{Configuration, Report, Verdict};
use crate::shape::MAX_WIDTH;

impl Report {
    /// Checks that sizes are possible, durations and rates are finite and not negative, and what
    /// passed has durations.
    ///
    /// # Errors
    /// What is wrong, naming the configuration.
    pub fn check(&self) -> Result<(), String> {
        self.configurations.iter().try_for_each(check)
    }
}

fn check(configuration: &Configuration) -> Result<(), String> {
    let Configuration {
        d_in, d_out, batch, ..
    } = configuration;
    let name = format!("{d_in}x{d_out}, batch {batch}");
    for (what, value, most) in [
        ("the input width", *d_in, MAX_WIDTH),
        ("the output width", *d_out, MAX_WIDTH),
        ("the batch", *batch, MAX_BATCH),
    ] {
        if !(1..=most).contains(&value) {
            return Err(format!("{name}: {what} is not 1 to {most}"));
        }
    }
    let stages = configuration.stages.as_deref().unwrap_or(&[]);
    if configuration.verdict == Verdict::Passed && stages.is_empty() {
        return Err(format!("{name}: it passed and has no stages"));
    }
    let possible = |value: f64| value.is_finite() && value >= 0.0;
    for stage in stages {
        let phases = stage.phases.iter().map(|phase| &phase.duration);
        for duration in std::iter::once(&stage.duration).chain(phases) {
            let values = [
                duration.min_seconds,
                duration.median_seconds,
                duration.max_seconds,
            ];
            if !values.into_iter().all(possible) || !values.is_sorted() {
                return Err(format!(
                    "{name}: the {} of {values:?} seconds is no duration",
                    stage.stage
                ));
            }
        }
    }
    if let Some(rate) = configuration.throughput
        && !(possible(rate.evaluation) && possible(rate.end_to_end))
    {
        return Err(format!("{name}: the throughput is no rate: {rate:?}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Stage, StageSummary, Throughput};
    use crate::trial::refused;
    use bench_report::statistics::Summary;

    fn passed(seconds: [f64; 3]) -> Configuration {
        let [min_seconds, median_seconds, max_seconds] = seconds;
        Configuration {
            verdict: Verdict::Passed,
            stages: Some(vec![StageSummary {
                stage: Stage::Evaluation,
                samples: 3,
                duration: Summary {
                    median_seconds,
                    min_seconds,
                    max_seconds,
                },
                phases: Vec::new(),
            }]),
            ..refused(3, 5, 2, String::new())
        }
    }

    #[test]
    fn impossible_figures_are_named() {
        assert_eq!(check(&passed([1.0, 2.0, 3.0])), Ok(()));
        assert_eq!(check(&refused(3, 5, 2, "no".to_owned())), Ok(()));
        for seconds in [
            [-1.0, 2.0, 3.0],
            [1.0, f64::NAN, 3.0],
            [1.0, 2.0, f64::INFINITY],
            [3.0, 2.0, 1.0],
        ] {
            assert!(check(&passed(seconds)).is_err(), "{seconds:?}");
        }
        let good = passed([1.0, 2.0, 3.0]);
        let changed = |change: fn(&mut Configuration)| {
            let mut bad = good.clone();
            change(&mut bad);
            check(&bad).unwrap_err()
        };
        assert!(changed(|c| c.batch = 0).contains("the batch is not 1 to 1048576"));
        assert!(changed(|c| c.d_in = 1 << 40).contains("the input width"));
        assert!(changed(|c| c.stages = None).contains("no stages"));
        let rate = changed(|c| {
            c.throughput = Some(Throughput {
                evaluation: -5e300,
                end_to_end: 1.0,
            });
        });
        assert!(rate.contains("no rate"));
    }
}
