//! The writer of a converted document: blocks are opened, filled with text and closed, and come out as
//! plain text or Markdown.
//!
//! Both readers call it as they meet the parts of a document. Blocks may be nested in any way, because
//! those of HTML are: what does not fit is treated as text. Nothing recurses, so the depth of a
//! document costs no stack.

use unicode_width::UnicodeWidthStr;

use super::super::render::{EscapeContext, RenderOptions, longest_backtick_run};
use super::DocumentStyle;
use super::inline::{InlineBuilder, InlineMark};
use super::table::DocumentTable;
use mcp_attune_wire::text::{content_lines, is_deceptive};

/// How deep lists are nested. Lists, their items and quotations are containers, of which at most twice
/// as many are open; a level of a list takes two and a quotation one. Deeper content is written at the
/// depth that was reached.
const MAX_DEPTH: usize = 12;

/// A block that other blocks stand in, and that puts a prefix before their lines.
enum ContainerBlock {
    /// A quotation: `> ` stands before each line.
    Quote,
    /// A list, with the number of its next item, or `None` if it has bullets. It has no prefix itself.
    List(Option<u64>),
    /// An item of a list. Its first line begins with the marker, further lines with as many blanks.
    Item {
        /// `- `, or a number such as `3. `.
        marker: String,
        /// Whether the marker is on the page already.
        written: bool,
    },
}

/// A page that is being written.
///
/// Text goes to the preformatted text that is open, or else to `inline`, which becomes a heading, a
/// table cell or a paragraph, whatever is open. A paragraph needs no call to begin.
pub(super) struct DocumentWriter {
    /// The output format.
    style: DocumentStyle,
    /// The blocks that are complete.
    out: String,
    /// The text of the paragraph, heading or cell that is open.
    inline: InlineBuilder,
    /// The containers that are open, the outermost first.
    containers: Vec<ContainerBlock>,
    /// How many containers were opened but not entered, because they were too deep or inside of a table
    /// cell. They have to be closed before an entered one can be.
    too_deep: usize,
    /// Whether the last block stands in a list, so that the next item follows without a blank line.
    listed: bool,
    /// How many of the open containers the last block stands in too. A blank line between two blocks
    /// continues the quotations among them.
    shared: usize,
    /// The level of the heading that is open, from 1.
    heading: Option<usize>,
    /// The preformatted text that is open, as it came.
    preformatted: Option<String>,
    /// The table that is open.
    table: Option<DocumentTable>,
}

impl DocumentWriter {
    /// Makes an empty page.
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

    /// Returns whether the page is larger than [`RenderOptions::MAX_PAGE_BYTES`]. Nothing more is
    /// written then, and readers stop.
    ///
    /// Only complete blocks count, and a block is written whole; so a page may exceed the limit by its
    /// last block, with the prefixes of its lines.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > RenderOptions::MAX_PAGE_BYTES
    }

    /// Closes what is open, and returns the page. A page that was full ends with `…`.
    pub(super) fn finish(mut self) -> String {
        self.close_preformatted();
        self.close_table();
        self.end_paragraph();
        if self.is_full() {
            self.out.push_str("\n…");
        }
        self.out.trim_end().to_owned()
    }

    /// Adds text to what is open: preformatted text as it is, everything else with its white space
    /// collapsed. References must be decoded before.
    pub(super) fn text(&mut self, text: &str) {
        match &mut self.preformatted {
            Some(open) => open.push_str(text),
            None => self.inline.text(text),
        }
    }

    /// Breaks the line inside of a paragraph. In a table cell, which has one line, it is a blank.
    pub(super) fn line_break(&mut self) {
        let in_cell = self.in_cell();
        match &mut self.preformatted {
            Some(open) => open.push('\n'),
            None if in_cell => self.inline.text(" "),
            None => self.inline.line_break(),
        }
    }

    /// Begins or ends bold, italic or struck text. Preformatted text has no marks.
    pub(super) fn mark(&mut self, mark: InlineMark, on: bool) {
        if self.preformatted.is_none() {
            self.inline.mark(mark, on);
        }
    }

    /// Begins or ends code within a line. Inside of preformatted text it changes nothing.
    pub(super) fn code(&mut self, open: bool) {
        match (open, self.preformatted.is_some()) {
            (_, true) => {}
            (true, false) => self.inline.open_code(),
            (false, false) => self.inline.close_code(),
        }
    }

    /// Begins a link. If its address would run something, its text is written without a link.
    pub(super) fn open_link(&mut self, address: &str) {
        if self.preformatted.is_none() {
            self.inline.open_link(safe_address(address));
        }
    }

    /// Ends the link that is open, if any.
    pub(super) fn close_link(&mut self) {
        self.inline.close_link();
    }

    /// Adds an image by its description. Plain text shows the description alone; an image without one
    /// does not appear.
    pub(super) fn image(&mut self, alt: &str, address: &str) {
        match &mut self.preformatted {
            Some(open) => open.push_str(alt),
            None => self.inline.image(alt, safe_address(address)),
        }
    }

    /// Writes the paragraph or the heading that is open. Does nothing if it has no text, or inside of
    /// preformatted text; in a table cell, which is one line, it adds a blank.
    ///
    /// Methods that begin or end a block call it first, so that text stays in the block that it came
    /// in.
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

    /// Begins a heading of this level, from 1.
    pub(super) fn open_heading(&mut self, level: usize) {
        self.end_paragraph();
        self.heading = Some(level);
    }

    /// Writes the heading that is open, and continues with paragraphs.
    pub(super) fn close_heading(&mut self) {
        self.end_paragraph();
        self.heading = None;
    }

    /// Writes the heading. In plain text the first two levels are underlined, by at most 200
    /// characters; others are lines of their own.
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

    /// Writes a line across the page, unless it would be the first thing on it, or in a cell or
    /// preformatted text.
    pub(super) fn rule(&mut self) {
        self.end_paragraph();
        if !self.in_cell() && self.preformatted.is_none() && !self.out.is_empty() {
            self.write_block("---");
        }
    }

    /// Begins a quotation, which [`leave`](Self::leave) ends.
    pub(super) fn open_quote(&mut self) {
        self.enter(ContainerBlock::Quote);
    }

    /// Begins a list, which [`leave`](Self::leave) ends. It is numbered from `start`, or has bullets if
    /// that is `None`.
    pub(super) fn open_list(&mut self, start: Option<u64>) {
        self.enter(ContainerBlock::List(start));
    }

    /// Begins an item, which [`leave`](Self::leave) ends. Outside of a list it has a bullet.
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

    /// Opens a container, or counts it as too deep.
    fn enter(&mut self, container: ContainerBlock) {
        self.end_paragraph();
        if self.containers.len() < 2 * MAX_DEPTH && !self.in_cell() && self.too_deep == 0 {
            self.containers.push(container);
        } else {
            self.too_deep += 1;
        }
    }

    /// Closes the list, item or quotation that was opened last. Calls must be balanced with those that
    /// open.
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

    /// Begins preformatted text. In a table cell, which is one line, it stays ordinary text.
    pub(super) fn open_preformatted(&mut self) {
        self.end_paragraph();
        if !self.in_cell() {
            self.preformatted.get_or_insert_default();
        }
    }

    /// Writes the preformatted text that is open: as it is in plain text, and in Markdown between
    /// fences that are longer than any run of backticks in it.
    pub(super) fn close_preformatted(&mut self) {
        let Some(text) = self.preformatted.take() else { return };
        let text = content_lines(text.into());
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

    /// Begins a table. Inside of another one, its cells become text of the cell that is open.
    pub(super) fn open_table(&mut self) {
        self.end_paragraph();
        match &mut self.table {
            Some(table) => table.nested += 1,
            None => self.table = Some(DocumentTable::default()),
        }
    }

    /// Writes the table, or ends the one inside of a cell.
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

    /// Begins a row of the table. Outside of a table, it ends the paragraph.
    pub(super) fn open_row(&mut self) {
        self.close_cell();
        self.end_paragraph();
        if let Some(table) = self.table.as_mut().filter(|table| table.nested == 0) {
            table.open_row();
        }
    }

    /// Begins a cell, and closes the one before it. Text between the beginning of the table and its
    /// first cell is the caption, and becomes a paragraph. Outside of a table, or in a nested one, a
    /// cell is a blank before its text.
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

    /// Ends the cell that is open, if it belongs to the outermost table.
    pub(super) fn close_cell(&mut self) {
        if let Some(table) = self.table.as_mut().filter(|table| table.in_cell && table.nested == 0) {
            let text = self.inline.take(self.style, EscapeContext::Cell);
            table.close_cell(&text);
        }
    }

    fn in_cell(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.in_cell)
    }

    /// Writes the lines of a block, each behind the prefixes of the containers that it stands in.
    ///
    /// A blank line comes before it, unless it begins an item of a list and either the last block
    /// stands in a list too or the item is nested. The block is dropped if the page is full.
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

    /// Returns the innermost item of a list that is open.
    fn innermost_item(&self) -> Option<&ContainerBlock> {
        self.containers.iter().rev().find(|it| matches!(it, ContainerBlock::Item { .. }))
    }

    /// Returns the prefix of a blank line between the last block and the next, which continues their
    /// common quotations.
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

/// Returns the address of a link or an image as browsers read it, without white space around it and
/// without control characters and others that cannot be seen. `None` if it is empty, longer than [`MAX_ADDRESS_CHARS`], or would run
/// something: `javascript:`, `vbscript:` and `data:`.
///
/// Addresses with any other scheme are kept, and so are relative ones.
fn safe_address(address: &str) -> Option<String> {
    // What cannot be seen in an address could make it look like another. Trimmed last, because it could hide a blank.
    let address: String =
        address.chars().filter(|char| !is_deceptive(*char)).take(MAX_ADDRESS_CHARS + 1).collect();
    let address = address.trim().to_owned();
    if address.is_empty() || address.chars().count() > MAX_ADDRESS_CHARS {
        return None;
    }
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
    let runs = ["javascript", "vbscript", "data"].iter().any(|bad| scheme.eq_ignore_ascii_case(bad));
    (!runs).then_some(address)
}

/// The longest address in characters. A link with a longer one is text without a link.
const MAX_ADDRESS_CHARS: usize = 4096;
