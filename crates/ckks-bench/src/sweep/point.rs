//! One point: the command line of its worker, and what its end means.

use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::report::{Report, Stage};
use crate::sweep::options::SweepOptions;
use crate::sweep::record::{Point, PointOutcome, PointRecord, SweepSettings};
use crate::sweep::worker::{Ended, WorkerEnd, run_worker};
use ckks_backend::Delivery;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs the point in a process of this program; `None` where the interrupt stopped it.
///
/// # Errors
/// [`BenchError::Usage`] where this program cannot find itself, or the worker cannot write its
/// report: nothing can be recorded then. A worker that cannot be started is a crashed point.
pub fn run_point(
    point: &Point,
    options: &SweepOptions,
    output: &Path,
    interrupt: &Interrupt,
) -> Result<Option<PointRecord>, BenchError> {
    if interrupt.is_set() {
        return Ok(None);
    }
    let program = std::env::current_exe()
        .map_err(|error| BenchError::usage(format!("cannot find this program: {error}")))?;
    let json = report_path(output);
    // What a killed sweep left behind must not pass for the report of this point.
    let _ = fs::remove_file(&json);
    let mut command = Command::new(program);
    command
        .args(worker_arguments(point, &options.settings))
        .arg("--json")
        .arg(&json);
    let end = match run_worker(command, options.timeout, interrupt) {
        Ok(end) => end,
        Err(error) => {
            let outcome = crashed(
                None,
                None,
                format!("cannot run the worker: {error}"),
                Vec::new(),
            );
            return Ok(Some(PointRecord::new(point.clone(), outcome, 0.0, None)));
        }
    };
    let content = fs::read(&json).ok();
    let _ = fs::remove_file(&json);
    if content.is_none() {
        check_writer(&end)?;
    }
    let report = content.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let seconds = end.seconds;
    let Some(outcome) = outcome(end, report.as_ref(), options.timeout) else {
        return Ok(None);
    };
    // Figures of a worker that did not finish are none.
    let report = report.filter(|_| outcome == PointOutcome::Finished);
    Ok(Some(PointRecord::new(
        point.clone(),
        outcome,
        seconds,
        report,
    )))
}

/// Fails where the worker could not write its report: the disk is full, say, and every other point
/// would go the same way.
fn check_writer(end: &WorkerEnd) -> Result<(), BenchError> {
    let message = end.stderr.iter().find_map(|line| {
        let message = line.strip_prefix("error: ")?;
        message.starts_with("--json").then_some(message)
    });
    match (end.ended, message) {
        (Ended::Exited(2), Some(message)) => Err(BenchError::usage(format!(
            "the report of a point cannot be written: {message}; its point is not recorded, so \
             make room and give the same command again"
        ))),
        _ => Ok(()),
    }
}

/// The size of the point's plain product in multiply-adds, plus a constant for starting and
/// measuring the memory: what the estimate of the remaining time goes by.
#[must_use]
pub fn work(point: &Point) -> u64 {
    const START: u64 = 1 << 27;
    let product = (point.d_in as u64)
        .saturating_mul(point.d_out as u64)
        .saturating_mul(point.batch as u64);
    product.saturating_add(START)
}

/// Where the worker writes its report: beside the results, whose lock keeps other sweeps away.
pub(crate) fn report_path(output: &Path) -> PathBuf {
    let mut name = OsString::from(output);
    name.push(".point.json");
    PathBuf::from(name)
}

/// The arguments of the worker, without `--json`.
fn worker_arguments(point: &Point, settings: &SweepSettings) -> Vec<String> {
    let circumstances = &settings.circumstances;
    let delivery = match circumstances.delivery {
        Delivery::Cached => "cached",
        Delivery::Sent => "sent",
    };
    // `--flag=value`: a value that begins with a hyphen stays a value.
    let mut arguments = vec![
        "run".to_owned(),
        format!("--lib={}", point.library),
        format!("--device={}", point.device),
        format!("--shape={}x{}", point.d_in, point.d_out),
        format!("--batch={}", point.batch),
        format!("--plan={}", point.plan),
        format!("--threads={}", point.threads),
        format!("--trials={}", settings.trials),
        format!("--warmup={}", settings.warmup),
        format!("--max-seconds={}", settings.point_seconds),
        format!("--seed={}", settings.seed),
        format!("--gate={:e}", settings.gate),
        format!("--link={}B/s", circumstances.link_bytes_per_second),
        format!("--reuse={}", circumstances.reuse),
        format!("--delivery={delivery}"),
    ];
    arguments.extend(settings.ahead.then(|| "--ahead".to_owned()));
    arguments.extend(settings.cold.then(|| "--cold".to_owned()));
    arguments.push("--quiet".to_owned());
    arguments
}

fn crashed(
    signal: Option<i32>,
    exit_code: Option<i32>,
    reason: String,
    stderr: Vec<String>,
) -> PointOutcome {
    PointOutcome::Crashed {
        signal,
        exit_code,
        reason,
        stderr,
    }
}

/// What the end of a worker means; `None` where the interrupt stopped it.
fn outcome(end: WorkerEnd, report: Option<&Report>, timeout: Duration) -> Option<PointOutcome> {
    let WorkerEnd { ended, stderr, .. } = end;
    let message = || {
        let text = stderr.join("\n");
        text.strip_prefix("error: ")
            .map(str::to_owned)
            .unwrap_or(text)
    };
    let configuration = report.and_then(|report| report.configurations.first());
    Some(match (ended, configuration) {
        (Ended::Interrupted, _) => return None,
        (Ended::TimedOut, _) => PointOutcome::TimedOut {
            limit_seconds: timeout.as_secs_f64(),
            stderr,
        },
        (Ended::Signalled(signal), _) => {
            let reason = format!("signal {signal}{}", signal_name(signal));
            crashed(Some(signal), None, reason, stderr)
        }
        (Ended::Exited(0 | 1), Some(configuration)) => match &configuration.rejection {
            Some(rejection) if rejection.stage == Stage::Open => PointOutcome::Refused {
                reason: rejection.reason.clone(),
            },
            _ => PointOutcome::Finished,
        },
        (Ended::Exited(2), _) => PointOutcome::Refused { reason: message() },
        (Ended::Exited(3), _) => PointOutcome::NotAvailable { reason: message() },
        (Ended::Exited(130), _) => {
            let reason = "interrupted from outside".to_owned();
            crashed(None, Some(130), reason, stderr)
        }
        (Ended::Exited(code), _) => {
            let reason = format!("exit code {code} without a report");
            crashed(None, Some(code), reason, stderr)
        }
    })
}

/// The signals that programs die of, as numbered on Linux.
fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL; the system does this when memory runs out)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests may panic too")]

    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn ended(ended: Ended, stderr: &[&str]) -> WorkerEnd {
        WorkerEnd {
            ended,
            seconds: 1.0,
            stderr: stderr.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    fn without_report(end: Ended, stderr: &[&str]) -> Option<PointOutcome> {
        outcome(ended(end, stderr), None, Duration::from_secs(9))
    }

    #[test]
    fn ends_without_a_report() {
        assert_eq!(without_report(Ended::Interrupted, &[]), None);
        let Some(PointOutcome::Crashed {
            signal,
            exit_code,
            reason,
            stderr,
        }) = without_report(Ended::Signalled(11), &["a", "b"])
        else {
            panic!("not crashed");
        };
        assert_eq!((signal, exit_code), (Some(11), None));
        assert_eq!(reason, "signal 11 (SIGSEGV)");
        assert_eq!(stderr, ["a", "b"]);
        for code in [0, 1, 7, 101, 130] {
            let Some(PointOutcome::Crashed { exit_code, .. }) =
                without_report(Ended::Exited(code), &[])
            else {
                panic!("{code} is not crashed");
            };
            assert_eq!(exit_code, Some(code));
        }
        assert_eq!(
            without_report(Ended::Exited(2), &["error: too large"]),
            Some(PointOutcome::Refused {
                reason: "too large".to_owned()
            })
        );
        assert_eq!(
            without_report(Ended::Exited(3), &["error: no library"]),
            Some(PointOutcome::NotAvailable {
                reason: "no library".to_owned()
            })
        );
        assert_eq!(
            without_report(Ended::TimedOut, &["last"]),
            Some(PointOutcome::TimedOut {
                limit_seconds: 9.0,
                stderr: vec!["last".to_owned()]
            })
        );
    }

    #[test]
    fn a_report_that_cannot_be_written_ends_the_sweep() {
        let full = "error: --json: cannot write x.point.json: No space left on device";
        let message = check_writer(&ended(Ended::Exited(2), &["warning", full])).unwrap_err();
        assert!(message.to_string().contains("No space left"), "{message}");
        for (end, line) in [
            (
                Ended::Exited(2),
                "error: the layer does not fit into memory",
            ),
            (Ended::Exited(1), full),
            (Ended::Signalled(9), full),
        ] {
            assert!(check_writer(&ended(end, &[line])).is_ok());
        }
    }

    #[test]
    fn an_interrupt_from_outside_is_named() {
        let outcome = without_report(Ended::Exited(130), &[]);
        assert!(
            matches!(&outcome, Some(PointOutcome::Crashed { reason, .. })
                if reason == "interrupted from outside"),
            "{outcome:?}"
        );
    }

    #[test]
    fn the_worker_understands_its_arguments() {
        let point = Point {
            library: "-odd".to_owned(),
            device: "cpu".to_owned(),
            d_in: 5,
            d_out: 3,
            batch: 7,
            plan: "diagonal-square".to_owned(),
            threads: 2,
        };
        let settings = SweepSettings {
            trials: 4,
            warmup: 0,
            seed: u64::MAX,
            gate: 3.3e-5,
            ahead: true,
            cold: true,
            circumstances: ckks_backend::Circumstances {
                link_bytes_per_second: 1.0 / 3.0,
                reuse: 12,
                delivery: Delivery::Sent,
            },
            point_seconds: 0.25,
        };
        let arguments = worker_arguments(&point, &settings);
        let line = std::iter::once("ckks-bench".to_owned()).chain(arguments);
        let Command::Run(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("not a run");
        };
        assert_eq!(args.spec.lib, "-odd");
        assert_eq!(args.spec.shape[0].to_string(), "5x3");
        assert_eq!((args.spec.batch, args.spec.threads), (Some(7), Some(2)));
        assert_eq!(args.spec.plan, crate::cli::Plan::DiagonalSquare);
        assert_eq!((args.trials, args.warmup, args.seed), (4, 0, u64::MAX));
        assert_eq!((args.spec.gate, args.spec.link), (3.3e-5, 1.0 / 3.0));
        assert_eq!((args.spec.reuse, args.max_seconds), (12, Some(0.25)));
        assert!(args.spec.delivery == crate::cli::MaskDelivery::Sent);
        assert!(args.spec.ahead && args.cold && args.quiet);
    }
}
