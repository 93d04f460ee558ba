//! Reads Markdown, and writes it on a page.
//!
//! The parser is `pulldown-cmark`, with GitHub's extensions. HTML inside of the document goes through
//! the same reader as HTML documents do, so that scripts and hidden text are left out here too.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::html::HtmlReader;
use super::inline::InlineMark;
use super::page::DocumentWriter;

/// Writes a whole document, and stops when the page is full. Front matter in YAML is written as
/// preformatted text.
pub(super) fn write(markdown: &str, page: &mut DocumentWriter) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut writer =
        MarkdownReader { page, html: HtmlReader::default(), block: None, alt: None, footnote: None };
    for event in Parser::new_ext(markdown, options) {
        if writer.page.is_full() {
            break;
        }
        writer.event(event);
    }
    let MarkdownReader { page, mut html, .. } = writer;
    html.finish(page);
}

/// The state between two events of the parser.
struct MarkdownReader<'p> {
    /// The page that is written.
    page: &'p mut DocumentWriter,
    /// Elements that HTML between the Markdown has left open. Text is skipped while they hide it;
    /// images are not.
    html: HtmlReader,
    /// The HTML block that is open. It comes line by line, and is read once it is whole.
    block: Option<String>,
    /// The image that is open: its description so far, and its address.
    alt: Option<(String, String)>,
    /// The name of a footnote whose first paragraph follows.
    footnote: Option<String>,
}

impl MarkdownReader<'_> {
    /// Passes one event of the parser on to the page.
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) if self.alt.is_some() => self.text(&text),
            Event::Code(text) => {
                if self.html.is_reading() {
                    self.page.code(true);
                    self.page.text(&text);
                    self.page.code(false);
                }
            }
            Event::Html(html) => match &mut self.block {
                Some(block) => block.push_str(&html),
                None => self.html.read(&html, self.page),
            },
            Event::InlineHtml(html) => self.html.read(&html, self.page),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.page.line_break(),
            Event::Rule => self.page.rule(),
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    /// Adds text to the description of the image that is open, or to the page if no HTML hides it.
    fn text(&mut self, text: &str) {
        match &mut self.alt {
            Some((alt, _)) => alt.push_str(text),
            None if self.html.is_reading() => self.page.text(text),
            None => {}
        }
    }

    /// Opens what a tag begins. Tags that plain text has no form for are skipped, but not the text
    /// inside of them.
    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                self.page.end_paragraph();
                if let Some(name) = self.footnote.take() {
                    self.text(&format!("[{name}]: "));
                }
            }
            Tag::Heading { level, .. } => self.page.open_heading(level as usize),
            Tag::BlockQuote(_) => self.page.open_quote(),
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) => self.page.open_preformatted(),
            Tag::HtmlBlock => self.block = Some(String::new()),
            Tag::List(start) => self.page.open_list(start),
            Tag::Item => self.page.open_item(),
            Tag::FootnoteDefinition(name) => self.footnote = Some(name.to_string()),
            Tag::Table(_) => self.page.open_table(),
            Tag::TableHead | Tag::TableRow => self.page.open_row(),
            Tag::TableCell => self.page.open_cell(),
            Tag::Emphasis => self.page.mark(InlineMark::Italic, true),
            Tag::Strong => self.page.mark(InlineMark::Bold, true),
            Tag::Strikethrough => self.page.mark(InlineMark::Struck, true),
            Tag::Link { dest_url, .. } => self.page.open_link(&dest_url),
            Tag::Image { dest_url, .. } => self.alt = Some((String::new(), dest_url.to_string())),
            _ => {}
        }
    }

    /// Closes what [`start`](Self::start) opened.
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::FootnoteDefinition => self.page.end_paragraph(),
            TagEnd::Heading(_) => self.page.close_heading(),
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.page.leave(),
            TagEnd::CodeBlock | TagEnd::MetadataBlock(_) => self.page.close_preformatted(),
            TagEnd::HtmlBlock => {
                let block = self.block.take().unwrap_or_default();
                self.html.read(&block, self.page);
            }
            TagEnd::Table => self.page.close_table(),
            TagEnd::TableCell => self.page.close_cell(),
            TagEnd::Emphasis => self.page.mark(InlineMark::Italic, false),
            TagEnd::Strong => self.page.mark(InlineMark::Bold, false),
            TagEnd::Strikethrough => self.page.mark(InlineMark::Struck, false),
            TagEnd::Link => self.page.close_link(),
            TagEnd::Image => {
                if let Some((alt, address)) = self.alt.take() {
                    self.page.image(&alt, &address);
                }
            }
            _ => {}
        }
    }
}
