//! What an axis shows.

use crate::units::Unit;

/// How values are spread over an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// From zero.
    Linear,
    /// By the logarithm; only positive values have a place.
    Log,
}

/// What an axis shows, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scale {
    /// What the values are.
    pub label: String,
    /// How they are written.
    pub unit: Unit,
    /// How they are spread.
    pub spread: Spread,
}

impl Scale {
    /// From zero to a little above the largest value.
    #[must_use]
    pub fn linear(label: impl Into<String>, unit: Unit) -> Scale {
        Scale {
            label: label.into(),
            unit,
            spread: Spread::Linear,
        }
    }

    /// Around the positive values, by their logarithm.
    #[must_use]
    pub fn log(label: impl Into<String>, unit: Unit) -> Scale {
        Scale {
            spread: Spread::Log,
            ..Scale::linear(label, unit)
        }
    }
}
