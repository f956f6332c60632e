//! Opening, by destination.

use super::cells;
use crate::bench::cases::transfer_id;
use crate::bench::record::Record;
use crate::bench::spec::{Destination, Way};
use bench_report::plot::{BarGroup, BarPlot, Ink};
use bench_report::units::{self, Unit};
use bench_report::{Cell, ReportError, Section, Table};

pub(super) fn section(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("open", "Opening");
    section.notes.push(
        "Bytes of plaintext per second, from opening the file (for a sealed one: the directory, its \
         signature and its key) to the last byte at the destination. The file is in the page cache. \
         The plain file is read by the same threads in the same pieces: no reader is faster. \
         Ratios are to the plain file at the same destination."
            .to_owned(),
    );
    let counts = record.thread_counts();
    let mut ends = vec![counts[0], record.most_threads()];
    ends.dedup();
    for threads in ends {
        let groups = Destination::ALL
            .iter()
            .map(|destination| BarGroup {
                heading: destination.label().to_owned(),
                bars: bars(record, *destination, threads),
            })
            .filter(|group| !group.bars.is_empty())
            .collect();
        let title = format!("Opening, {}", units::plural(threads as u64, "thread"));
        section
            .figures
            .push(BarPlot::medians(Unit::BytesPerSecond, groups).figure(
                &format!("open-{threads}-threads"),
                &title,
                "For each destination a bar for the plain file, for a sealed file checked against \
                 strangers, and for one checked against key holders too.",
            )?);
    }
    section.table(medians(record));
    section.table(spread(record));
    Ok(section)
}

fn bars(record: &Record, destination: Destination, threads: usize) -> Vec<bench_report::plot::Bar> {
    Way::ALL
        .iter()
        .enumerate()
        .filter_map(|(index, way)| {
            let case = record.case(&transfer_id(*way, destination, threads));
            cells::bar(way.label(), Ink::Series(index), false, case)
        })
        .collect()
}

fn medians(record: &Record) -> Table {
    let mut table = Table::new(
        "Opening by destination, medians",
        &[
            "destination",
            "#threads",
            "#plain file",
            "#sealed, key holders trusted",
            "#ratio",
            "#sealed, publisher only",
            "#ratio",
        ],
    );
    for destination in Destination::ALL {
        for threads in record.thread_counts() {
            let id = |way| transfer_id(way, destination, threads);
            let of_floor = |way| record.case(&id(way)).and_then(|case| case.of_floor);
            if record.rate(&id(Way::Plain)).is_none() {
                continue;
            }
            table.push(vec![
                Cell::words(destination.label()),
                cells::count(threads),
                cells::rate(record, &id(Way::Plain)),
                cells::rate(record, &id(Way::KeyHolders)),
                cells::ratio(of_floor(Way::KeyHolders)),
                cells::rate(record, &id(Way::Publisher)),
                cells::ratio(of_floor(Way::Publisher)),
            ]);
        }
    }
    table
}

fn spread(record: &Record) -> Table {
    let mut table = Table::new(
        "Opening, slowest and fastest run, and the first round, which the medians leave out",
        &["what", "#threads", "#slowest", "#fastest", "#first round"],
    );
    for destination in Destination::ALL {
        for threads in record.thread_counts() {
            for way in Way::ALL {
                let case = record.case(&transfer_id(way, destination, threads));
                let Some(case) = case.filter(|case| case.summary.is_some()) else {
                    continue;
                };
                let mut row = vec![Cell::words(case.spec.label.as_str()), cells::count(threads)];
                row.extend(cells::spread(Some(case)));
                table.push(row);
            }
        }
    }
    table
}
