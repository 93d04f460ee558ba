//! A table of a document, collected row by row until it is complete and its number of columns is known.

use super::DocumentStyle;

/// How many columns a table has at most. The text of further cells is joined to the last one, so that
/// nothing is lost.
const MAX_COLUMNS: usize = 100;

/// A table that is being read. Its cells are written in their style already, each on one line.
#[derive(Default)]
pub(super) struct DocumentTable {
    /// The rows so far, the last of which may be open.
    rows: Vec<Vec<String>>,
    /// Whether a cell is open, so that text belongs to it.
    pub(super) in_cell: bool,
    /// How many tables are open inside of a cell. Their text is text of that cell.
    pub(super) nested: usize,
}

impl DocumentTable {
    /// Begins a row, unless the last one has no cell yet.
    pub(super) fn open_row(&mut self) {
        // A row without cells is none.
        if self.rows.last().is_none_or(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
    }

    /// Begins a cell, and a row if there is none.
    pub(super) fn open_cell(&mut self) {
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        self.in_cell = true;
    }

    /// Ends the cell with its text, whose line breaks become blanks.
    pub(super) fn close_cell(&mut self, text: &str) {
        self.in_cell = false;
        let Some(row) = self.rows.last_mut() else { return };
        if row.len() < MAX_COLUMNS {
            row.push(text.replace('\n', " "));
        } else if let Some(last) = row.last_mut() {
            last.push(' ');
            last.push_str(&text.replace('\n', " "));
        }
    }

    /// Returns the blocks that the table is written as: one block with all rows, or a paragraph for
    /// each cell if there is only one column, as in tables that are there for the layout.
    ///
    /// Rows without text are left out. In Markdown the first row is the heading, padded to the number
    /// of columns; shorter rows below need no padding.
    pub(super) fn finish(self, style: DocumentStyle) -> Vec<String> {
        let filled = |row: &Vec<String>| row.iter().any(|cell| !cell.is_empty());
        let rows: Vec<_> = self.rows.into_iter().filter(filled).collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns < 2 {
            return rows.into_iter().flatten().filter(|cell| !cell.is_empty()).collect();
        }
        let mut out = String::new();
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            match style {
                DocumentStyle::Text => out.push_str(&row.join(" | ")),
                DocumentStyle::Markdown => {
                    // The first row says how many columns there are; the others may be shorter.
                    let missing = if at == 0 { columns - row.len() } else { 0 };
                    out.push_str("| ");
                    out.push_str(&row.join(" | "));
                    out.push_str(&" | ".repeat(missing));
                    out.push_str(" |");
                    if at == 0 {
                        out.push_str("\n|");
                        out.push_str(&"---|".repeat(columns));
                    }
                }
            }
        }
        vec![out]
    }
}
