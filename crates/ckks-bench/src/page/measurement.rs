//! What the page is made of: every configuration of every input, and which line of a plot it is on.

use crate::report::{Bytes, Configuration, Report, Stage, StageSummary, Verdict};
use crate::shape::Shape;
use crate::sweep::record::{PointOutcome, PointRecord, SweepSettings};
use std::sync::Arc;

/// Where something was read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source {
    /// Name of the file, without its folder.
    pub file: String,
    /// The plan that a sweep asked for; `None` for a report.
    pub asked: Option<String>,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.asked {
            Some(plan) => write!(f, "{}, plan {plan}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// One configuration of a report, or a point of a sweep that has no report.
///
/// A rejected one has no duration, whatever its file says.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Where it was read.
    pub source: Source,
    /// The report that it is in; `None` for a point that ended without one.
    pub report: Option<Arc<Report>>,
    /// The configuration; `None` for a point that ended without a report.
    pub configuration: Option<Configuration>,
    /// What it is.
    pub setting: Setting,
    /// The answer of the gate; `None` for a point that ended without a report.
    pub verdict: Option<Verdict>,
    /// Where and why it failed, in words; `None` for what passed or was interrupted.
    pub failure: Option<Failure>,
}

/// Where and why a measurement failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The stage or the way in which the process ended.
    pub stage: String,
    /// The reason in words; a backend's own message is unchanged.
    pub reason: String,
}

/// What was measured.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Setting {
    /// Widths of the layer.
    pub shape: (usize, usize),
    /// Worker threads.
    pub threads: usize,
    /// Name given to `--lib`.
    pub library: String,
    /// Name given to `--device`.
    pub device: String,
    /// The plan that was carried out; the one asked for where there is no plan; empty where the
    /// input does not say.
    pub plan: String,
    /// Evaluation split into an ahead-of-time and an online part.
    pub ahead: bool,
    /// Copies of the layer, so that none is in a cache.
    pub cold: bool,
    /// Vectors per evaluation.
    pub batch: usize,
}

impl Measurement {
    /// The configurations of a report.
    #[must_use]
    pub fn of_report(source: &Source, report: Report) -> Vec<Measurement> {
        let report = Arc::new(report);
        report
            .configurations
            .iter()
            .map(|configuration| {
                let plan = configuration
                    .description
                    .as_ref()
                    .map(|description| description.plan.packing.name.clone());
                let mut configuration = configuration.clone();
                if configuration.verdict == Verdict::Rejected {
                    configuration.stages = None;
                    configuration.throughput = None;
                    for trial in &mut configuration.trials {
                        trial.durations = None;
                    }
                }
                let settings = &report.settings;
                Measurement {
                    source: source.clone(),
                    report: Some(Arc::clone(&report)),
                    setting: Setting {
                        shape: (configuration.d_in, configuration.d_out),
                        threads: settings.threads,
                        library: settings.library.clone(),
                        device: settings.device.clone(),
                        plan: plan.unwrap_or_default(),
                        ahead: settings.ahead,
                        cold: settings.cold,
                        batch: configuration.batch,
                    },
                    verdict: Some(configuration.verdict),
                    failure: failure(&configuration),
                    configuration: Some(configuration),
                }
            })
            .collect()
    }

    /// A point of a sweep: its report's configuration, or how it ended where it did not finish.
    #[must_use]
    pub fn of_point(file: &str, settings: &SweepSettings, record: PointRecord) -> Vec<Measurement> {
        let source = Source {
            file: file.to_owned(),
            asked: Some(record.point.plan.clone()),
        };
        let failure = ending(&record.outcome);
        // What a process that did not finish measured is not shown.
        let mut measurements = match (&failure, record.report) {
            (None, Some(report)) => Measurement::of_report(&source, report),
            _ => Vec::new(),
        };
        if measurements.is_empty() {
            measurements.push(Measurement {
                source,
                report: None,
                configuration: None,
                setting: Setting {
                    shape: (record.point.d_in, record.point.d_out),
                    threads: record.point.threads,
                    library: record.point.library,
                    device: record.point.device,
                    plan: String::new(),
                    ahead: settings.ahead,
                    cold: settings.cold,
                    batch: record.point.batch,
                },
                verdict: None,
                failure: Some(failure.unwrap_or_else(|| Failure {
                    stage: "no report".to_owned(),
                    reason: "the point finished without a report".to_owned(),
                })),
            });
        }
        for measurement in &mut measurements {
            // What never came to a plan is known by the one that was asked for.
            if measurement.setting.plan.is_empty() {
                measurement.setting.plan.clone_from(&record.point.plan);
            }
        }
        measurements
    }

    /// `INxOUT`.
    #[must_use]
    pub fn shape(&self) -> String {
        let (d_in, d_out) = self.setting.shape;
        Shape { d_in, d_out }.to_string()
    }

    /// `passed`, `rejected`, `incomplete`, or `failed` for a point that ended without a report.
    #[must_use]
    pub fn verdict_word(&self) -> &'static str {
        match self.verdict {
            Some(Verdict::Passed) => "passed",
            Some(Verdict::Rejected) => "rejected",
            Some(Verdict::Incomplete) => "incomplete",
            None => "failed",
        }
    }

    /// The summary of a stage; `None` for a rejected measurement and for a stage that it has not
    /// got.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&StageSummary> {
        let stages = self.configuration.as_ref()?.stages.as_ref()?;
        stages.iter().find(|summary| summary.stage == stage)
    }

    /// The evaluation, or its online part.
    #[must_use]
    pub fn answer(&self) -> Option<&StageSummary> {
        self.stage(Stage::OnlineEvaluation)
            .or_else(|| self.stage(Stage::Evaluation))
    }

    /// The sizes; `None` for a point that ended without a report.
    #[must_use]
    pub fn bytes(&self) -> Option<&Bytes> {
        self.configuration.as_ref().map(|c| &c.bytes)
    }
}

/// How a process ended that did not finish.
fn ending(outcome: &PointOutcome) -> Option<Failure> {
    let said = |reason: &str, stderr: &[String]| match stderr {
        [] => reason.to_owned(),
        lines => format!("{reason}; it said: {}", lines.join(" | ")),
    };
    let (stage, reason) = match outcome {
        PointOutcome::Finished => return None,
        PointOutcome::Crashed { reason, stderr, .. } => ("crashed", said(reason, stderr)),
        PointOutcome::TimedOut { stderr, .. } => (
            "timed out",
            said("stopped because it took longer than the limit", stderr),
        ),
        PointOutcome::NotAvailable { reason } => ("not available", reason.clone()),
        PointOutcome::Refused { reason } => ("refused", reason.clone()),
    };
    Some(Failure {
        stage: stage.to_owned(),
        reason,
    })
}

fn failure(configuration: &Configuration) -> Option<Failure> {
    if configuration.verdict != Verdict::Rejected {
        return None;
    }
    Some(match &configuration.rejection {
        Some(rejection) => Failure {
            stage: match rejection.trial {
                Some(trial) => format!("{}, trial {trial}", rejection.stage),
                None => rejection.stage.to_string(),
            },
            reason: rejection.reason.clone(),
        },
        None => Failure {
            stage: "–".to_owned(),
            reason: "the report gives no reason".to_owned(),
        },
    })
}
