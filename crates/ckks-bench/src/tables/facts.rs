//! Names with a sentence each, in two columns.

use super::{WIDTH, text};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Least width of the names, with a blank on either side.
const NAME_WIDTH: u16 = 16;

/// The facts, long ones wrapped under themselves.
pub(crate) fn facts<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
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
