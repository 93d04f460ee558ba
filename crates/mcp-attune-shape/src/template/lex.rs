//! A lexer for the tags of a template, with the offset of each word.
//!
//! minijinja compiles a template and says nothing about its names until they are looked up, for a caller.
//! This is just enough of a reader to check them before: which filters, fields and feature tags a template
//! names, and where.

/// One word of a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TemplateToken<'s> {
    /// A name or a keyword: `temperature_c`, `for`.
    Name(&'s str),
    /// A string literal without its quotes, with its escapes as they are written.
    Text(&'s str),
    /// A number, whose value nobody needs: `12`.
    Number,
    /// An operator or a bracket: `|`, `==`.
    Sign(&'s str),
}

/// A word, and its offset in the template in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LocatedToken<'s> {
    pub(super) token: TemplateToken<'s>,
    pub(super) at: usize,
}

/// What stands between `{{` and `}}`, or between `{%` and `%}`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TemplateTag<'s> {
    /// Whether it is a statement, `{% … %}`.
    pub(super) statement: bool,
    pub(super) words: Vec<LocatedToken<'s>>,
}

/// A template taken apart into its tags. Comments, and what stands inside of `{% raw %}`, have no tags.
#[derive(Debug, Default)]
pub(super) struct LexedTemplate<'s> {
    /// The tags in their order.
    pub(super) all: Vec<TemplateTag<'s>>,
    /// How many bytes the longest text between two tags has. It bounds what one step of a rendering can
    /// write.
    pub(super) longest_text: usize,
}

/// Takes a template apart. It never fails: of a template that is malformed, such as one with a tag that is
/// not closed, the words are found as far as possible. What minijinja compiles is read completely.
pub(super) fn split_tags(source: &str) -> LexedTemplate<'_> {
    let mut tags = LexedTemplate::default();
    let (mut at, mut text_from) = (0, 0);
    while let Some((open, kind)) = next_open(source, at) {
        tags.longest_text = tags.longest_text.max(open - text_from);
        at = match kind {
            b'#' => after(source, open + 2, "#}"),
            kind => {
                let (words, end) = words(source, open + 2, kind == b'%');
                let is_raw = kind == b'%'
                    && matches!(words.as_slice(), [LocatedToken { token: TemplateToken::Name("raw"), .. }]);
                tags.all.push(TemplateTag { statement: kind == b'%', words });
                if is_raw { raw_end(source, end, &mut tags.longest_text) } else { end }
            }
        };
        text_from = at;
    }
    tags.longest_text = tags.longest_text.max(source.len() - text_from.min(source.len()));
    tags
}

/// Finds the next `{{`, `{%` or `{#` from an offset, and returns where it stands and its second byte.
fn next_open(source: &str, mut at: usize) -> Option<(usize, u8)> {
    loop {
        let open = at + source.get(at..)?.find('{')?;
        match source.as_bytes().get(open + 1) {
            Some(kind @ (b'{' | b'%' | b'#')) => return Some((open, *kind)),
            _ => at = open + 1,
        }
    }
}

/// Returns the offset behind the next `end`, or the end of the source.
fn after(source: &str, at: usize, end: &str) -> usize {
    source.get(at..).and_then(|rest| rest.find(end)).map_or(source.len(), |found| at + found + end.len())
}

/// Returns the offset behind the `{% endraw %}` that ends a `{% raw %}`, and takes the text between them into
/// account as a text between two tags.
fn raw_end(source: &str, from: usize, longest: &mut usize) -> usize {
    let mut at = from;
    while let Some((open, kind)) = next_open(source, at) {
        if kind == b'%' {
            let (words, end) = words(source, open + 2, true);
            if matches!(words.first(), Some(LocatedToken { token: TemplateToken::Name("endraw"), .. })) {
                *longest = (*longest).max(open - from);
                return end;
            }
        }
        at = open + 1;
    }
    source.len()
}

/// The operators of two characters.
const PAIRS: [&str; 6] = ["==", "!=", "<=", ">=", "//", "**"];

/// Returns the words of a tag, and the offset behind its end. Braces inside of it (`{{ {'a': {}} }}`) are
/// matched, so that they do not end it.
fn words(source: &str, mut at: usize, statement: bool) -> (Vec<LocatedToken<'_>>, usize) {
    let close = if statement { "%}" } else { "}}" };
    let (mut words, mut braces) = (Vec::new(), 0_usize);
    let bytes = source.as_bytes();
    // `{{-` takes blanks away.
    at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
    while let Some(byte) = bytes.get(at).copied() {
        let rest = source.get(at..).unwrap_or_default();
        let marked = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        if braces == 0 && marked.starts_with(close) {
            return (words, at + (rest.len() - marked.len()) + close.len());
        }
        let length = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
            }
            b'0'..=b'9' => run(rest, |byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_'),
            b'"' | b'\'' => literal(rest, byte),
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => 2,
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        let text = rest.get(..length).unwrap_or(rest);
        let token = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => TemplateToken::Name(text),
            b'0'..=b'9' => TemplateToken::Number,
            b'"' | b'\'' => {
                TemplateToken::Text(text.get(1..text.len().saturating_sub(1)).unwrap_or_default())
            }
            _ => TemplateToken::Sign(text),
        };
        match byte {
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        words.push(LocatedToken { token, at });
        at += length;
    }
    (words, source.len())
}

fn run(text: &str, belongs: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !belongs(byte)).unwrap_or(text.len())
}

/// Returns how long a string literal is, quotes included; up to the end of the source if it is not closed.
fn literal(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        if byte == quote && !escaped {
            return at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of all tags, by tag.
    fn check(source: &str, expected: &[&str], longest_text: usize) {
        let tags = split_tags(source);
        let shown: Vec<String> = tags
            .all
            .iter()
            .map(|tag| {
                let words: Vec<_> = tag
                    .words
                    .iter()
                    .map(|word| match word.token {
                        TemplateToken::Name(name) => name.to_owned(),
                        TemplateToken::Text(text) => format!("<{text}>"),
                        TemplateToken::Number => "#".to_owned(),
                        TemplateToken::Sign(sign) => sign.to_owned(),
                    })
                    .collect();
                words.join(" ")
            })
            .collect();
        assert_eq!(shown, expected, "{source}");
        assert_eq!(tags.longest_text, longest_text, "{source}");
    }

    #[test]
    fn words_stand_in_tags_and_nowhere_else() {
        check("a {b} {{ c }} {% if d.e == 'f' %}g{% endif %}", &["c", "if d . e == <f>", "endif"], 6);
        check("{{- x | y(z=1.5) -}}", &["x | y ( z = # )"], 0);
        check("{{ '}}' ~ \"a\\\"}}b\" }}!", &["<}}> ~ <a\\\"}}b>"], 1);
        check("{{ {'a': {'b': 1}} }}", &["{ <a> : { <b> : # } }"], 0);
        check("{# {{ no }} #}{{ yes }}", &["yes"], 0);
        check("{% raw %}{{ no }}{% if %}{% endraw %}{{ yes }}", &["raw", "yes"], 16);
        check("{{ open", &["open"], 0);
        check("{% raw %} never over", &["raw"], 0);
        check("{", &[], 1);
    }
}
