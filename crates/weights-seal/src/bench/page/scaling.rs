//! Rates over threads and over processes.

use super::cells;
use crate::bench::cases::{processes_id, transfer_id};
use crate::bench::record::Record;
use crate::bench::spec::{Destination, Way};
use bench_report::plot::{Ink, Line, LinePlot, Scale};
use bench_report::units::Unit;
use bench_report::{ReportError, Section, Table};

/// Lines over threads; the numbers are in the tables of opening.
pub(super) fn threads(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("threads", "Threads");
    for way in [Way::KeyHolders, Way::Publisher] {
        let lines: Vec<Line> = Destination::ALL
            .iter()
            .enumerate()
            .filter_map(|(index, destination)| {
                let points: Vec<(f64, f64)> = record
                    .thread_counts()
                    .into_iter()
                    .filter_map(|threads| {
                        let rate = record.rate(&transfer_id(way, *destination, threads))?;
                        Some((threads as f64, rate))
                    })
                    .collect();
                line(destination.label(), index, false, points)
            })
            .collect();
        section.figures.push(plot(
            lines,
            "threads",
            &format!("threads-{}", way.id()),
            &format!("Opening, {}", way.label()),
            "A line for each destination over the number of threads.",
        )?);
    }
    section
        .notes
        .push("The rates of the tables of opening, over the number of threads.".to_owned());
    Ok(section)
}

/// Several processes at once.
pub(super) fn processes(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("processes", "Processes");
    let counts: Vec<usize> = record
        .cases
        .iter()
        .map(|case| case.spec.processes)
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    section.notes.push(
        "Each process opens the whole file into fresh memory of its own, with one thread. They start \
         together; the rate is that of all bytes until the last one has finished."
            .to_owned(),
    );
    let mut table = Table::new(
        "All processes together, medians",
        &[
            "#processes",
            "#plain file",
            "#sealed, key holders trusted",
            "#ratio",
            "#sealed, publisher only",
            "#ratio",
        ],
    );
    for &count in &counts {
        let case = |way| record.case(&processes_id(way, count));
        if case(Way::Plain).is_none_or(|case| case.summary.is_none()) {
            continue;
        }
        let of_floor = |way| case(way).and_then(|case| case.of_floor);
        table.push(vec![
            cells::count(count),
            cells::rate(record, &processes_id(Way::Plain, count)),
            cells::rate(record, &processes_id(Way::KeyHolders, count)),
            cells::ratio(of_floor(Way::KeyHolders)),
            cells::rate(record, &processes_id(Way::Publisher, count)),
            cells::ratio(of_floor(Way::Publisher)),
        ]);
    }
    section.table(table);
    let lines: Vec<Line> = Way::ALL
        .iter()
        .enumerate()
        .filter_map(|(index, way)| {
            let points = counts
                .iter()
                .filter_map(|count| {
                    Some((*count as f64, record.rate(&processes_id(*way, *count))?))
                })
                .collect();
            line(way.label(), index, *way == Way::Plain, points)
        })
        .collect();
    section.figures.push(plot(
        lines,
        "processes",
        "processes",
        "Processes together",
        "A line for the plain file and for each way of opening over the number of processes.",
    )?);
    Ok(section)
}

fn line(label: &str, index: usize, dashed: bool, points: Vec<(f64, f64)>) -> Option<Line> {
    (!points.is_empty()).then(|| Line {
        label: label.to_owned(),
        ink: Ink::Series(index),
        dashed,
        points,
    })
}

fn plot(
    lines: Vec<Line>,
    axis: &str,
    id: &str,
    title: &str,
    description: &str,
) -> Result<bench_report::plot::Figure, ReportError> {
    LinePlot {
        lines,
        markers: Vec::new(),
        x: Scale::linear(axis, Unit::Number),
        y: Scale::linear("bytes per second", Unit::BytesPerSecond),
    }
    .figure(id, title, description)
}
