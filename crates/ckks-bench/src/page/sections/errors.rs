//! How the errors lie below the gate.

use crate::histogram::Histogram;
use crate::page::content::{Content, columns};
use crate::page::measurement::Measurement;
use crate::report::Verdict;
use bench_report::plot::{HistogramPlot, Ink, Marker, Outline, Scale};
use bench_report::units::{Unit, count, number, scientific, short};
use bench_report::{Cell, ReportError, Section, Table};

pub(super) fn section(content: &Content) -> Result<Section, ReportError> {
    let mut section = Section::new("errors", "Errors against the gate");
    let mut bins = Table::new(
        "Outputs in each bin of the absolute error, all trials and batches together",
        &["layer", "outputs of", "#from", "#to", "#outputs"],
    );
    for shape in content.by_shape() {
        plot(content, &shape, &mut section, &mut bins)?;
    }
    let mut table = Table::new(
        "Errors over all trials, warm-ups included",
        &columns(&[
            "verdict",
            "#max abs",
            "#gate",
            "#max relative",
            "#rms",
            "#rms predicted",
            "#precision, bits",
            "#max |y|",
            "#not finite",
        ]),
    );
    for measurement in &content.measurements {
        let Some(configuration) = &measurement.configuration else {
            continue;
        };
        let Some(errors) = configuration.errors else {
            continue;
        };
        let mut row = content.what(measurement).to_vec();
        row.push(Cell::words(measurement.verdict_word()));
        row.push(Cell::of(errors.max_abs, scientific));
        row.push(Cell::exact(scientific(errors.limit), errors.limit));
        row.push(Cell::of(errors.max_relative, scientific));
        row.push(Cell::of(errors.rms, scientific));
        row.push(Cell::of(errors.predicted_rms, scientific));
        row.push(Cell::of(errors.precision_bits, number));
        row.push(Cell::exact(
            number(errors.max_abs_reference),
            errors.max_abs_reference,
        ));
        let not_finite = configuration.error_histogram.as_ref().map(|h| h.not_finite);
        row.push(Cell::of(not_finite, count));
        table.push(row);
    }
    if !table.rows.is_empty() {
        section.notes.push(
            "Every output of every trial is compared with a float64 product of the same inputs. A \
             configuration with one output beyond the gate, or one that is not finite, is \
             rejected."
                .to_owned(),
        );
    }
    section.table(table);
    section.table(bins);
    Ok(section)
}

/// Outputs of the same series, and of the same verdict, of one shape.
struct Pool {
    label: String,
    ink: Ink,
    histogram: Histogram,
}

fn pools(content: &Content, shape: &[&Measurement]) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for measurement in shape {
        let configuration = measurement.configuration.as_ref();
        let Some(histogram) = configuration.and_then(|c| c.error_histogram.as_ref()) else {
            continue;
        };
        let rejected = measurement.verdict == Some(Verdict::Rejected);
        let label = content.series.label(measurement);
        let label = if rejected {
            format!("{label}, rejected")
        } else {
            label
        };
        if !pools.iter().any(|pool| pool.label == label) {
            let series = content.series.ink(measurement);
            pools.push(Pool {
                label: label.clone(),
                ink: if rejected { Ink::Limit } else { series },
                histogram: Histogram::default(),
            });
        }
        if let Some(pool) = pools.iter_mut().find(|pool| pool.label == label) {
            add(&mut pool.histogram, histogram);
        }
    }
    pools.sort_by_key(|pool| pool.ink == Ink::Limit);
    pools
}

fn add(sum: &mut Histogram, more: &Histogram) {
    if sum.counts.len() < more.counts.len() {
        sum.counts.resize(more.counts.len(), 0);
    }
    for (sum, more) in sum.counts.iter_mut().zip(&more.counts) {
        *sum = sum.saturating_add(*more);
    }
    sum.below = sum.below.saturating_add(more.below);
    sum.above = sum.above.saturating_add(more.above);
    sum.not_finite = sum.not_finite.saturating_add(more.not_finite);
}

fn plot(
    content: &Content,
    shape: &[&Measurement],
    section: &mut Section,
    table: &mut Table,
) -> Result<(), ReportError> {
    let pools = pools(content, shape);
    let Some(first) = shape.first() else {
        return Ok(());
    };
    let mut outlines = Vec::new();
    for pool in &pools {
        let Histogram { counts, .. } = &pool.histogram;
        let total = pool.histogram.total();
        for (index, outputs) in counts.iter().enumerate() {
            if *outputs > 0 {
                let [low, high] = Histogram::edges(index);
                let ends = [
                    Cell::exact(scientific(low), low),
                    Cell::exact(scientific(high), high),
                ];
                push(table, first, pool, ends, *outputs);
            }
        }
        let [lowest, _] = Histogram::edges(0);
        let [highest, _] = Histogram::edges(counts.len());
        for (outputs, ends) in [
            (
                pool.histogram.below,
                [Cell::exact("0", 0), Cell::exact(scientific(lowest), lowest)],
            ),
            (
                pool.histogram.above,
                [Cell::exact(scientific(highest), highest), Cell::words("∞")],
            ),
            (
                pool.histogram.not_finite,
                [Cell::words("not finite"), Cell::words("not finite")],
            ),
        ] {
            if outputs > 0 {
                push(table, first, pool, ends, outputs);
            }
        }
        let filled = |i: &usize| counts[*i] > 0;
        let (Some(from), Some(to)) = (
            (0..counts.len()).find(filled),
            (0..counts.len()).rev().find(filled),
        ) else {
            continue;
        };
        outlines.push(Outline {
            label: pool.label.clone(),
            ink: pool.ink,
            bins: (from..=to)
                .map(|i| (Histogram::edges(i), counts[i] as f64 / total as f64))
                .collect(),
        });
    }
    if outlines.is_empty() {
        return Ok(());
    }
    let title = format!("Errors, {}", first.shape());
    let description = format!(
        "Share of the outputs in each bin of the absolute error, on a logarithmic axis, for {}; \
         the gate is a vertical line. The numbers are in the table.",
        outlines
            .iter()
            .map(|outline| outline.label.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    );
    let plot = HistogramPlot {
        outlines,
        limits: gates(shape),
        x: Scale::log("absolute error of an output", Unit::Scientific),
        y: "share of outputs".to_owned(),
    };
    let figure = plot.figure(&title, &title, &description)?;
    section.figures.push(figure);
    Ok(())
}

fn push(table: &mut Table, first: &Measurement, pool: &Pool, ends: [Cell; 2], outputs: u64) {
    let [from, to] = ends;
    table.push(vec![
        Cell::words(first.shape()),
        Cell::words(pool.label.clone()),
        from,
        to,
        Cell::exact(count(outputs), outputs),
    ]);
}

/// The strictest gate of these measurements, and the loosest where they differ.
fn gates(shape: &[&Measurement]) -> Vec<Marker> {
    let limits = || {
        let configurations = shape.iter().filter_map(|m| m.configuration.as_ref());
        configurations.filter_map(|c| Some(c.errors?.limit))
    };
    let marker = |at: f64, name: &str| Marker {
        at,
        label: format!("{name} {}", short(&scientific(at))),
        ink: Ink::Limit,
    };
    let (least, most) = (
        limits().fold(f64::INFINITY, f64::min),
        limits().fold(0.0, f64::max),
    );
    if least > most {
        Vec::new()
    } else if least == most {
        vec![marker(least, "gate")]
    } else {
        vec![
            marker(least, "strictest gate"),
            marker(most, "loosest gate"),
        ]
    }
}
