//! What is moved and kept.

use crate::page::content::{Content, columns};
use crate::page::measurement::Measurement;
use crate::report::Stage;
use bench_report::units::{bytes, seconds};
use bench_report::{Cell, Section, Table};

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("bytes", "Bytes");
    let mut table = Table::new(
        "Sizes; uploads and downloads are those of the whole batch",
        &columns(&[
            "#keys",
            "#layer download",
            "#upload",
            "#download",
            "#weights bf16",
            "#prepared weights",
            "#peak memory",
        ]),
    );
    for measurement in &content.measurements {
        let Some(sizes) = measurement.bytes() else {
            continue;
        };
        let mut row = content.what(measurement).to_vec();
        row.extend(
            [
                sizes.keys,
                sizes.layer_download,
                sizes.upload,
                sizes.download,
                Some(sizes.weights_bf16),
                sizes.prepared_weights,
                sizes.peak_resident,
            ]
            .map(|size| Cell::of(size, bytes)),
        );
        table.push(row);
    }
    if table.rows.is_empty() {
        return section;
    }
    section.notes.push(
        "Keys and the layer download are sent once, upload and download with every batch. A client \
         that may hold the weights would download them once, as bf16, and multiply by itself."
            .to_owned(),
    );
    section.table(table);
    let mut more = Table::new(
        "One batch moves more bytes than the weights have",
        &columns(&[
            "#moved by a batch",
            "#weights bf16",
            "#encrypt + evaluate + decrypt",
            "#plain product f32",
        ]),
    );
    let mut count = 0;
    for measurement in &content.measurements {
        let Some(sizes) = measurement.bytes().filter(|b| b.moves_more_than_weights()) else {
            continue;
        };
        count += 1;
        let mut row = content.what(measurement).to_vec();
        row.push(Cell::of(sizes.moved(), bytes));
        row.push(Cell::exact(bytes(sizes.weights_bf16), sizes.weights_bf16));
        row.push(Cell::of(end_to_end(measurement), seconds));
        let plain = measurement.stage(Stage::PlainProductF32);
        row.push(Cell::of(plain.map(|s| s.duration.median_seconds), seconds));
        more.push(row);
    }
    section.notes.push(match count {
        0 => "No batch here moves more bytes than its weights have as bf16.".to_owned(),
        1 => "One batch here moves more bytes than sending the client the weights as bf16, once \
              and for all, would. It is worth it only where the client must not hold the weights."
            .to_owned(),
        several => format!(
            "In {several} measurements one batch moves more bytes than sending the client the \
             weights as bf16, once and for all, would. They are worth it only where the client \
             must not hold the weights."
        ),
    });
    section.table(more);
    section
}

/// Seconds of a batch as its throughput counts them.
fn end_to_end(measurement: &Measurement) -> Option<f64> {
    let sum = [
        measurement.stage(Stage::Encryption)?,
        measurement.answer()?,
        measurement.stage(Stage::Decryption)?,
    ];
    Some(sum.iter().map(|s| s.duration.median_seconds).sum())
}
