//! Text from outside as it may stand on a page: lines end in one way, and nothing acts on what stands around it.
//!
//! Control characters, and the marks that embed, override or isolate a direction of writing, are shown as U+FFFD: they
//! could make a text look like another. The marks that only say a direction (U+200E, U+200F, U+061C) stay.

use std::borrow::Cow;

use mcp_attune_wire::json::JsonString;

/// The text of a JSON string. Half a surrogate pair, which is no character, is shown as U+FFFD.
pub(super) fn read(text: JsonString<'_>) -> Cow<'_, str> {
    match text.decode() {
        Some(decoded) => clean(decoded),
        None => clean(text.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()),
    }
}

/// The text with nothing in it that acts.
pub(crate) fn clean(text: Cow<'_, str>) -> Cow<'_, str> {
    if !may_need_cleaning(text.as_bytes()) {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                chars.next_if_eq(&'\n');
                clean.push('\n');
            }
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push('\n'),
            '\n' | '\t' => clean.push(char),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => clean.push(char::REPLACEMENT_CHARACTER),
            _ if char.is_control() => clean.push(char::REPLACEMENT_CHARACTER),
            _ => clean.push(char),
        }
    }
    Cow::Owned(clean)
}

/// Whether a byte is there that something unclean may begin with.
fn may_need_cleaning(bytes: &[u8]) -> bool {
    let lead = |byte: u8| byte < 0x20 && byte != b'\n' && byte != b'\t' || matches!(byte, 0x7f | 0xc2 | 0xe2);
    bytes.iter().fold(false, |found, byte| found | lead(*byte))
}

/// The text in one line: each run of white space with a line end or a tab in it is one space.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
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
    fn nothing_is_left_that_acts() {
        for (text, expected) in [
            ("plain – Grüße 世界 \u{200f}", "plain – Grüße 世界 \u{200f}"),
            ("a\r\nb\rc\u{2028}d\u{85}e\u{b}f", "a\nb\nc\nd\ne\nf"),
            ("a\tb", "a\tb"),
            ("\u{0}\u{1b}[31m\u{7f}\u{9b}", "\u{fffd}\u{fffd}[31m\u{fffd}\u{fffd}"),
            ("abc\u{202e}fdp.exe\u{2066}", "abc\u{fffd}fdp.exe\u{fffd}"),
        ] {
            assert_eq!(clean(Cow::Borrowed(text)), expected);
        }
    }

    #[test]
    fn lines_are_joined_by_one_space() {
        for (text, expected) in [(" a  b ", "a  b"), ("a\n\n b\tc\n", "a b c"), ("", "")] {
            assert_eq!(one_line(text), expected);
        }
    }
}
