//! Rust source as words and marks: comments, literals and lifetimes are left out, so that what they say is taken for
//! nothing else.

/// A word (an identifier, a keyword or a number), `::`, or any other single character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Counted from one.
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(is_word_char)
    }
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a whole file. Text that is not Rust gives tokens that mean nothing; it never fails.
pub(super) fn read(text: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(c) = reader.rest.chars().next() {
        let line = reader.line;
        let token = reader.next(c);
        tokens.extend(token.map(|text| Token { text, line }));
    }
    tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    /// Takes the next piece of the text, which begins with `c`; returns it if it is a token.
    fn next(&mut self, c: char) -> Option<&'a str> {
        match c {
            '/' if self.rest.starts_with("//") => {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
                None
            }
            '/' if self.rest.starts_with("/*") => self.skip(comment_length(self.rest)),
            '"' => self.skip(string_length(self.rest)),
            '\'' => self.skip(quote_length(self.rest)),
            ':' if self.rest.starts_with("::") => Some(self.take(2)),
            c if c.is_whitespace() => self.skip(c.len_utf8()),
            c if is_word_char(c) => self.word(),
            c => Some(self.take(c.len_utf8())),
        }
    }

    /// A word, unless it is the prefix of a literal.
    fn word(&mut self) -> Option<&'a str> {
        let length = self.rest.find(|c| !is_word_char(c)).unwrap_or(self.rest.len());
        let word = self.take(length);
        let is_raw = matches!(word, "r" | "br" | "cr");
        if is_raw && let Some(length) = raw_string_length(self.rest) {
            return self.skip(length);
        }
        if is_raw && self.rest.starts_with('#') {
            self.take(1);
            let length = self.rest.find(|c| !is_word_char(c)).unwrap_or(self.rest.len());
            return Some(self.take(length)).filter(|word| !word.is_empty());
        }
        match self.rest.chars().next() {
            Some('"') if matches!(word, "b" | "c") => self.skip(string_length(self.rest)),
            Some('\'') if word == "b" => self.skip(quote_length(self.rest)),
            _ => Some(word),
        }
    }

    fn skip(&mut self, length: usize) -> Option<&'a str> {
        self.take(length);
        None
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// Comments can stand in each other.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    loop {
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { return text.len() };
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth.saturating_sub(1), at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
}

/// From one quotation mark to the next that is not escaped.
fn string_length(text: &str) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// After its prefix: `#` any number of times, a text between quotation marks, and `#` as often.
fn raw_string_length(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('#').len();
    let inside = text.get(marks..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    Some(inside.find(&end).map_or(text.len(), |at| marks + 1 + at + end.len()))
}

/// A character literal or a lifetime.
fn quote_length(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let Some((_, first)) = chars.next() else { return text.len() };
    let Some((at, second)) = chars.next() else { return text.len() };
    if first == '\\' {
        // The escaped character may itself be a quotation mark.
        let after = at + second.len_utf8();
        return text.get(after..).and_then(|rest| rest.find('\'')).map_or(text.len(), |end| after + end + 1);
    }
    if second == '\'' {
        return at + 1;
    }
    let inside = text.get(1..).unwrap_or_default();
    1 + inside.find(|c| !is_word_char(c)).unwrap_or(inside.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        read(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn reads_words_and_marks() {
        assert_eq!(words("use a::{b, c};"), ["use", "a", "::", "{", "b", ",", "c", "}", ";"]);
        assert_eq!(words("r#type::x"), ["type", "::", "x"]);
    }

    #[test]
    fn leaves_out_what_comments_and_literals_say() {
        for text in [
            "a // b::c",
            "a /* b /* c */ d */",
            "a \"b::\\\"c\\\\\"",
            "a r\"b\\\"",
            "a r#\"b\"c\"#",
            "a br##\"b\"#c\"##",
            "a b\"b\" c\"c\"",
            "a 'b'",
            "a '\\''",
            "a '\\u{1F600}' 'ü' b'\\''",
            "a /* never closed",
            "a \"never closed",
        ] {
            assert_eq!(words(text), ["a"], "{text}");
        }
        assert_eq!(words("&'a b, '_'"), ["&", "b", ","]);
    }

    #[test]
    fn counts_lines_through_everything_that_has_several() {
        let tokens = read("a\n/* b\n */ c\n\"d\ne\" f\nr\"\n\" g");
        let lines: Vec<_> = tokens.iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(lines, [("a", 1), ("c", 3), ("f", 5), ("g", 7)]);
    }
}
