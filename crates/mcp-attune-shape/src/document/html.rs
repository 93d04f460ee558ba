//! HTML onto a page: what each tag does.

use super::entity::decode;
use super::inline::Mark;
use super::page::Page;
use super::token::{Token, Tokens, attribute};

/// How many elements are remembered as open. What is deeper has no effect but for its text.
const MAX_OPEN: usize = 256;

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
enum Open {
    List,
    Item,
    Quote,
    Preformatted,
    Heading,
    Marked(Mark),
    Code,
    Link,
    Quotation,
    Table,
    Row,
    Cell,
}

impl Open {
    /// How many there are.
    const COUNT: usize = 14;

    fn index(self) -> usize {
        match self {
            Self::List => 0,
            Self::Item => 1,
            Self::Quote => 2,
            Self::Preformatted => 3,
            Self::Heading => 4,
            Self::Marked(Mark::Bold) => 5,
            Self::Marked(Mark::Italic) => 6,
            Self::Marked(Mark::Struck) => 7,
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
            "b" | "strong" => Self::Marked(Mark::Bold),
            "i" | "em" => Self::Marked(Mark::Italic),
            "s" | "del" | "strike" => Self::Marked(Mark::Struck),
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
pub(super) fn write(html: &str, page: &mut Page) {
    let mut reader = Reader::default();
    reader.read(html, page);
    reader.finish(page);
}

/// What is open while HTML is read.
#[derive(Default)]
pub(super) struct Reader {
    open: Vec<Open>,
    /// How many of each kind are open.
    counts: [usize; Open::COUNT],
    /// The element that is not read, and how many of its name are open.
    unread: Option<(String, usize)>,
}

impl Reader {
    /// Writes a piece of HTML. What it leaves open goes on with the next.
    pub(super) fn read(&mut self, html: &str, page: &mut Page) {
        for token in Tokens::new(html) {
            if page.is_full() {
                return;
            }
            match token {
                Token::Text(_) if self.unread.is_some() => {}
                Token::Text(text) => page.text(&decode(text)),
                Token::Open(name, attributes) => self.open_tag(&short(name), attributes, page),
                Token::Close(name) => self.close_tag(&short(name), page),
            }
        }
    }

    /// Whether text is read now.
    pub(super) fn is_reading(&self) -> bool {
        self.unread.is_none()
    }

    pub(super) fn finish(&mut self, page: &mut Page) {
        self.close_from(0, page);
    }

    fn open_tag(&mut self, name: &str, attributes: &str, page: &mut Page) {
        if let Some((unread, count)) = &mut self.unread {
            if unread == name && !attributes.ends_with('/') {
                *count += 1;
            }
            return;
        }
        if VOID.contains(&name) {
            return void(name, attributes, page);
        }
        if UNREAD.contains(&name) || is_hidden(attributes) {
            self.unread = Some((name.to_owned(), 1));
            return;
        }
        let Some(element) = Open::of(name) else {
            if BLOCKS.contains(&name) {
                page.paragraph();
            }
            return;
        };
        self.close_implied(element, page);
        if self.open.len() >= MAX_OPEN {
            return;
        }
        self.open.push(element);
        if let Some(count) = self.counts.get_mut(element.index()) {
            *count += 1;
        }
        match element {
            Open::List => page.open_list((name == "ol").then(|| start(attributes))),
            Open::Item => page.open_item(),
            Open::Quote => page.open_quote(),
            Open::Preformatted => page.open_preformatted(),
            Open::Heading => page.open_heading(name.bytes().last().map_or(1, |digit| (digit - b'0').into())),
            Open::Marked(mark) => page.mark(mark, true),
            Open::Code => page.code(true),
            Open::Link => page.open_link(&decode(attribute(attributes, "href").unwrap_or_default())),
            Open::Quotation => page.text("“"),
            Open::Table => page.open_table(),
            Open::Row => page.open_row(),
            Open::Cell => page.open_cell(),
        }
    }

    fn close_tag(&mut self, name: &str, page: &mut Page) {
        if let Some((unread, count)) = &mut self.unread {
            if unread == name {
                *count -= 1;
                if *count == 0 {
                    self.unread = None;
                }
            }
            return;
        }
        let Some(element) = Open::of(name) else {
            if BLOCKS.contains(&name) {
                page.paragraph();
            }
            return;
        };
        if let Some(at) = self.position(element) {
            self.close_from(at, page);
        }
    }

    /// Closes what ends where an element begins, although no tag says so.
    fn close_implied(&mut self, element: Open, page: &mut Page) {
        let until = match element {
            Open::Item => Open::List,
            Open::Row | Open::Cell => Open::Table,
            Open::Link | Open::Heading => element,
            _ => return,
        };
        let begin = match (element, self.position(until)) {
            (Open::Link | Open::Heading, at) => at,
            (_, list) => {
                let from = list.map_or(0, |list| list + 1);
                let same = |open: &Open| *open == element || element == Open::Row && *open == Open::Cell;
                self.open.iter().skip(from).position(same).map(|at| at + from)
            }
        };
        if let Some(begin) = begin {
            self.close_from(begin, page);
        }
    }

    /// Where the innermost element of a kind stands. What is outside of a cell cannot be closed from inside it.
    fn position(&self, element: Open) -> Option<usize> {
        if self.counts.get(element.index()).is_none_or(|count| *count == 0) {
            return None;
        }
        for (at, open) in self.open.iter().enumerate().rev() {
            if *open == element {
                return Some(at);
            }
            if *open == Open::Cell && !element.is_in_table() {
                return None;
            }
        }
        None
    }

    /// Closes everything from a place on, the innermost first.
    fn close_from(&mut self, at: usize, page: &mut Page) {
        while self.open.len() > at {
            let Some(element) = self.open.pop() else { return };
            if let Some(count) = self.counts.get_mut(element.index()) {
                *count -= 1;
            }
            match element {
                Open::List | Open::Item | Open::Quote => page.leave(),
                Open::Preformatted => page.close_preformatted(),
                Open::Heading => page.close_heading(),
                Open::Marked(mark) => page.mark(mark, false),
                Open::Code => page.code(false),
                Open::Link => page.close_link(),
                Open::Quotation => page.text("”"),
                Open::Table => page.close_table(),
                Open::Row | Open::Cell => page.close_cell(),
            }
        }
    }
}

fn void(name: &str, attributes: &str, page: &mut Page) {
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
fn start(attributes: &str) -> u64 {
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
fn short(name: &str) -> String {
    name.chars().take(16).map(|char| char.to_ascii_lowercase()).collect()
}
