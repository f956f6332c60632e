//! One line per configuration, after a run of several.

use crate::report::{Configuration, Stage};
use bench_report::terminal::{numbers, text};
use bench_report::units::{scientific, seconds};

/// The table after an empty line; nothing for fewer than two configurations.
#[must_use]
pub fn overview(configurations: &[Configuration]) -> String {
    if configurations.len() < 2 {
        return String::new();
    }
    let mut table = numbers(&[
        "shape",
        "plan",
        "batch",
        "evaluation",
        "online",
        "max error",
        "verdict",
    ]);
    for configuration in configurations {
        let median = |wanted| {
            let stages = configuration.stages.as_ref()?;
            let stage = stages.iter().find(|summary| summary.stage == wanted)?;
            Some(stage.duration.median_seconds)
        };
        // With a split the whole evaluation is both parts.
        let online = median(Stage::OnlineEvaluation);
        let split = online
            .zip(median(Stage::AheadOfTimeEvaluation))
            .map(|(on, ahead)| on + ahead);
        let plan = configuration
            .description
            .as_ref()
            .map(|d| d.plan.packing.name.clone());
        let error = configuration.errors.and_then(|errors| errors.max_abs);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.add_row([
            format!("{}x{}", configuration.d_in, configuration.d_out),
            or_dash(plan),
            configuration.batch.to_string(),
            or_dash(median(Stage::Evaluation).or(split).map(seconds)),
            or_dash(online.map(seconds)),
            or_dash(error.map(scientific)),
            configuration.verdict.to_string(),
        ]);
    }
    format!("\n{}", text(&table))
}
