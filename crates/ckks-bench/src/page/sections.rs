//! The parts of the page, in its order.

mod bytes;
mod environment;
mod errors;
mod latency;
mod parameters;
mod redo;
mod rejected;
mod stages;
mod throughput;

use super::content::Content;
use bench_report::{ReportError, Section};

/// Makes all parts that have something to show.
pub(crate) fn all(content: &Content) -> Result<Vec<Section>, ReportError> {
    let sections = vec![
        environment::section(content),
        latency::section(content)?,
        throughput::section(content)?,
        errors::section(content)?,
        stages::section(content)?,
        bytes::section(content),
        rejected::section(content),
        parameters::section(content),
        redo::section(content),
    ];
    Ok(sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect())
}
