//! What differs between two reports, and what of it makes a comparison unsound.

use super::Difference;
use crate::report::{Configuration, Report, Verdict};
use bench_report::units::{bytes_per_second, scientific};
use ckks_backend::Description;

/// Differences after which the figures do not answer the same question.
#[must_use]
pub fn blocking(a: &Report, b: &Report) -> Vec<Difference> {
    let (of_a, of_b) = (&a.settings, &b.settings);
    let mut found: Vec<Difference> = [
        Difference::of("shapes", shapes(a), shapes(b)),
        Difference::of("batch", batches(a), batches(b)),
        Difference::of("gate", gate(a), gate(b)),
        Difference::of("weights", &of_a.weights, &of_b.weights),
        Difference::of("input", &of_a.input, &of_b.input),
    ]
    .into_iter()
    .flatten()
    .collect();
    let drawn = |report: &Report| {
        [&report.settings.weights, &report.settings.input]
            .into_iter()
            .any(|source| source == "synthetic")
    };
    if drawn(a) || drawn(b) {
        found.extend(Difference::of(
            "generator",
            &of_a.generator,
            &of_b.generator,
        ));
        found.extend(Difference::of(
            "seed",
            of_a.seed.to_string(),
            of_b.seed.to_string(),
        ));
    }
    // Two rejected sides agree and still say nothing.
    let (of_a, of_b) = (rejected(a), rejected(b));
    if of_a != "none" || of_b != "none" {
        found.push(Difference {
            what: "rejected configurations".to_owned(),
            a: of_a,
            b: of_b,
        });
    }
    found
}

/// All other differences: candidates for the reason of other figures.
#[must_use]
pub fn others(a: &Report, b: &Report) -> Vec<Difference> {
    let (of_a, of_b) = (&a.settings, &b.settings);
    let described = |what: &str, value: fn(&Description) -> String| {
        Difference::of(what, descriptions(a, value), descriptions(b, value))
    };
    let machine = |report: &Report| {
        let cpu = report.host.cpu_model.as_deref().unwrap_or("unknown CPU");
        let gpu = report.gpu.as_ref().map_or("", |gpu| gpu.name.as_str());
        let cores = report.host.cores;
        format!(
            "{cpu}, {cores} cores{}{gpu}",
            if gpu.is_empty() { "" } else { ", " }
        )
    };
    let commit = |report: &Report| {
        let commit = report.build.commit.as_deref().unwrap_or("unknown");
        let dirty = report.build.dirty == Some(true);
        format!("{commit}{}", if dirty { ", changed" } else { "" })
    };
    let mut seed = None;
    if of_a.weights != "synthetic" && of_a.input != "synthetic" {
        seed = Difference::of("seed", of_a.seed.to_string(), of_b.seed.to_string());
    }
    let circumstances = |report: &Report| {
        let c = report.settings.circumstances;
        format!(
            "{}, reuse {}, W·A {:?}",
            bytes_per_second(c.link_bytes_per_second),
            c.reuse,
            c.delivery
        )
    };
    [
        described("library", |d| format!("{} {}", d.library, d.version)),
        described("device", |d| d.device.clone()),
        described("kernels", |d| d.kernels.clone()),
        described("plan", |d| {
            let packing = &d.plan.packing;
            format!("{}, {}", packing.name, packing.layout)
        }),
        described("parameters", |d| {
            format!("{} ({})", d.parameters.name, d.parameters.digest)
        }),
        Difference::of("machine", machine(a), machine(b)),
        Difference::of(
            "threads",
            of_a.threads.to_string(),
            of_b.threads.to_string(),
        ),
        Difference::of("trials", trials(a), trials(b)),
        seed,
        Difference::of("commit", commit(a), commit(b)),
        Difference::of("profile", &a.build.profile, &b.build.profile),
        Difference::of("ahead", yes(of_a.ahead), yes(of_b.ahead)),
        Difference::of("cold", yes(of_a.cold), yes(of_b.cold)),
        Difference::of("link", circumstances(a), circumstances(b)),
        Difference::of("interrupted", yes(a.partial), yes(b.partial)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn trials(report: &Report) -> String {
    let settings = &report.settings;
    format!("{} + {} warm-up", settings.trials, settings.warmup)
}

fn gate(report: &Report) -> String {
    let gate = report.settings.gate;
    let scaled = if gate.scaled {
        " × max(1, max|y|)"
    } else {
        ""
    };
    format!("{}{scaled}", scientific(gate.limit))
}

/// The set of shapes, sorted, so that another order is no difference.
fn shapes(report: &Report) -> String {
    joined(report, |c| Some(((c.d_in, c.d_out), shape(c))))
}

fn batches(report: &Report) -> String {
    joined(report, |c| Some((c.batch, c.batch.to_string())))
}

fn rejected(report: &Report) -> String {
    joined(report, |c| {
        (c.verdict == Verdict::Rejected).then(|| ((c.d_in, c.d_out), shape(c)))
    })
}

fn shape(configuration: &Configuration) -> String {
    format!("{}x{}", configuration.d_in, configuration.d_out)
}

/// What the descriptions say, each text once.
fn descriptions(report: &Report, value: fn(&Description) -> String) -> String {
    let mut texts: Vec<String> = Vec::new();
    for description in report
        .configurations
        .iter()
        .filter_map(|c| c.description.as_ref())
    {
        let text = value(description);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join("; ")
}

/// Texts of the configurations by their keys, sorted, each once; `none` where there is none.
fn joined<K: Ord>(report: &Report, text: impl Fn(&Configuration) -> Option<(K, String)>) -> String {
    let mut all: Vec<(K, String)> = report.configurations.iter().filter_map(text).collect();
    all.sort();
    all.dedup_by(|one, other| one.1 == other.1);
    if all.is_empty() {
        return "none".to_owned();
    }
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    texts.join(", ")
}
