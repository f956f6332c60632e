//! Running both sides in turn, each on its own thread.

use super::Round;
use crate::gate::{Gate, compare};
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::report::Verdict;
use crate::{reference, synthetic};
use ckks_backend::{Backend, BackendError, Description, TrialSpec};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;
use tensor_io::WeightMatrix;

/// Opens the backend of a side on that side's thread.
pub type SharedOpener<'a> =
    dyn Fn(&str, &str, &TrialSpec) -> Result<Box<dyn Backend>, BackendError> + Sync + 'a;

/// One side, before it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the library.
    pub library: String,
    /// Name of the device.
    pub device: String,
    /// The layer and how it is evaluated.
    pub spec: TrialSpec,
    /// The error gate.
    pub gate: Gate,
}

/// One side, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SideReport {
    /// The options of this side as given to `--a` or `--b`.
    pub options: String,
    /// What was asked of the backend.
    pub spec: TrialSpec,
    /// What the backend states; `None` where it refused to open.
    pub description: Option<Description>,
    /// `passed` when every answer of every round passed the gate.
    pub verdict: Verdict,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// Largest absolute error of any round; `None` without an answer.
    pub max_abs_error: Option<f64>,
}

/// Seconds of one round of one side, for its whole batch.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Encryption.
    pub encryption: f64,
    /// Ahead-of-time part; 0 without `--ahead`.
    pub ahead: f64,
    /// Evaluation, or its online part.
    pub evaluation: f64,
    /// Decryption.
    pub decryption: f64,
}

/// What a side says after opening and after each round.
enum Answer {
    Ready(Box<Description>),
    Round {
        timing: Timing,
        max_abs: Option<f64>,
    },
    Failed {
        reason: String,
        max_abs: Option<f64>,
    },
}

/// Runs warm-ups and rounds. Ends early where a side fails or `interrupt` is set; gives the counted
/// rounds and whether the interrupt left some out. The verdicts are in `reports`.
///
/// # Errors
/// The backend's, where it cannot do at all what is asked.
pub fn measure(
    plans: &[Plan; 2],
    reports: &mut [SideReport; 2],
    (warmup, rounds): (usize, usize),
    opener: &SharedOpener<'_>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<(Vec<Round>, bool), BackendError> {
    let spec = &plans[0].spec;
    // Both sides have the same layer and seed, hence the same weights.
    let weights = synthetic::weights(spec.seed, spec.d_in, spec.d_out)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    thread::scope(|scope| {
        let mut links = Vec::new();
        for plan in plans {
            let (order, orders) = channel::<usize>();
            let (answer, answers) = channel();
            let weights = &weights;
            scope.spawn(move || side(plan, weights, opener, &orders, &answer));
            links.push((order, answers));
        }
        let mut failed = false;
        // Preparations in turn: side by side they would disturb nothing measured, but need both
        // peaks of memory at once.
        for (index, (order, answers)) in links.iter().enumerate() {
            progress.stage(format!("{} is prepared", ["A", "B"][index]));
            failed |= !ask(order, answers, 0, &mut reports[index])?.1;
        }
        let mut counted = Vec::new();
        let mut interrupted = false;
        for round in 0..warmup + rounds {
            if failed {
                break;
            }
            if interrupt.is_set() {
                interrupted = true;
                break;
            }
            progress
                .stage(crate::trial::trial_name(round, warmup, rounds).replace("trial", "round"));
            let a_first = round % 2 == 0;
            let mut timings = [Timing::default(); 2];
            for index in if a_first { [0, 1] } else { [1, 0] } {
                let (order, answers) = &links[index];
                let (timing, passed) = ask(order, answers, round, &mut reports[index])?;
                timings[index] = timing;
                failed |= !passed;
            }
            if round >= warmup && !failed {
                counted.push(Round {
                    a_first,
                    a: timings[0],
                    b: timings[1],
                });
            }
        }
        for report in reports.iter_mut() {
            if report.verdict == Verdict::Incomplete && !failed && !interrupted {
                report.verdict = Verdict::Passed;
            }
        }
        Ok((counted, interrupted))
    })
}

/// Sends an order and notes what comes back; false where the side failed.
fn ask(
    order: &Sender<usize>,
    answers: &Receiver<Result<Answer, BackendError>>,
    round: usize,
    report: &mut SideReport,
) -> Result<(Timing, bool), BackendError> {
    // A side that is gone has left its last answer, or none.
    let _ = order.send(round);
    let answer = answers.recv().unwrap_or_else(|_| {
        Ok(Answer::Failed {
            reason: "its thread ended".to_owned(),
            max_abs: None,
        })
    })?;
    let mut worst = |max_abs: Option<f64>| {
        if let Some(error) = max_abs {
            report.max_abs_error = Some(report.max_abs_error.map_or(error, |e| e.max(error)));
        }
    };
    match answer {
        Answer::Ready(description) => {
            report.description = Some(*description);
            Ok((Timing::default(), true))
        }
        Answer::Round { timing, max_abs } => {
            worst(max_abs);
            Ok((timing, true))
        }
        Answer::Failed { reason, max_abs } => {
            worst(max_abs);
            report.verdict = Verdict::Rejected;
            report.reason = Some(reason);
            Ok((Timing::default(), false))
        }
    }
}

/// The thread of one side: opens and prepares on the first order, runs a round on each further one.
fn side(
    plan: &Plan,
    weights: &WeightMatrix,
    opener: &SharedOpener<'_>,
    orders: &Receiver<usize>,
    answers: &Sender<Result<Answer, BackendError>>,
) {
    let failed = |error: BackendError| Answer::Failed {
        reason: error.to_string(),
        max_abs: None,
    };
    if orders.recv().is_err() {
        return;
    }
    let mut backend = match opener(&plan.library, &plan.device, &plan.spec) {
        Ok(backend) => backend,
        Err(error @ BackendError::Refused(_)) => {
            let _ = answers.send(Ok(failed(error)));
            return;
        }
        Err(error) => {
            let _ = answers.send(Err(error));
            return;
        }
    };
    let description = Box::new(backend.describe());
    let prepared = set_up(backend.as_mut(), weights);
    let answer = prepared.map_or_else(failed, |()| Answer::Ready(description));
    if answers.send(Ok(answer)).is_err() {
        return;
    }
    for round in orders {
        let answer = one_round(backend.as_mut(), plan, weights, round).unwrap_or_else(failed);
        if answers.send(Ok(answer)).is_err() {
            return;
        }
    }
}

fn set_up(backend: &mut dyn Backend, weights: &WeightMatrix) -> Result<(), BackendError> {
    backend.generate_keys()?;
    backend.prepare(weights, &|_| ())?;
    backend.replicate()
}

/// One round, with the answer checked as `run` does.
fn one_round(
    backend: &mut dyn Backend,
    plan: &Plan,
    weights: &WeightMatrix,
    round: usize,
) -> Result<Answer, BackendError> {
    let spec = &plan.spec;
    let inputs = synthetic::inputs(spec.seed, round, spec.batch, spec.d_in)
        .map_err(|error| BackendError::BadArgument(error.to_string()))?;
    let mut timing = Timing::default();
    if spec.ahead {
        timed(&mut timing.ahead, || backend.evaluate_ahead())?;
    }
    timed(&mut timing.encryption, || backend.encrypt(&inputs))?;
    timed(&mut timing.evaluation, || backend.evaluate())?;
    let outputs = timed(&mut timing.decryption, || backend.decrypt())?;
    let expected = reference::product(weights, inputs.data(), spec.threads);
    Ok(match compare(&expected, &outputs, spec.d_out) {
        Err(wrong) => Answer::Failed {
            reason: wrong.to_string(),
            max_abs: None,
        },
        Ok(errors) if plan.gate.passes(&errors) => Answer::Round {
            timing,
            max_abs: errors.max_abs,
        },
        Ok(errors) => Answer::Failed {
            reason: match errors.max_abs {
                Some(error) => format!(
                    "max abs error {error:.2e} is above the gate of {:.2e}",
                    plan.gate.limit
                ),
                None => format!(
                    "{} of {} outputs are NaN or infinite",
                    errors.not_finite, errors.outputs
                ),
            },
            max_abs: errors.max_abs,
        },
    })
}

fn timed<T>(
    seconds: &mut f64,
    work: impl FnOnce() -> Result<T, BackendError>,
) -> Result<T, BackendError> {
    let start = Instant::now();
    let result = work();
    *seconds = start.elapsed().as_secs_f64();
    result
}
