//! Pages that need nothing else: no script, no network, light and dark.

use std::fmt::{self, Write};

use mcp_attune_wire::text::is_disruptive;

/// What all pages look like.
const STYLE: &str = include_str!("html.css");

/// A text as it stands in a page. What a reader would not see, or what would turn the text around, is shown as an escape.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                char if is_disruptive(char) || matches!(char, '\n' | '\t') => {
                    write!(f, "{}", char.escape_unicode())?;
                }
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

/// Begins a page: its title, a style of its own after the one of all pages, and what it may load beside styles, such as
/// `img-src data:`.
pub(crate) fn begin(page: &mut String, title: &str, style: &str, loads: &str) -> fmt::Result {
    let separator = if loads.is_empty() { "" } else { "; " };
    writeln!(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(
        page,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{separator}{loads}\">"
    )?;
    let title = Escaped(title);
    writeln!(page, "<title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>")
}

/// Ends a page.
pub(crate) fn end(page: &mut String) -> fmt::Result {
    writeln!(page, "</body>\n</html>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        let hostile = "<script>alert('&\"')</script>\u{1b}\0";
        let escaped = Escaped(hostile).to_string();
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;\\u{1b}\\u{0}");
    }

    #[test]
    fn nothing_from_outside_turns_a_line_around() {
        assert_eq!(Escaped("a\u{202e}b\u{2067}c\u{2069}").to_string(), "a\\u{202e}b\\u{2067}c\\u{2069}");
        // Marks that only say a direction do no harm, and some languages need them.
        assert_eq!(Escaped("\u{200f}א\u{200d}").to_string(), "\u{200f}א\u{200d}");
    }
}
