//! Text from outside as it may stand on a page: lines end in one way, and nothing acts on what stands around it
//! ([`content_lines`]).

use std::borrow::Cow;

use mcp_attune_wire::json::JsonString;
use mcp_attune_wire::text::content_lines;

/// The text of a JSON string. Half a surrogate pair, which is no character, is shown as U+FFFD.
pub(super) fn read(text: JsonString<'_>) -> Cow<'_, str> {
    match text.decode() {
        Some(decoded) => content_lines(decoded),
        None => content_lines(text.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()),
    }
}

/// The text in one line: each run of white space with a line end or a tab in it is one space.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'\n' | b'\t')) {
        return Cow::Borrowed(text.trim());
    }
    let words: Vec<_> = text.split(['\n', '\t']).map(str::trim).filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_by_one_space() {
        for (text, expected) in [(" a  b ", "a  b"), ("a\n\n b\tc\n", "a b c"), ("", "")] {
            assert_eq!(one_line(text), expected);
        }
    }
}
