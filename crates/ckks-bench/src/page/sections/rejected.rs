//! What failed, and why. Never with a duration.

use crate::page::content::{Content, columns};
use crate::report::Verdict;
use bench_report::units::{plural, scientific};
use bench_report::{Cell, Section, Table};

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("rejected", "Rejected and failed");
    let mut table = Table::new(
        "What failed, and why",
        &columns(&["where", "~reason", "read from"]),
    );
    let mut worst = Table::new(
        "The worst output of each",
        &columns(&["#vector", "#output", "#expected", "#actual"]),
    );
    for measurement in &content.measurements {
        let Some(failure) = &measurement.failure else {
            continue;
        };
        let mut row = content.what(measurement).to_vec();
        row.push(Cell::words(failure.stage.clone()));
        row.push(Cell::words(failure.reason.clone()));
        row.push(Cell::words(measurement.source.to_string()));
        table.push(row);
        let configuration = measurement.configuration.as_ref();
        if let Some(output) = configuration.and_then(|c| c.rejection.as_ref()?.worst) {
            let mut row = content.what(measurement).to_vec();
            row.push(Cell::exact(output.vector.to_string(), output.vector));
            row.push(Cell::exact(output.output.to_string(), output.output));
            row.push(Cell::exact(scientific(output.expected), output.expected));
            row.push(match output.actual {
                Some(actual) => Cell::exact(scientific(actual), actual),
                None => Cell::words("not finite"),
            });
            worst.push(row);
        }
    }
    let incomplete = content
        .measurements
        .iter()
        .filter(|m| m.verdict == Some(Verdict::Incomplete))
        .count();
    if incomplete > 0 {
        section.notes.push(format!(
            "{} not complete: the run was interrupted, and the trials that were done passed.",
            match incomplete {
                1 => "1 measurement is".to_owned(),
                several => format!("{} are", plural(several as u64, "measurement")),
            }
        ));
    }
    section.notes.push(if table.rows.is_empty() {
        "Nothing was rejected, and nothing failed.".to_owned()
    } else {
        "What was rejected or failed has no duration and no throughput, here or anywhere on this page. \
         The reasons are the messages of the libraries and processes, unchanged."
            .to_owned()
    });
    section.table(table);
    section.table(worst);
    section
}
