//! Converts documents for people: HTML and Markdown to plain text, and HTML to Markdown.
//!
//! It is used for the resources of a server, where a caller asks for another format than the one they
//! come in. A reader (`html`, or `markdown` with an HTML reader inside of it) takes the document apart
//! and calls the methods of one writer (`page`), which knows the two output styles. The writer puts
//! text together in `inline`, and tables in `table`.
//!
//! 1. Scripts, styles, comments, what stands in the head, and what a browser would not show (`hidden`,
//!    `display: none`) never appear.
//! 2. Headings, lists, tables, quotations and preformatted text stay readable as such. Links keep their
//!    address, except for those that run something.
//! 3. What is written as Markdown is escaped, so that it reads as it was and nothing of it acts.
//! 4. Everything is bounded: the size of a document and of what is made of it, how deep lists and
//!    quotations go, and the work, which grows with the size and nothing else. Nothing recurses.
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

/// The largest document that is converted, in bytes: 4 MiB. A larger one stays as the server sent it.
const MAX_DOCUMENT_BYTES: usize = 4 << 20;

/// The format that a document is converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DocumentStyle {
    /// Plain text. Bullets, `>` before quoted lines, `|` between cells and underlined headings show the
    /// structure.
    Text,
    /// CommonMark with GitHub's tables and strike-through, in which all text of the document is
    /// escaped.
    Markdown,
}

/// Converts HTML to plain text. Returns `None` if the document is larger than 4 MiB, or has no text
/// that people would see. Never fails otherwise: broken HTML is read as browsers read it, as far as
/// text depends on it.
pub(super) fn html_to_text(html: &str) -> Option<String> {
    convert(html, DocumentStyle::Text, html::write)
}

/// Converts HTML to Markdown that reads the same. Returns `None` as [`html_to_text`] does. Links and
/// images keep their address, unless it would run something.
pub(super) fn html_to_markdown(html: &str) -> Option<String> {
    convert(html, DocumentStyle::Markdown, html::write)
}

/// Converts Markdown to plain text, and HTML inside of it as [`html_to_text`] does. Returns `None` if
/// the document is larger than 4 MiB, or has no text that people would see.
pub(super) fn markdown_to_text(markdown: &str) -> Option<String> {
    convert(markdown, DocumentStyle::Text, markdown::write)
}

/// Checks the size of a document, lets `write` put it on an empty page, and returns the page unless it
/// is empty.
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
