//! Two reports side by side.

use crate::report::{Configuration, Report, Stage, Verdict};
use bench_report::statistics::Summary;
use serde::{Deserialize, Serialize};

mod differences;

pub use differences::{blocking, others};

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench-compare/1";

/// Two reports side by side.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// The file of A.
    pub a: String,
    /// The file of B.
    pub b: String,
    /// Differences that make a comparison unsound; not empty only with `--anyway`.
    pub unsound: Vec<Difference>,
    /// What else differs: what may be the reason for other figures.
    pub differences: Vec<Difference>,
    /// Configurations that both have.
    pub configurations: Vec<Pair>,
    /// Configurations that only one has, as `INxOUT, batch N`.
    pub unmatched: Vec<String>,
}

/// One thing that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// What differs.
    pub what: String,
    /// In A.
    pub a: String,
    /// In B.
    pub b: String,
}

impl Difference {
    /// The difference between two texts, if there is one.
    fn of(what: &str, a: impl Into<String>, b: impl Into<String>) -> Option<Difference> {
        let (a, b) = (a.into(), b.into());
        (a != b).then(|| Difference {
            what: what.to_owned(),
            a,
            b,
        })
    }
}

/// One configuration of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Vectors per evaluation of A.
    pub batch_a: usize,
    /// Vectors per evaluation of B; another one only with `--anyway`.
    pub batch_b: usize,
    /// Verdict of A.
    pub verdict_a: Verdict,
    /// Verdict of B.
    pub verdict_b: Verdict,
    /// Median durations of the whole batch, in the order of the tables.
    pub stages: Vec<StagePair>,
    /// Vectors per second.
    pub throughput: Vec<ValuePair>,
    /// Bytes of the whole batch.
    pub bytes: Vec<ValuePair>,
    /// Errors.
    pub errors: Vec<ValuePair>,
}

/// One stage of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StagePair {
    /// The stage.
    pub stage: Stage,
    /// Durations of A; `None` where A did not measure it.
    pub a: Option<Summary>,
    /// Durations of B.
    pub b: Option<Summary>,
    /// Median of B / median of A; `None` where one is missing or zero.
    pub ratio: Option<f64>,
    /// Whether the ranges from smallest to largest are apart; `None` where one side has fewer than
    /// two durations.
    pub distinguishable: Option<bool>,
}

/// One figure of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ValuePair {
    /// What it is.
    pub name: String,
    /// Of A; `None` where A has none.
    pub a: Option<f64>,
    /// Of B.
    pub b: Option<f64>,
    /// B / A; `None` where one is missing or zero.
    pub ratio: Option<f64>,
    /// For throughput as for the stages that it is computed from; `None` for other figures.
    pub distinguishable: Option<bool>,
}

/// Puts two reports side by side: configurations of the same shape and batch, and those of the same
/// shape where no partner has the same batch.
#[must_use]
pub fn compare(a: (&str, &Report), b: (&str, &Report)) -> Comparison {
    let ((file_a, a), (file_b, b)) = (a, b);
    let partners = partners(a, b);
    let used: Vec<usize> = partners.iter().filter_map(|&(_, b)| b).collect();
    let alone_a = partners
        .iter()
        .filter(|(_, partner)| partner.is_none())
        .map(|&(index, _)| format!("A: {}", name(&a.configurations[index])));
    let alone_b = (0..b.configurations.len())
        .filter(|index| !used.contains(index))
        .map(|index| format!("B: {}", name(&b.configurations[index])));
    Comparison {
        schema: SCHEMA.to_owned(),
        a: file_a.to_owned(),
        b: file_b.to_owned(),
        unsound: blocking(a, b),
        differences: others(a, b),
        configurations: partners
            .iter()
            .filter_map(|&(i, j)| Some(pair(&a.configurations[i], &b.configurations[j?])))
            .collect(),
        unmatched: alone_a.chain(alone_b).collect(),
    }
}

/// `INxOUT, batch N`.
fn name(configuration: &Configuration) -> String {
    format!(
        "{}x{}, batch {}",
        configuration.d_in, configuration.d_out, configuration.batch
    )
}

/// For each configuration of A the one of B: first by shape and batch, then by shape alone. Each is
/// taken once.
fn partners(a: &Report, b: &Report) -> Vec<(usize, Option<usize>)> {
    let mut found = vec![None; a.configurations.len()];
    let mut taken = vec![false; b.configurations.len()];
    for same_batch in [true, false] {
        for (of_a, partner) in a.configurations.iter().zip(&mut found) {
            if partner.is_some() {
                continue;
            }
            let fits = |of_b: &Configuration| {
                (of_a.d_in, of_a.d_out) == (of_b.d_in, of_b.d_out)
                    && (!same_batch || of_a.batch == of_b.batch)
            };
            *partner = (0..taken.len()).find(|&j| !taken[j] && fits(&b.configurations[j]));
            if let Some(index) = *partner {
                taken[index] = true;
            }
        }
    }
    found.into_iter().enumerate().collect()
}

fn pair(a: &Configuration, b: &Configuration) -> Pair {
    let stages: Vec<StagePair> = Stage::ALL
        .into_iter()
        .filter_map(|stage| stage_pair(stage, a, b))
        .collect();
    Pair {
        d_in: a.d_in,
        d_out: a.d_out,
        batch_a: a.batch,
        batch_b: b.batch,
        verdict_a: a.verdict,
        verdict_b: b.verdict,
        stages,
        throughput: throughput(a, b),
        bytes: bytes(a, b),
        errors: errors(a, b),
    }
}

/// Samples and durations of a stage.
fn stage_of(configuration: &Configuration, stage: Stage) -> Option<(usize, Summary)> {
    let stages = configuration.stages.as_ref()?;
    let summary = stages.iter().find(|summary| summary.stage == stage)?;
    Some((summary.samples, summary.duration))
}

fn stage_pair(stage: Stage, a: &Configuration, b: &Configuration) -> Option<StagePair> {
    let (a, b) = (stage_of(a, stage), stage_of(b, stage));
    if a.is_none() && b.is_none() {
        return None;
    }
    let median = |side: Option<(usize, Summary)>| side.map(|(_, summary)| summary.median_seconds);
    Some(StagePair {
        stage,
        ratio: ratio(median(a), median(b)),
        distinguishable: a.zip(b).and_then(|((samples_a, a), (samples_b, b))| {
            (samples_a > 1 && samples_b > 1).then(|| {
                apart(
                    (a.min_seconds, a.max_seconds),
                    (b.min_seconds, b.max_seconds),
                )
            })
        }),
        a: a.map(|(_, summary)| summary),
        b: b.map(|(_, summary)| summary),
    })
}

/// Whether two ranges have no value in common.
fn apart(a: (f64, f64), b: (f64, f64)) -> bool {
    a.1 < b.0 || b.1 < a.0
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    Some(b / a).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}

fn throughput(a: &Configuration, b: &Configuration) -> Vec<ValuePair> {
    let row = |name: &str, value: fn(&Configuration) -> Option<f64>, end_to_end: bool| {
        let (range_a, range_b) = (range(a, end_to_end), range(b, end_to_end));
        ValuePair {
            distinguishable: range_a.zip(range_b).map(|(a, b)| apart(a, b)),
            ..value_pair(name, value(a), value(b))
        }
    };
    vec![
        row("evaluation", |c| Some(c.throughput?.evaluation), false),
        row("end to end", |c| Some(c.throughput?.end_to_end), true),
    ]
}

/// Lowest and highest vectors per second that the durations allow; `None` with fewer than two.
fn range(configuration: &Configuration, end_to_end: bool) -> Option<(f64, f64)> {
    let (samples, evaluation) = stage_of(configuration, Stage::OnlineEvaluation)
        .or_else(|| stage_of(configuration, Stage::Evaluation))?;
    if samples < 2 {
        return None;
    }
    let mut fastest = evaluation.min_seconds;
    let mut slowest = evaluation.max_seconds;
    if end_to_end {
        for stage in [Stage::Encryption, Stage::Decryption] {
            let (_, summary) = stage_of(configuration, stage)?;
            fastest += summary.min_seconds;
            slowest += summary.max_seconds;
        }
    }
    let batch = configuration.batch as f64;
    Some((batch / slowest, batch / fastest))
}

fn value_pair(name: &str, a: Option<f64>, b: Option<f64>) -> ValuePair {
    ValuePair {
        name: name.to_owned(),
        a,
        b,
        ratio: ratio(a, b),
        distinguishable: None,
    }
}

fn bytes(a: &Configuration, b: &Configuration) -> Vec<ValuePair> {
    let (a, b) = (&a.bytes, &b.bytes);
    let rows = [
        ("keys", a.keys, b.keys),
        ("upload", a.upload, b.upload),
        ("download", a.download, b.download),
        (
            "download once per layer",
            a.layer_download,
            b.layer_download,
        ),
        ("prepared weights", a.prepared_weights, b.prepared_weights),
        ("peak memory", a.peak_resident, b.peak_resident),
        ("peak memory of the device", a.peak_device, b.peak_device),
    ];
    rows.into_iter()
        .filter(|(_, a, b)| a.is_some_and(|bytes| bytes > 0) || b.is_some_and(|bytes| bytes > 0))
        .map(|(name, a, b)| value_pair(name, a.map(|v| v as f64), b.map(|v| v as f64)))
        .collect()
}

fn errors(a: &Configuration, b: &Configuration) -> Vec<ValuePair> {
    let (a, b) = (a.errors, b.errors);
    let row = |name: &str, value: fn(crate::gate::ErrorSummary) -> Option<f64>| {
        value_pair(name, a.and_then(value), b.and_then(value))
    };
    vec![
        row("max abs", |errors| errors.max_abs),
        row("rms", |errors| errors.rms),
    ]
}
