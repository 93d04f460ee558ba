//! The text of one paragraph, heading or table cell, with its marks, links and images.
//!
//! Text is first collected as a list of runs, and written when the block ends. Only then is it known
//! whether a link has a text or a mark any letters, and so whether they are written at all.

use std::borrow::Cow;

use super::super::render::{EscapeContext, escape, write_code_span};
use super::DocumentStyle;
use mcp_attune_wire::text::content_lines;

/// A kind of emphasis on a part of a text. Plain text has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InlineMark {
    /// Written as `**text**`.
    Bold,
    /// Written as `*text*`.
    Italic,
    /// Written as `~~text~~`, an extension of GitHub.
    Struck,
}

impl InlineMark {
    /// All kinds, in the order of `InlineBuilder::marks`.
    const ALL: [Self; 3] = [Self::Bold, Self::Italic, Self::Struck];

    /// Returns the characters that begin and end the mark in Markdown.
    fn sign(self) -> &'static str {
        match self {
            Self::Bold => "**",
            Self::Italic => "*",
            Self::Struck => "~~",
        }
    }
}

/// One part of a text. Marks and links begin and end with runs of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
enum InlineRun {
    /// Text without line breaks.
    Text(String),
    /// Code within the line.
    Code(String),
    /// An image.
    Image {
        /// Its description, which is not empty.
        alt: String,
        /// Its address; `None` if that would run something, and the description is text then.
        address: Option<String>,
    },
    /// Begins a mark.
    On(InlineMark),
    /// Ends a mark.
    Off(InlineMark),
    /// Begins a link. Links do not contain each other.
    Link,
    /// Ends the link, with its address.
    Unlink(String),
    /// A line break.
    Break,
}

/// A text that is being put together. Each run of white space becomes one blank, across runs too, and
/// there is none at the beginning or behind a line break.
#[derive(Default, Debug)]
pub(super) struct InlineBuilder {
    /// The parts so far.
    runs: Vec<InlineRun>,
    /// Whether there is anything to read: text that is not blank, code or an image.
    readable: bool,
    /// Whether the text ends with white space or is empty, so that further white space is dropped.
    blank: bool,
    /// The code that is open. Marks, links, images and line breaks inside of it are ignored.
    code: Option<String>,
    /// How often each mark is open. Only the outermost of equal marks is written.
    marks: [usize; 3],
    /// The address of the link that is open.
    link: Option<String>,
}

impl InlineBuilder {
    /// Makes an empty text.
    pub(super) fn new() -> Self {
        Self { blank: true, ..Self::default() }
    }

    /// Returns whether there is nothing to read, open code included.
    pub(super) fn is_empty(&self) -> bool {
        !self.readable && self.code.as_ref().is_none_or(|code| code.trim().is_empty())
    }

    /// Adds a text, cleaned of control characters and with its white space collapsed.
    pub(super) fn text(&mut self, text: &str) {
        let text = content_lines(Cow::Borrowed(text));
        let mut words = String::with_capacity(text.len());
        let mut blank = self.blank;
        for char in text.chars() {
            if matches!(char, ' ' | '\t' | '\n') {
                if !blank {
                    words.push(' ');
                }
                blank = true;
            } else {
                words.push(char);
                blank = false;
            }
        }
        self.blank = blank;
        if let Some(code) = &mut self.code {
            code.push_str(&words);
            return;
        }
        self.readable |= !words.trim().is_empty();
        match self.runs.last_mut() {
            Some(InlineRun::Text(before)) => before.push_str(&words),
            _ if words.is_empty() => {}
            _ => self.runs.push(InlineRun::Text(words)),
        }
    }

    /// Begins or ends a mark. Ending one that is not open does nothing.
    pub(super) fn mark(&mut self, mark: InlineMark, on: bool) {
        let Some(open) = InlineMark::ALL.iter().position(|one| *one == mark) else { return };
        let Some(count) = self.marks.get_mut(open).filter(|_| self.code.is_none()) else { return };
        match (on, *count) {
            (true, 0) => self.runs.push(InlineRun::On(mark)),
            (false, 1) => self.runs.push(InlineRun::Off(mark)),
            (false, 0) => return,
            _ => {}
        }
        *count = if on { *count + 1 } else { *count - 1 };
    }

    /// Begins code. Inside of code it does nothing.
    pub(super) fn open_code(&mut self) {
        self.code.get_or_insert_default();
    }

    /// Ends code, which is dropped if it is blank.
    pub(super) fn close_code(&mut self) {
        if let Some(code) = self.code.take()
            && !code.trim().is_empty()
        {
            self.readable = true;
            self.runs.push(InlineRun::Code(code));
        }
    }

    /// Begins a link, and ends the one that is open. Without an address, or inside of code, what
    /// follows is not linked.
    pub(super) fn open_link(&mut self, address: Option<String>) {
        self.close_link();
        if let Some(address) = address.filter(|_| self.code.is_none()) {
            self.link = Some(address);
            self.runs.push(InlineRun::Link);
        }
    }

    /// Ends the link that is open. A link without a text could not be seen, and is taken back.
    pub(super) fn close_link(&mut self) {
        let Some(address) = self.link.take() else { return };
        // A link without a text would not be seen.
        let begin = self.runs.iter().rposition(|run| *run == InlineRun::Link);
        let said = |run: &InlineRun| match run {
            InlineRun::Text(text) | InlineRun::Code(text) | InlineRun::Image { alt: text, .. } => {
                !text.trim().is_empty()
            }
            _ => false,
        };
        match begin {
            Some(begin) if !self.runs.iter().skip(begin).any(said) => drop(self.runs.remove(begin)),
            _ => self.runs.push(InlineRun::Unlink(address)),
        }
    }

    /// Adds an image, unless it has no description.
    pub(super) fn image(&mut self, alt: &str, address: Option<String>) {
        let alt = content_lines(Cow::Borrowed(alt)).split_whitespace().collect::<Vec<_>>().join(" ");
        if self.code.is_some() || alt.is_empty() {
            return;
        }
        (self.readable, self.blank) = (true, false);
        self.runs.push(InlineRun::Image { alt, address });
    }

    /// Adds a line break, unless nothing was said yet.
    pub(super) fn line_break(&mut self) {
        if self.code.is_none() && self.readable {
            self.runs.push(InlineRun::Break);
            self.blank = true;
        }
    }

    /// Returns the text in the given style, and begins a new one, in which the marks and the code that
    /// are open continue.
    ///
    /// A link that is open continues only if this text has nothing to read:
    /// `<a><h3>Bern</h3><p>Old town</p></a>` links the heading and not the paragraph. `place` is where
    /// the text will stand, for escaping.
    pub(super) fn take(&mut self, style: DocumentStyle, place: EscapeContext) -> String {
        let mut next = Self::new();
        let link = self.link.clone();
        for (mark, count) in InlineMark::ALL.into_iter().zip(self.marks) {
            if count > 0 {
                self.runs.push(InlineRun::Off(mark));
                next.runs.push(InlineRun::On(mark));
            }
        }
        next.marks = self.marks;
        if self.code.is_some() {
            next.code = Some(String::new());
            self.close_code();
        }
        let readable = self.readable;
        self.close_link();
        // What was a link is one no longer; what had no text yet, still is.
        if let Some(address) = link.filter(|_| !readable) {
            next.open_link(Some(address));
        }
        let runs = std::mem::replace(self, next).runs;
        match style {
            DocumentStyle::Text => to_plain_text(&runs),
            DocumentStyle::Markdown => to_markdown(&runs, place),
        }
    }
}

/// Writes runs as plain text. The address of a link follows its text in brackets, unless it is the text
/// itself, or points into the document (`#top`).
fn to_plain_text(runs: &[InlineRun]) -> String {
    let mut out = String::new();
    let mut link = None;
    for run in runs {
        match run {
            InlineRun::Text(text) | InlineRun::Code(text) | InlineRun::Image { alt: text, .. } => {
                out.push_str(text);
            }
            InlineRun::Break => {
                out.truncate(out.trim_end().len());
                out.push('\n');
            }
            InlineRun::Link => link = Some(out.len()),
            InlineRun::Unlink(address) => {
                let said = link.take().and_then(|from| out.get(from..)).unwrap_or_default().trim();
                let same = said == address || address.strip_prefix("mailto:") == Some(said);
                if !same && !address.starts_with('#') {
                    let blank = out.len() - out.trim_end().len();
                    out.truncate(out.len() - blank);
                    out.push_str(" (");
                    out.push_str(address);
                    out.push(')');
                    if blank > 0 {
                        out.push(' ');
                    }
                }
            }
            InlineRun::On(_) | InlineRun::Off(_) => {}
        }
    }
    out.trim().to_owned()
}

/// Writes runs as Markdown, escaped for where they stand. Line breaks are a backslash at the end of the
/// line, and blanks in headings and tables, which have one line.
fn to_markdown(runs: &[InlineRun], place: EscapeContext) -> String {
    let mut out =
        InlineMarkdownWriter { out: String::new(), pending: Vec::new(), begins: true, linked: false, place };
    let lines = runs.contains(&InlineRun::Break);
    for run in runs {
        match run {
            InlineRun::Text(text) => out.text(text, lines),
            InlineRun::Code(text) => {
                out.open_pending();
                write_code_span(text.trim(), place, &mut out.out);
                out.begins = false;
            }
            InlineRun::Image { alt, address } => {
                out.open_pending();
                match address {
                    Some(address) => {
                        out.out.push_str("![");
                        label(alt, &mut out.out);
                        target(address, &mut out.out);
                    }
                    None => escape(alt, EscapeContext::Within, &mut out.out),
                }
                out.begins = false;
            }
            InlineRun::On(mark) => out.pending.push(mark.sign()),
            InlineRun::Off(mark) => out.close(mark.sign()),
            InlineRun::Link => out.pending.push("["),
            InlineRun::Unlink(address) => out.unlink(address),
            InlineRun::Break => {
                out.out.truncate(out.out.trim_end().len());
                // In a heading and in a table there is one line.
                let end =
                    if matches!(place, EscapeContext::Heading | EscapeContext::Cell) { " " } else { "\\\n" };
                out.out.push_str(end);
                out.begins = true;
            }
        }
    }
    // A break at the end would be a backslash that is seen.
    let text = out.out.trim();
    text.strip_suffix('\\')
        .filter(|_| runs.last() == Some(&InlineRun::Break))
        .unwrap_or(text)
        .trim_end()
        .to_owned()
}

/// Runs that are being written as Markdown.
struct InlineMarkdownWriter {
    /// What is written so far.
    out: String,
    /// Signs of marks and links that begin before the next letter. Markdown knows no mark with white
    /// space behind its opening sign, and a mark with nothing inside is dropped.
    pending: Vec<&'static str>,
    /// Whether a line begins here, so that text could begin a block and white space is dropped.
    begins: bool,
    /// Whether a link is open, in whose text every bracket has to be escaped.
    linked: bool,
    /// Where the text stands.
    place: EscapeContext,
}

impl InlineMarkdownWriter {
    /// Writes the signs that are pending. A `!` before a link is escaped, because it would make the
    /// link an image.
    fn open_pending(&mut self) {
        for sign in std::mem::take(&mut self.pending) {
            if sign == "[" {
                self.linked = true;
                if self.out.ends_with('!') {
                    // Else it would be an image.
                    self.out.insert(self.out.len() - 1, '\\');
                }
            }
            self.out.push_str(sign);
        }
    }

    /// Writes a text, with the pending signs between its leading blank and its first letter. `lines` is
    /// whether the text has line breaks, which makes more characters active at the beginning of a line.
    fn text(&mut self, text: &str, lines: bool) {
        if text.trim().is_empty() {
            if !self.begins {
                self.out.push(' ');
            }
            return;
        }
        if text.starts_with(' ') && !self.begins {
            self.out.push(' ');
        }
        if !self.pending.is_empty() {
            self.begins = false;
        }
        self.open_pending();
        let place = match self.place {
            EscapeContext::Start if self.begins && lines => EscapeContext::Line,
            EscapeContext::Start if self.begins => EscapeContext::Start,
            EscapeContext::Start => EscapeContext::Within,
            other => other,
        };
        if self.linked {
            label(text, &mut self.out);
        } else {
            escape(text, place, &mut self.out);
        }
        self.begins = false;
        if text.ends_with(' ') {
            self.out.push(' ');
        }
    }

    /// Ends a mark before the white space at the end, where Markdown recognizes it, or takes a mark
    /// back that nothing came after.
    fn close(&mut self, sign: &'static str) {
        if let Some(at) = self.pending.iter().rposition(|pending| *pending == sign) {
            self.pending.remove(at);
            return;
        }
        let blank = self.out.ends_with(' ');
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push_str(sign);
        if blank {
            self.out.push(' ');
        }
    }

    /// Ends a link with its address, before the white space at the end of its text.
    fn unlink(&mut self, address: &str) {
        self.linked = false;
        let blank = self.out.ends_with(' ');
        self.out.truncate(self.out.trim_end_matches(' ').len());
        target(address, &mut self.out);
        if blank {
            self.out.push(' ');
        }
    }
}

/// Writes the text of a link or the description of an image, with everything escaped that could be
/// markup there.
fn label(text: &str, out: &mut String) {
    for char in text.trim().chars() {
        if matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '&' | '~' | '|') {
            out.push('\\');
        }
        out.push(char);
    }
}

/// Writes the end of a link or an image, with its address. Characters that would end the address, or
/// act in a table, are percent-encoded, and `&` is escaped so that no character reference is read.
fn target(address: &str, out: &mut String) {
    out.push_str("](");
    for char in address.chars() {
        match char {
            ' ' => out.push_str("%20"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '|' => out.push_str("%7C"),
            '\\' => out.push_str("%5C"),
            '&' => out.push_str("\\&"),
            _ => out.push(char),
        }
    }
    out.push(')');
}
