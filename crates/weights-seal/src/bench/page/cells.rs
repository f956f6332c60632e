//! Cells of measured numbers.

use crate::bench::measured::Measured;
use crate::bench::record::Record;
use bench_report::plot::{Bar, Ink};
use bench_report::{Cell, units};

/// The rate of a case.
pub(super) fn rate(record: &Record, id: &str) -> Cell {
    Cell::of(record.rate(id), units::bytes_per_second)
}

/// The rates of the slowest and the fastest run, and of the first round.
pub(super) fn spread(case: Option<&Measured>) -> [Cell; 3] {
    let rate = |seconds: Option<f64>| {
        let bytes = case.map_or(0, |case| case.spec.bytes) as f64;
        Cell::of(seconds.map(|s| bytes / s), units::bytes_per_second)
    };
    let summary = case.and_then(|case| case.summary);
    [
        rate(summary.map(|s| s.max_seconds)),
        rate(summary.map(|s| s.min_seconds)),
        rate(case.and_then(|case| case.seconds.first().copied())),
    ]
}

/// Median, shortest, longest duration and that of the first round.
pub(super) fn durations(case: Option<&Measured>) -> [Cell; 4] {
    let summary = case.and_then(|case| case.summary);
    [
        summary.map(|s| s.median_seconds),
        summary.map(|s| s.min_seconds),
        summary.map(|s| s.max_seconds),
        case.and_then(|case| case.seconds.first().copied()),
    ]
    .map(|seconds| Cell::of(seconds, units::seconds))
}

/// A ratio, `0.84×`.
pub(super) fn ratio(value: Option<f64>) -> Cell {
    Cell::of(value, |value| format!("{}×", units::number(value)))
}

/// A count.
pub(super) fn count(value: usize) -> Cell {
    Cell::exact(value.to_string(), value)
}

/// A bar with the range of the rates; `None` for what was not measured.
pub(super) fn bar(label: &str, ink: Ink, light: bool, case: Option<&Measured>) -> Option<Bar> {
    let case = case?;
    let summary = case.summary?;
    let bytes = case.spec.bytes as f64;
    Some(Bar {
        light,
        median: case.bytes_per_second?,
        min: bytes / summary.max_seconds,
        max: bytes / summary.min_seconds,
        ..Bar::value(label, ink, 0.0)
    })
}
