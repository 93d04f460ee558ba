//! Documents for people: HTML and Markdown as plain text, and HTML as Markdown.
//!
//! 1. Scripts, styles, comments, what stands in the head, and what a browser would not show (`hidden`, `display: none`) never
//!    appear.
//! 2. Headings, lists, tables, quotations and preformatted text stay readable as such. Links keep their address, except for
//!    those that run something.
//! 3. What is written as Markdown is escaped, so that it reads as it was and nothing of it acts.
//! 4. Everything is bounded: the size of a document and of what is made of it, how deep lists and quotations go, and the
//!    work, which grows with the size and nothing else. Nothing recurses.
//!
//! Rules: F11.

mod entity;
mod token;

mod inline;

mod table;

mod page;

mod html;
mod markdown;

use page::DocumentWriter;

/// How large a document may be. A larger one stays as it came.
const MAX_DOCUMENT_BYTES: usize = 4 << 20;

/// What a page is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DocumentStyle {
    Text,
    Markdown,
}

/// HTML as plain text; none where it is too large, or has nothing to read.
pub(super) fn html_to_text(html: &str) -> Option<String> {
    convert(html, DocumentStyle::Text, html::write)
}

/// HTML as Markdown; none where it is too large, or has nothing to read.
pub(super) fn html_to_markdown(html: &str) -> Option<String> {
    convert(html, DocumentStyle::Markdown, html::write)
}

/// Markdown as plain text; none where it is too large, or has nothing to read.
pub(super) fn markdown_to_text(markdown: &str) -> Option<String> {
    convert(markdown, DocumentStyle::Text, markdown::write)
}

fn convert(document: &str, style: DocumentStyle, write: fn(&str, &mut DocumentWriter)) -> Option<String> {
    if document.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    let mut page = DocumentWriter::new(style);
    write(document, &mut page);
    Some(page.finish()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests;
