//! Tables on standard output: at most 100 columns, no colour, ready to paste.

use comfy_table::{ContentArrangement, Table, presets};

const WIDTH: u16 = 100;

/// A Markdown table of words, broken to a width for reading.
pub(crate) fn words(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_MARKDOWN)
        .set_header(header.iter().copied())
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table
}

/// The table without trailing blanks, with a line end.
pub(crate) fn text(table: &Table) -> String {
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}
