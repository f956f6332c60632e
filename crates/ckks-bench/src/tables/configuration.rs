//! One configuration of a run: what it is, its durations, sizes, errors and verdict.

use super::plan::{packing, parameters, work};
use crate::gate::ErrorSummary;
use crate::report::{Configuration, Rejection, Settings, Stage, StageSummary, Verdict};
use crate::trial::trial_name;
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use bench_report::units::{bytes, bytes_per_second, count, number, plural, scientific, seconds};

/// Everything about one configuration.
#[must_use]
pub fn configuration(configuration: &Configuration, settings: &Settings) -> String {
    let mut out = head(configuration, settings);
    if let Some(stages) = &configuration.stages {
        out.push('\n');
        out.push_str(&durations(stages));
    }
    out.push('\n');
    out.push_str(&facts(foot(configuration, settings)));
    out
}

fn head(configuration: &Configuration, settings: &Settings) -> String {
    let who = match &configuration.description {
        Some(d) => format!(
            "{} {} on {} ({})",
            d.library, d.version, d.device, d.kernels
        ),
        None => format!("{} on {}", settings.library, settings.device),
    };
    let mut out = format!(
        "{}x{}, batch {}: {who}, {}\n",
        configuration.d_in,
        configuration.d_out,
        configuration.batch,
        plural(settings.threads as u64, "thread"),
    );
    let mut rows = Vec::new();
    if let Some(description) = &configuration.description {
        rows.push(("packing", packing(&description.plan)));
        rows.push(("work", work(&description.plan.counts)));
        let reasons = &description.plan.reasons;
        rows.extend(
            reasons
                .iter()
                .find(|reason| reason.starts_with("auto"))
                .map(|reason| ("why", reason.clone())),
        );
        rows.push(("parameters", parameters(&description.parameters)));
    }
    rows.push((
        "data",
        format!(
            "weights {}, vectors {}, seed {}",
            settings.weights, settings.input, settings.seed
        ),
    ));
    rows.push(("caches", caches(configuration)));
    out.push_str(&facts(rows));
    out
}

fn caches(configuration: &Configuration) -> String {
    let Some(cold) = configuration.cold else {
        return "warm: every evaluation reads the same copy of the layer".to_owned();
    };
    let copies = format!(
        "evaluations rotate through {}, {}",
        match cold.replicas {
            1 => "1 copy".to_owned(),
            several => format!("{} copies", count(several as u64)),
        },
        bytes(cold.working_set_bytes)
    );
    if cold.leaves_caches {
        format!("cold: {copies}")
    } else {
        format!(
            "NOT cold: {copies}, but only {} would be certain to leave the caches",
            bytes(cold.target_bytes)
        )
    }
}

fn durations(stages: &[StageSummary]) -> String {
    let mut table = numbers(&["stage", "median", "min", "max", "streaming"]);
    for stage in stages {
        table.add_row([
            stage.stage.to_string(),
            seconds(stage.duration.median_seconds),
            seconds(stage.duration.min_seconds),
            seconds(stage.duration.max_seconds),
            String::new(),
        ]);
        for phase in &stage.phases {
            let streaming = match (phase.bytes_per_second, phase.of_streaming_read) {
                (Some(rate), Some(ratio)) => {
                    format!("{}, {:.0} % of read", bytes_per_second(rate), ratio * 100.0)
                }
                (Some(rate), None) => bytes_per_second(rate),
                _ => String::new(),
            };
            table.add_row([
                format!("  {}", phase.name),
                seconds(phase.duration.median_seconds),
                seconds(phase.duration.min_seconds),
                seconds(phase.duration.max_seconds),
                streaming,
            ]);
        }
    }
    text(&table)
}

fn foot(configuration: &Configuration, settings: &Settings) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(warm_ups(configuration).map(|line| ("warm-up", line)));
    if let Some(rate) = configuration.throughput {
        rows.push((
            "throughput",
            format!(
                "{} vectors/s evaluation, {} vectors/s encrypt + evaluate + decrypt",
                number(rate.evaluation),
                number(rate.end_to_end)
            ),
        ));
    }
    rows.push(("bytes", sizes(configuration)));
    rows.extend(plain(configuration).map(|line| ("plain product", line)));
    rows.extend(
        configuration
            .errors
            .map(|errors| ("error", error_line(&errors))),
    );
    rows.extend(
        configuration
            .errors
            .and_then(|e| prediction(&e))
            .map(|line| ("predicted", line)),
    );
    rows.push(("verdict", verdict(configuration, settings)));
    rows
}

fn warm_ups(configuration: &Configuration) -> Option<String> {
    let lists: Vec<String> = configuration
        .trials
        .iter()
        .filter(|trial| trial.warmup)
        .filter_map(|trial| trial.durations.as_ref())
        .map(|durations| {
            let list = durations
                .iter()
                .map(|d| format!("{} {}", d.stage, seconds(d.seconds)));
            list.collect::<Vec<_>>().join(", ")
        })
        .collect();
    match lists.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        // The JSON report has them all.
        [first, rest @ ..] => Some(format!("{first}; and {} more", rest.len())),
    }
}

fn sizes(configuration: &Configuration) -> String {
    let sizes = &configuration.bytes;
    let named = [
        ("keys", sizes.keys),
        // What is sent once for the layer: nothing for most plans.
        ("W·A", sizes.layer_download.filter(|&size| size > 0)),
        ("upload", sizes.upload),
        ("download", sizes.download),
        ("prepared weights", sizes.prepared_weights),
        ("peak memory", sizes.peak_resident),
        ("on the device", sizes.peak_device),
        ("plain weights f32", Some(sizes.weights_f32)),
        ("bf16", Some(sizes.weights_bf16)),
    ];
    let known = named
        .into_iter()
        .filter_map(|(name, size)| Some((name, size?)));
    known
        .map(|(name, size)| format!("{name} {}", bytes(size)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// What the client would spend if it held the weights, beside what it moves because it does not.
fn plain(configuration: &Configuration) -> Option<String> {
    let (sizes, stages) = (&configuration.bytes, configuration.stages.as_ref()?);
    let plain = stages
        .iter()
        .find(|summary| summary.stage == Stage::PlainProductF32)?;
    let moved = sizes.moved()?;
    let comparison = if sizes.moves_more_than_weights() {
        "MORE than all weights as bf16"
    } else {
        "less than all weights as bf16"
    };
    Some(format!(
        "{} for a client that holds the weights; one encrypted batch moves {}, {comparison} ({})",
        seconds(plain.duration.median_seconds),
        bytes(moved),
        bytes(sizes.weights_bf16),
    ))
}

fn error_line(errors: &ErrorSummary) -> String {
    let or_none = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), scientific);
    format!(
        "max abs {}, relative to max|y| {}, rms {}, precision {}; max|y| {}",
        or_none(errors.max_abs),
        or_none(errors.max_relative),
        or_none(errors.rms),
        errors
            .precision_bits
            .map_or_else(|| "none".to_owned(), |bits| format!("{bits:.1} bits")),
        number(errors.max_abs_reference),
    )
}

fn prediction(errors: &ErrorSummary) -> Option<String> {
    let mut line = format!(
        "rms {}, 6σ {}",
        scientific(errors.predicted_rms?),
        scientific(errors.predicted_six_sigma?)
    );
    if let Some(ratio) = errors.observed_over_predicted {
        line.push_str(&format!("; observed/predicted rms {ratio:.2}"));
    }
    Some(line)
}

fn verdict(configuration: &Configuration, settings: &Settings) -> String {
    let verdict = configuration.verdict;
    match (verdict, &configuration.rejection, &configuration.errors) {
        (Verdict::Passed, _, Some(errors)) => format!(
            "{verdict}: every output of {} is within the gate of {}",
            plural(configuration.trials.len() as u64, "trial"),
            scientific(errors.limit),
        ),
        (Verdict::Rejected, Some(rejection), _) => rejected(configuration, rejection, settings),
        (Verdict::Incomplete, ..) => format!(
            "{verdict}: interrupted; {} of {} checked",
            count(
                configuration
                    .trials
                    .iter()
                    .filter(|trial| trial.errors.is_some())
                    .count() as u64
            ),
            plural((settings.warmup + settings.trials) as u64, "trial"),
        ),
        _ => verdict.to_string(),
    }
}

fn rejected(configuration: &Configuration, rejection: &Rejection, settings: &Settings) -> String {
    let mut line = Verdict::Rejected.to_string();
    line.push_str(": ");
    if let Some(index) = rejection.trial {
        // --max-seconds may have left warm-ups out.
        let trials = &configuration.trials;
        let warmup = match trials.get(index) {
            Some(trial) if !trial.warmup => trials.iter().filter(|trial| trial.warmup).count(),
            _ => settings.warmup,
        };
        line.push_str(&format!("{}, ", trial_name(index, warmup, settings.trials)));
    }
    line.push_str(&format!("{}: {}", rejection.stage, rejection.reason));
    if let Some(worst) = rejection.worst {
        line.push_str(&format!(
            "; worst: vector {}, output {}, expected {:.6e}, got {}",
            worst.vector,
            worst.output,
            worst.expected,
            worst
                .actual
                .map_or_else(|| "no finite number".to_owned(), |got| format!("{got:.6e}")),
        ));
    }
    line.push_str(". No durations are reported.");
    line
}
