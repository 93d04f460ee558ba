//! A page that is written block by block, as plain text or as Markdown.

use unicode_width::UnicodeWidthStr;

use super::super::render::{EscapeContext, Rendering, cleaned, longest};
use super::Style;
use super::inline::{Inline, Mark};
use super::table::Table;

/// How deep lists and quotations go. What is deeper is written at this depth.
const MAX_DEPTH: usize = 12;

/// What a block stands in.
enum Container {
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
pub(super) struct Page {
    style: Style,
    out: String,
    inline: Inline,
    containers: Vec<Container>,
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
    table: Option<Table>,
}

impl Page {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            out: String::new(),
            inline: Inline::new(),
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
        self.out.len() > Rendering::ROOM
    }

    pub(super) fn finish(mut self) -> String {
        self.close_preformatted();
        self.close_table();
        self.paragraph();
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

    pub(super) fn mark(&mut self, mark: Mark, on: bool) {
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
            self.inline.open_link(address_of(address));
        }
    }

    pub(super) fn close_link(&mut self) {
        self.inline.close_link();
    }

    pub(super) fn image(&mut self, alt: &str, address: &str) {
        match &mut self.preformatted {
            Some(open) => open.push_str(alt),
            None => self.inline.image(alt, address_of(address)),
        }
    }

    /// Ends the paragraph that is open, if any. In a cell everything is one line.
    pub(super) fn paragraph(&mut self) {
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
                self.block(&text);
            }
        }
    }

    pub(super) fn open_heading(&mut self, level: usize) {
        self.paragraph();
        self.heading = Some(level);
    }

    pub(super) fn close_heading(&mut self) {
        self.paragraph();
        self.heading = None;
    }

    fn write_heading(&mut self, level: usize) {
        let text = self.inline.take(self.style, EscapeContext::Heading);
        let text = match (self.style, level) {
            (Style::Markdown, _) => format!("{} {text}", "#".repeat(level.clamp(1, 6))),
            (Style::Text, 1 | 2) => {
                let line = if level == 1 { "=" } else { "-" };
                let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(1);
                format!("{text}\n{}", line.repeat(widest.min(200)))
            }
            (Style::Text, _) => text,
        };
        self.block(&text);
    }

    /// A line across.
    pub(super) fn rule(&mut self) {
        self.paragraph();
        if !self.in_cell() && self.preformatted.is_none() && !self.out.is_empty() {
            self.block("---");
        }
    }

    pub(super) fn open_quote(&mut self) {
        self.enter(Container::Quote);
    }

    /// Opens a list, numbered from a number or not at all.
    pub(super) fn open_list(&mut self, start: Option<u64>) {
        self.enter(Container::List(start));
    }

    pub(super) fn open_item(&mut self) {
        let number = self.containers.last_mut().and_then(|container| match container {
            Container::List(number) => number.as_mut(),
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
        self.enter(Container::Item { marker, written: false });
    }

    fn enter(&mut self, container: Container) {
        self.paragraph();
        if self.containers.len() < 2 * MAX_DEPTH && !self.in_cell() && self.too_deep == 0 {
            self.containers.push(container);
        } else {
            self.too_deep += 1;
        }
    }

    /// Closes the list, item or quotation that was opened last.
    pub(super) fn leave(&mut self) {
        self.paragraph();
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        self.containers.pop();
        self.shared = self.shared.min(self.containers.len());
        if !self.containers.iter().any(|container| matches!(container, Container::List(_))) {
            self.listed = false;
        }
    }

    pub(super) fn open_preformatted(&mut self) {
        self.paragraph();
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
            Style::Text => self.block(text),
            Style::Markdown => {
                let fence = "`".repeat(longest(text).max(2) + 1);
                self.block(&format!("{fence}\n{text}\n{fence}"));
            }
        }
    }

    /// Opens a table. One inside a cell is text in that cell.
    pub(super) fn open_table(&mut self) {
        self.paragraph();
        match &mut self.table {
            Some(table) => table.nested += 1,
            None => self.table = Some(Table::default()),
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
        self.paragraph();
        for block in table.finish(self.style) {
            self.block(&block);
        }
    }

    /// Begins a row; outside a table, a line.
    pub(super) fn open_row(&mut self) {
        self.close_cell();
        self.paragraph();
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
        self.paragraph();
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
    fn block(&mut self, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let begins = matches!(self.innermost_item(), Some(Container::Item { written: false, .. }));
        let items = self.containers.iter().filter(|it| matches!(it, Container::Item { .. })).count();
        let tight = begins && (self.listed || items > 1);
        if !self.out.is_empty() {
            self.out.push('\n');
            if !tight {
                let quotes = self.quotes();
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
                    Container::Quote => self.out.push_str("> "),
                    Container::List(_) => {}
                    Container::Item { marker, written: true } => {
                        self.out.extend(std::iter::repeat_n(' ', marker.len()));
                    }
                    Container::Item { marker, written } => {
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

    fn innermost_item(&self) -> Option<&Container> {
        self.containers.iter().rev().find(|it| matches!(it, Container::Item { .. }))
    }

    /// What marks an empty line inside the quotations that go on.
    fn quotes(&self) -> String {
        let mut out = String::new();
        for container in self.containers.iter().take(self.shared) {
            match container {
                Container::Quote => out.push_str("> "),
                Container::Item { marker, written: true } => {
                    out.extend(std::iter::repeat_n(' ', marker.len()));
                }
                _ => {}
            }
        }
        out
    }
}

/// An address as browsers read it; none where it would run something, or is none.
fn address_of(address: &str) -> Option<String> {
    let address: String =
        address.trim().chars().filter(|char| !char.is_control()).take(MAX_ADDRESS + 1).collect();
    if address.is_empty() || address.chars().count() > MAX_ADDRESS {
        return None;
    }
    let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
    let runs = ["javascript", "vbscript", "data"].iter().any(|bad| scheme.eq_ignore_ascii_case(bad));
    (!runs).then_some(address)
}

/// The most characters of an address.
const MAX_ADDRESS: usize = 4096;
