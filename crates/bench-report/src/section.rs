//! A part of a page.

use crate::plot::Figure;
use crate::table::Table;
use serde::Serialize;

/// A part of a page: sentences, plots, tables, in this order.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Name in addresses: letters, digits, hyphens; no other part of the page has it.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Sentences before the plots.
    pub notes: Vec<String>,
    /// Plots.
    pub figures: Vec<Figure>,
    /// Tables; they should hold every number of the plots, which Markdown has not got.
    pub tables: Vec<Table>,
}

impl Section {
    /// An empty part; of the name only letters and digits are kept.
    #[must_use]
    pub fn new(id: &str, title: impl Into<String>) -> Section {
        Section {
            id: slug(id),
            title: title.into(),
            notes: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Adds the table if it has rows.
    pub fn table(&mut self, table: Table) {
        if !table.rows.is_empty() {
            self.tables.push(table);
        }
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.figures.is_empty() && self.tables.is_empty()
    }
}

/// A text as part of an address: lower-case letters, digits, single hyphens.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn addresses_have_letters_digits_and_hyphens() {
        assert_eq!(slug("Throughput, 2048x1024"), "throughput-2048x1024");
        assert_eq!(slug("../a b/é?"), "a-b");
        assert_eq!(slug("throughput-2048x1024"), "throughput-2048x1024");
        assert_eq!(slug("–"), "");
    }
}
