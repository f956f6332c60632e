//! Sealing and rotating.

use super::cells;
use crate::bench::cases::{copy_id, rotate_id, seal_id};
use crate::bench::record::Record;
use bench_report::plot::{BarGroup, BarPlot, Ink};
use bench_report::units::{self, Unit};
use bench_report::{Cell, ReportError, Section, Table};

pub(super) fn section(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("seal", "Sealing and rotating");
    section.notes.push(
        "From the plain file in the page cache to a sealed directory on the same disk. Rotating \
         opens the sealed file and seals it under a new key. The floor is a copy of the plain file, \
         by the same threads in the same pieces."
            .to_owned(),
    );
    let mut table = Table::new(
        "Sealing and rotating, medians",
        &[
            "what",
            "#threads",
            "#rate",
            "#slowest",
            "#fastest",
            "#first round",
            "#of the copy",
        ],
    );
    let mut groups = Vec::new();
    for threads in record.thread_counts() {
        let mut bars = Vec::new();
        let ids = [
            copy_id(false, threads),
            seal_id(false, threads),
            rotate_id(threads),
            copy_id(true, threads),
            seal_id(true, threads),
        ];
        for (index, id) in ids.iter().enumerate() {
            let Some(case) = record.case(id).filter(|case| case.summary.is_some()) else {
                continue;
            };
            let mut row = vec![
                Cell::words(case.spec.label.as_str()),
                cells::count(threads),
                cells::rate(record, id),
            ];
            row.extend(cells::spread(Some(case)));
            row.push(cells::ratio(case.of_floor));
            table.push(row);
            let light = index == 0 || index == 3;
            bars.extend(cells::bar(
                &case.spec.label,
                Ink::Series(index),
                light,
                Some(case),
            ));
        }
        groups.push(BarGroup {
            heading: units::plural(threads as u64, "thread"),
            bars,
        });
    }
    groups.retain(|group| !group.bars.is_empty());
    section
        .figures
        .push(BarPlot::medians(Unit::BytesPerSecond, groups).figure(
            "seal",
            "Sealing and rotating",
            "For each number of threads the rates of copying, sealing and rotating, without and \
             with waiting for the disk.",
        )?);
    section.table(table);
    Ok(section)
}
