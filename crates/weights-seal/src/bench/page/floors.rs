//! What every case moves, and how near it comes to what the machine can do.

use super::cells;
use crate::bench::record::Record;
use bench_report::{Cell, Section, Table, units};

pub(super) fn section(record: &Record) -> Section {
    let mut section = Section::new("floors", "Floors");
    section.notes.push(
        "The floor of a case moves the same bytes without cryptography. The parts are its floor and \
         the ciphers alone, one after the other, each at its own measured rate: 1.00× of the parts \
         is all that this design can reach, and more means that parts overlap or find their bytes \
         still in a cache."
            .to_owned(),
    );
    let mut table = Table::new(
        "Work and floor of every case, medians",
        &[
            "case",
            "#payload",
            "~work",
            "#median",
            "#rate",
            "#of the floor",
            "#of the parts",
        ],
    );
    for case in record.cases.iter().filter(|case| case.summary.is_some()) {
        let work: Vec<String> = case
            .spec
            .parts
            .iter()
            .map(|part| format!("{} ({})", part.what, units::bytes(part.bytes)))
            .collect();
        table.push(vec![
            Cell::words(case.spec.id.as_str()),
            Cell::of(Some(case.spec.bytes), units::bytes),
            Cell::words(if work.is_empty() {
                "–".to_owned()
            } else {
                work.join(", ")
            }),
            Cell::of(case.median(), units::seconds),
            Cell::of(
                case.bytes_per_second.filter(|rate| *rate > 0.0),
                units::bytes_per_second,
            ),
            cells::ratio(case.of_floor),
            cells::ratio(case.of_parts),
        ]);
    }
    section.table(table);
    section
}
