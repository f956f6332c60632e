//! The plots of the page.

mod axis;
mod bars;
mod canvas;
mod figure;
mod ink;
mod lines;
mod png;
mod stacked;
mod steps;

pub(crate) use axis::{Spread, short};
pub(crate) use bars::{Bar, Group, bars, spread};
pub(crate) use canvas::{Key, Mark};
pub use figure::Figure;
pub(crate) use ink::{Ink, PARTS, css};
pub(crate) use lines::{Line, Marker, lines};
pub(crate) use png::png;
pub(crate) use stacked::{Stack, stacked};
pub(crate) use steps::{Steps, steps};
