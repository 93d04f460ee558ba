//! HTML onto a page: what each tag does.

use super::entity::decode;
use super::inline::InlineMark;
use super::page::DocumentWriter;
use super::token::{HtmlToken, HtmlTokenizer, attribute};

/// How many elements are remembered as open. What is deeper has no effect but for its text.
const MAX_OPEN_ELEMENTS: usize = 256;

/// Elements that hold nothing, and have no tag that closes them.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements whose content is not read: it is no text, or nobody sees it.
const UNREAD: [&str; 17] = [
    "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp", "template", "svg",
    "audio", "video", "canvas", "object", "datalist", "select", "map",
];

/// Elements that stand apart from what is before and after them.
const BLOCKS: [&str; 33] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "head",
    "header",
    "hgroup",
    "html",
    "legend",
    "main",
    "nav",
    "optgroup",
    "option",
    "p",
    "search",
    "section",
    "summary",
    "tbody",
    "tfoot",
    "thead",
];

/// An element that has to be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenElement {
    List,
    Item,
    Quote,
    Preformatted,
    Heading,
    Marked(InlineMark),
    Code,
    Link,
    Quotation,
    Table,
    Row,
    Cell,
}

impl OpenElement {
    /// How many there are.
    const COUNT: usize = 14;

    fn index(self) -> usize {
        match self {
            Self::List => 0,
            Self::Item => 1,
            Self::Quote => 2,
            Self::Preformatted => 3,
            Self::Heading => 4,
            Self::Marked(InlineMark::Bold) => 5,
            Self::Marked(InlineMark::Italic) => 6,
            Self::Marked(InlineMark::Struck) => 7,
            Self::Code => 8,
            Self::Link => 9,
            Self::Quotation => 10,
            Self::Table => 11,
            Self::Row => 12,
            Self::Cell => 13,
        }
    }

    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "ul" | "ol" | "menu" => Self::List,
            "li" => Self::Item,
            "blockquote" => Self::Quote,
            "pre" | "listing" => Self::Preformatted,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => Self::Heading,
            "b" | "strong" => Self::Marked(InlineMark::Bold),
            "i" | "em" => Self::Marked(InlineMark::Italic),
            "s" | "del" | "strike" => Self::Marked(InlineMark::Struck),
            "code" | "kbd" | "samp" | "tt" => Self::Code,
            "a" => Self::Link,
            "q" => Self::Quotation,
            "table" => Self::Table,
            "tr" => Self::Row,
            "td" | "th" => Self::Cell,
            _ => return None,
        })
    }

    fn is_in_table(self) -> bool {
        matches!(self, Self::Table | Self::Row | Self::Cell)
    }
}

/// Writes a whole document.
pub(super) fn write(html: &str, page: &mut DocumentWriter) {
    let mut reader = HtmlReader::default();
    reader.read(html, page);
    reader.finish(page);
}

/// What is open while HTML is read.
#[derive(Default)]
pub(super) struct HtmlReader {
    open: Vec<OpenElement>,
    /// How many of each kind are open.
    counts: [usize; OpenElement::COUNT],
    /// The element that is not read, and how many of its name are open.
    unread: Option<(String, usize)>,
}

impl HtmlReader {
    /// Writes a piece of HTML. What it leaves open goes on with the next.
    pub(super) fn read(&mut self, html: &str, page: &mut DocumentWriter) {
        for token in HtmlTokenizer::new(html) {
            if page.is_full() {
                return;
            }
            match token {
                HtmlToken::Text(_) if self.unread.is_some() => {}
                HtmlToken::Text(text) => page.text(&decode(text)),
                HtmlToken::Open(name, attributes) => self.open_tag(&lowercase_name(name), attributes, page),
                HtmlToken::Close(name) => self.close_tag(&lowercase_name(name), page),
            }
        }
    }

    /// Whether text is read now.
    pub(super) fn is_reading(&self) -> bool {
        self.unread.is_none()
    }

    pub(super) fn finish(&mut self, page: &mut DocumentWriter) {
        self.close_from(0, page);
    }

    fn open_tag(&mut self, name: &str, attributes: &str, page: &mut DocumentWriter) {
        if let Some((unread, count)) = &mut self.unread {
            if unread == name && !attributes.ends_with('/') {
                *count += 1;
            }
            return;
        }
        if VOID.contains(&name) {
            return void_element(name, attributes, page);
        }
        if UNREAD.contains(&name) || is_hidden(attributes) {
            self.unread = Some((name.to_owned(), 1));
            return;
        }
        let Some(element) = OpenElement::of(name) else {
            if BLOCKS.contains(&name) {
                page.end_paragraph();
            }
            return;
        };
        self.close_implied(element, page);
        if self.open.len() >= MAX_OPEN_ELEMENTS {
            return;
        }
        self.open.push(element);
        if let Some(count) = self.counts.get_mut(element.index()) {
            *count += 1;
        }
        match element {
            OpenElement::List => page.open_list((name == "ol").then(|| list_start(attributes))),
            OpenElement::Item => page.open_item(),
            OpenElement::Quote => page.open_quote(),
            OpenElement::Preformatted => page.open_preformatted(),
            OpenElement::Heading => {
                page.open_heading(name.bytes().last().map_or(1, |digit| (digit - b'0').into()));
            }
            OpenElement::Marked(mark) => page.mark(mark, true),
            OpenElement::Code => page.code(true),
            OpenElement::Link => page.open_link(&decode(attribute(attributes, "href").unwrap_or_default())),
            OpenElement::Quotation => page.text("“"),
            OpenElement::Table => page.open_table(),
            OpenElement::Row => page.open_row(),
            OpenElement::Cell => page.open_cell(),
        }
    }

    fn close_tag(&mut self, name: &str, page: &mut DocumentWriter) {
        if let Some((unread, count)) = &mut self.unread {
            if unread == name {
                *count -= 1;
                if *count == 0 {
                    self.unread = None;
                }
            }
            return;
        }
        let Some(element) = OpenElement::of(name) else {
            if BLOCKS.contains(&name) {
                page.end_paragraph();
            }
            return;
        };
        if let Some(at) = self.position(element) {
            self.close_from(at, page);
        }
    }

    /// Closes what ends where an element begins, although no tag says so.
    fn close_implied(&mut self, element: OpenElement, page: &mut DocumentWriter) {
        let until = match element {
            OpenElement::Item => OpenElement::List,
            OpenElement::Row | OpenElement::Cell => OpenElement::Table,
            OpenElement::Link | OpenElement::Heading => element,
            _ => return,
        };
        let begin = match (element, self.position(until)) {
            (OpenElement::Link | OpenElement::Heading, at) => at,
            (_, list) => {
                let from = list.map_or(0, |list| list + 1);
                let same = |open: &OpenElement| {
                    *open == element || element == OpenElement::Row && *open == OpenElement::Cell
                };
                self.open.iter().skip(from).position(same).map(|at| at + from)
            }
        };
        if let Some(begin) = begin {
            self.close_from(begin, page);
        }
    }

    /// Where the innermost element of a kind stands. What is outside of a cell cannot be closed from inside it.
    fn position(&self, element: OpenElement) -> Option<usize> {
        if self.counts.get(element.index()).is_none_or(|count| *count == 0) {
            return None;
        }
        for (at, open) in self.open.iter().enumerate().rev() {
            if *open == element {
                return Some(at);
            }
            if *open == OpenElement::Cell && !element.is_in_table() {
                return None;
            }
        }
        None
    }

    /// Closes everything from a place on, the innermost first.
    fn close_from(&mut self, at: usize, page: &mut DocumentWriter) {
        while self.open.len() > at {
            let Some(element) = self.open.pop() else { return };
            if let Some(count) = self.counts.get_mut(element.index()) {
                *count -= 1;
            }
            match element {
                OpenElement::List | OpenElement::Item | OpenElement::Quote => page.leave(),
                OpenElement::Preformatted => page.close_preformatted(),
                OpenElement::Heading => page.close_heading(),
                OpenElement::Marked(mark) => page.mark(mark, false),
                OpenElement::Code => page.code(false),
                OpenElement::Link => page.close_link(),
                OpenElement::Quotation => page.text("”"),
                OpenElement::Table => page.close_table(),
                OpenElement::Row | OpenElement::Cell => page.close_cell(),
            }
        }
    }
}

fn void_element(name: &str, attributes: &str, page: &mut DocumentWriter) {
    match name {
        "br" => page.line_break(),
        "hr" => page.rule(),
        "img" if !is_hidden(attributes) => {
            let said = |name| decode(attribute(attributes, name).unwrap_or_default());
            page.image(&said("alt"), &said("src"));
        }
        _ => {}
    }
}

/// The number that a list begins with.
fn list_start(attributes: &str) -> u64 {
    attribute(attributes, "start").and_then(|start| start.trim().parse().ok()).unwrap_or(1)
}

/// Whether a browser would not show an element.
fn is_hidden(attributes: &str) -> bool {
    if attributes.is_empty() {
        return false;
    }
    let style = || {
        let style = attribute(attributes, "style")?;
        let style: String = style.chars().filter(|char| !char.is_whitespace()).collect();
        let style = style.to_ascii_lowercase();
        (style.contains("display:none") || style.contains("visibility:hidden")).then_some(())
    };
    attribute(attributes, "hidden").is_some() || style().is_some()
}

/// A name in lower case; no name that is known is longer than this.
fn lowercase_name(name: &str) -> String {
    name.chars().take(16).map(|char| char.to_ascii_lowercase()).collect()
}
