//! Raw ciphers, and ciphers without AES instructions.

use super::cells;
use crate::bench::cases::{cipher_id, hash_id, mask_id};
use crate::bench::cipher::Operation;
use crate::bench::record::Record;
use bench_report::plot::{BarGroup, BarPlot, Ink};
use bench_report::units::Unit;
use bench_report::{Cell, ReportError, Section, Table};
use sealed_weights::cipher::Provider;
use sealed_weights::suite::Suite;

pub(super) fn section(record: &Record) -> Result<Section, ReportError> {
    let mut section = Section::new("ciphers", "Ciphers alone");
    section.notes.push(format!(
        "In place over a buffer of 256 KiB for each thread, which stays in the second-level cache. \
         Files are sealed with {} by {} on this machine.",
        record.conditions.suite, record.conditions.provider
    ));
    section.table(raw(record));
    section.notes.push(mask_note(record));
    let mut table = Table::new(
        "AWS-LC in a process of its own, one thread, opening",
        &["suite", "#AES instructions on", "#off", "#off / on"],
    );
    let mut groups = Vec::new();
    for suite in Suite::ALL {
        let ids = [false, true].map(|masked| mask_id(suite, masked));
        let rates = ids.each_ref().map(|id| record.rate(id));
        if rates[0].is_none() {
            continue;
        }
        table.push(vec![
            Cell::words(suite.name()),
            cells::rate(record, &ids[0]),
            cells::rate(record, &ids[1]),
            cells::ratio(rates[1].zip(rates[0]).map(|(off, on)| off / on)),
        ]);
        let labels = ["AES instructions on", "AES instructions off"];
        groups.push(BarGroup {
            heading: suite.name().to_owned(),
            bars: ids
                .iter()
                .zip(labels)
                .enumerate()
                .filter_map(|(index, (id, label))| {
                    cells::bar(label, Ink::Series(index), false, record.case(id))
                })
                .collect(),
        });
    }
    if !groups.is_empty() {
        section
            .figures
            .push(BarPlot::medians(Unit::BytesPerSecond, groups).figure(
                "aes-mask",
                "With and without AES instructions",
                "For each suite its rate with and without the processor's AES instructions.",
            )?);
    }
    section.table(table);
    Ok(section)
}

fn raw(record: &Record) -> Table {
    let mut table = Table::new(
        "Raw rates, medians",
        &["cipher", "library", "#threads", "#seal", "#open"],
    );
    for threads in record.thread_counts() {
        for suite in Suite::ALL {
            for provider in Provider::ALL {
                let id = |operation| cipher_id(provider, suite, operation, threads);
                if record.rate(&id(Operation::Open)).is_none() {
                    continue;
                }
                table.push(vec![
                    Cell::words(suite.name()),
                    Cell::words(provider.name()),
                    cells::count(threads),
                    cells::rate(record, &id(Operation::Seal)),
                    cells::rate(record, &id(Operation::Open)),
                ]);
            }
        }
        if record.rate(&hash_id(threads)).is_some() {
            table.push(vec![
                Cell::words("BLAKE3, a hash"),
                Cell::words("blake3"),
                cells::count(threads),
                cells::rate(record, &hash_id(threads)),
                cells::rate(record, &hash_id(threads)),
            ]);
        }
    }
    table
}

fn mask_note(record: &Record) -> String {
    let acted = match record.mask_acted {
        Some(true) => "The mask acted: AES-256-GCM took more than twice as long.",
        Some(false) => {
            "The mask did nothing: AES-256-GCM was about as fast as without it. The row is no \
             measurement of a processor without AES."
        }
        None => "It was not tried on this machine.",
    };
    format!(
        "A processor without AES instructions is imitated by the environment variable \
         OPENSSL_ia32cap, with which AWS-LC (x86-64) leaves them aside; ring has no such mask, and \
         is not in the second table. {acted}"
    )
}
