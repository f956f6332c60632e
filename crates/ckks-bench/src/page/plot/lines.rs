//! Lines over logarithmic axes, with limits marked by vertical lines.

use super::axis::{Axis, Unit};
use super::canvas::{Align, Key, LINE, Mark, fitted, legend_height, picture, width_of};
use super::figure::NARROW;
use super::ink::Ink;
use crate::page::error::PageError;

/// A line through points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) ink: Ink,
    pub(crate) mark: Mark,
    /// In ascending order of the first number.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A vertical line with a label.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) at: f64,
    pub(crate) label: String,
    pub(crate) ink: Ink,
}

/// Draws vectors per second over the batch.
pub(crate) fn lines(
    lines: &[Line],
    markers: &[Marker],
    keys: &[Key],
    width: i32,
) -> Result<String, PageError> {
    let narrow = width <= NARROW;
    let mut batches: Vec<f64> = lines.iter().flat_map(|l| &l.points).map(|p| p.0).collect();
    batches.sort_by(f64::total_cmp);
    batches.dedup();
    let top = legend_height(keys, width) + LINE + markers.len() as i32 * LINE + 4;
    let bottom = top + if narrow { 230 } else { 300 };
    let ys = || lines.iter().flat_map(|l| &l.points).map(|p| p.1);
    let y = Axis::log(ys(), Unit::PerSecond, [bottom, top]);
    let y_ticks = y.ticks(|_| LINE);
    let left = y_ticks.iter().map(|t| width_of(&t.1)).max().unwrap_or(0) + 10;
    let right = width - 14;
    let x = Axis::log(batches.iter().copied(), Unit::Count, [left, right]);
    picture(width, bottom + 2 * LINE + 8, |canvas| {
        canvas.legend(keys, 0)?;
        canvas.text(
            "vectors per second",
            (0, legend_height(keys, width) + LINE / 2),
            Ink::Muted,
            Align::Left,
        )?;
        for (value, label) in &y_ticks {
            canvas.line((left, y.at(*value)), (right, y.at(*value)), Ink::Grid, 1)?;
            canvas.text(label, (left - 8, y.at(*value)), Ink::Muted, Align::Right)?;
        }
        for (value, label) in x.ticks_at(&batches, width_of) {
            canvas.line((x.at(value), top), (x.at(value), bottom), Ink::Grid, 1)?;
            canvas.text(
                &label,
                (x.at(value), bottom + 11),
                Ink::Muted,
                Align::Centre,
            )?;
        }
        canvas.line((left, bottom), (right, bottom), Ink::Muted, 1)?;
        canvas.text(
            "batch: vectors per evaluation",
            ((left + right) / 2, bottom + LINE + 13),
            Ink::Muted,
            Align::Centre,
        )?;
        let height = |row: usize| top - (markers.len() - row) as i32 * LINE + LINE / 2 - 2;
        for (row, marker) in markers.iter().enumerate() {
            let at = x.at(marker.at);
            canvas.dashes((at, height(row) + LINE / 2), (at, bottom), marker.ink, 1)?;
        }
        for (row, marker) in markers.iter().enumerate() {
            let label = fitted(&marker.label, width);
            let half = width_of(&label) / 2;
            let at = x.at(marker.at);
            let centre = at.clamp(half.min(width / 2), (width - half).max(width / 2));
            canvas.label(&label, (centre, height(row)), marker.ink)?;
        }
        for line in lines {
            let points: Vec<(i32, i32)> = line
                .points
                .iter()
                .map(|&(batch, rate)| (x.at(batch), y.at(rate)))
                .collect();
            for pair in points.windows(2) {
                match line.mark {
                    Mark::Dashes => canvas.dashes(pair[0], pair[1], line.ink, 2)?,
                    _ => canvas.line(pair[0], pair[1], line.ink, 2)?,
                }
            }
            for &point in &points {
                canvas.point(point, line.ink, line.mark != Mark::Dashes)?;
            }
        }
        Ok(())
    })
}
