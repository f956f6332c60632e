//! Tables on standard output: at most 100 columns, no colour, ready to paste.

mod bootstrap;
mod budget;
mod comparison;
mod configuration;
mod cost;
mod libraries;
mod overview;
mod paired;
mod parameters;
mod plan;

pub use bootstrap::bootstrap;
pub use budget::budget;
pub use comparison::comparison;
pub use configuration::configuration;
pub use cost::cost;
pub use libraries::{libraries, library};
pub use overview::overview;
pub use paired::paired;
pub use parameters::parameters;
pub use plan::plan;
