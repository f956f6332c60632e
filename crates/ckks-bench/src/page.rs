//! Pages, tables and pictures from reports and sweeps.
//!
//! Nothing here looks at the machine or the clock: every number comes from the JSON.
//!
//! * [`Inputs`] reads reports and sweeps;
//! * [`Page`] is all that there is to show, independent of a format;
//! * [`Page::html`], [`Page::markdown`], [`Page::pictures`] and [`csv`] write it down.

mod crossover;
mod csv;
mod error;
mod html;
mod input;
mod markdown;
mod measurement;
mod plot;
mod section;
mod sections;
mod series;
mod table;

pub use csv::csv;
pub use error::PageError;
pub use input::Inputs;
pub use measurement::{Failure, Measurement, Setting, Source};
pub use plot::Figure;
pub use section::Section;
pub use table::{Cell, Column, Table};

use crate::report::Verdict;
use crate::units::plural;
use section::Content;
use serde::Serialize;

/// Everything that there is to show.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// Heading.
    pub title: String,
    /// Whether all passed, in a sentence.
    pub verdict: String,
    /// `passed`, `rejected`, `partial` or `empty`.
    pub verdict_kind: &'static str,
    /// Inputs with something missing, in words.
    pub partial: Vec<String>,
    /// The parts in order.
    pub sections: Vec<Section>,
}

/// A picture of a plot.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of the file: letters, digits, hyphens, `.png`.
    pub name: String,
    /// Content of the file.
    pub png: Vec<u8>,
}

impl Page {
    /// Puts everything together and draws the plots.
    ///
    /// # Errors
    /// [`PageError::Draw`] where a plot cannot be drawn.
    pub fn new(inputs: &Inputs, title: &str) -> Result<Page, PageError> {
        let content = Content::new(inputs.measurements.clone(), inputs.reports.clone());
        let (verdict_kind, verdict) = verdict(inputs);
        Ok(Page {
            title: title.to_owned(),
            verdict,
            verdict_kind,
            partial: inputs.partial.clone(),
            sections: sections::all(&content)?,
        })
    }

    /// All plots.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }

    /// All plots as PNG files.
    ///
    /// # Errors
    /// [`PageError::Draw`].
    pub fn pictures(&self) -> Result<Vec<Picture>, PageError> {
        self.figures()
            .map(|figure| {
                Ok(Picture {
                    name: format!("{}.png", figure.id),
                    png: plot::png(figure)?,
                })
            })
            .collect()
    }
}

fn verdict(inputs: &Inputs) -> (&'static str, String) {
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
        return ("empty", "The inputs hold no measurement.".to_owned());
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
        "rejected"
    } else if incomplete > 0 || !inputs.partial.is_empty() {
        "partial"
    } else {
        "passed"
    };
    (kind, format!("{}.", parts.join(", ")))
}
