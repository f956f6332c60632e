//! Vectors per second over the batch, and from which batch on `gemm` is ahead.

use crate::page::content::{Content, columns};
use crate::page::crossover::{Crossover, measured, predicted};
use crate::page::measurement::Measurement;
use bench_report::plot::{Ink, Line, LinePlot, Marker, Scale};
use bench_report::units::{Unit, bytes_per_second, number, plural, seconds};
use bench_report::{Cell, ReportError, Section, Table};

pub(super) fn section(content: &Content) -> Result<Section, ReportError> {
    let mut section = Section::new("throughput", "Throughput against batch");
    let mut crossovers = Table::new(
        "Crossover: the smallest batch from which gemm is ahead of diagonal",
        &["layer", "#threads", "compared", "#measured", "#predicted"],
    );
    for shape in content.by_shape() {
        let mut threads: Vec<usize> = shape.iter().map(|m| m.setting.threads).collect();
        threads.sort_unstable();
        threads.dedup();
        for count in threads {
            let panel: Vec<&Measurement> = shape
                .iter()
                .copied()
                .filter(|m| m.setting.threads == count)
                .collect();
            plot(content, &panel, &mut section, &mut crossovers)?;
        }
    }
    let mut table = Table::new(
        "Vectors per second, from medians",
        &columns(&["#evaluation", "#encrypt + evaluate + decrypt"]),
    );
    for measurement in &content.measurements {
        let rate = measurement
            .configuration
            .as_ref()
            .and_then(|c| c.throughput);
        if let Some(rate) = rate {
            let mut row = content.what(measurement).to_vec();
            row.push(Cell::exact(number(rate.evaluation), rate.evaluation));
            row.push(Cell::exact(number(rate.end_to_end), rate.end_to_end));
            table.push(row);
        }
    }
    if !table.rows.is_empty() {
        section.notes.push(
            "Evaluation counts the server's work alone (with --ahead its online part). End to end \
             counts encryption, evaluation and decryption, one after the other. The link is in \
             neither."
                .to_owned(),
        );
    }
    if !table.rows.is_empty() && section.figures.is_empty() {
        section.notes.push(
            "One batch per layer was measured, so there is no curve; the table has the rates."
                .to_owned(),
        );
    }
    section.table(table);
    section.table(crossovers);
    section.table(estimates(content));
    Ok(section)
}

/// The curves of one shape at one thread count, where there are at least two batches.
fn plot(
    content: &Content,
    panel: &[&Measurement],
    section: &mut Section,
    crossovers: &mut Table,
) -> Result<(), ReportError> {
    let mut curves = Vec::new();
    for series in content.series.iter() {
        let mut points: Vec<(f64, f64, f64)> = panel
            .iter()
            .filter(|m| series.has(m))
            .filter_map(|m| {
                let rate = m.configuration.as_ref()?.throughput?;
                Some((m.setting.batch as f64, rate.evaluation, rate.end_to_end))
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (dashed, what) in [(false, "end to end"), (true, "evaluation")] {
            curves.push(Line {
                label: format!("{}, {what}", series.label),
                ink: series.ink,
                dashed,
                points: points
                    .iter()
                    .map(|p| (p.0, if dashed { p.1 } else { p.2 }))
                    .collect(),
            });
        }
    }
    let batches = |line: &Line| line.points.iter().map(|p| p.0 as u64).collect::<Vec<_>>();
    let mut all: Vec<u64> = curves.iter().flat_map(batches).collect();
    all.sort_unstable();
    all.dedup();
    let Some(first) = panel.first().filter(|_| all.len() > 1) else {
        return Ok(());
    };
    let threads = plural(first.setting.threads as u64, "thread");
    let title = format!("Throughput, {}, {threads}", first.shape());
    let mut markers = Vec::new();
    let predicted = predicted(panel);
    let pairs = measured(content, panel);
    for (name, crossover) in &pairs {
        if let Some(crossover) = crossover {
            let of = if pairs.len() > 1 {
                format!(", {name}")
            } else {
                String::new()
            };
            let same = predicted == Some(*crossover);
            markers.push(Marker {
                at: crossover.batch() as f64,
                label: format!(
                    "{}crossover{of}: {crossover}",
                    if same {
                        "measured and predicted "
                    } else {
                        "measured "
                    }
                ),
                ink: Ink::Text,
            });
        }
        crossovers.push(vec![
            Cell::words(first.shape()),
            Cell::exact(first.setting.threads.to_string(), first.setting.threads),
            Cell::words(name.clone()),
            cell(*crossover),
            cell(predicted),
        ]);
    }
    if let Some(crossover) = predicted
        && !pairs.iter().any(|(_, measured)| *measured == predicted)
    {
        markers.push(Marker {
            at: crossover.batch() as f64,
            label: format!("predicted crossover: {crossover}"),
            ink: Ink::Muted,
        });
    }
    let described: Vec<&str> = markers.iter().map(|m| m.label.as_str()).collect();
    let description = format!(
        "Vectors per second over the batch from {} to {}, both axes logarithmic, for {}. {}",
        all.first().copied().unwrap_or(0),
        all.last().copied().unwrap_or(0),
        curves
            .iter()
            .map(|line| line.label.as_str())
            .collect::<Vec<_>>()
            .join("; "),
        if described.is_empty() {
            "No crossover is marked.".to_owned()
        } else {
            format!("Vertical lines: {}.", described.join("; "))
        }
    );
    let plot = LinePlot {
        lines: curves,
        markers,
        x: Scale::log("batch: vectors per evaluation", Unit::Number),
        y: Scale::log("vectors per second", Unit::Number),
    };
    let figure = plot.figure(&title, &title, &description)?;
    section.figures.push(figure);
    Ok(())
}

fn cell(crossover: Option<Crossover>) -> Cell {
    match crossover {
        Some(crossover) => Cell::exact(crossover.to_string(), crossover.batch()),
        None => Cell::words("none"),
    }
}

/// What the cost model said about each batch.
fn estimates(content: &Content) -> Table {
    let mut table = Table::new(
        "Predicted by the cost model for one batch, one thread",
        &[
            "layer",
            "#threads",
            "#batch",
            "plan",
            "#link",
            "#server",
            "#client",
            "#on the link",
            "#shared",
            "#total",
        ],
    );
    for measurement in &content.measurements {
        let Some((report, configuration)) = measurement
            .report
            .as_ref()
            .zip(measurement.configuration.as_ref())
        else {
            continue;
        };
        let plan = configuration.description.as_ref().map(|d| &d.plan);
        let link = report.settings.circumstances.link_bytes_per_second;
        for estimate in plan.into_iter().flat_map(|plan| &plan.estimates) {
            let [layer, _, threads, batch] = content.what(measurement);
            let mut row = vec![layer, threads, batch];
            row.push(Cell::words(estimate.plan.clone()));
            row.push(Cell::exact(bytes_per_second(link), link));
            for value in [
                estimate.server_seconds,
                estimate.client_seconds,
                estimate.link_seconds,
                estimate.shared_seconds,
                estimate.total_seconds,
            ] {
                row.push(Cell::exact(seconds(value), value));
            }
            // Every plan of a batch carries the estimates of all plans.
            if measurement.failure.is_none() && !table.rows.contains(&row) {
                table.push(row);
            }
        }
    }
    table
}
