//! Bytes, sizes, memory, and loading times of models.

use super::cells;
use crate::bench::record::Record;
use bench_report::{Cell, Section, Table, units};

/// Entropy and overhead.
pub(super) fn bytes(record: &Record) -> Section {
    let mut section = Section::new("bytes", "Bytes");
    section.notes.push(
        "Shannon entropy of byte values: 8 bits for each byte is what random bytes have. Weights in \
         bf16 have less, because their exponents resemble each other."
            .to_owned(),
    );
    let bits = |value: f64| Cell::exact(format!("{value:.4}"), value);
    let mut table = Table::facts("Bytes of the plain and the sealed file");
    let entropy = &record.entropy;
    table.fact("bits per byte, plain", bits(entropy.plain_bits_per_byte));
    table.fact("bits per byte, sealed", bits(entropy.sealed_bits_per_byte));
    let overhead = &record.overhead;
    let count = |value: u64| Cell::exact(units::count(value), value);
    table.fact("plain file, bytes", count(overhead.plain_bytes));
    table.fact("sealed file, bytes", count(overhead.sealed_bytes));
    table.fact(
        "manifest and recipients, bytes",
        count(overhead.documents_bytes),
    );
    table.fact("added, bytes", count(overhead.added_bytes()));
    let share = overhead.share();
    table.fact(
        "added, part of the plain file",
        Cell::exact(format!("{:.4} %", share * 100.0), share),
    );
    section.table(table);
    section
}

/// Peak memory.
pub(super) fn memory(record: &Record) -> Section {
    let mut section = Section::new("memory", "Memory");
    section.notes.push(
        "Largest resident size of a process that does nothing else (VmHWM). Pages of files, on a \
         disk or a tmpfs, belong to no process."
            .to_owned(),
    );
    let mut table = Table::new(
        "Peak memory",
        &[
            "what",
            "#threads",
            "#at the start",
            "#peak",
            "#of it the result",
            "#beyond start and result",
        ],
    );
    for fact in &record.peaks {
        table.push(vec![
            Cell::words(fact.work.label()),
            cells::count(fact.threads),
            Cell::of(fact.memory.before_bytes, units::bytes),
            Cell::of(fact.memory.peak_bytes, units::bytes),
            Cell::of(Some(fact.memory.output_bytes), units::bytes),
            Cell::of(fact.beyond_output_bytes, units::bytes),
        ]);
    }
    section.table(table);
    section
}

/// Loading times, computed.
pub(super) fn cold_start(record: &Record) -> Section {
    let mut section = Section::new("cold-start", "Loading times by model size (computed)");
    let Some(first) = record.cold_start.first() else {
        return section;
    };
    section.notes.push(
        "Not measured: bytes of the weights in bf16 over the measured rate. A machine that lacks the \
         memory cannot load them, and a page cache that does not hold them reads from the disk."
            .to_owned(),
    );
    let mut columns = vec!["way".to_owned(), "#threads".to_owned(), "#rate".to_owned()];
    columns.extend(first.models.iter().map(|model| {
        format!(
            "#{}B, {}",
            model.billions,
            units::short(&units::bytes(model.bytes as u64))
        )
    }));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Seconds until the weights are loaded, computed", &columns);
    for way in &record.cold_start {
        let mut row = vec![
            Cell::words(way.label.as_str()),
            cells::count(way.threads),
            Cell::exact(
                units::bytes_per_second(way.bytes_per_second),
                way.bytes_per_second,
            ),
        ];
        row.extend(
            way.models
                .iter()
                .map(|model| Cell::exact(units::seconds(model.seconds), model.seconds)),
        );
        table.push(row);
    }
    section.table(table);
    section
}
