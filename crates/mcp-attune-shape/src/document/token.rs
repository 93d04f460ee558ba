//! The HTML tokenizer: an iterator over text, opening tags and closing tags.
//!
//! It reads what browsers read, as far as text depends on it, and never fails: comments, declarations
//! and what is left open at the end are skipped, and a `<` that begins nothing is text. The content of
//! `script`, `style` and the like is skipped here, because nothing in it is a tag. It takes one pass
//! over the text, and holds nothing.

/// A piece of HTML, borrowed from the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HtmlToken<'h> {
    /// Text in which character references such as `&amp;` are not decoded.
    Text(&'h str),
    /// A tag that opens an element: its name in the case that it is written in, and the text of its
    /// attributes, which [`attribute`] reads. A `/` at the end of the tag is part of the attributes.
    Open(&'h str, &'h str),
    /// A tag that closes an element, by its name in the case that it is written in.
    Close(&'h str),
}

/// Elements whose content is no HTML, and is skipped up to the tag that closes them.
const RAW_TEXT_ELEMENTS: [&str; 8] =
    ["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"];

/// Iterates over the tokens of a document. The time is linear in its length, whatever it holds.
pub(super) struct HtmlTokenizer<'h> {
    /// What is not read yet.
    rest: &'h str,
}

impl<'h> HtmlTokenizer<'h> {
    /// Begins at the start of a document, or of a piece of one.
    pub(super) fn new(html: &'h str) -> Self {
        Self { rest: html }
    }

    /// Moves forward by so many bytes, or to the end.
    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// Moves behind the next occurrence of a text, or to the end if there is none.
    fn skip_past(&mut self, text: &str) {
        self.rest = self.rest.split_once(text).map_or("", |(_, rest)| rest);
    }

    /// Reads a tag whose `<` or `</` was read. Returns its name and the text of its attributes, or
    /// `None` if the document ends before its `>`; the rest of the document is skipped then.
    fn tag(&mut self) -> Option<(&'h str, &'h str)> {
        let text = self.rest;
        let name = text.bytes().take_while(|byte| !is_blank(*byte) && !matches!(byte, b'/' | b'>')).count();
        let end = tag_end(text.as_bytes(), name);
        self.skip(end.map_or(text.len(), |end| end + 1));
        Some((text.get(..name)?, text.get(name..end?)?))
    }

    /// Skips a comment whose `<!--` was read. It ends with `-->` or `--!>`, or at once with `>` or
    /// `->`, as in browsers.
    fn comment(&mut self) {
        if self.rest.starts_with('>') || self.rest.starts_with("->") {
            self.skip_past(">");
            return;
        }
        // One search for both ways to end, so that no byte is looked at again.
        let mut from = 0;
        while let Some(found) = self.rest.get(from..).and_then(|rest| rest.find("--")) {
            let behind = self.rest.get(from + found + 2..).unwrap_or_default();
            if behind.starts_with('>') || behind.starts_with("!>") {
                self.rest = behind;
                return self.skip_past(">");
            }
            from += found + 1;
        }
        self.rest = "";
    }

    /// Skips the content of an element up to the tag that closes it, which is the next token, or to the
    /// end.
    fn skip_raw(&mut self, name: &str) {
        let mut from = 0;
        while let Some(found) = self.rest.get(from..).and_then(|rest| rest.find("</")) {
            let at = from + found;
            let after = self.rest.get(at + 2..).unwrap_or_default();
            let named = after.get(..name.len()).is_some_and(|other| other.eq_ignore_ascii_case(name));
            let ends = after.as_bytes().get(name.len());
            if named && ends.is_none_or(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>')) {
                return self.skip(at);
            }
            from = at + 2;
        }
        self.rest = "";
    }
}

impl<'h> Iterator for HtmlTokenizer<'h> {
    type Item = HtmlToken<'h>;

    fn next(&mut self) -> Option<HtmlToken<'h>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let text = self.rest;
            let begin =
                text.bytes().enumerate().position(|(at, byte)| byte == b'<' && begins_markup(text, at));
            let begin = begin.unwrap_or(text.len());
            if begin > 0 {
                self.skip(begin);
                return text.get(..begin).map(HtmlToken::Text);
            }
            self.skip(1);
            if let Some(closing) = self.rest.strip_prefix('/') {
                self.rest = closing;
                if closing.starts_with(|first: char| first.is_ascii_alphabetic()) {
                    if let Some((name, _)) = self.tag() {
                        return Some(HtmlToken::Close(name));
                    }
                } else {
                    self.skip_past(">");
                }
            } else if let Some(comment) = self.rest.strip_prefix("!--") {
                self.rest = comment;
                self.comment();
            } else if self.rest.starts_with(['!', '?']) {
                self.skip_past(">");
            } else if let Some((name, attributes)) = self.tag() {
                if let Some(raw) = RAW_TEXT_ELEMENTS.iter().find(|raw| name.eq_ignore_ascii_case(raw)) {
                    self.skip_raw(raw);
                }
                return Some(HtmlToken::Open(name, attributes));
            }
        }
    }
}

/// Returns whether the `<` at this offset begins a tag, a comment or a declaration, and is not text.
fn begins_markup(text: &str, at: usize) -> bool {
    let next = text.as_bytes().get(at + 1);
    next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?'))
}

/// Returns whether a byte is white space in HTML.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Returns the offset of the `>` that ends a tag, which is not one inside of a quoted value. `from` is
/// the offset behind the name. `None` if the tag is not closed.
fn tag_end(tag: &[u8], from: usize) -> Option<usize> {
    let mut quote = None;
    // A quote begins a value only behind the `=` of it.
    let mut value = false;
    for (at, byte) in tag.iter().enumerate().skip(from) {
        match (quote, byte) {
            (Some(open), _) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') if value => (quote, value) = (Some(*byte), false),
            (None, b'=') => value = true,
            (None, byte) if is_blank(*byte) => {}
            (None, _) => value = false,
        }
    }
    None
}

/// Returns the value of an attribute, with its character references not decoded. The name is compared
/// without case, and the first attribute of that name counts. An attribute without a value is an empty
/// text; `None` if there is no such attribute.
pub(super) fn attribute<'h>(attributes: &'h str, wanted: &str) -> Option<&'h str> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '/');
        // A `=` in the first place belongs to the name.
        let mut behind_first = rest.char_indices().skip(1);
        let ends = |char: char| char.is_ascii_whitespace() || matches!(char, '=' | '/');
        let end = behind_first.find(|(_, char)| ends(*char)).map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at_checked(end)?;
        if name.is_empty() {
            return None;
        }
        let behind = after.trim_start();
        let (value, next) = match behind.strip_prefix('=').map(str::trim_start) {
            None => ("", after),
            Some(value) => match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    let inner = value.get(1..).unwrap_or_default();
                    inner.split_once(quote).unwrap_or((inner, ""))
                }
                _ => {
                    value.split_at(value.find(|char: char| char.is_ascii_whitespace()).unwrap_or(value.len()))
                }
            },
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let shown = HtmlTokenizer::new(html).map(|token| match token {
            HtmlToken::Text(text) => text.to_owned(),
            HtmlToken::Open(name, attributes) => format!("[{name}{attributes}]"),
            HtmlToken::Close(name) => format!("[/{name}]"),
        });
        assert_eq!(shown.collect::<Vec<_>>().concat(), expected, "{html}");
    }

    #[test]
    fn reads_what_browsers_read() {
        check("a<p class=x>b</p>c", "a[p class=x]b[/p]c");
        check("1 < 2 <3 a<b>c<", "1 < 2 <3 a[b]c<");
        check("<a title='a>b' href=\"x>y\">t</A >", "[a title='a>b' href=\"x>y\"]t[/A]");
        check("<a title=it's>b", "[a title=it's]b");
        check("<br/><hr / >", "[br/][hr / ]");
        check("<!doctype html><?xml v?>a</ b>c</>d", "acd");
    }

    #[test]
    fn comments_and_what_is_no_text_are_skipped() {
        check("a<!-- <p>b --> c", "a c");
        check("a<!-->b<!--->c<!-- x --!>d", "abcd");
        check("a<script>if (a < b) { '<p>' } </scripty></script>b", "a[script][/script]b");
        check("<STYLE>p > a {}</Style >b", "[STYLE][/Style]b");
        check("<title>a<b>c</title>", "[title][/title]");
    }

    #[test]
    fn what_is_left_open_ends_the_page() {
        for html in ["a<p class='b>c", "a<!-- b --", "a<!b", "a<p", "a</p", "a</ b", "a<?b"] {
            check(html, "a");
        }
        check("a<script>b</scr", "a[script]");
    }

    #[test]
    fn attributes_are_read_in_every_way_of_writing_them() {
        for (attributes, expected) in [
            (" href=x", Some("x")),
            (" HREF = 'a b' class=c", Some("a b")),
            (" class=\"href=y\" href=\"z\"", Some("z")),
            (" href", Some("")),
            (" data-href=x", None),
            (" =href=x", None),
            ("", None),
            (" href='x", Some("x")),
            ("/href=x/", Some("x/")),
        ] {
            assert_eq!(attribute(attributes, "href"), expected, "{attributes}");
        }
    }
}
