//! Changes of a text that leave every other byte as it is.

use std::ops::Range;

/// A part of a text, and what is written in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextSplice {
    pub(super) at: Range<usize>,
    pub(super) text: String,
}

impl TextSplice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { at: at..at, text: text.into() }
    }

    pub(super) fn replace(at: Range<usize>, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }

    pub(super) fn remove(at: Range<usize>) -> Self {
        Self::replace(at, "")
    }
}

/// Makes the changes, in any order. `None` where two overlap, or one is not within the text.
pub(super) fn apply(text: &str, mut splices: Vec<TextSplice>) -> Option<String> {
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let (mut changed, mut done) = (String::new(), 0);
    for splice in splices {
        changed += text.get(done..splice.at.start)?;
        changed += &splice.text;
        done = splice.at.end;
    }
    changed += text.get(done..)?;
    Some(changed)
}

/// How lines of a text end.
pub(super) fn line_ending(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// The line break and the indentation before a position, where nothing else is between them.
pub(super) fn line_start(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.rfind('\n')?;
    let start = if before.get(..line)?.ends_with('\r') { line - 1 } else { line };
    let lead = before.get(start..)?;
    lead.chars().all(|char| matches!(char, ' ' | '\t' | '\r' | '\n')).then_some(lead)
}

/// A position as people count: line and column, from 1, the column in characters.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before.get(start..).unwrap_or_default().chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_stays() {
        let splices =
            vec![TextSplice::insert(4, "!"), TextSplice::replace(0..2, "xyz"), TextSplice::remove(5..6)];
        assert_eq!(apply("abcdef", splices).as_deref(), Some("xyzcd!e"));
        assert_eq!(apply("abc", vec![TextSplice::remove(0..2), TextSplice::remove(1..3)]), None);
        assert_eq!(apply("abc", vec![TextSplice::remove(2..9)]), None);
        assert_eq!(apply("é", vec![TextSplice::insert(1, "x")]), None);
    }

    #[test]
    fn lines_are_told_apart_as_they_end() {
        assert_eq!(line_ending("a\r\nb"), "\r\n");
        assert_eq!(line_ending("a\nb\r\n"), "\n");
        assert_eq!(line_start("{\r\n  \"a\"", 5), Some("\r\n  "));
        assert_eq!(line_start("{\n x \"a\"", 5), None);
        assert_eq!(line_start("{\"a\"", 1), None);
        assert_eq!(line_and_column("a\né\"x", 4), (2, 2));
    }
}
