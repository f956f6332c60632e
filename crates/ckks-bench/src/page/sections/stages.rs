//! Where the time of a trial goes.

use crate::page::content::{Content, columns};
use crate::page::measurement::Measurement;
use crate::report::Stage;
use bench_report::plot::{Figure, Ink, Part, SharePlot, Stack};
use bench_report::units::{bytes, bytes_per_second, number, seconds};
use bench_report::{Cell, ReportError, Section, Table};

/// What a vector waits for, in order.
const WAITED_FOR: [Stage; 4] = [
    Stage::Encryption,
    Stage::Evaluation,
    Stage::OnlineEvaluation,
    Stage::Decryption,
];

/// The stages whose phases are shown.
const WITH_PHASES: [Stage; 2] = [Stage::Evaluation, Stage::OnlineEvaluation];

pub(super) fn section(content: &Content) -> Result<Section, ReportError> {
    let mut section = Section::new("stages", "Where the time goes");
    for panel in content.panels() {
        let name = content.panel_title(&panel);
        let stages = |m: &Measurement| {
            let stage = |(index, stage): (usize, &Stage)| {
                let seconds = m.stage(*stage)?.duration.median_seconds;
                // The two names of the evaluation share a colour.
                Some((stage.to_string(), [0, 1, 1, 2][index], seconds))
            };
            WAITED_FOR.iter().enumerate().filter_map(stage).collect()
        };
        let figure = figure(content, &panel, ("Stages", &name), &stages)?;
        section.figures.extend(figure);
        let mut names: Vec<String> = Vec::new();
        for phase in panel.iter().flat_map(|m| phases(m)) {
            if !names.contains(&phase.0) {
                names.push(phase.0);
            }
        }
        let phases = |m: &Measurement| {
            let place = |name: &str| names.iter().position(|known| known == name);
            phases(m)
                .into_iter()
                .map(|(name, seconds)| {
                    let place = place(&name).unwrap_or(0);
                    // Other colours than the stages have, as long as there are some.
                    (name, place + 3, seconds)
                })
                .collect()
        };
        let figure = self::figure(
            content,
            &panel,
            ("Phases of the evaluation", &name),
            &phases,
        )?;
        section.figures.extend(figure);
    }
    if !section.figures.is_empty() {
        section.notes.push(
            "Shares of the sum of the medians; the sum is at the end of each bar. Key generation \
             and weight preparation happen once per layer, an ahead-of-time part before the \
             vectors exist: they are in the table only. Phases are what the backend itself \
             measured inside the evaluation."
                .to_owned(),
        );
    }
    section.table(table(content));
    Ok(section)
}

/// Name and median of the phases of what the client waits for.
fn phases(measurement: &Measurement) -> Vec<(String, f64)> {
    WITH_PHASES
        .iter()
        .filter_map(|stage| measurement.stage(*stage))
        .flat_map(|summary| &summary.phases)
        .map(|phase| (phase.name.clone(), phase.duration.median_seconds))
        .collect()
}

/// Name, colour and seconds of each part.
type Parts = Vec<(String, usize, f64)>;

fn figure(
    content: &Content,
    panel: &[&Measurement],
    (what, of): (&str, &str),
    parts: &dyn Fn(&Measurement) -> Parts,
) -> Result<Option<Figure>, ReportError> {
    let mut stacks = Vec::new();
    for measurement in panel {
        let parts = parts(measurement);
        let sum: f64 = parts.iter().map(|part| part.2).sum();
        if parts.is_empty() || sum <= 0.0 {
            continue;
        }
        stacks.push(Stack {
            label: content.row(measurement),
            total: seconds(sum),
            parts: parts
                .into_iter()
                .map(|(label, colour, value)| Part {
                    label,
                    ink: Ink::Part(colour),
                    value,
                })
                .collect(),
        });
    }
    if stacks.is_empty() {
        return Ok(None);
    }
    let title = format!("{what}, {of}");
    let plot = SharePlot { stacks };
    let description = format!(
        "Shares of {} in the sum of their medians, a bar for each of {} measurements. The numbers \
         are in the table.",
        plot.part_labels().join(", "),
        plot.stacks.len()
    );
    plot.figure(&title, &title, &description).map(Some)
}

fn table(content: &Content) -> Table {
    let mut table = Table::new(
        "Every stage with its phases",
        &columns(&[
            "stage",
            "#samples",
            "#median",
            "#min",
            "#max",
            "#streamed",
            "#rate",
            "#of streaming read, %",
        ]),
    );
    for measurement in &content.measurements {
        let stages = measurement
            .configuration
            .as_ref()
            .and_then(|c| c.stages.as_ref());
        for summary in stages.into_iter().flatten() {
            let mut row = content.what(measurement).to_vec();
            row.push(Cell::words(summary.stage.to_string()));
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
            for phase in &summary.phases {
                let mut row = content.what(measurement).to_vec();
                row.push(Cell::words(format!("{}: {}", summary.stage, phase.name)));
                row.push(Cell::exact(phase.samples.to_string(), phase.samples));
                let duration = phase.duration;
                for value in [
                    duration.median_seconds,
                    duration.min_seconds,
                    duration.max_seconds,
                ] {
                    row.push(Cell::exact(seconds(value), value));
                }
                row.push(Cell::of(phase.bytes, bytes));
                row.push(Cell::of(phase.bytes_per_second, bytes_per_second));
                let percent = |ratio: f64| number(ratio * 100.0);
                row.push(Cell::of(phase.of_streaming_read, percent));
                table.push(row);
            }
        }
    }
    table
}
