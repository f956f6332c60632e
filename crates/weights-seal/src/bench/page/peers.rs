//! Other programs.

use super::cells;
use crate::bench::cases::{destinations, fresh_process_id, peer_id, place};
use crate::bench::record::Record;
use crate::bench::spec::Way;
use bench_report::plot::{BarGroup, BarPlot, Ink};
use bench_report::units::{self, Unit};
use bench_report::{Cell, ReportError, Section, Table};

pub(super) fn section(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("peers", "Other programs");
    let peers = &record.peers;
    for reason in &peers.missing {
        section
            .notes
            .push(format!("Not compared with other programs: {reason}."));
    }
    let mut table = Table::new(
        "The same file in fresh processes, medians; ratios are ours to theirs",
        &[
            "program",
            "destination",
            "#threads",
            "#theirs",
            "#ours, key holders trusted",
            "#ratio",
            "#ours, publisher only",
            "#ratio",
        ],
    );
    let mut groups = Vec::new();
    for fact in &peers.available {
        for &destination in destinations(fact.peer) {
            for threads in record.thread_counts() {
                let theirs = record.case(&peer_id(fact.peer, destination, threads));
                let Some(theirs) = theirs.filter(|case| case.summary.is_some()) else {
                    continue;
                };
                let ours = |way| record.case(&fresh_process_id(way, destination, threads));
                let ratio = |way| {
                    let ours = ours(way)?.bytes_per_second?;
                    Some(ours / theirs.bytes_per_second?)
                };
                let label = format!("{} ({})", fact.peer.label(), fact.version);
                table.push(vec![
                    Cell::words(label.as_str()),
                    Cell::words(place(destination)),
                    cells::count(threads),
                    cells::rate(record, &theirs.spec.id),
                    cells::rate(
                        record,
                        &fresh_process_id(Way::KeyHolders, destination, threads),
                    ),
                    cells::ratio(ratio(Way::KeyHolders)),
                    cells::rate(
                        record,
                        &fresh_process_id(Way::Publisher, destination, threads),
                    ),
                    cells::ratio(ratio(Way::Publisher)),
                ]);
                let mut bars = Vec::new();
                let name = fact.peer.name();
                bars.extend(cells::bar(name, Ink::Series(0), false, Some(theirs)));
                for (index, way) in [Way::KeyHolders, Way::Publisher].into_iter().enumerate() {
                    let ink = Ink::Series(index + 1);
                    bars.extend(cells::bar(way.label(), ink, false, ours(way)));
                }
                groups.push(BarGroup {
                    heading: format!(
                        "To {}, {}",
                        place(destination),
                        units::plural(threads as u64, "thread")
                    ),
                    bars,
                });
            }
        }
    }
    if !groups.is_empty() {
        section.notes.push(
            "Each run is a process of its own; starting it and importing libraries is not counted. \
             Runs of all programs alternate."
                .to_owned(),
        );
        section
            .figures
            .push(BarPlot::medians(Unit::BytesPerSecond, groups).figure(
                "peers",
                "Other programs",
                "For each program, destination and number of threads its rate and ours.",
            )?);
    }
    section.table(table);
    Ok(section)
}
