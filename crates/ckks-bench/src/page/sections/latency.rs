//! How long one evaluation takes.

use crate::page::content::{Content, columns};
use crate::page::measurement::Measurement;
use crate::report::{Stage, StageSummary};
use bench_report::plot::{Bar, BarGroup, BarPlot, Spread};
use bench_report::units::{Unit, seconds};
use bench_report::{Cell, ReportError, Section, Table};

/// The stages of an evaluation, and whether nobody waits for them.
const EVALUATION: [(Stage, bool); 3] = [
    (Stage::Evaluation, false),
    (Stage::OnlineEvaluation, false),
    (Stage::AheadOfTimeEvaluation, true),
];

pub(super) fn section(content: &Content) -> Result<Section, ReportError> {
    let mut section = Section::new("latency", "Latency of an evaluation");
    for panel in content.panels() {
        let groups = groups(content, &panel);
        if groups.is_empty() {
            continue;
        }
        let title = format!("Evaluation, {}", content.panel_title(&panel));
        let count: usize = groups.iter().map(|group| group.bars.len()).sum();
        let plot = BarPlot::medians(Unit::Seconds, groups);
        let log = plot.spread() == Spread::Log;
        let description = format!(
            "Median of each of {count} measurements with whiskers from the smallest to the largest \
             duration{}. The numbers are in the table.",
            if log { ", on a logarithmic axis" } else { "" }
        );
        let id = format!("latency-{}", content.panel_title(&panel));
        section
            .figures
            .push(plot.figure(&id, &title, &description)?);
    }
    let mut table = Table::new(
        "Duration of an evaluation of the whole batch",
        &columns(&["part", "#samples", "#median", "#min", "#max"]),
    );
    for measurement in &content.measurements {
        for (stage, summary, _) in parts(measurement) {
            let mut row = content.what(measurement).to_vec();
            row.push(Cell::words(stage.to_string()));
            row.push(Cell::exact(summary.samples.to_string(), summary.samples));
            let duration = summary.duration;
            for value in [
                duration.median_seconds,
                duration.min_seconds,
                duration.max_seconds,
            ] {
                row.push(Cell::exact(seconds(value), value));
            }
            table.push(row);
        }
    }
    if !table.rows.is_empty() {
        section.notes.push(
            "The server's work for one batch: reading the ciphertexts, evaluation, serialising \
             the answers. Median over the measured trials; whiskers reach from the fastest to the \
             slowest."
                .to_owned(),
        );
        if content.measurements.iter().any(|m| m.setting.ahead) {
            section.notes.push(
                "With --ahead the server does a part before the vectors exist; the lighter bar or \
                 hollow point is that part, the online part is what the client waits for."
                    .to_owned(),
            );
        }
    }
    section.table(table);
    Ok(section)
}

fn parts(measurement: &Measurement) -> impl Iterator<Item = (Stage, &StageSummary, bool)> {
    EVALUATION.into_iter().filter_map(|(stage, light)| {
        measurement
            .stage(stage)
            .map(|summary| (stage, summary, light))
    })
}

/// One batch: groups are shapes. Several batches of one shape: groups are plans and threads. A
/// group of its own for every bar would be noise, so then there are no headings.
fn groups(content: &Content, panel: &[&Measurement]) -> Vec<BarGroup> {
    let heading = |m: &Measurement| {
        if content.batches_vary {
            content.who(m)
        } else {
            m.shape()
        }
    };
    let label = |m: &Measurement| {
        let mut label = if content.batches_vary {
            format!("batch {}", m.setting.batch)
        } else {
            content.who(m)
        };
        if let Some(source) = content.again(m) {
            label = format!("{label} ({source})");
        }
        label
    };
    let mut groups: Vec<BarGroup> = Vec::new();
    for measurement in panel {
        let heading = heading(measurement);
        let split = parts(measurement).count() > 1;
        for (stage, summary, light) in parts(measurement) {
            let mut label = label(measurement);
            if split {
                let part = if stage == Stage::AheadOfTimeEvaluation {
                    "beforehand"
                } else {
                    "online part"
                };
                label = format!("{label}: {part}");
            }
            let bar = Bar {
                light,
                ..Bar::durations(label, content.series.ink(measurement), &summary.duration)
            };
            match groups.last_mut() {
                Some(group) if group.heading == heading => group.bars.push(bar),
                _ => groups.push(BarGroup {
                    heading: heading.clone(),
                    bars: vec![bar],
                }),
            }
        }
    }
    if groups.iter().all(|group| group.bars.len() == 1) && !content.batches_vary {
        let same = |group: &BarGroup| group.bars[0].label == groups[0].bars[0].label;
        let alike = groups.iter().all(same);
        let bars = groups.iter().map(|group| Bar {
            label: if alike {
                group.heading.clone()
            } else {
                format!("{}, {}", group.heading, group.bars[0].label)
            },
            ..group.bars[0].clone()
        });
        let bars: Vec<Bar> = bars.collect();
        if bars.is_empty() {
            return Vec::new();
        }
        return vec![BarGroup {
            heading: String::new(),
            bars,
        }];
    }
    groups
}
