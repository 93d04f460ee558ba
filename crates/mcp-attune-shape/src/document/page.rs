//! A page that is written block by block, as plain text or as Markdown.

use unicode_width::UnicodeWidthStr;

use super::super::render::{EscapeContext, RenderOptions, cleaned, longest_backtick_run};
use super::DocumentStyle;
use super::inline::{InlineBuilder, InlineMark};
use super::table::DocumentTable;

/// How deep lists go. Quotations may add as many levels again; what is deeper is written at that depth.
const MAX_DEPTH: usize = 12;

/// What a block stands in.
enum ContainerBlock {
    Quote,
    /// A list, with the number of the next item where they are numbered.
    List(Option<u64>),
    /// An item with what marks it, which is written once.
    Item {
        marker: String,
        written: bool,
    },
}

/// A page that is being written.
pub(super) struct DocumentWriter {
    style: DocumentStyle,
    out: String,
    inline: InlineBuilder,
    containers: Vec<ContainerBlock>,
    /// Containers that were not entered because they were too deep.
    too_deep: usize,
    /// Whether the last block stands in a list.
    listed: bool,
    /// How many of the containers the last block stands in as well.
    shared: usize,
    /// The level of the heading that is open.
    heading: Option<usize>,
    /// Preformatted text that is open.
    preformatted: Option<String>,
    table: Option<DocumentTable>,
}

impl DocumentWriter {
    pub(super) fn new(style: DocumentStyle) -> Self {
        Self {
            style,
            out: String::new(),
            inline: InlineBuilder::new(),
            containers: Vec::new(),
            too_deep: 0,
            listed: false,
            shared: 0,
            heading: None,
            preformatted: None,
            table: None,
        }
    }

    /// Whether there is no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > RenderOptions::MAX_PAGE_BYTES
    }

    pub(super) fn finish(mut self) -> String {
        self.close_preformatted();
        self.close_table();
        self.end_paragraph();
        if self.is_full() {
            self.out.push_str("\n…");
        }
        self.out.trim_end().to_owned()
    }

    /// Adds text to the paragraph, heading, cell or preformatted text that is open.
    pub(super) fn text(&mut self, text: &str) {
        match &mut self.preformatted {
            Some(open) => open.push_str(text),
            None => self.inline.text(text),
        }
    }

    pub(super) fn line_break(&mut self) {
        let in_cell = self.in_cell();
        match &mut self.preformatted {
            Some(open) => open.push('\n'),
            None if in_cell => self.inline.text(" "),
            None => self.inline.line_break(),
        }
    }

    pub(super) fn mark(&mut self, mark: InlineMark, on: bool) {
        if self.preformatted.is_none() {
            self.inline.mark(mark, on);
        }
    }

    pub(super) fn code(&mut self, open: bool) {
        match (open, self.preformatted.is_some()) {
            (_, true) => {}
            (true, false) => self.inline.open_code(),
            (false, false) => self.inline.close_code(),
        }
    }

    pub(super) fn open_link(&mut self, address: &str) {
        if self.preformatted.is_none() {
            self.inline.open_link(safe_address(address));
        }
    }

    pub(super) fn close_link(&mut self) {
        self.inline.close_link();
    }

    pub(super) fn image(&mut self, alt: &str, address: &str) {
        match &mut self.preformatted {
            Some(open) => open.push_str(alt),
            None => self.inline.image(alt, safe_address(address)),
        }
    }

    /// Ends the paragraph that is open, if any. In a cell everything is one line.
    pub(super) fn end_paragraph(&mut self) {
        if self.preformatted.is_some() {
            return;
        }
        if self.in_cell() {
            self.inline.text(" ");
            return;
        }
        if self.inline.is_empty() {
            return;
        }
        match self.heading {
            Some(level) => self.write_heading(level),
            None => {
                let text = self.inline.take(self.style, EscapeContext::Start);
                self.write_block(&text);
            }
        }
    }

    pub(super) fn open_heading(&mut self, level: usize) {
        self.end_paragraph();
        self.heading = Some(level);
    }

    pub(super) fn close_heading(&mut self) {
        self.end_paragraph();
        self.heading = None;
    }

    fn write_heading(&mut self, level: usize) {
        let text = self.inline.take(self.style, EscapeContext::Heading);
        let text = match (self.style, level) {
            (DocumentStyle::Markdown, _) => format!("{} {text}", "#".repeat(level.clamp(1, 6))),
            (DocumentStyle::Text, 1 | 2) => {
                let line = if level == 1 { "=" } else { "-" };
                let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(1);
                format!("{text}\n{}", line.repeat(widest.min(200)))
            }
            (DocumentStyle::Text, _) => text,
        };
        self.write_block(&text);
    }

    /// A line across.
    pub(super) fn rule(&mut self) {
        self.end_paragraph();
        if !self.in_cell() && self.preformatted.is_none() && !self.out.is_empty() {
            self.write_block("---");
        }
    }

    pub(super) fn open_quote(&mut self) {
        self.enter(ContainerBlock::Quote);
    }

    /// Opens a list, numbered from a number or not at all.
    pub(super) fn open_list(&mut self, start: Option<u64>) {
        self.enter(ContainerBlock::List(start));
    }

    pub(super) fn open_item(&mut self) {
        let number = self.containers.last_mut().and_then(|container| match container {
            ContainerBlock::List(number) => number.as_mut(),
            _ => None,
        });
        let marker = match number {
            Some(number) => {
                // Nine digits are the most that Markdown takes for a number.
                let marker = format!("{}. ", (*number).min(999_999_999));
                *number = number.saturating_add(1);
                marker
            }
            None => "- ".to_owned(),
        };
        self.enter(ContainerBlock::Item { marker, written: false });
    }

    fn enter(&mut self, container: ContainerBlock) {
        self.end_paragraph();
        if self.containers.len() < 2 * MAX_DEPTH && !self.in_cell() && self.too_deep == 0 {
            self.containers.push(container);
        } else {
            self.too_deep += 1;
        }
    }

    /// Closes the list, item or quotation that was opened last.
    pub(super) fn leave(&mut self) {
        self.end_paragraph();
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        self.containers.pop();
        self.shared = self.shared.min(self.containers.len());
        if !self.containers.iter().any(|container| matches!(container, ContainerBlock::List(_))) {
            self.listed = false;
        }
    }

    pub(super) fn open_preformatted(&mut self) {
        self.end_paragraph();
        if !self.in_cell() {
            self.preformatted.get_or_insert_default();
        }
    }

    pub(super) fn close_preformatted(&mut self) {
        let Some(text) = self.preformatted.take() else { return };
        let text = cleaned(text.into());
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim().is_empty() {
            return;
        }
        match self.style {
            DocumentStyle::Text => self.write_block(text),
            DocumentStyle::Markdown => {
                let fence = "`".repeat(longest_backtick_run(text).max(2) + 1);
                self.write_block(&format!("{fence}\n{text}\n{fence}"));
            }
        }
    }

    /// Opens a table. One inside a cell is text in that cell.
    pub(super) fn open_table(&mut self) {
        self.end_paragraph();
        match &mut self.table {
            Some(table) => table.nested += 1,
            None => self.table = Some(DocumentTable::default()),
        }
    }

    pub(super) fn close_table(&mut self) {
        match &mut self.table {
            None => return,
            Some(table) if table.nested > 0 => {
                table.nested -= 1;
                self.inline.text(" ");
                return;
            }
            Some(_) => self.close_cell(),
        }
        let Some(table) = self.table.take() else { return };
        self.end_paragraph();
        for block in table.finish(self.style) {
            self.write_block(&block);
        }
    }

    /// Begins a row; outside a table, a line.
    pub(super) fn open_row(&mut self) {
        self.close_cell();
        self.end_paragraph();
        if let Some(table) = self.table.as_mut().filter(|table| table.nested == 0) {
            table.open_row();
        }
    }

    pub(super) fn open_cell(&mut self) {
        self.close_cell();
        if self.table.as_ref().is_none_or(|table| table.nested > 0) {
            self.inline.text(" ");
            return;
        }
        // What stands before the cells is the caption.
        self.end_paragraph();
        if let Some(table) = &mut self.table {
            table.open_cell();
        }
    }

    pub(super) fn close_cell(&mut self) {
        if let Some(table) = self.table.as_mut().filter(|table| table.in_cell && table.nested == 0) {
            let text = self.inline.take(self.style, EscapeContext::Cell);
            table.close_cell(&text);
        }
    }

    fn in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.in_cell)
    }

    /// Writes the lines of a block, each behind what marks the containers that it stands in.
    fn write_block(&mut self, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let begins = matches!(self.innermost_item(), Some(ContainerBlock::Item { written: false, .. }));
        let items = self.containers.iter().filter(|it| matches!(it, ContainerBlock::Item { .. })).count();
        let tight = begins && (self.listed || items > 1);
        if !self.out.is_empty() {
            self.out.push('\n');
            if !tight {
                let quotes = self.quote_prefix();
                self.out.push_str(quotes.trim_end());
                self.out.push('\n');
            }
        }
        for (at, line) in text.lines().enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            let begin = self.out.len();
            for container in &mut self.containers {
                match container {
                    ContainerBlock::Quote => self.out.push_str("> "),
                    ContainerBlock::List(_) => {}
                    ContainerBlock::Item { marker, written: true } => {
                        self.out.extend(std::iter::repeat_n(' ', marker.len()));
                    }
                    ContainerBlock::Item { marker, written } => {
                        self.out.push_str(marker);
                        *written = true;
                    }
                }
            }
            self.out.push_str(line);
            if line.is_empty() {
                let end = self.out.trim_end_matches(' ').len().max(begin);
                self.out.truncate(end);
            }
        }
        self.listed = items > 0;
        self.shared = self.containers.len();
    }

    fn innermost_item(&self) -> Option<&ContainerBlock> {
        self.containers.iter().rev().find(|it| matches!(it, ContainerBlock::Item { .. }))
    }

    /// What marks an empty line inside the quotations that go on.
    fn quote_prefix(&self) -> String {
        let mut out = String::new();
        for container in self.containers.iter().take(self.shared) {
            match container {
                ContainerBlock::Quote => out.push_str("> "),
                ContainerBlock::Item { marker, written: true } => {
                    out.extend(std::iter::repeat_n(' ', marker.len()));
                }
                _ => {}
            }
        }
        out
    }
}

/// An address as browsers read it; none where it would run something, or is none.
fn safe_address(address: &str) -> Option<String> {
    let address: String =
        address.trim().chars().filter(|char| !char.is_control()).take(MAX_ADDRESS_CHARS + 1).collect();
    if address.is_empty() || address.chars().count() > MAX_ADDRESS_CHARS {
        return None;
    }
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
    let runs = ["javascript", "vbscript", "data"].iter().any(|bad| scheme.eq_ignore_ascii_case(bad));
    (!runs).then_some(address)
}

/// The most characters of an address.
const MAX_ADDRESS_CHARS: usize = 4096;
