//! What it takes to measure again.

use crate::page::content::Content;
use crate::report::Report;
use bench_report::program::command_line;
use bench_report::units::{bytes_per_second, plural};
use bench_report::{Cell, Section, Table};
use ckks_backend::Delivery;

const COLUMNS: &[&str] = &["start (UTC)", "~command line"];

pub(super) fn section(content: &Content) -> Section {
    let mut section = Section::new("redo", "How to redo it");
    let mut reports: Vec<&Report> = content.reports.iter().map(|report| &**report).collect();
    reports.sort_by(|a, b| a.date.cmp(&b.date));
    let mut groups: Vec<(Vec<Vec<Cell>>, Table)> = Vec::new();
    for report in reports {
        let settings = settings(report);
        let line = vec![
            Cell::words(report.date.clone()),
            Cell::words(command_line(&report.command_line)),
        ];
        match groups.iter_mut().find(|group| group.0 == settings) {
            Some((_, lines)) => lines.push(line),
            None => {
                let mut lines = Table::new("Command lines with these settings", COLUMNS);
                lines.push(line);
                groups.push((settings, lines));
            }
        }
    }
    if !groups.is_empty() {
        section.notes.push(
            "Check out the commit, build with cargo build --release, run the command lines on an \
             idle machine, and make this page again with ckks-bench report. Durations will differ; \
             with synthetic data and the same seed, weights and vectors will not."
                .to_owned(),
        );
    }
    for (rows, lines) in groups {
        let mut settings = Table::facts("Settings");
        for row in rows {
            settings.push(row);
        }
        section.table(settings);
        section.table(lines);
    }
    section
}

/// What decides the numbers, threads and layers excepted: those are in every table.
fn settings(report: &Report) -> Vec<Vec<Cell>> {
    let settings = &report.settings;
    let circumstances = settings.circumstances;
    let link = circumstances.link_bytes_per_second;
    let words = |text: &str| Cell::words(text);
    [
        ("commit", Cell::words(report.build.commit_words())),
        (
            "library and device",
            Cell::words(format!("{}, {}", settings.library, settings.device)),
        ),
        (
            "trials",
            Cell::words(format!(
                "{} after {}",
                plural(settings.trials as u64, "trial"),
                plural(settings.warmup as u64, "warm-up")
            )),
        ),
        (
            "seed",
            Cell::exact(settings.seed.to_string(), settings.seed),
        ),
        ("generator of synthetic data", words(&settings.generator)),
        ("weights", words(&settings.weights)),
        ("vectors", words(&settings.input)),
        (
            "evaluation",
            words(match settings.ahead {
                true => "ahead-of-time part and online part",
                false => "in one piece",
            }),
        ),
        (
            "caches",
            words(match settings.cold {
                true => "cold: rotating through copies of the layer",
                false => "warm: one copy of the layer",
            }),
        ),
        ("link", Cell::exact(bytes_per_second(link), link)),
        (
            "evaluations that share keys or W·A",
            Cell::exact(circumstances.reuse.to_string(), circumstances.reuse),
        ),
        (
            "W·A",
            words(match circumstances.delivery {
                Delivery::Cached => "downloaded once for a layer",
                Delivery::Sent => "sent with every answer",
            }),
        ),
    ]
    .map(|(name, value)| vec![Cell::words(name), value])
    .to_vec()
}
