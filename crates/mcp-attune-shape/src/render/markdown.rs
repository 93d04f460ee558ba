//! The writer for Markdown: CommonMark, and the tables that GitHub added to it.
//!
//! All text of the data goes through [`escape`] with the context that it stands in, so that it reads as
//! it is and nothing of it acts. Only links and code are marked up.

use super::block::{BlockWriter, InlineSpan, PageBlock};
use super::escape::{EscapeContext, escape, longest_backtick_run, write_code_span};

/// The kind of the block that was written last, which decides whether a blank line stands before the
/// next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastMarkdownBlock {
    /// The page is empty.
    Nothing,
    /// An entry, or code inside of a list. Entries follow each other without blank lines and so are one
    /// list.
    Entry,
    /// Anything else; a blank line follows.
    Other,
}

/// A page of Markdown that blocks are appended to.
pub(super) struct MarkdownBlockWriter {
    /// The page so far.
    out: String,
    /// The kind of the last block.
    last: LastMarkdownBlock,
}

impl MarkdownBlockWriter {
    /// Makes an empty page with memory for so many bytes.
    pub(super) fn new(room: usize) -> Self {
        Self { out: String::with_capacity(room), last: LastMarkdownBlock::Nothing }
    }

    /// Begins a block of this kind: writes the blank line before it, if there is one.
    fn begin(&mut self, kind: LastMarkdownBlock) {
        if self.last != LastMarkdownBlock::Nothing
            && !(kind == LastMarkdownBlock::Entry && self.last == LastMarkdownBlock::Entry)
        {
            self.out.push('\n');
        }
        self.last = kind;
    }

    /// Writes a value in this context. A link is an autolink, `<https://…>`; [`InlineSpan::Link`] is
    /// only made of addresses that hold nothing which could end it.
    fn inline(&mut self, value: &InlineSpan<'_>, place: EscapeContext) {
        match value {
            InlineSpan::Text(text) => escape(text, place, &mut self.out),
            InlineSpan::Code(text) => write_code_span(text, place, &mut self.out),
            InlineSpan::Link(address) => {
                self.out.push('<');
                self.out.push_str(address);
                self.out.push('>');
            }
        }
    }

    fn indent(&mut self, depth: usize) {
        (0..depth).for_each(|_| self.out.push_str("  "));
    }

    /// Writes an entry as `- **Label:** value — note`, or as `- value` without a label, indented by two
    /// blanks for each level. Lines of a value that has several hang below it.
    fn entry(
        &mut self,
        depth: usize,
        label: Option<&str>,
        value: Option<&InlineSpan<'_>>,
        note: Option<&str>,
    ) {
        self.begin(LastMarkdownBlock::Entry);
        self.indent(depth);
        self.out.push_str("- ");
        if let Some(label) = label {
            self.out.push_str("**");
            escape(label, EscapeContext::Label, &mut self.out);
            self.out.push_str(":**");
        }
        match value {
            Some(InlineSpan::Text(text)) if text.trim().contains('\n') => {
                self.hanging_lines(depth, label.is_some(), text);
            }
            Some(value) => {
                if label.is_some() {
                    self.out.push(' ');
                }
                self.inline(
                    value,
                    if label.is_some() { EscapeContext::Within } else { EscapeContext::Start },
                );
            }
            None => {}
        }
        if let Some(note) = note {
            self.out.push_str(" — ");
            escape(note, EscapeContext::Within, &mut self.out);
        }
        self.out.push('\n');
    }

    /// Writes the lines of a value below its entry, each ended by a hard line break. `below` is whether
    /// the first line comes below a label too, rather than behind the bullet. Blank lines are left out.
    fn hanging_lines(&mut self, depth: usize, below: bool, text: &str) {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for (at, line) in lines.enumerate() {
            if at > 0 || below {
                self.out.push_str("  \n");
                self.indent(depth + 1);
            }
            escape(line, EscapeContext::Line, &mut self.out);
        }
    }

    /// Writes a paragraph of prose. Single line breaks become hard ones, and blank lines separate
    /// paragraphs.
    fn lines(&mut self, text: &str) {
        self.begin(LastMarkdownBlock::Other);
        let place = if text.trim().contains('\n') { EscapeContext::Line } else { EscapeContext::Start };
        let (mut open, mut closed) = (false, false);
        for line in text.lines().map(str::trim) {
            if line.is_empty() {
                closed |= open;
                open = false;
                continue;
            }
            if open {
                self.out.push_str("  \n");
            } else if closed {
                self.out.push_str("\n\n");
            }
            escape(line, place, &mut self.out);
            (open, closed) = (true, false);
        }
        self.out.push('\n');
    }

    /// Writes a fenced code block, with a fence that is longer than any run of backticks in the text.
    fn code(&mut self, depth: usize, text: &str) {
        // Inside of a list the blank line would end nothing, and looks torn.
        self.begin(if depth > 0 { LastMarkdownBlock::Entry } else { LastMarkdownBlock::Other });
        let fence = "`".repeat(longest_backtick_run(text).max(2) + 1);
        for line in [&*fence].into_iter().chain(text.trim_matches('\n').lines()).chain([&*fence]) {
            self.indent(depth);
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    /// Returns the page without the line breaks at its end.
    pub(super) fn finish(mut self) -> String {
        self.out.truncate(self.out.trim_end_matches('\n').len());
        self.out
    }
}

impl BlockWriter for MarkdownBlockWriter {
    fn put(&mut self, block: &PageBlock<'_>) {
        match *block {
            PageBlock::Heading { level, text } => {
                self.begin(LastMarkdownBlock::Other);
                (0..level).for_each(|_| self.out.push('#'));
                self.out.push(' ');
                escape(text, EscapeContext::Heading, &mut self.out);
                self.out.push('\n');
            }
            PageBlock::Entry { depth, label, value, note } => self.entry(depth, label, value, note),
            PageBlock::Lines(text) => self.lines(text),
            PageBlock::Code { depth, text } => self.code(depth, text),
            PageBlock::Head(columns) => {
                self.begin(LastMarkdownBlock::Other);
                for column in columns {
                    self.out.push_str("| ");
                    escape(column.label, EscapeContext::Cell, &mut self.out);
                    self.out.push(' ');
                }
                self.out.push_str("|\n");
                for column in columns {
                    self.out.push_str(if column.numbers { "|---:" } else { "|---" });
                }
                self.out.push_str("|\n");
            }
            PageBlock::Row(cells) => {
                for cell in cells {
                    self.out.push_str("| ");
                    self.inline(cell, EscapeContext::Cell);
                    self.out.push(' ');
                }
                self.out.push_str("|\n");
            }
            PageBlock::End => {}
        }
    }

    fn len(&self) -> usize {
        self.out.len()
    }
}
