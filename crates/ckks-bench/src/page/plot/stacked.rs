//! Bars of parts that add up.

use super::axis::{Axis, Unit};
use super::canvas::{Align, Key, LINE, fitted, legend_height, picture, width_of};
use super::figure::NARROW;
use super::ink::Ink;
use crate::page::error::PageError;

/// A bar of parts.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    pub(crate) label: String,
    /// The sum, in words.
    pub(crate) total: String,
    pub(crate) parts: Vec<(Ink, f64)>,
}

/// Draws the parts as shares of their sum, one bar for each stack.
pub(crate) fn stacked(stacks: &[Stack], keys: &[Key], width: i32) -> Result<String, PageError> {
    let narrow = width <= NARROW;
    let labels = stacks.iter().map(|stack| width_of(&stack.label)).max();
    let totals = stacks.iter().map(|stack| width_of(&stack.total)).max();
    let left = if narrow {
        8
    } else {
        labels.unwrap_or(0).min(260) + 14
    };
    let right = width - totals.unwrap_or(0) - 10;
    let axis = Axis::linear([1.0 / 1.04].into_iter(), Unit::Share, [left, right]);
    let pitch = if narrow { 2 * LINE + 2 } else { LINE + 5 };
    let top = legend_height(keys, width);
    let bottom = top + stacks.len() as i32 * pitch + 4;
    picture(width, bottom + LINE + 6, |canvas| {
        canvas.legend(keys, 0)?;
        for (value, label) in axis.ticks(width_of) {
            let x = axis.at(value);
            canvas.line((x, top), (x, bottom), Ink::Grid, 1)?;
            canvas.text(&label, (x, bottom + 11), Ink::Muted, Align::Centre)?;
        }
        for (row, stack) in stacks.iter().enumerate() {
            let above = top + row as i32 * pitch;
            let middle = if narrow {
                let label = fitted(&stack.label, width);
                canvas.text(&label, (8, above + 12), Ink::Muted, Align::Left)?;
                above + LINE + 8
            } else {
                let label = fitted(&stack.label, left - 14);
                canvas.text(
                    &label,
                    (left - 8, above + pitch / 2),
                    Ink::Text,
                    Align::Right,
                )?;
                above + pitch / 2
            };
            let sum: f64 = stack.parts.iter().map(|part| part.1).sum();
            let mut before = 0.0;
            for &(ink, part) in &stack.parts {
                let from = axis.at(before / sum);
                before += part;
                let to = axis.at(before / sum);
                if to > from {
                    canvas.block((from, middle - 8), (to, middle + 8), ink, 1.0)?;
                    canvas.line((to, middle - 8), (to, middle + 8), Ink::Surface, 1)?;
                }
            }
            canvas.text(&stack.total, (right + 8, middle), Ink::Text, Align::Left)?;
        }
        Ok(())
    })
}
