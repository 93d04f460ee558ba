//! Markdown as stores show it. Nothing is linked to, no picture is loaded, and HTML in it is text.

use std::fmt::{self, Write};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::html::Escaped;

/// Writes a text as HTML, with headings below those of the page.
pub(super) fn write(page: &mut String, text: &str) -> fmt::Result {
    for event in Parser::new(text) {
        match event {
            Event::Start(tag) => page.write_str(begin(&tag))?,
            Event::End(tag) => page.write_str(end(tag))?,
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => lines(page, &text)?,
            Event::Code(code) => write!(page, "<code>{}</code>", Escaped(&code))?,
            Event::SoftBreak => page.write_char('\n')?,
            Event::HardBreak => page.write_str("<br>")?,
            Event::Rule => page.write_str("<hr>")?,
            // Other kinds are only found where they are asked for.
            _ => {}
        }
    }
    Ok(())
}

/// Line ends are no characters to be shown.
fn lines(page: &mut String, text: &str) -> fmt::Result {
    for (number, line) in text.split('\n').enumerate() {
        let end = if number > 0 { "\n" } else { "" };
        write!(page, "{end}{}", Escaped(line))?;
    }
    Ok(())
}

fn begin(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => "<p>",
        Tag::Heading { .. } => "<h4>",
        Tag::BlockQuote(_) => "<blockquote>",
        Tag::CodeBlock(_) => "<pre><code>",
        Tag::List(None) => "<ul>",
        Tag::List(Some(_)) => "<ol>",
        Tag::Item => "<li>",
        Tag::Emphasis => "<i>",
        Tag::Strong => "<strong>",
        Tag::Link { .. } => "<u>",
        _ => "",
    }
}

fn end(tag: TagEnd) -> &'static str {
    match tag {
        TagEnd::Paragraph | TagEnd::HtmlBlock => "</p>\n",
        TagEnd::Heading(_) => "</h4>\n",
        TagEnd::BlockQuote(_) => "</blockquote>\n",
        TagEnd::CodeBlock => "</code></pre>\n",
        TagEnd::List(false) => "</ul>\n",
        TagEnd::List(true) => "</ol>\n",
        TagEnd::Item => "</li>\n",
        TagEnd::Emphasis => "</i>",
        TagEnd::Strong => "</strong>",
        TagEnd::Link => "</u>",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut page = String::new();
        write(&mut page, text).unwrap();
        assert_eq!(page, expected);
    }

    #[test]
    fn markdown_is_shown_as_stores_do() {
        check(
            "# Weather\n\nFor *any* **place**.",
            "<h4>Weather</h4>\n<p>For <i>any</i> <strong>place</strong>.</p>\n",
        );
        check("- one\n- `two`\n", "<ul><li>one</li>\n<li><code>two</code></li>\n</ul>\n");
        check("3. three", "<ol><li>three</li>\n</ol>\n");
        check("a  \nb\nc", "<p>a<br>b\nc</p>\n");
        check("```\na <b>\nc\n```", "<pre><code>a &lt;b&gt;\nc\n</code></pre>\n");
    }

    #[test]
    fn nothing_in_it_acts() {
        check("[a](javascript:alert) ![b](http://example.com/x.png)", "<p><u>a</u> b</p>\n");
        check("a <img src=x onerror=y>", "<p>a &lt;img src=x onerror=y&gt;</p>\n");
        check("<script>\nalert(1)\n</script>", "<p>&lt;script&gt;\nalert(1)\n&lt;/script&gt;</p>\n");
        check("a\u{202e}b", "<p>a\\u{202e}b</p>\n");
    }
}
