//! The page as Markdown, without the plots.

use crate::page::Page;
use crate::table::Table;

impl Page {
    /// The sentences and tables. Plots are not there: their numbers are in the tables.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n", text(&self.title));
        if let Some(status) = &self.status {
            out.push_str(&format!("\n**{}**\n", text(&status.text)));
        }
        if !self.partial.is_empty() {
            out.push('\n');
        }
        for line in &self.partial {
            out.push_str(&format!("* {}\n", text(line)));
        }
        for section in &self.sections {
            out.push_str(&format!("\n## {}\n", text(&section.title)));
            for note in &section.notes {
                out.push_str(&format!("\n{}\n", text(note)));
            }
            for table in &section.tables {
                out.push_str(&format!("\n**{}**\n\n", text(&table.caption)));
                rows(table, &mut out);
            }
        }
        out
    }
}

fn rows(table: &Table, out: &mut String) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(table.columns.iter().map(|c| text(&c.name)).collect()));
    let rule = |numeric: bool| if numeric { "---:" } else { "---" }.to_owned();
    out.push_str(&line(
        table.columns.iter().map(|c| rule(c.numeric)).collect(),
    ));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(|cell| text(&cell.text)).collect()));
    }
}

/// Text that Markdown shows as it is, on one line.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn markdown_shows_text_as_it_is() {
        assert_eq!(text("a|b\n<script>"), "a\\|b &lt;script&gt;");
        assert_eq!(text("log2(QP) *x*"), "log2(QP) \\*x\\*");
    }
}
