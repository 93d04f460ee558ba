//! The text of one paragraph, heading or cell, with what is marked in it.

use std::borrow::Cow;

use super::super::render::{EscapeContext, cleaned, escape, write_code_span};
use super::DocumentStyle;

/// A mark on a part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InlineMark {
    Bold,
    Italic,
    Struck,
}

impl InlineMark {
    const ALL: [Self; 3] = [Self::Bold, Self::Italic, Self::Struck];

    fn sign(self) -> &'static str {
        match self {
            Self::Bold => "**",
            Self::Italic => "*",
            Self::Struck => "~~",
        }
    }
}

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
enum InlineRun {
    Text(String),
    Code(String),
    Image {
        alt: String,
        address: Option<String>,
    },
    On(InlineMark),
    Off(InlineMark),
    Link,
    /// The end of a link, with its address.
    Unlink(String),
    Break,
}

/// A text that is being put together: white space in it counts as one space.
#[derive(Default, Debug)]
pub(super) struct InlineBuilder {
    runs: Vec<InlineRun>,
    /// Whether there is anything to read.
    readable: bool,
    /// Whether it ends with white space, or has not begun.
    blank: bool,
    /// Code in the line, where it is open.
    code: Option<String>,
    marks: [usize; 3],
    link: Option<String>,
}

impl InlineBuilder {
    pub(super) fn new() -> Self {
        Self { blank: true, ..Self::default() }
    }

    /// Whether there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        !self.readable && self.code.as_ref().is_none_or(|code| code.trim().is_empty())
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) {
        let text = cleaned(Cow::Borrowed(text));
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

    pub(super) fn open_code(&mut self) {
        self.code.get_or_insert_default();
    }

    pub(super) fn close_code(&mut self) {
        if let Some(code) = self.code.take()
            && !code.trim().is_empty()
        {
            self.readable = true;
            self.runs.push(InlineRun::Code(code));
        }
    }

    pub(super) fn open_link(&mut self, address: Option<String>) {
        self.close_link();
        if let Some(address) = address.filter(|_| self.code.is_none()) {
            self.link = Some(address);
            self.runs.push(InlineRun::Link);
        }
    }

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

    pub(super) fn image(&mut self, alt: &str, address: Option<String>) {
        let alt = cleaned(Cow::Borrowed(alt)).split_whitespace().collect::<Vec<_>>().join(" ");
        if self.code.is_some() || alt.is_empty() {
            return;
        }
        (self.readable, self.blank) = (true, false);
        self.runs.push(InlineRun::Image { alt, address });
    }

    pub(super) fn line_break(&mut self) {
        if self.code.is_none() && self.readable {
            self.runs.push(InlineRun::Break);
            self.blank = true;
        }
    }

    /// The text as it is written, and a new one that goes on with the marks and the link that are open.
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

/// As plain text.
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

/// As Markdown.
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

struct InlineMarkdownWriter {
    out: String,
    /// Signs that open before the next letter.
    pending: Vec<&'static str>,
    /// Whether a line begins.
    begins: bool,
    /// Whether a link is open.
    linked: bool,
    place: EscapeContext,
}

impl InlineMarkdownWriter {
    /// Writes what opens here.
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

    /// Closes a sign before the white space at the end, or takes it back where nothing came between.
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

/// A text between the brackets of a link or an image, where every bracket counts.
fn label(text: &str, out: &mut String) {
    for char in text.trim().chars() {
        if matches!(char, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '&' | '~' | '|') {
            out.push('\\');
        }
        out.push(char);
    }
}

/// The rest of a link or an image. What would end the address is written by its number.
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
