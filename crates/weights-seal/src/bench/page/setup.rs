//! Where and how it was measured.

use crate::bench::record::Record;
use bench_report::{Cell, Section, Table, environment, units};

pub(super) fn section(record: &Record) -> Section {
    let mut section = Section::new("setup", "Machine and measurement");
    section.notes.push(format!(
        "{}. In each round every case runs once, in turn, so that what slows the machine down for a \
         while meets all of them. Medians, slowest and fastest runs leave the first round out, unless \
         there is no other.",
        units::plural(record.rounds as u64, "round")
    ));
    let mut table = Table::facts("Machine and measurement");
    for (name, cell) in environment::machine(&record.host) {
        table.fact(name, cell);
    }
    let said = |value: &Option<String>| {
        Cell::words(value.as_deref().unwrap_or("not stated by the system"))
    };
    table.fact("huge pages", said(&record.conditions.huge_pages));
    table.fact(
        "huge pages of tmpfs",
        said(&record.conditions.huge_pages_tmpfs),
    );
    let (name, cell) = environment::load([&record.host]);
    table.fact(name, cell);
    let kind = if record.subject.made_up {
        "made up: bf16, normally distributed"
    } else {
        "given"
    };
    table.fact(
        "file",
        Cell::words(format!(
            "{}, {} ({kind})",
            record.subject.name,
            units::bytes(record.subject.bytes)
        )),
    );
    table.fact(
        "sealed with",
        Cell::words(format!(
            "{} by {}, chunks of {}",
            record.conditions.suite,
            record.conditions.provider,
            units::count(record.conditions.chunk_bytes)
        )),
    );
    for (name, cell) in environment::program("weights-seal", &record.build) {
        table.fact(name, cell);
    }
    table.fact("command", Cell::words(record.command.as_str()));
    let (name, cell) = environment::dates([record.date.as_str()]);
    table.fact(name, cell);
    section.table(table);
    section
}
