//! How each format is written: data, documents, and the values and links that templates print.
//!
//! 1. Each format has one row, and nothing else here or in `template` asks which format it is.
//! 2. Values are made harmless: what a server says is text, and never markup.
//!
//! Rules: F5, F6, F7, F11.

use std::borrow::Cow;

use mcp_attune::features::ContentFormat;
use mcp_attune_wire::json::{JsonQuoted, SpannedValue};
use mcp_attune_wire::text::content_lines;

use crate::document;
use crate::render::{self, EscapeContext, RenderOptions, RenderedPage, escape, one_line};

/// Writes one format.
pub(crate) struct FormatWriter {
    /// Renders data without a template.
    pub(crate) page: fn(SpannedValue<'_>, &RenderOptions<'_>) -> RenderedPage,
    /// Converts HTML, which stays as it is where this is `None`.
    pub(crate) html: Option<fn(&str) -> Option<String>>,
    /// Converts Markdown, which stays as it is where this is `None`.
    pub(crate) markdown: Option<fn(&str) -> Option<String>>,
    /// Escapes a text that a template prints.
    pub(crate) value: fn(&str) -> Cow<'_, str>,
    /// Writes a link from a label and a URL that [`url()`] returned. Formats without links have the URL in brackets
    /// behind the label.
    pub(crate) link: Option<fn(&str, &str) -> String>,
}

impl FormatWriter {
    pub(crate) const fn of(format: ContentFormat) -> &'static Self {
        match format {
            ContentFormat::Json => &Self {
                // Nobody asks for this: structured content is the data itself.
                page: render::markdown,
                html: None,
                markdown: None,
                value: |text| Cow::Owned(JsonQuoted(text).to_string()),
                link: None,
            },
            ContentFormat::Markdown => &Self {
                page: render::markdown,
                html: Some(document::html_to_markdown),
                markdown: None,
                value: markdown,
                link: Some(|label, url| format!("[{}]({url})", markdown(label))),
            },
            ContentFormat::Text => &Self {
                page: render::text,
                html: Some(document::html_to_text),
                markdown: Some(document::markdown_to_text),
                value: |text| content_lines(text.into()),
                link: None,
            },
        }
    }
}

/// A value in Markdown: one line that reads as the value, in CommonMark and in GitHub's tables, wherever the template has it.
fn markdown(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
        && !text.starts_with(' ')
        && !text.ends_with(' ')
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    escape(&one_line(&content_lines(text.into())), EscapeContext::Anywhere, &mut out);
    Cow::Owned(out)
}

/// A URL as it can stand in a link; none where it is not one that a reader may follow without harm.
pub(crate) fn url(text: &str) -> Option<String> {
    let scheme = text.split_once(':')?.0.to_ascii_lowercase();
    let rest = text.get(scheme.len() + 1..)?;
    let fits = match scheme.as_str() {
        "http" | "https" => rest.starts_with("//") && rest.len() > 2,
        "mailto" => !rest.is_empty(),
        _ => false,
    };
    if !fits || text.chars().any(char::is_control) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            ' ' => out.push_str("%20"),
            '"' => out.push_str("%22"),
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '\\' => out.push_str("%5C"),
            '`' => out.push_str("%60"),
            '|' => out.push_str("%7C"),
            '*' => out.push_str("%2A"),
            '[' => out.push_str("%5B"),
            ']' => out.push_str("%5D"),
            char if char.is_whitespace() => return None,
            char => out.push(char),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_values_is_text() {
        for (value, expected) in [
            ("Bern", "Bern"),
            ("wind_speed_kmh", "wind_speed_kmh"),
            ("_em_ __init__", "\\_em\\_ \\_\\_init\\_\\_"),
            ("# no heading", "\\# no heading"),
            ("C# is fine", "C# is fine"),
            ("**bold** `code`", "\\*\\*bold\\*\\* \\`code\\`"),
            ("[a](javascript:b)", "\\[a\\](javascript:b)"),
            ("![a](b)", "!\\[a\\](b)"),
            ("<script>", "\\<script\\>"),
            ("&lt; AT&T & Co", "\\&lt; AT\\&T & Co"),
            ("a | b", "a \\| b"),
            ("- item", "\\- item"),
            ("-5", "-5"),
            ("---", "\\---"),
            ("  - item ", "\\- item"),
            ("10. September 2024", "10\\. September 2024"),
            ("3) three", "3\\) three"),
            ("3.5", "3.5"),
            ("3.", "3\\."),
            ("a\n\n# b\r\n- c", "a # b - c"),
            ("\u{1b}[31mred", "\u{fffd}\\[31mred"),
            ("a\u{202e}b", "a\u{fffd}b"),
            ("    code", "code"),
            ("{{ x }}", "{{ x }}"),
        ] {
            assert_eq!(markdown(value), expected, "{value:?}");
        }
    }

    #[test]
    fn links_lead_to_the_web_and_to_mail_only() {
        assert_eq!(url("https://a.ch/b?c=d&e#f").as_deref(), Some("https://a.ch/b?c=d&e#f"));
        assert_eq!(url("HTTP://a.ch/(b) <c>").as_deref(), Some("HTTP://a.ch/%28b%29%20%3Cc%3E"));
        assert_eq!(url("mailto:a@b.ch").as_deref(), Some("mailto:a@b.ch"));
        for wrong in
            ["", "a", "javascript:alert(1)", "data:text/html,x", "https:a", "//a.ch", "http://", " https://a"]
        {
            assert_eq!(url(wrong), None, "{wrong}");
        }
        assert_eq!(url("https://a\nb"), None);
        assert_eq!(url("https://a\u{a0}b"), None);
    }
}
