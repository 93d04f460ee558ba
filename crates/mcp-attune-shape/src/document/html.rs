//! Reads HTML, and writes it on a page: what each tag does.
//!
//! This is no complete HTML parser. Elements that text depends on are remembered while they are open,
//! and closed as browsers close them in the common cases where a closing tag is missing. All other
//! elements are transparent: they may end a paragraph, and their text is read.

use super::entity::decode;
use super::inline::InlineMark;
use super::page::DocumentWriter;
use super::token::{HtmlToken, HtmlTokenizer, attribute};

/// How many elements are remembered as open. Elements inside of so many have no effect, but their text
/// is read; the limit bounds the search for what a tag closes.
const MAX_OPEN_ELEMENTS: usize = 256;

/// Elements without content, which have no closing tag.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements whose content is skipped, because it is no text or nobody sees it.
const UNREAD: [&str; 17] = [
    "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp", "template", "svg",
    "audio", "video", "canvas", "object", "datalist", "select", "map",
];

/// Elements that end the paragraph before and after them, and have no other effect.
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

/// An element that text depends on, and that has to be closed on the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenElement {
    /// `ul`, `ol`, `menu`
    List,
    /// `li`
    Item,
    /// `blockquote`
    Quote,
    /// `pre`, `listing`
    Preformatted,
    /// `h1` to `h6`
    Heading,
    /// `b` and `strong`, `i` and `em`, `s`, `del` and `strike`
    Marked(InlineMark),
    /// `code`, `kbd`, `samp`, `tt`
    Code,
    /// `a`
    Link,
    /// `q`, a quotation within a line
    Quotation,
    /// `table`
    Table,
    /// `tr`
    Row,
    /// `td`, `th`
    Cell,
}

impl OpenElement {
    /// The number of different elements, with each mark counted by itself.
    const COUNT: usize = 14;

    /// Returns the position of the element in `HtmlReader::counts`, below [`COUNT`](Self::COUNT).
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

    /// Returns the element of a name in lower case, or `None` if it needs no closing.
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

    /// Returns whether the element is part of a table, so that its end may close a cell.
    fn is_in_table(self) -> bool {
        matches!(self, Self::Table | Self::Row | Self::Cell)
    }
}

/// Writes a whole document, and stops when the page is full.
pub(super) fn write(html: &str, page: &mut DocumentWriter) {
    let mut reader = HtmlReader::default();
    reader.read(html, page);
    reader.finish(page);
}

/// The elements that are open while HTML is read.
///
/// It can be given a document in pieces, because Markdown has its HTML in pieces.
#[derive(Default)]
pub(super) struct HtmlReader {
    /// The open elements that text depends on, the outermost first.
    open: Vec<OpenElement>,
    /// How many of each are open, so that a closing tag without an opening one costs no search.
    counts: [usize; OpenElement::COUNT],
    /// The name of the element that is being skipped, and how many elements of that name are open,
    /// itself included. `None` while text is read.
    unread: Option<(String, usize)>,
}

impl HtmlReader {
    /// Writes a piece of HTML. Elements that it leaves open stay open for the next piece. Stops when
    /// the page is full.
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

    /// Returns whether text is read now, and not skipped inside of a hidden element or a script.
    pub(super) fn is_reading(&self) -> bool {
        self.unread.is_none()
    }

    /// Closes everything that is open. Must be called at the end of the document.
    pub(super) fn finish(&mut self, page: &mut DocumentWriter) {
        self.close_from(0, page);
    }

    /// Opens an element by its name in lower case: skips it, writes it if it has no content, or
    /// remembers it and opens it on the page.
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

    /// Closes the innermost open element of this name, and everything inside of it. Does nothing if
    /// there is none.
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

    /// Closes the elements that end where this one begins although no tag says so: the item or the cell
    /// before it in the same list or table, the row before a row, and a link or a heading that is still
    /// open.
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

    /// Returns where the innermost open element of this kind is. `None` if there is none, or it is
    /// outside of the table cell that is open: what is in a cell cannot close it, apart from parts of
    /// the table.
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

    /// Closes all elements from this position on, the innermost first.
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

/// Writes an element without content: a line break, a line across or an image. Others have no effect.
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

/// Returns the number of the first item of a list: its attribute `start`, or 1 if that is no number.
fn list_start(attributes: &str) -> u64 {
    attribute(attributes, "start").and_then(|start| start.trim().parse().ok()).unwrap_or(1)
}

/// Returns whether the attributes say that a browser shows nothing of the element: `hidden`, or a style
/// with `display: none` or `visibility: hidden`. Style sheets and classes are not looked at.
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

/// Returns the name of a tag in lower case, cut to 16 characters, which is longer than any name that is
/// known here.
fn lowercase_name(name: &str) -> String {
    name.chars().take(16).map(|char| char.to_ascii_lowercase()).collect()
}
