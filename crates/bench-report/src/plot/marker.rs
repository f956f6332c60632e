//! Vertical lines.

use super::ink::Ink;

/// A vertical line with a label above the plot.
#[derive(Clone, PartialEq, Debug)]
pub struct Marker {
    /// Where, in units of the horizontal axis.
    pub at: f64,
    /// What is there.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
}
