//! What all parts of the page are made from.

use super::measurement::Measurement;
use super::series::AllSeries;
use crate::report::Report;
use bench_report::Cell;
use bench_report::units::plural;
use std::sync::Arc;

/// What the parts are made from.
#[derive(Debug)]
pub(crate) struct Content {
    /// In the order of the tables.
    pub(crate) measurements: Vec<Measurement>,
    /// The reports, each once, in the order of the inputs.
    pub(crate) reports: Vec<Arc<Report>>,
    pub(crate) series: AllSeries,
    /// Measurements with several thread counts.
    pub(crate) threads_vary: bool,
    /// Measurements with several batches.
    pub(crate) batches_vary: bool,
}

impl Content {
    /// Sorts the measurements by shape, series, threads and batch.
    pub(crate) fn new(mut measurements: Vec<Measurement>, reports: Vec<Arc<Report>>) -> Content {
        let series = AllSeries::new(&measurements);
        let mut shapes: Vec<(usize, usize)> = Vec::new();
        for measurement in &measurements {
            if !shapes.contains(&measurement.setting.shape) {
                shapes.push(measurement.setting.shape);
            }
        }
        measurements.sort_by_key(|m| {
            (
                shapes.iter().position(|shape| *shape == m.setting.shape),
                series.position(m),
                m.setting.threads,
                m.setting.batch,
            )
        });
        let varies = |of: fn(&Measurement) -> usize| {
            measurements
                .windows(2)
                .any(|pair| of(&pair[0]) != of(&pair[1]))
        };
        Content {
            threads_vary: varies(|m| m.setting.threads),
            batches_vary: varies(|m| m.setting.batch),
            measurements,
            reports,
            series,
        }
    }

    /// The measurements of each shape, shapes in the order of the inputs.
    pub(crate) fn by_shape(&self) -> Vec<Vec<&Measurement>> {
        let mut shapes: Vec<Vec<&Measurement>> = Vec::new();
        for measurement in &self.measurements {
            match shapes.last_mut() {
                Some(last) if last[0].setting.shape == measurement.setting.shape => {
                    last.push(measurement);
                }
                _ => shapes.push(vec![measurement]),
            }
        }
        shapes
    }

    /// The measurements that belong into one plot of rows: all where they have one batch, those of
    /// a shape otherwise.
    pub(crate) fn panels(&self) -> Vec<Vec<&Measurement>> {
        if self.batches_vary {
            self.by_shape()
        } else {
            vec![self.measurements.iter().collect()]
        }
    }

    /// The series, with the threads where those vary.
    pub(crate) fn who(&self, measurement: &Measurement) -> String {
        let label = self.series.label(measurement);
        if self.threads_vary {
            let threads = plural(measurement.setting.threads as u64, "thread");
            format!("{label}, {threads}")
        } else {
            label
        }
    }

    /// The file, where the same thing was measured more than once.
    pub(crate) fn again(&self, measurement: &Measurement) -> Option<String> {
        let same = |other: &&Measurement| other.setting == measurement.setting;
        (self.measurements.iter().filter(same).count() > 1).then(|| measurement.source.to_string())
    }

    /// A row of a plot in one line.
    pub(crate) fn row(&self, measurement: &Measurement) -> String {
        let first = if self.batches_vary {
            format!("batch {}", measurement.setting.batch)
        } else {
            measurement.shape()
        };
        let mut label = format!("{first}, {}", self.who(measurement));
        if let Some(source) = self.again(measurement) {
            label = format!("{label} ({source})");
        }
        label
    }

    /// Part of a plot's title that says what a panel shows.
    pub(crate) fn panel_title(&self, panel: &[&Measurement]) -> String {
        match panel.first() {
            Some(first) if self.batches_vary => first.shape(),
            Some(first) => format!("batch {}", first.setting.batch),
            None => String::new(),
        }
    }

    /// Shape, plan, threads, batch: the first columns of all tables.
    pub(crate) fn what(&self, measurement: &Measurement) -> [Cell; 4] {
        let mut label = self.series.label(measurement);
        if let Some(source) = self.again(measurement) {
            label = format!("{label} ({source})");
        }
        [
            Cell::words(measurement.shape()),
            Cell::words(label),
            Cell::exact(
                measurement.setting.threads.to_string(),
                measurement.setting.threads,
            ),
            Cell::exact(
                measurement.setting.batch.to_string(),
                measurement.setting.batch,
            ),
        ]
    }
}

/// The heads of [`Content::what`], and further ones.
pub(crate) fn columns<'a>(further: &[&'a str]) -> Vec<&'a str> {
    let mut columns = vec!["layer", "plan", "#threads", "#batch"];
    columns.extend(further);
    columns
}
