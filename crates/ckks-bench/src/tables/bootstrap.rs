//! The table of `bootstrap`.

use super::plan::parameters;
use crate::bootstrap::BootstrapReport;
use bench_report::terminal::facts;
use bench_report::units::{bytes, plural, scientific, seconds};

/// What `ckks-bench bootstrap` prints.
#[must_use]
pub fn bootstrap(report: &BootstrapReport) -> String {
    let mut text = format!("bootstrapping by {}: {}\n", report.library, report.verdict);
    let mut rows = Vec::new();
    rows.extend(report.reason.clone().map(|reason| ("reason", reason)));
    if let Some(description) = &report.description {
        rows.push((
            "library",
            format!(
                "{} {} on {} ({}), {}",
                description.library,
                description.version,
                description.device,
                description.kernels,
                plural(description.slots, "slot"),
            ),
        ));
        rows.push(("parameters", parameters(&description.parameters)));
    }
    if let Some(making) = report.key_generation_seconds {
        let size = report.key_bytes.map(|size| format!(", {}", bytes(size)));
        rows.push((
            "keys",
            format!("{}{}", seconds(making), size.unwrap_or_default()),
        ));
    }
    if let Some(time) = report.bootstrapping() {
        rows.push((
            "bootstrapping",
            format!(
                "{} median, {} to {}",
                seconds(time.median_seconds),
                seconds(time.min_seconds),
                seconds(time.max_seconds)
            ),
        ));
    }
    for (index, trial) in report.trials.iter().enumerate() {
        let error = match trial.errors.max_abs {
            Some(error) => format!("max abs error {}", scientific(error)),
            None => format!(
                "{} of {} values not finite",
                trial.errors.not_finite, trial.errors.outputs
            ),
        };
        let rms = trial
            .errors
            .rms
            .map(|rms| format!(", rms {}", scientific(rms)));
        rows.push((
            if trial.warmup { "warm-up" } else { "trial" },
            format!(
                "{index}: {error}{}, {}",
                rms.unwrap_or_default(),
                if trial.passed { "passed" } else { "REJECTED" }
            ),
        ));
    }
    if let Some(memory) = report.memory {
        let known = [
            ("resident", memory.peak_resident),
            ("device", memory.peak_device),
        ];
        let known = known
            .into_iter()
            .filter_map(|(what, size)| Some(format!("{what} {}", bytes(size?))));
        rows.push(("peak memory", known.collect::<Vec<_>>().join(", ")));
    }
    if let Some(description) = &report.description {
        rows.extend(description.notes.iter().map(|note| ("note", note.clone())));
    }
    text.push_str(&facts(rows));
    text
}
