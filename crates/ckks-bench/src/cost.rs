//! What a measurement costs in money.

use crate::model::Budget;
use crate::report::{Configuration, Report, Stage, Verdict};
use serde::{Deserialize, Serialize};

/// Name and version of the format.
pub const SCHEMA: &str = "ckks-bench-cost/1";

/// The prices that the costs are computed from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Prices {
    /// Of the machine, per hour, in `currency`.
    pub per_hour: f64,
    /// Of 10^9 bytes moved, in `currency`; `None` to leave transfer out.
    pub per_gigabyte: Option<f64>,
    /// Name of the currency.
    pub currency: String,
    /// What the hourly price is for; `None` where it was not said.
    pub per_hour_of: Option<String>,
}

/// The costs of several reports.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// [`SCHEMA`].
    pub schema: String,
    /// Prices.
    pub prices: Prices,
    /// One entry per configuration of the reports.
    pub configurations: Vec<ConfigurationCost>,
    /// One entry per model budget.
    pub models: Vec<ModelCost>,
}

/// The cost of one configuration, each per million vectors.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ConfigurationCost {
    /// The report.
    pub file: String,
    /// Input width.
    pub d_in: usize,
    /// Output width.
    pub d_out: usize,
    /// Vectors per evaluation.
    pub batch: usize,
    /// Name of the packing; `None` where the backend refused to open.
    pub packing: Option<String>,
    /// Worker threads that were measured; the price is for the whole machine.
    pub threads: usize,
    /// Logical cores of the machine.
    pub cores: usize,
    /// Verdict; only what passed has a cost.
    pub verdict: Verdict,
    /// Why there is no cost.
    pub reason: Option<String>,
    /// Seconds of one evaluation, its ahead-of-time part included.
    pub evaluation_seconds: Option<f64>,
    /// Seconds of encryption, the whole evaluation and decryption.
    pub end_to_end_seconds: Option<f64>,
    /// The server's evaluation.
    pub evaluation: Option<f64>,
    /// Server and client, both at the price of this machine.
    pub end_to_end: Option<f64>,
    /// Upload and download, without keys; `None` without a price.
    pub transfer: Option<f64>,
}

/// The cost of a token of a whole model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelCost {
    /// The budget.
    pub file: String,
    /// Name of the model.
    pub model: String,
    /// `decode` or `prefill`.
    pub phase: String,
    /// Layers that the cost leaves out because they were not measured.
    pub missing: Vec<String>,
    /// The server's evaluation of a million tokens.
    pub evaluation: f64,
    /// Server and client, both at the price of this machine.
    pub end_to_end: f64,
    /// Upload and download, without keys; `None` without a price.
    pub transfer: Option<f64>,
}

/// Cost of a million vectors: 1,000,000 × P × t / (3,600 × B).
#[must_use]
pub fn per_million(price_per_hour: f64, seconds: f64, vectors: usize) -> f64 {
    1e6 * price_per_hour * seconds / (3600.0 * vectors.max(1) as f64)
}

/// Cost of moving the bytes of a million vectors: 1,000,000 × G × bytes / (10^9 × B).
#[must_use]
pub fn transfer_per_million(price_per_gigabyte: f64, bytes: u64, vectors: usize) -> f64 {
    1e6 * price_per_gigabyte * bytes as f64 / (1e9 * vectors.max(1) as f64)
}

/// The cost of every configuration of a report.
#[must_use]
pub fn of_report(file: &str, report: &Report, prices: &Prices) -> Vec<ConfigurationCost> {
    let one = |configuration| of_configuration(file, report, configuration, prices);
    report.configurations.iter().map(one).collect()
}

fn of_configuration(
    file: &str,
    report: &Report,
    configuration: &Configuration,
    prices: &Prices,
) -> ConfigurationCost {
    let batch = configuration.batch;
    let passed = configuration.verdict == Verdict::Passed;
    let median = |stage| {
        let stages = configuration.stages.as_ref().filter(|_| passed)?;
        let summary = stages.iter().find(|summary| summary.stage == stage)?;
        Some(summary.duration.median_seconds)
    };
    let evaluation_seconds = median(Stage::Evaluation)
        .or_else(|| Some(median(Stage::AheadOfTimeEvaluation)? + median(Stage::OnlineEvaluation)?));
    let end_to_end_seconds = evaluation_seconds
        .and_then(|t| Some(median(Stage::Encryption)? + t + median(Stage::Decryption)?));
    let money =
        |seconds: Option<f64>| seconds.map(|seconds| per_million(prices.per_hour, seconds, batch));
    let reason = match configuration.verdict {
        Verdict::Passed => None,
        Verdict::Incomplete => Some("interrupted".to_owned()),
        Verdict::Rejected => Some(
            configuration
                .rejection
                .as_ref()
                .map_or_else(|| "rejected".to_owned(), |r| r.reason.clone()),
        ),
    };
    ConfigurationCost {
        file: file.to_owned(),
        d_in: configuration.d_in,
        d_out: configuration.d_out,
        batch,
        packing: configuration
            .description
            .as_ref()
            .map(|d| d.plan.packing.name.clone()),
        threads: report.settings.threads,
        cores: report.host.cores,
        verdict: configuration.verdict,
        reason,
        evaluation_seconds,
        end_to_end_seconds,
        evaluation: money(evaluation_seconds),
        end_to_end: money(end_to_end_seconds),
        transfer: prices
            .per_gigabyte
            .zip(configuration.bytes.moved())
            .filter(|_| passed)
            .map(|(price, bytes)| transfer_per_million(price, bytes, batch)),
    }
}

/// The cost of a token of each phase of a model budget. Layers without a figure are named.
#[must_use]
pub fn of_budget(file: &str, budget: &Budget, prices: &Prices) -> Vec<ModelCost> {
    let phases = [
        ("decode", Some(&budget.decode)),
        ("prefill", budget.prefill.as_ref()),
    ];
    phases
        .into_iter()
        .filter_map(|(name, phase)| Some((name, phase?)))
        .map(|(name, phase)| {
            let total = &phase.total;
            let server = total.ahead_seconds + total.server_seconds;
            let moved = total.upload_bytes.saturating_add(total.download_bytes);
            ModelCost {
                file: file.to_owned(),
                model: budget.model.name.clone(),
                phase: name.to_owned(),
                missing: phase.missing.clone(),
                evaluation: per_million(prices.per_hour, server, phase.vectors),
                end_to_end: per_million(
                    prices.per_hour,
                    server + total.client_seconds,
                    phase.vectors,
                ),
                transfer: prices
                    .per_gigabyte
                    .map(|price| transfer_per_million(price, moved, phase.vectors)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_by_hand() {
        // 3.6 an hour is 0.001 a second; 2 ms for 4 vectors: 0.5 ms each, 5e-7 each, 0.5 a million.
        assert!((per_million(3.6, 0.002, 4) - 0.5).abs() < 1e-12);
        // 2.50 an hour, 1 s, 1 vector: 2.5 / 3600 × 10^6.
        assert!((per_million(2.5, 1.0, 1) - 694.444_444_444).abs() < 1e-6);
        // 500 bytes a vector are 0.5 GB a million.
        assert!((transfer_per_million(0.08, 1000, 2) - 0.04).abs() < 1e-15);
    }
}
