//! The error gate: the outputs of a trial against the plaintext reference, value by value.

use serde::{Deserialize, Serialize};

/// Largest acceptable absolute error.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Gate {
    /// The limit as given to `--gate`.
    pub limit: f64,
    /// Real weights or inputs: the limit is multiplied by max(1, max|y|), because there it is the
    /// precision that matters and the data sets the magnitude.
    pub scaled: bool,
}

impl Gate {
    /// The limit for a trial whose reference has this largest magnitude.
    #[must_use]
    pub fn limit_for(&self, max_abs_reference: f64) -> f64 {
        if self.scaled {
            self.limit * max_abs_reference.max(1.0)
        } else {
            self.limit
        }
    }

    /// Whether the errors pass. NaN and infinity never do.
    #[must_use]
    pub fn passes(&self, errors: &Errors) -> bool {
        errors.not_finite == 0
            && errors
                .max_abs
                .is_some_and(|error| error <= self.limit_for(errors.max_abs_reference))
    }
}

/// The output with the largest error, or the first that is not finite.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Worst {
    /// Index of the vector in the batch.
    pub vector: usize,
    /// Index of the output in the vector.
    pub output: usize,
    /// The reference.
    pub expected: f64,
    /// What the backend returned; `None` where it is not finite.
    pub actual: Option<f64>,
}

/// Errors of one trial.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Errors {
    /// Largest absolute error; `None` where any output is not finite.
    pub max_abs: Option<f64>,
    /// `max_abs / max_abs_reference`; `None` where either is missing or the reference is zero.
    pub max_relative: Option<f64>,
    /// Root mean square error; `None` where any output is not finite.
    pub rms: Option<f64>,
    /// log2(`max_abs_reference / max_abs`); `None` where that is not a finite number.
    pub precision_bits: Option<f64>,
    /// Largest magnitude of the reference, max|y|.
    pub max_abs_reference: f64,
    /// Number of outputs compared.
    pub outputs: usize,
    /// Number of outputs that are NaN or infinite.
    pub not_finite: usize,
    /// Where the largest error is.
    pub worst: Worst,
}

/// The backend returned another number of outputs than the layer has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the backend returned {actual} outputs instead of {expected}")]
pub struct WrongCount {
    /// Outputs of the layer, for the whole batch.
    pub expected: usize,
    /// Outputs returned.
    pub actual: usize,
}

/// Compares the outputs of a batch with the reference.
///
/// # Errors
/// [`WrongCount`] where their numbers differ or there are none.
pub fn compare(expected: &[f64], actual: &[f64], d_out: usize) -> Result<Errors, WrongCount> {
    if expected.len() != actual.len() || expected.is_empty() {
        return Err(WrongCount {
            expected: expected.len(),
            actual: actual.len(),
        });
    }
    let mut max_abs_reference: f64 = 0.0;
    let mut squares = 0.0;
    let mut largest = 0.0;
    let mut not_finite = 0;
    let mut worst_at = 0;
    for (index, (&want, &got)) in expected.iter().zip(actual).enumerate() {
        max_abs_reference = max_abs_reference.max(want.abs());
        if !got.is_finite() {
            if not_finite == 0 {
                worst_at = index;
            }
            not_finite += 1;
            continue;
        }
        let error = (got - want).abs();
        squares += error * error;
        if error > largest && not_finite == 0 {
            worst_at = index;
        }
        largest = error.max(largest);
    }
    // JSON has no infinity, and the square of a finite error can overflow.
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let known = |value: f64| finite(value).filter(|_| not_finite == 0);
    let max_abs = known(largest);
    Ok(Errors {
        max_abs,
        max_relative: max_abs.and_then(|error| finite(error / max_abs_reference)),
        rms: known((squares / expected.len() as f64).sqrt()),
        precision_bits: max_abs.and_then(|error| finite((max_abs_reference / error).log2())),
        max_abs_reference,
        outputs: expected.len(),
        not_finite,
        worst: Worst {
            vector: worst_at / d_out.max(1),
            output: worst_at % d_out.max(1),
            expected: expected[worst_at],
            actual: finite(actual[worst_at]),
        },
    })
}

/// Errors over all trials of a configuration, warm-ups included.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// Largest absolute error of any trial; `None` where any output is not finite.
    pub max_abs: Option<f64>,
    /// Largest relative error of any trial; `None` as in [`Errors`].
    pub max_relative: Option<f64>,
    /// Root of the mean of all squared errors; `None` where any output is not finite.
    pub rms: Option<f64>,
    /// Fewest precision bits of any trial; `None` where no trial has a figure.
    pub precision_bits: Option<f64>,
    /// Largest max|y| of any trial.
    pub max_abs_reference: f64,
    /// Strictest limit of the gate over the trials (with `scaled` it follows each trial's max|y|).
    pub limit: f64,
    /// Root mean square error that the backend predicted; `None` without a noise model.
    pub predicted_rms: Option<f64>,
    /// Largest six-sigma bound that the backend predicted; `None` without a noise model.
    pub predicted_six_sigma: Option<f64>,
    /// `rms / predicted_rms`; `None` where either is missing or the prediction is zero.
    pub observed_over_predicted: Option<f64>,
}

impl ErrorSummary {
    /// Summarises trials with their predictions; `None` where there are none.
    #[must_use]
    pub fn of(
        gate: &Gate,
        trials: &[(Errors, Option<ckks_backend::Predicted>)],
    ) -> Option<ErrorSummary> {
        let errors = || trials.iter().map(|(errors, _)| errors);
        let largest = |values: Vec<Option<f64>>| {
            // One unknown value makes the largest unknown.
            values
                .into_iter()
                .collect::<Option<Vec<f64>>>()?
                .into_iter()
                .reduce(f64::max)
        };
        let max_abs_reference = errors().map(|e| e.max_abs_reference).reduce(f64::max)?;
        let limit = errors()
            .map(|e| gate.limit_for(e.max_abs_reference))
            .reduce(f64::min)?;
        let root_mean_square = |values: Vec<Option<f64>>| {
            let values: Vec<f64> = values.into_iter().collect::<Option<_>>()?;
            let mean = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
            Some(mean.sqrt()).filter(|_| !values.is_empty())
        };
        let rms = root_mean_square(errors().map(|e| e.rms).collect());
        let predictions = || trials.iter().map(|(_, predicted)| *predicted);
        let predicted_rms = root_mean_square(predictions().map(|p| p.map(|p| p.rms)).collect());
        Some(ErrorSummary {
            max_abs: largest(errors().map(|e| e.max_abs).collect()),
            max_relative: largest(errors().map(|e| e.max_relative).collect()),
            rms,
            precision_bits: errors().filter_map(|e| e.precision_bits).reduce(f64::min),
            max_abs_reference,
            limit,
            predicted_rms,
            predicted_six_sigma: largest(predictions().map(|p| p.map(|p| p.six_sigma)).collect()),
            observed_over_predicted: rms
                .zip(predicted_rms)
                .map(|(observed, predicted)| observed / predicted)
                .filter(|ratio| ratio.is_finite()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ckks_backend::Predicted;

    const GATE: Gate = Gate {
        limit: 1e-4,
        scaled: false,
    };

    #[test]
    fn errors_by_hand() {
        // Two vectors of two outputs; errors 0, 0.25, 0.5, 0.25.
        let errors = compare(&[1.0, -4.0, 0.5, 2.0], &[1.0, -4.25, 1.0, 1.75], 2).unwrap();
        assert_eq!(errors.max_abs, Some(0.5));
        assert_eq!(errors.max_relative, Some(0.125));
        assert_eq!(errors.precision_bits, Some(3.0));
        assert_eq!(errors.rms, Some((0.375f64 / 4.0).sqrt()));
        assert_eq!((errors.outputs, errors.not_finite), (4, 0));
        let worst = Worst {
            vector: 1,
            output: 0,
            expected: 0.5,
            actual: Some(1.0),
        };
        assert_eq!(errors.worst, worst);
    }

    #[test]
    fn an_exact_answer_passes_and_has_no_precision_figure() {
        let errors = compare(&[0.0, 0.0], &[0.0, 0.0], 2).unwrap();
        assert_eq!(
            (errors.max_abs, errors.max_relative, errors.precision_bits),
            (Some(0.0), None, None)
        );
        assert!(GATE.passes(&errors));
    }

    #[test]
    fn the_gate_includes_its_limit() {
        let at = |error: f64| GATE.passes(&compare(&[0.0], &[error], 1).unwrap());
        assert!(at(1e-4));
        assert!(at(-1e-4));
        assert!(!at(1.000_001e-4));
        assert!(!at(-1.0));
    }

    #[test]
    fn real_data_scales_the_gate_up_but_never_down() {
        let gate = Gate {
            limit: 1e-4,
            scaled: true,
        };
        assert_eq!(gate.limit_for(0.5), 1e-4);
        assert_eq!(gate.limit_for(20_000.0), 2.0);
        assert!(gate.passes(&compare(&[20_000.0], &[20_001.5], 1).unwrap()));
        assert!(!GATE.passes(&compare(&[20_000.0], &[20_001.5], 1).unwrap()));
        assert!(!gate.passes(&compare(&[20_000.0], &[20_002.5], 1).unwrap()));
    }

    #[test]
    fn what_is_not_finite_never_passes() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            // The other error is larger than any gate: the index still names the bad value.
            let errors = compare(&[0.0, 1.0, 2.0, 3.0], &[9e9, 1.0, bad, bad], 2).unwrap();
            let gate = Gate {
                limit: f64::MAX,
                scaled: true,
            };
            assert!(!gate.passes(&errors));
            assert_eq!(errors.not_finite, 2);
            assert_eq!((errors.worst.vector, errors.worst.output), (1, 0));
            assert_eq!(
                (errors.max_abs, errors.rms, errors.worst.actual),
                (None, None, None)
            );
        }
    }

    #[test]
    fn another_number_of_outputs_is_no_comparison() {
        let wrong = compare(&[1.0, 2.0], &[1.0], 2).unwrap_err();
        assert_eq!(
            wrong,
            WrongCount {
                expected: 2,
                actual: 1
            }
        );
        assert!(compare(&[1.0], &[], 1).is_err());
        assert!(compare(&[], &[], 1).is_err());
    }

    #[test]
    fn summary_by_hand() {
        let first = compare(&[2.0], &[2.5], 1).unwrap();
        let second = compare(&[8.0], &[8.25], 1).unwrap();
        let predicted = |rms, six_sigma| Some(Predicted { rms, six_sigma });
        let gate = Gate {
            limit: 0.1,
            scaled: true,
        };
        let summary = ErrorSummary::of(
            &gate,
            &[(first, predicted(1.0, 3.0)), (second, predicted(7.0, 2.0))],
        )
        .unwrap();
        assert_eq!(summary.max_abs, Some(0.5));
        assert_eq!(summary.max_relative, Some(0.25));
        assert_eq!(summary.precision_bits, Some(2.0));
        assert_eq!(summary.max_abs_reference, 8.0);
        assert_eq!(summary.limit, 0.2);
        assert_eq!(summary.rms, Some((0.3125f64 / 2.0).sqrt()));
        assert_eq!(summary.predicted_rms, Some(5.0));
        assert_eq!(summary.predicted_six_sigma, Some(3.0));
        let ratio = summary.observed_over_predicted.unwrap();
        assert!((ratio - 0.15625f64.sqrt() / 5.0).abs() < 1e-15);
        assert_eq!(ErrorSummary::of(&gate, &[]), None);
    }
}
