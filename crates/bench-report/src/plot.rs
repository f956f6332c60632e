//! Plots.
//!
//! A plot is a struct of what it shows; its `figure` draws it twice, wide and for phones, with a
//! title and a description for those who do not see it.

mod axis;
mod bars;
mod canvas;
mod figure;
mod histogram;
mod ink;
mod lines;
mod marker;
mod png;
mod scale;
mod shares;

pub use bars::{Bar, BarGroup, BarPlot};
pub use figure::Figure;
pub use histogram::{HistogramPlot, Outline};
pub use ink::Ink;
pub use lines::{Line, LinePlot};
pub use marker::Marker;
pub use scale::{Scale, Spread};
pub use shares::{Part, SharePlot, Stack};

pub(crate) use ink::css;
pub(crate) use png::png;
