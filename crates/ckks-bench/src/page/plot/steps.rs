//! Outlines of histograms over a logarithmic axis of errors, with the gate.

use super::axis::{Axis, Unit};
use super::canvas::{Align, Key, LINE, legend_height, picture, width_of};
use super::figure::NARROW;
use super::ink::Ink;
use super::lines::Marker;
use crate::page::error::PageError;

/// Shares of outputs in bins.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    pub(crate) ink: Ink,
    /// Edges of each bin and its share of all outputs, ascending; without empty bins at the ends.
    pub(crate) bins: Vec<([f64; 2], f64)>,
}

/// Draws the outlines.
pub(crate) fn steps(
    all: &[Steps],
    gates: &[Marker],
    keys: &[Key],
    width: i32,
) -> Result<String, PageError> {
    let narrow = width <= NARROW;
    let top = legend_height(keys, width) + LINE + gates.len() as i32 * LINE + 4;
    let bottom = top + if narrow { 170 } else { 200 };
    let bins = || all.iter().flat_map(|steps| &steps.bins);
    let y = Axis::linear(bins().map(|bin| bin.1), Unit::Share, [bottom, top]);
    let y_ticks = y.ticks(|_| LINE);
    let left = y_ticks.iter().map(|t| width_of(&t.1)).max().unwrap_or(0) + 10;
    let right = width - 14;
    let edges = bins()
        .flat_map(|bin| bin.0)
        .chain(gates.iter().map(|gate| gate.at));
    let x = Axis::log(edges, Unit::Error, [left, right]);
    picture(width, bottom + 2 * LINE + 8, |canvas| {
        canvas.legend(keys, 0)?;
        canvas.text(
            "share of outputs",
            (0, legend_height(keys, width) + LINE / 2),
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
        for steps in all.iter().rev() {
            for &([low, high], share) in &steps.bins {
                let corner = (x.at(high), bottom);
                canvas.block((x.at(low), y.at(share)), corner, steps.ink, 0.14)?;
            }
        }
        for steps in all.iter().rev() {
            let mut last = bottom;
            for &([low, high], share) in &steps.bins {
                let (from, to, height) = (x.at(low), x.at(high), y.at(share));
                canvas.line((from, last), (from, height), steps.ink, 2)?;
                canvas.line((from, height), (to, height), steps.ink, 2)?;
                last = height;
            }
            if let Some(&([_, high], _)) = steps.bins.last() {
                canvas.line((x.at(high), last), (x.at(high), bottom), steps.ink, 2)?;
            }
        }
        canvas.line((left, bottom), (right, bottom), Ink::Muted, 1)?;
        canvas.text(
            "absolute error of an output",
            ((left + right) / 2, bottom + LINE + 15),
            Ink::Muted,
            Align::Centre,
        )?;
        let height = |row: usize| top - (gates.len() - row) as i32 * LINE + LINE / 2 - 2;
        for (row, gate) in gates.iter().enumerate() {
            let at = x.at(gate.at);
            canvas.line((at, height(row) + LINE / 2), (at, bottom), gate.ink, 2)?;
        }
        for (row, gate) in gates.iter().enumerate() {
            let half = width_of(&gate.label) / 2;
            let at = x.at(gate.at);
            let centre = at.clamp(half.min(width / 2), (width - half).max(width / 2));
            canvas.label(&gate.label, (centre, height(row)), gate.ink)?;
        }
        Ok(())
    })
}
