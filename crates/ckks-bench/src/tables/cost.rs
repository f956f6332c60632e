//! What measurements cost.

use crate::cost::{ConfigurationCost, Costs};
use crate::report::Verdict;
use bench_report::terminal::facts;
use bench_report::terminal::{numbers, text};
use bench_report::units::{plural, seconds};

/// Prices, formulas and costs.
#[must_use]
pub fn cost(costs: &Costs) -> String {
    let prices = &costs.prices;
    let mut rows = vec![
        (
            "price",
            format!(
                "P = {} {} per hour{}",
                amount(prices.per_hour),
                prices.currency,
                prices
                    .per_hour_of
                    .as_ref()
                    .map_or_else(String::new, |what| format!(" of {what}"))
            ),
        ),
        (
            "formula",
            "1,000,000 × P × t / (3,600 × B): t the median seconds of a batch of B vectors, an \
             ahead-of-time part included"
                .to_owned(),
        ),
        (
            "with client",
            "server + client: t is encryption + evaluation + decryption, the client's part at the same price"
                .to_owned(),
        ),
    ];
    if let Some(price) = prices.per_gigabyte {
        rows.push((
            "transfer",
            format!(
                "1,000,000 × G × bytes / (10^9 × B) with G = {} {} per 10^9 bytes, up and down, \
                 without keys",
                amount(price),
                prices.currency
            ),
        ));
    }
    let idle: Vec<String> = costs
        .configurations
        .iter()
        .filter(|cost| cost.threads < cost.cores)
        .map(|cost| {
            let threads = plural(cost.threads as u64, "thread");
            format!("{} used {threads} of {} cores", cost.file, cost.cores)
        })
        .collect();
    if let Some(first) = idle.first() {
        rows.push((
            "note",
            format!("{first}: the price is for the whole machine, so the rest is paid idle"),
        ));
    }
    let mut out = facts(rows);
    let passed: Vec<&ConfigurationCost> = with(costs, |verdict| verdict == Verdict::Passed);
    let per_million = format!("{} per million", prices.currency);
    if !passed.is_empty() {
        out.push_str(&format!("\n{per_million} vectors\n"));
        let mut table = numbers(&[
            "layer",
            "plan",
            "batch",
            "t evaluation",
            "evaluation (server)",
            "server + client",
            "transfer",
        ]);
        for cost in passed {
            table.add_row([
                format!("{}x{}", cost.d_in, cost.d_out),
                cost.packing.clone().unwrap_or_else(|| "-".to_owned()),
                cost.batch.to_string(),
                cost.evaluation_seconds.map_or_else(dash, seconds),
                cost.evaluation.map_or_else(dash, amount),
                cost.end_to_end.map_or_else(dash, amount),
                cost.transfer.map_or_else(dash, amount),
            ]);
        }
        out.push_str(&text(&table));
    }
    if !costs.models.is_empty() {
        out.push_str(&format!("\n{per_million} tokens\n"));
        let mut table = numbers(&[
            "model",
            "phase",
            "evaluation (server)",
            "server + client",
            "transfer",
        ]);
        for cost in &costs.models {
            table.add_row([
                cost.model.clone(),
                cost.phase.clone(),
                amount(cost.evaluation),
                amount(cost.end_to_end),
                cost.transfer.map_or_else(dash, amount),
            ]);
        }
        out.push_str(&text(&table));
        for cost in costs.models.iter().filter(|cost| !cost.missing.is_empty()) {
            out.push_str(&format!(
                "{}, {}: without {}, which have no figure\n",
                cost.model,
                cost.phase,
                cost.missing.join(", ")
            ));
        }
    }
    for cost in with(costs, |verdict| verdict != Verdict::Passed) {
        out.push_str(&format!(
            "\nno cost: {}x{}, batch {}, {}: {}\n",
            cost.d_in,
            cost.d_out,
            cost.batch,
            cost.verdict,
            cost.reason.as_deref().unwrap_or("no reason given")
        ));
    }
    out
}

fn with(costs: &Costs, wanted: impl Fn(Verdict) -> bool) -> Vec<&ConfigurationCost> {
    let all = costs.configurations.iter();
    all.filter(|cost| wanted(cost.verdict)).collect()
}

fn dash() -> String {
    "-".to_owned()
}

/// An amount of money: at least two decimals, at least three significant digits.
fn amount(value: f64) -> String {
    if value <= 0.0 {
        return "0.00".to_owned();
    }
    let decimals = (2.0 - value.log10().floor()).clamp(2.0, 12.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_by_hand() {
        assert_eq!(amount(694.444), "694.44");
        assert_eq!(amount(2.5), "2.50");
        assert_eq!(amount(0.5), "0.500");
        assert_eq!(amount(0.001_234), "0.00123");
        assert_eq!(amount(0.0), "0.00");
    }
}
