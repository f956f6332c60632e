//! `ckks-bench cost`.

use super::document::{check_json, write_json};
use super::print;
use crate::cost::{Costs, Prices, SCHEMA, of_budget, of_report};
use crate::error::{BenchError, Outcome};
use crate::model::{self, Budget};
use crate::{load, tables};
use bench_report::output::check_distinct;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// Lowest and highest price that is accepted, in any currency.
const MIN_PRICE: f64 = 1e-9;
const MAX_PRICE: f64 = 1e9;

/// Options of `cost`.
#[derive(Debug, Args)]
pub struct CostArgs {
    /// Reports of `run --json` and budgets of `model --json`
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,

    /// Price of the machine per hour
    #[arg(long, value_name = "AMOUNT", value_parser = price, allow_hyphen_values = true)]
    pub price: f64,

    /// Name of the currency
    #[arg(long, value_name = "NAME", default_value = "USD")]
    pub currency: String,

    /// What the price is for, shown with it
    #[arg(long, value_name = "MACHINE")]
    pub per_hour_of: Option<String>,

    /// Price of moving 10^9 bytes, either way
    #[arg(long, value_name = "AMOUNT", value_parser = price, allow_hyphen_values = true)]
    pub price_per_gb: Option<f64>,

    /// Write the costs
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn price(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| "expected an amount of money, for example 2.50".to_owned())?;
    if (MIN_PRICE..=MAX_PRICE).contains(&value) {
        Ok(value)
    } else {
        Err(format!(
            "it must be between {MIN_PRICE:e} and {MAX_PRICE:e}, for example 2.50"
        ))
    }
}

/// Prints what the measurements cost.
///
/// # Errors
/// [`BenchError`] where a file cannot be read or written.
pub fn cost(args: &CostArgs, out: &mut dyn Write) -> Result<Outcome, BenchError> {
    check_json(args.json.as_deref())?;
    let inputs: Vec<_> = args
        .reports
        .iter()
        .map(|path| ("REPORT", Some(path.as_path())))
        .collect();
    check_distinct(&[("--json", args.json.as_deref())], &inputs)?;
    let prices = Prices {
        per_hour: args.price,
        per_gigabyte: args.price_per_gb,
        currency: args.currency.clone(),
        per_hour_of: args.per_hour_of.clone(),
    };
    let mut costs = Costs {
        schema: SCHEMA.to_owned(),
        prices,
        configurations: Vec::new(),
        models: Vec::new(),
    };
    for path in &args.reports {
        let file = path.display().to_string();
        let value = load::value(path)?;
        if load::schema(&value) == model::SCHEMA {
            let budget: Budget = load::document(path, &value, model::SCHEMA)?;
            costs
                .models
                .extend(of_budget(&file, &budget, &costs.prices));
        } else {
            let report = load::report_of(path, &value)?;
            let of_report = of_report(&file, &report, &costs.prices);
            costs.configurations.extend(of_report);
        }
    }
    print(out, &tables::cost(&costs))?;
    if let Some(path) = &args.json {
        write_json(path, &costs)?;
    }
    Ok(Outcome::Passed)
}
