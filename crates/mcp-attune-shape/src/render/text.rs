//! Blocks as plain text: headings underlined, tables in columns, and no markup.

use unicode_width::UnicodeWidthStr;

use super::block::{BlockWriter, InlineSpan, PageBlock};
use super::clean::one_line;

/// What stood last, which says what stands between.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastTextBlock {
    Nothing,
    Heading,
    Entry,
    Other,
}

pub(super) struct TextBlockWriter {
    out: String,
    last: LastTextBlock,
    table: BufferedTable,
}

/// A table is held until its end: only then the width of its columns is known.
#[derive(Default)]
struct BufferedTable {
    cells: String,
    /// Where each cell ends, and how wide it is.
    ends: Vec<(u32, u32)>,
    columns: Vec<TextColumn>,
}

struct TextColumn {
    width: usize,
    numbers: bool,
}

impl TextBlockWriter {
    pub(super) fn new(room: usize) -> Self {
        Self {
            out: String::with_capacity(room),
            last: LastTextBlock::Nothing,
            table: BufferedTable::default(),
        }
    }

    fn begin(&mut self, kind: LastTextBlock) {
        let tight = self.last == LastTextBlock::Heading
            || kind == LastTextBlock::Entry && self.last == LastTextBlock::Entry;
        if self.last != LastTextBlock::Nothing && !tight {
            self.out.push('\n');
        }
        self.last = kind;
    }

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

    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end_matches('\n').len());
        self.out
    }

    fn lines(&mut self, depth: usize, text: &str) {
        self.begin(if depth > 0 { LastTextBlock::Entry } else { LastTextBlock::Other });
        for line in text.trim_matches('\n').lines() {
            pad(&mut self.out, 2 * depth);
            self.out.push_str(line.trim_end());
            self.out.push('\n');
        }
    }

    /// Writes the table that was held, and lets it go.
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

/// One line of a table, of cells and their widths, without blanks at its end.
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

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

impl BufferedTable {
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

    /// How many bytes it comes to, blanks included.
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
