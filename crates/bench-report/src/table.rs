//! Tables of a page: what people read, and the exact value behind it.

use serde::Serialize;

/// A cell.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Cell {
    /// For people: rounded, with a unit.
    pub text: String,
    /// The value as in the JSON, in base units; `None` for words.
    pub value: Option<String>,
}

impl Cell {
    /// Words.
    #[must_use]
    pub fn words(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            value: None,
        }
    }

    /// A number with its exact value. [`ToString`] of a float gives all the digits that it takes
    /// to read the same float again.
    #[must_use]
    pub fn exact(text: impl Into<String>, value: impl ToString) -> Cell {
        Cell {
            text: text.into(),
            value: Some(value.to_string()),
        }
    }

    /// Nothing to show.
    #[must_use]
    pub fn missing() -> Cell {
        Cell::words("–")
    }

    /// A number that may be missing.
    #[must_use]
    pub fn of<T: ToString + Copy>(value: Option<T>, text: impl Fn(T) -> String) -> Cell {
        value.map_or_else(Cell::missing, |value| Cell::exact(text(value), value))
    }
}

/// A table with a caption.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// Names and values, without heads of columns.
    pub facts: bool,
    /// As many cells in each row as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// The head of a column.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Aligned to the right.
    pub numeric: bool,
    /// Sentences, which may take several lines.
    pub long: bool,
}

impl Table {
    /// An empty table; the names of columns of numbers start with `#`, those of sentences with `~`.
    #[must_use]
    pub fn new(caption: impl Into<String>, columns: &[&str]) -> Table {
        Table {
            caption: caption.into(),
            facts: false,
            columns: columns
                .iter()
                .map(|name| Column {
                    name: name.trim_start_matches(['#', '~']).to_owned(),
                    numeric: name.starts_with('#'),
                    long: name.starts_with('~'),
                })
                .collect(),
            rows: Vec::new(),
        }
    }

    /// An empty table of names and values.
    #[must_use]
    pub fn facts(caption: impl Into<String>) -> Table {
        Table {
            facts: true,
            ..Table::new(caption, &["", "value"])
        }
    }

    /// Adds a name with its value.
    pub fn fact(&mut self, name: impl Into<String>, value: Cell) {
        self.push(vec![Cell::words(name), value]);
    }

    /// Adds a row; missing cells are filled up, cells beyond the last column are left out.
    pub fn push(&mut self, mut row: Vec<Cell>) {
        row.resize_with(self.columns.len(), Cell::missing);
        self.rows.push(row);
    }
}
