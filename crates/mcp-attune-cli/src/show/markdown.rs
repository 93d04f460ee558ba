//! Markdown on a terminal: headings, emphasis, lists, tables and code, and nothing more.
//!
//! Text that holds no Markdown is left as it stands. Links show where they lead, images what they say. Paragraphs and items
//! are broken at blanks; tables and code are not. What comes in is escaped first, so nothing but our own styles reaches the
//! terminal.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr;

use super::plain;
use super::table::padded;
use super::wrap::wrapped;
use crate::paint::{Paint, PaintStyle, STYLE_END};

/// Stands in a line that is not broken. What comes in has no such character: it was escaped.
const WHOLE_LINE: char = '\u{1}';

/// Shows text that is Markdown on a terminal of so many columns.
pub(crate) fn render_markdown(text: &str, paint: Paint, width: usize) -> String {
    let text = plain::lines(text);
    let text = text.trim_end_matches('\n');
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    if !Parser::new_ext(text, options).any(|event| is_markup(&event)) {
        return format!("{text}\n");
    }
    let mut page = TerminalMarkdown { paint, ..TerminalMarkdown::default() };
    for event in Parser::new_ext(text, options) {
        page.handle_event(event);
    }
    let shown = page.finished_text();
    let broken = shown.split_inclusive('\n').map(|line| match line.contains(WHOLE_LINE) {
        true => line.replace(WHOLE_LINE, ""),
        false => wrapped(line, width, 0),
    });
    broken.collect()
}

/// Whether an event is more than a paragraph of plain text.
fn is_markup(event: &Event<'_>) -> bool {
    match event {
        Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => false,
        Event::Text(_) | Event::SoftBreak | Event::HardBreak => false,
        // Columns of plain text are often indented.
        Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) | Event::End(TagEnd::CodeBlock) => false,
        _ => true,
    }
}

/// What was shown so far, and where we are.
#[derive(Default)]
struct TerminalMarkdown {
    out: String,
    paint: Paint,
    /// The styles that hold, for after one of them ends.
    styles: Vec<PaintStyle>,
    /// The lists we are in, with the next number where they have numbers.
    lists: Vec<Option<u64>>,
    quotes: usize,
    code: bool,
    /// The rows of a table, while we are in one.
    rows: Option<Vec<Vec<String>>>,
    /// Where links lead.
    links: Vec<String>,
}

impl TerminalMarkdown {
    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => {
                self.open(PaintStyle::Emphasis);
                self.push(&code);
                self.close();
            }
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => {
                if self.rows.is_some() {
                    self.push(" ");
                } else {
                    self.new_line();
                }
            }
            Event::Rule => {
                self.block();
                self.push("───");
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph if !self.is_after_marker() => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                self.open(PaintStyle::Strong);
                if level == HeadingLevel::H1 {
                    self.open(PaintStyle::Underlined);
                }
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::CodeBlock(_) => {
                self.block();
                self.code = true;
                self.begin_code_line();
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.block();
                self.rows = Some(Vec::new());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(rows) = &mut self.rows {
                    rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.rows.as_mut().and_then(|rows| rows.last_mut()) {
                    row.push(String::new());
                }
            }
            Tag::Emphasis => self.open(PaintStyle::Emphasis),
            Tag::Strong => self.open(PaintStyle::Strong),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                if level == HeadingLevel::H1 {
                    self.close();
                }
                self.close();
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::CodeBlock => {
                self.code = false;
                // The last line of code has a break after it, and we began another.
                let line = self
                    .out
                    .rfind('\n')
                    .filter(|&at| self.out[at..].trim_matches(['\n', '>', ' ', WHOLE_LINE]).is_empty());
                self.out.truncate(line.unwrap_or(self.out.len()));
            }
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Table => self.table(),
            TagEnd::Emphasis | TagEnd::Strong => self.close(),
            TagEnd::Link | TagEnd::Image => {
                let leads = self.links.pop().unwrap_or_default();
                // A bare address says already where it leads.
                if !leads.is_empty() && !self.out.ends_with(&leads) {
                    self.push(&format!(" ({leads})"));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !self.code {
            return self.push(text);
        }
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.new_line();
                self.begin_code_line();
            }
            self.push(line);
        }
    }

    fn begin_code_line(&mut self) {
        self.out.push(WHOLE_LINE);
        self.out += "    ";
    }

    /// To the page, or into the cell that we are in. What was written as `&#27;` is a character only now.
    fn push(&mut self, text: &str) {
        let text = &plain::lines(text);
        match self.rows.as_mut().and_then(|rows| rows.last_mut()).and_then(|row| row.last_mut()) {
            Some(cell) => cell.push_str(text),
            None => self.out.push_str(text),
        }
    }

    fn open(&mut self, style: PaintStyle) {
        if self.paint.is_on() && self.rows.is_none() {
            self.styles.push(style);
            self.out.push_str(style.code());
        }
    }

    fn close(&mut self) {
        if self.paint.is_on() && self.rows.is_none() {
            self.styles.pop();
            self.out.push_str(STYLE_END);
            self.out.extend(self.styles.iter().map(|style| style.code()));
        }
    }

    /// An empty line before what comes, unless nothing came yet.
    fn block(&mut self) {
        if !self.out.is_empty() {
            let end = self.out.trim_end_matches(['\n', ' ']).len();
            self.out.truncate(end);
            self.out.push('\n');
            self.new_line();
        } else if self.quotes > 0 {
            self.margin();
        }
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.margin();
    }

    /// What stands left of a line.
    fn margin(&mut self) {
        self.out.extend(std::iter::repeat_n("> ", self.quotes));
        self.out.extend(std::iter::repeat_n("  ", self.lists.len()));
    }

    fn item(&mut self) {
        let marker = match self.lists.pop() {
            Some(Some(number)) => {
                self.lists.push(None);
                let marker = format!("{number}. ");
                if let Some(list) = self.lists.last_mut() {
                    *list = Some(number + 1);
                }
                marker
            }
            Some(None) => {
                self.lists.push(None);
                "- ".to_owned()
            }
            None => return,
        };
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n("> ", self.quotes));
        self.out.extend(std::iter::repeat_n("  ", self.lists.len().saturating_sub(1)));
        self.out += &marker;
    }

    fn is_after_marker(&self) -> bool {
        let line = self.out.rsplit('\n').next().unwrap_or_default();
        let marker = line.trim_start_matches(['>', ' ']).trim_end();
        let number = || marker.strip_suffix('.').is_some_and(|number| number.parse::<u64>().is_ok());
        !self.lists.is_empty() && line.ends_with(' ') && (marker == "-" || number())
    }

    /// The rows of a table, below each other, with a line under the first.
    fn table(&mut self) {
        let rows = self.rows.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = rows.iter().filter_map(|row: &Vec<String>| row.get(column));
            cells.map(|cell: &String| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(widest).collect();
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                self.new_line();
            }
            let cells = row.iter().zip(&widths).map(|(cell, &width)| padded(cell, width));
            let line = cells.collect::<Vec<_>>().join("  ");
            self.out.push(WHOLE_LINE);
            if number == 0 {
                self.open(PaintStyle::Strong);
                self.out += line.trim_end();
                self.close();
                self.new_line();
                self.out.push(WHOLE_LINE);
                let under: Vec<_> = widths.iter().map(|&width| "─".repeat(width)).collect();
                self.out += &under.join("  ");
            } else {
                self.out += line.trim_end();
            }
        }
    }

    fn finished_text(mut self) -> String {
        let end = self.out.trim_end_matches(['\n', ' ']).len();
        self.out.truncate(end);
        self.out.push('\n');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays_as_it_stands() {
        for text in ["one\n  two_or_three * 4\n\n\nfour", "a  b   c\nd  e   f", "1 < 2 & 3"] {
            assert_eq!(render_markdown(text, Paint::new(true), 80), format!("{text}\n"));
        }
    }

    #[test]
    fn shows_what_markdown_means() {
        let text = "# Weather in *Bern*\n\nIt is **cold**, see [here](https://example.com/).\nStill.\n\n- one\n- two\n  - three\n\n\
                    1. first\n2. second\n\n| day | °C |\n|---|---|\n| Mon | 3 |\n| Tuesday | 天 |\n\n```sh\nls -l\n  x\n```\n\n> said\n> so\n>\n> List<T>\n\nend";
        insta::assert_snapshot!(render_markdown(text, Paint::default(), 80), @"
        Weather in Bern

        It is cold, see here (https://example.com/).
        Still.

        - one
        - two
          - three

        1. first
        2. second

        day      °C
        ───────  ──
        Mon      3
        Tuesday  天

            ls -l
              x

        > said
        > so

        > List<T>

        end
        ");
    }

    #[test]
    fn paragraphs_and_items_are_broken_at_blanks_and_tables_and_code_are_not() {
        let text = "# Title\n\nThe forecast shows rain for all.\n\n- an item that goes on and on\n\n\
                    ```\nlet code = \"as it is, however long\";\n```\n\n| a long head | another one |\n|---|---|\n| x | y |";
        insta::assert_snapshot!(render_markdown(text, Paint::default(), 20), @r#"
        Title

        The forecast shows
        rain for all.

        - an item that goes
          on and on

            let code = "as it is, however long";

        a long head  another one
        ───────────  ───────────
        x            y
        "#);
    }

    #[test]
    fn styles_are_ours_and_end() {
        let shown = render_markdown("# A *b* c\n\n\u{1b}[2J**x**", Paint::new(true), 80);
        assert_eq!(
            shown,
            "\u{1b}[1m\u{1b}[4mA \u{1b}[3mb\u{1b}[0m\u{1b}[1m\u{1b}[4m c\u{1b}[0m\u{1b}[1m\u{1b}[0m\n\n\
             \\u{1b}[2J\u{1b}[1mx\u{1b}[0m\n"
        );
    }

    #[test]
    fn a_reference_to_a_character_is_not_obeyed_either() {
        let shown = render_markdown("**x** &#27;[2J &#x9b;2J &#1;", Paint::default(), 80);
        assert!(!shown.chars().any(mcp_attune_wire::text::is_disruptive), "{shown:?}");
    }
}
