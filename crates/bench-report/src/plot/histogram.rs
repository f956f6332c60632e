//! Outlines of histograms, with limits marked by vertical lines.

use super::axis::Axis;
use super::canvas::{Align, Key, LINE, Mark, legend_height, picture, width_of};
use super::figure::{Figure, NARROW};
use super::ink::Ink;
use super::marker::Marker;
use super::scale::Scale;
use crate::error::ReportError;
use crate::units::Unit;

/// Outlines of histograms.
#[derive(Clone, Debug)]
pub struct HistogramPlot {
    /// In the order of the legend; the first lies above the others.
    pub outlines: Vec<Outline>,
    /// Vertical lines, in the order of their labels from top to bottom.
    pub limits: Vec<Marker>,
    /// The horizontal axis.
    pub x: Scale,
    /// What the shares are shares of, e.g. `share of outputs`.
    pub y: String,
}

/// Shares in bins.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// Its name in the legend.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
    /// Edges of each bin and its share, ascending; best without empty bins at the ends.
    pub bins: Vec<([f64; 2], f64)>,
}

impl HistogramPlot {
    /// Draws the outlines.
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
        let (all, limits) = (&self.outlines, &self.limits);
        let keys: Vec<Key> = all.iter().map(Outline::key).collect();
        let narrow = width <= NARROW;
        let top = legend_height(&keys, width) + LINE + limits.len() as i32 * LINE + 4;
        let bottom = top + if narrow { 170 } else { 200 };
        let bins = || all.iter().flat_map(|outline| &outline.bins);
        let y = Axis::linear(bins().map(|bin| bin.1), Unit::Share, [bottom, top]);
        let y_ticks = y.ticks(|_| LINE);
        let left = y_ticks.iter().map(|t| width_of(&t.1)).max().unwrap_or(0) + 10;
        let right = width - 14;
        let edges = bins()
            .flat_map(|bin| bin.0)
            .chain(limits.iter().map(|limit| limit.at));
        let x = Axis::new(&self.x, edges, [left, right]);
        picture(width, bottom + 2 * LINE + 8, |canvas| {
            canvas.legend(&keys, 0)?;
            canvas.text(
                &self.y,
                (0, legend_height(&keys, width) + LINE / 2),
                Ink::Muted,
                Align::Left,
            )?;
            for (value, label) in &y_ticks {
                canvas.line((left, y.at(*value)), (right, y.at(*value)), Ink::Grid, 1)?;
                canvas.text(label, (left - 8, y.at(*value)), Ink::Muted, Align::Right)?;
            }
            for (value, label) in x.ticks(width_of) {
                let at = x.at(value);
                canvas.line((at, bottom), (at, bottom + 4), Ink::Muted, 1)?;
                canvas.text(&label, (at, bottom + 13), Ink::Muted, Align::Centre)?;
            }
            // The first is drawn last: what passed lies above what was rejected.
            for outline in all.iter().rev() {
                for &([low, high], share) in &outline.bins {
                    let corner = (x.at(high), bottom);
                    canvas.block((x.at(low), y.at(share)), corner, outline.ink, 0.14)?;
                }
            }
            for outline in all.iter().rev() {
                let mut last = bottom;
                for &([low, high], share) in &outline.bins {
                    let (from, to, height) = (x.at(low), x.at(high), y.at(share));
                    canvas.line((from, last), (from, height), outline.ink, 2)?;
                    canvas.line((from, height), (to, height), outline.ink, 2)?;
                    last = height;
                }
                if let Some(&([_, high], _)) = outline.bins.last() {
                    canvas.line((x.at(high), last), (x.at(high), bottom), outline.ink, 2)?;
                }
            }
            canvas.line((left, bottom), (right, bottom), Ink::Muted, 1)?;
            canvas.text(
                &self.x.label,
                ((left + right) / 2, bottom + LINE + 15),
                Ink::Muted,
                Align::Centre,
            )?;
            let height = |row: usize| top - (limits.len() - row) as i32 * LINE + LINE / 2 - 2;
            for (row, limit) in limits.iter().enumerate() {
                let at = x.at(limit.at);
                canvas.line((at, height(row) + LINE / 2), (at, bottom), limit.ink, 2)?;
            }
            for (row, limit) in limits.iter().enumerate() {
                let half = width_of(&limit.label) / 2;
                let at = x.at(limit.at);
                let centre = at.clamp(half.min(width / 2), (width - half).max(width / 2));
                canvas.label(&limit.label, (centre, height(row)), limit.ink)?;
            }
            Ok(())
        })
    }
}

impl Outline {
    fn key(&self) -> Key {
        Key {
            label: self.label.clone(),
            ink: self.ink,
            mark: Mark::Bar,
        }
    }
}
