//! Bars of parts that add up.

use super::axis::Axis;
use super::canvas::{Align, Key, LINE, Mark, fitted, legend_height, picture, width_of};
use super::figure::{Figure, NARROW};
use super::ink::Ink;
use crate::error::ReportError;
use crate::units::Unit;

/// Parts as shares of their sum, a bar for each stack.
#[derive(Clone, Debug)]
pub struct SharePlot {
    /// From top to bottom.
    pub stacks: Vec<Stack>,
}

/// A bar of parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack {
    /// Beside the bar; on phones above it.
    pub label: String,
    /// The sum, in words.
    pub total: String,
    /// From left to right.
    pub parts: Vec<Part>,
}

/// A part of a bar.
#[derive(Clone, PartialEq, Debug)]
pub struct Part {
    /// Its name in the legend.
    pub label: String,
    /// Its colour: that of every part of this name.
    pub ink: Ink,
    /// How much it is, not negative, in the unit of the others.
    pub value: f64,
}

impl SharePlot {
    /// The names of the parts, each once, in the order of the legend.
    #[must_use]
    pub fn part_labels(&self) -> Vec<String> {
        self.keys().into_iter().map(|key| key.label).collect()
    }

    /// Draws the bars.
    ///
    /// `id` is the name in addresses and of the picture's file, of which letters and digits are
    /// kept; no other plot of the page has it.
    ///
    /// # Errors
    /// [`ReportError::Draw`].
    pub fn figure(&self, id: &str, title: &str, description: &str) -> Result<Figure, ReportError> {
        Figure::draw(id, title, description, |width| self.svg(width))
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for part in self.stacks.iter().flat_map(|stack| &stack.parts) {
            if !keys.iter().any(|key| key.label == part.label) {
                keys.push(Key {
                    label: part.label.clone(),
                    ink: part.ink,
                    mark: Mark::Bar,
                });
            }
        }
        keys
    }

    fn svg(&self, width: i32) -> Result<String, ReportError> {
        let (stacks, keys) = (&self.stacks, self.keys());
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
        let top = legend_height(&keys, width);
        let bottom = top + stacks.len() as i32 * pitch + 4;
        picture(width, bottom + LINE + 6, |canvas| {
            canvas.legend(&keys, 0)?;
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
                let sum: f64 = stack.parts.iter().map(|part| part.value).sum();
                let mut before = 0.0;
                for part in &stack.parts {
                    let from = axis.at(before / sum);
                    before += part.value;
                    let to = axis.at(before / sum);
                    if to > from {
                        canvas.block((from, middle - 8), (to, middle + 8), part.ink, 1.0)?;
                        canvas.line((to, middle - 8), (to, middle + 8), Ink::Surface, 1)?;
                    }
                }
                canvas.text(&stack.total, (right + 8, middle), Ink::Text, Align::Left)?;
            }
            Ok(())
        })
    }
}
