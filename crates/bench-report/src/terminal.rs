//! Tables on standard output: at most 100 columns, no colour, ready to paste.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Columns of a terminal that every table fits into, short cells provided.
pub const WIDTH: u16 = 100;
/// Least width of the names, with a blank on either side.
const NAME_WIDTH: u16 = 16;

/// A Markdown table whose columns after the first are numbers, aligned to the right. Its cells are
/// short and stay on one line.
#[must_use]
pub fn numbers(header: &[&str]) -> Table {
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
#[must_use]
pub fn words(header: &[&str]) -> Table {
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
#[must_use]
pub fn text(table: &Table) -> String {
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

/// The facts, long ones wrapped under themselves.
pub fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    let mut width = NAME_WIDTH;
    for (name, fact) in rows {
        let needed = u16::try_from(name.chars().count() + 2).unwrap_or(WIDTH);
        width = width.max(needed.min(WIDTH / 2));
        table.add_row([name.to_owned(), fact]);
    }
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
    }
    if table.is_empty() {
        String::new()
    } else {
        text(&table)
    }
}
