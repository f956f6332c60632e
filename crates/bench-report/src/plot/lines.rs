//! Lines through points, with vertical markers.

use super::axis::Axis;
use super::canvas::{Align, Key, LINE, Mark, fitted, legend_height, picture, width_of};
use super::figure::{Figure, NARROW};
use super::ink::Ink;
use super::marker::Marker;
use super::scale::Scale;
use crate::error::ReportError;

/// Lines over an axis whose ticks are the values that were measured.
#[derive(Clone, Debug)]
pub struct LinePlot {
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Vertical lines, in the order of their labels from top to bottom.
    pub markers: Vec<Marker>,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
}

/// A line through points.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
    /// Dashes and hollow points, for the lesser line of a pair or for what was computed.
    pub dashed: bool,
    /// In ascending order of the first number.
    pub points: Vec<(f64, f64)>,
}

impl LinePlot {
    /// Draws the lines.
    ///
    /// `id` is the name in addresses and of the picture's file, of which letters and digits are
    /// kept; no other plot of the page has it.
    ///
    /// # Errors
    /// [`ReportError::Draw`].
    pub fn figure(&self, id: &str, title: &str, description: &str) -> Result<Figure, ReportError> {
        Figure::draw(id, title, description, |width| self.svg(width))
    }

    fn svg(&self, width: i32) -> Result<String, ReportError> {
        let LinePlot { lines, markers, .. } = self;
        let keys: Vec<Key> = lines.iter().map(Line::key).collect();
        let narrow = width <= NARROW;
        let mut measured: Vec<f64> = lines.iter().flat_map(|l| &l.points).map(|p| p.0).collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let top = legend_height(&keys, width) + LINE + markers.len() as i32 * LINE + 4;
        let bottom = top + if narrow { 230 } else { 300 };
        let ys = || lines.iter().flat_map(|l| &l.points).map(|p| p.1);
        let y = Axis::new(&self.y, ys(), [bottom, top]);
        let y_ticks = y.ticks(|_| LINE);
        let left = y_ticks.iter().map(|t| width_of(&t.1)).max().unwrap_or(0) + 10;
        let right = width - 14;
        let x = Axis::new(&self.x, measured.iter().copied(), [left, right]);
        picture(width, bottom + 2 * LINE + 8, |canvas| {
            canvas.legend(&keys, 0)?;
            canvas.text(
                &self.y.label,
                (0, legend_height(&keys, width) + LINE / 2),
                Ink::Muted,
                Align::Left,
            )?;
            for (value, label) in &y_ticks {
                canvas.line((left, y.at(*value)), (right, y.at(*value)), Ink::Grid, 1)?;
                canvas.text(label, (left - 8, y.at(*value)), Ink::Muted, Align::Right)?;
            }
            for (value, label) in x.ticks_at(&measured, width_of) {
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
                &self.x.label,
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
                    .map(|&(at, value)| (x.at(at), y.at(value)))
                    .collect();
                for pair in points.windows(2) {
                    if line.dashed {
                        canvas.dashes(pair[0], pair[1], line.ink, 2)?;
                    } else {
                        canvas.line(pair[0], pair[1], line.ink, 2)?;
                    }
                }
                for &point in &points {
                    canvas.point(point, line.ink, !line.dashed)?;
                }
            }
            Ok(())
        })
    }
}

impl Line {
    fn key(&self) -> Key {
        Key {
            label: self.label.clone(),
            ink: self.ink,
            mark: if self.dashed {
                Mark::Dashes
            } else {
                Mark::Line
            },
        }
    }
}
