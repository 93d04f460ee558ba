//! The writer for plain text: headings underlined, tables in aligned columns, and no markup.
//!
//! It is meant for terminals and for voices, which would print or speak markup as it is. Nothing is
//! escaped, because nothing in plain text acts.

use unicode_width::UnicodeWidthStr;

use super::block::{BlockWriter, InlineSpan, PageBlock};
use super::clean::one_line;

/// The kind of the block that was written last, which decides whether a blank line stands before the
/// next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastTextBlock {
    /// The page is empty.
    Nothing,
    /// A heading below the first level, which its content follows without a blank line.
    Heading,
    /// An entry, or code inside of a list. Entries follow each other without blank lines.
    Entry,
    /// Anything else, the title of the page included; a blank line follows.
    Other,
}

/// A page of plain text that blocks are appended to.
pub(super) struct TextBlockWriter {
    /// The page so far, without the table that is being buffered.
    out: String,
    /// The kind of the last block.
    last: LastTextBlock,
    /// The table that is open; empty between tables.
    table: BufferedTable,
}

/// A table whose rows are held until its end, because only then the widths of its columns are known.
#[derive(Default)]
struct BufferedTable {
    /// The texts of all cells one after another, headings first.
    cells: String,
    /// For each cell the offset in `cells` where it ends, and its width in columns of a terminal.
    ends: Vec<(u32, u32)>,
    /// The columns; there are as many cells to a row.
    columns: Vec<TextColumn>,
}

/// One column of a buffered table.
struct TextColumn {
    /// Width of its widest cell so far, in columns of a terminal.
    width: usize,
    /// Whether it is aligned to the right.
    numbers: bool,
}

impl TextBlockWriter {
    /// Makes an empty page with memory for so many bytes.
    pub(super) fn new(room: usize) -> Self {
        Self {
            out: String::with_capacity(room),
            last: LastTextBlock::Nothing,
            table: BufferedTable::default(),
        }
    }

    /// Begins a block of this kind: writes the blank line before it, if there is one.
    fn begin(&mut self, kind: LastTextBlock) {
        let tight = self.last == LastTextBlock::Heading
            || kind == LastTextBlock::Entry && self.last == LastTextBlock::Entry;
        if self.last != LastTextBlock::Nothing && !tight {
            self.out.push('\n');
        }
        self.last = kind;
    }

    /// Writes a heading: underlined with `=` or `-` at the first two levels, and with a colon behind it
    /// at deeper ones.
    fn heading(&mut self, level: usize, text: &str) {
        if self.last != LastTextBlock::Nothing {
            self.out.push('\n');
        }
        let text = one_line(text);
        self.out.push_str(&text);
        let line = match level {
            1 => "=",
            2 => "-",
            _ => "",
        };
        if line.is_empty() && !text.ends_with(':') {
            self.out.push(':');
        }
        self.out.push('\n');
        if !line.is_empty() {
            (0..width(&text).max(1)).for_each(|_| self.out.push_str(line));
            self.out.push('\n');
        }
        self.last = if level == 1 { LastTextBlock::Other } else { LastTextBlock::Heading };
    }

    /// Writes an entry as `Label: value — note`, or as `- value` without a label, indented by two
    /// blanks for each level. A value of several lines goes below its label, without its blank lines.
    fn entry(
        &mut self,
        depth: usize,
        label: Option<&str>,
        value: Option<&InlineSpan<'_>>,
        note: Option<&str>,
    ) {
        self.begin(LastTextBlock::Entry);
        pad(&mut self.out, 2 * depth);
        match label {
            Some(label) => {
                self.out.push_str(&one_line(label));
                self.out.push(':');
            }
            None => self.out.push('-'),
        }
        match value.map(InlineSpan::as_str) {
            Some(text) if text.trim().contains('\n') => {
                for (at, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
                    if at == 0 && label.is_none() {
                        self.out.push(' ');
                    } else {
                        self.out.push('\n');
                        pad(&mut self.out, 2 * (depth + 1));
                    }
                    self.out.push_str(line.trim());
                }
            }
            Some(text) => {
                self.out.push(' ');
                self.out.push_str(text.trim());
            }
            None => {}
        }
        if let Some(note) = note {
            self.out.push_str(" — ");
            self.out.push_str(note);
        }
        self.out.push('\n');
    }

    /// Returns the page without the line breaks at its end.
    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end_matches('\n').len());
        self.out
    }

    /// Writes lines as they are, without blanks at their ends, indented by two blanks for each level.
    fn lines(&mut self, depth: usize, text: &str) {
        self.begin(if depth > 0 { LastTextBlock::Entry } else { LastTextBlock::Other });
        for line in text.trim_matches('\n').lines() {
            pad(&mut self.out, 2 * depth);
            self.out.push_str(line.trim_end());
            self.out.push('\n');
        }
    }

    /// Writes the table that was buffered, and leaves an empty one. The line of headings and the rule
    /// below it are left out if all headings are empty.
    fn table(&mut self) {
        let BufferedTable { cells, ends, columns } = std::mem::take(&mut self.table);
        let mut texts = ends.iter().scan(0, |start, (end, width)| {
            let whole = |short: u32| usize::try_from(short).unwrap_or(usize::MAX);
            let text = cells.get(*start..whole(*end)).unwrap_or_default();
            *start = whole(*end);
            Some((text, whole(*width)))
        });
        let many = ends.len().checked_div(columns.len()).unwrap_or_default();
        // A table without names begins with its first row.
        let named = ends.iter().take(columns.len()).any(|(end, _)| *end > 0);
        for row in 0..many {
            if row == 0 && !named {
                texts.by_ref().take(columns.len()).for_each(drop);
                continue;
            }
            line(&mut self.out, &columns, |_| texts.next().unwrap_or_default());
            if row == 0 && named {
                let rules: Vec<_> = columns.iter().map(|column| "-".repeat(column.width)).collect();
                line(&mut self.out, &columns, |at| rules.get(at).map_or(("", 0), |rule| (rule, rule.len())));
            }
        }
    }
}

/// Writes one line of a table, without blanks at its end. `cell` gives the text and the width of the
/// cell in each column, and is called once for each, in their order.
fn line<'t>(out: &mut String, columns: &[TextColumn], mut cell: impl FnMut(usize) -> (&'t str, usize)) {
    let start = out.len();
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            out.push_str("  ");
        }
        let (text, width) = cell(at);
        let room = column.width.saturating_sub(width);
        if column.numbers {
            pad(out, room);
        }
        out.push_str(text);
        if !column.numbers && at + 1 < columns.len() {
            pad(out, room);
        }
    }
    let end = out.get(start..).map_or(0, |line| line.trim_end_matches(' ').len());
    out.truncate(start + end);
    out.push('\n');
}

fn pad(out: &mut String, blanks: usize) {
    (0..blanks).for_each(|_| out.push(' '));
}

/// Returns how many columns of a terminal a text takes, in which many East Asian characters take two.
fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

impl BufferedTable {
    /// Appends a cell on one line, and widens its column if needed. Cells must come row by row.
    fn cell(&mut self, at: usize, text: &str) {
        let text = one_line(text);
        self.cells.push_str(&text);
        let width = width(&text);
        let short = |long: usize| u32::try_from(long).unwrap_or(u32::MAX);
        self.ends.push((short(self.cells.len()), short(width)));
        if let Some(column) = self.columns.get_mut(at) {
            column.width = column.width.max(width);
        }
    }

    /// Estimates the bytes that the table will take, the blanks that pad its cells included.
    fn len(&self) -> usize {
        let row: usize = self.columns.iter().map(|column| column.width + 2).sum();
        let rows = self.ends.len().checked_div(self.columns.len()).unwrap_or_default();
        self.cells.len().max(row * rows)
    }
}

impl BlockWriter for TextBlockWriter {
    fn put(&mut self, block: &PageBlock<'_>) {
        match *block {
            PageBlock::Heading { level, text } => self.heading(level, text),
            PageBlock::Entry { depth, label, value, note } => self.entry(depth, label, value, note),
            PageBlock::Lines(text) => self.lines(0, text),
            PageBlock::Code { depth, text } => self.lines(depth, text),
            PageBlock::Head(columns) => {
                self.begin(LastTextBlock::Other);
                self.table.columns =
                    columns.iter().map(|column| TextColumn { width: 0, numbers: column.numbers }).collect();
                columns.iter().enumerate().for_each(|(at, column)| self.table.cell(at, column.label));
            }
            PageBlock::Row(cells) => {
                cells.iter().enumerate().for_each(|(at, cell)| self.table.cell(at, cell.as_str()));
            }
            PageBlock::End => self.table(),
        }
    }

    fn len(&self) -> usize {
        self.out.len() + self.table.len()
    }
}
