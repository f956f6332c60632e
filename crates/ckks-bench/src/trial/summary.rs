//! Summaries of the durations over the measured trials.

use super::{Stage, StageDuration, Summary, Throughput, Trial};
use crate::report::{PhaseSummary, StageSummary};

/// One summary per stage that was measured, in the order of the tables.
pub(super) fn stage_summaries(
    setup: &[StageDuration],
    trials: &[Trial],
    streaming_read: Option<f64>,
) -> Vec<StageSummary> {
    let measured = trials
        .iter()
        .filter(|trial| !trial.warmup)
        .filter_map(|t| t.durations.as_ref());
    let all: Vec<&StageDuration> = setup.iter().chain(measured.flatten()).collect();
    let summarise = |stage| {
        let of_stage: Vec<&StageDuration> = all
            .iter()
            .copied()
            .filter(|duration| duration.stage == stage)
            .collect();
        let seconds: Vec<f64> = of_stage.iter().map(|duration| duration.seconds).collect();
        Some(StageSummary {
            stage,
            samples: seconds.len(),
            duration: Summary::of(&seconds)?,
            phases: phase_summaries(&of_stage, streaming_read),
        })
    };
    Stage::ALL.into_iter().filter_map(summarise).collect()
}

/// One summary per phase name, in the order in which the names first appear.
fn phase_summaries(durations: &[&StageDuration], streaming_read: Option<f64>) -> Vec<PhaseSummary> {
    let phases = || durations.iter().flat_map(|duration| &duration.phases);
    let mut names: Vec<&str> = Vec::new();
    for phase in phases() {
        if !names.contains(&phase.name.as_str()) {
            names.push(&phase.name);
        }
    }
    let summarise = |name: &str| {
        let seconds: Vec<f64> = phases()
            .filter(|phase| phase.name == name)
            .map(|phase| phase.seconds)
            .collect();
        let duration = Summary::of(&seconds)?;
        let bytes = phases().find(|phase| phase.name == name)?.bytes;
        let bytes_per_second = bytes
            .map(|bytes| bytes as f64 / duration.median_seconds)
            .filter(|rate| rate.is_finite());
        Some(PhaseSummary {
            name: name.to_owned(),
            samples: seconds.len(),
            duration,
            bytes,
            bytes_per_second,
            of_streaming_read: bytes_per_second
                .zip(streaming_read)
                .map(|(rate, streaming)| rate / streaming)
                .filter(|ratio| ratio.is_finite()),
        })
    };
    names.into_iter().filter_map(summarise).collect()
}

/// Vectors per second, where a whole trial was measured.
pub(super) fn throughput(stages: &[StageSummary], batch: usize) -> Option<Throughput> {
    let median = |stage| {
        stages
            .iter()
            .find(|s| s.stage == stage)
            .map(|s| s.duration.median_seconds)
    };
    let evaluation = median(Stage::OnlineEvaluation).or_else(|| median(Stage::Evaluation))?;
    let end_to_end = median(Stage::Encryption)? + evaluation + median(Stage::Decryption)?;
    let rate = |seconds: f64| Some(batch as f64 / seconds).filter(|rate| rate.is_finite());
    Some(Throughput {
        evaluation: rate(evaluation)?,
        end_to_end: rate(end_to_end)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use ckks_backend::Phase;

    fn trial(warmup: bool, seconds: [f64; 3]) -> Trial {
        let [encryption, evaluation, decryption] = seconds;
        let phase = |name: &str, seconds, bytes| Phase {
            name: name.into(),
            seconds,
            bytes,
        };
        let phases = vec![
            phase("stream", evaluation / 2.0, Some(1000)),
            phase("rest", 0.0, None),
        ];
        Trial {
            warmup,
            verdict: Verdict::Passed,
            reason: None,
            errors: None,
            predicted: None,
            durations: Some(vec![
                StageDuration {
                    stage: Stage::Encryption,
                    seconds: encryption,
                    phases: vec![],
                },
                StageDuration {
                    stage: Stage::Evaluation,
                    seconds: evaluation,
                    phases,
                },
                StageDuration {
                    stage: Stage::Decryption,
                    seconds: decryption,
                    phases: vec![],
                },
            ]),
        }
    }

    #[test]
    fn by_hand() {
        let setup = [StageDuration {
            stage: Stage::KeyGeneration,
            seconds: 9.0,
            phases: Vec::new(),
        }];
        let trials = [
            trial(true, [100.0, 100.0, 100.0]),
            trial(false, [1.0, 4.0, 3.0]),
            trial(false, [2.0, 8.0, 3.0]),
            trial(false, [1.0, 16.0, 3.0]),
        ];
        let stages = stage_summaries(&setup, &trials, Some(1000.0));
        let names: Vec<Stage> = stages.iter().map(|s| s.stage).collect();
        let expected = [
            Stage::KeyGeneration,
            Stage::Encryption,
            Stage::Evaluation,
            Stage::Decryption,
        ];
        assert_eq!(names, expected);
        assert_eq!((stages[0].samples, stages[1].samples), (1, 3));
        let Summary {
            median_seconds,
            min_seconds,
            max_seconds,
        } = stages[2].duration;
        assert_eq!((median_seconds, min_seconds, max_seconds), (8.0, 4.0, 16.0));

        let [stream, rest] = &stages[2].phases[..] else {
            panic!("two phases")
        };
        assert_eq!(stream.duration.median_seconds, 4.0);
        assert_eq!(stream.bytes_per_second, Some(250.0));
        assert_eq!(stream.of_streaming_read, Some(0.25));
        assert_eq!(
            (rest.bytes, rest.bytes_per_second, rest.of_streaming_read),
            (None, None, None)
        );

        let rates = throughput(&stages, 24).unwrap();
        assert_eq!(
            rates,
            Throughput {
                evaluation: 3.0,
                end_to_end: 2.0
            }
        );
    }

    #[test]
    fn nothing_measured_is_no_rate() {
        assert_eq!(throughput(&[], 1), None);
        let stages = stage_summaries(&[], &[trial(true, [1.0, 1.0, 1.0])], None);
        assert!(stages.is_empty());
    }
}
