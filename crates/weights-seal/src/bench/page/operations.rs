//! What takes milliseconds.

use super::cells;
use crate::bench::record::Record;
use crate::bench::spec::Group;
use bench_report::{Cell, Section, Table, units};

pub(super) fn section(record: &Record) -> Section {
    let mut section = Section::new("operations", "Single tensors, recipients, keys");
    if let Some(tensor) = &record.subject.tensor {
        section.notes.push(format!(
            "The tensor is {} with {}.",
            tensor.name,
            units::bytes(tensor.bytes)
        ));
    }
    section.notes.push(
        "Each tensor is checked against the publisher. A rewrap opens a sealed model of 100 files with its key file and wraps the key \
         anew; a key service would add one call. It waits for the disk."
            .to_owned(),
    );
    let mut table = Table::new(
        "Durations",
        &[
            "what",
            "#threads",
            "#median",
            "#shortest",
            "#longest",
            "#first round",
        ],
    );
    let operations = record
        .cases
        .iter()
        .filter(|case| case.spec.group == Group::Operation && case.summary.is_some());
    for case in operations {
        let mut row = vec![
            Cell::words(case.spec.label.as_str()),
            cells::count(case.spec.threads),
        ];
        row.extend(cells::durations(Some(case)));
        table.push(row);
    }
    section.table(table);
    section
}
