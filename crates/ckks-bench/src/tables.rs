//! Tables on standard output: at most 100 columns, no colour, ready to paste.

mod bootstrap;
mod budget;
mod comparison;
mod configuration;
mod cost;
mod facts;
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
pub(crate) use facts::facts;
pub use libraries::{libraries, library};
pub use overview::overview;
pub use paired::paired;
pub use parameters::parameters;
pub use plan::plan;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

const WIDTH: u16 = 100;

/// A Markdown table whose columns after the first are numbers, aligned to the right. Its cells are
/// short and stay on one line.
pub(crate) fn numbers(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A Markdown table of words, broken to a width for reading.
fn words(header: &[&str]) -> Table {
    let mut table = numbers(header);
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    table
}

/// The table without trailing blanks, with a line end.
pub(crate) fn text(table: &Table) -> String {
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}
