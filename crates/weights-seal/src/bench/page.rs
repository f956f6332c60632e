//! A record as a page of tables and plots.

mod cells;
mod ciphers;
mod facts;
mod floors;
mod opening;
mod operations;
mod peers;
mod scaling;
mod sealing;
mod setup;

use super::record::Record;
use bench_report::{Page, ReportError};
use std::collections::BTreeSet;

/// The page. It shows nothing that the record has not got.
///
/// # Errors
/// [`ReportError`] where a plot cannot be drawn.
pub fn page(record: &Record) -> Result<Page, ReportError> {
    let mut page = Page::new("Sealing and opening weights, measured");
    page.partial = missing(record);
    page.sections = vec![
        opening::section(record)?,
        scaling::threads(record)?,
        scaling::processes(record)?,
        sealing::section(record)?,
        operations::section(record),
        peers::section(record)?,
        facts::cold_start(record),
        ciphers::section(record)?,
        facts::bytes(record),
        facts::memory(record),
        floors::section(record),
        setup::section(record),
    ];
    page.sections.retain(|section| !section.is_empty());
    Ok(page)
}

/// What this machine could not do, each reason once.
fn missing(record: &Record) -> Vec<String> {
    let mut reasons: BTreeSet<(String, String)> = BTreeSet::new();
    for case in &record.cases {
        if let Some(reason) = &case.skipped {
            let what = case
                .spec
                .destination
                .map_or(case.spec.label.as_str(), |d| d.label());
            reasons.insert((what.to_owned(), reason.clone()));
        }
    }
    reasons
        .into_iter()
        .map(|(what, reason)| format!("Not measured: {what}: {reason}."))
        .collect()
}
