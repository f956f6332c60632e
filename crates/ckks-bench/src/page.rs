//! The page of reports and sweeps.
//!
//! Nothing here looks at the machine or the clock: every number comes from the JSON.
//!
//! * [`Inputs`] reads reports and sweeps;
//! * [`page`] makes all that there is to show of them, independent of a format;
//! * [`csv`] writes their numbers down.

mod content;
mod crossover;
mod csv;
mod error;
mod input;
mod measurement;
mod sections;
mod series;

pub use csv::csv;
pub use error::PageError;
pub use input::Inputs;
pub use measurement::{Failure, Measurement, Setting, Source};

use crate::report::Verdict;
use bench_report::units::plural;
use bench_report::{Page, ReportError, Status, StatusKind};
use content::Content;

/// Puts everything together and draws the plots.
///
/// # Errors
/// [`ReportError::Draw`] where a plot cannot be drawn.
pub fn page(inputs: &Inputs, title: &str) -> Result<Page, ReportError> {
    let content = Content::new(inputs.measurements.clone(), inputs.reports.clone());
    Ok(Page {
        title: title.to_owned(),
        status: Some(status(inputs)),
        partial: inputs.partial.clone(),
        sections: sections::all(&content)?,
    })
}

fn status(inputs: &Inputs) -> Status {
    let of = |verdict: Option<Verdict>| {
        let all = inputs.measurements.iter();
        all.filter(|m| m.verdict == verdict).count()
    };
    let total = inputs.measurements.len();
    let [passed, rejected, incomplete, failed] = [
        Some(Verdict::Passed),
        Some(Verdict::Rejected),
        Some(Verdict::Incomplete),
        None,
    ]
    .map(of);
    if total == 0 {
        return Status {
            kind: StatusKind::Empty,
            text: "The inputs hold no measurement.".to_owned(),
        };
    }
    let mut parts = vec![format!(
        "{passed} of {} passed",
        plural(total as u64, "measurement")
    )];
    for (count, what) in [
        (rejected, "rejected"),
        (failed, "failed without a report"),
        (incomplete, "incomplete"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let kind = if rejected + failed > 0 {
        StatusKind::Rejected
    } else if incomplete > 0 || !inputs.partial.is_empty() {
        StatusKind::Partial
    } else {
        StatusKind::Passed
    };
    Status {
        kind,
        text: format!("{}.", parts.join(", ")),
    }
}
