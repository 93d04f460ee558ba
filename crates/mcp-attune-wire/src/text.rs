//! Text of somebody else, made safe: the one place that knows which characters can deceive.
//!
//! 1. In a message of ours, in a log or in a file name ([`is_deceptive`]): control characters command terminals and break
//!    lines; what cannot be seen, or changes how the text around it reads, hides something. They are escaped
//!    ([`escape_and_truncate`]) or become blanks ([`one_line`]). All else stays, in every script: letters with the marks that belong
//!    to them, apostrophes, quotation marks, and the joiners that Persian, the scripts of India and emoji are written with.
//! 2. In content that people read ([`is_disruptive`]): only what acts on the text around it, or hides a second text. Marks that
//!    say a direction, soft hyphens and blanks without width belong to good typography, and stay.
//!
//! ```
//! use mcp_attune_wire::text::{escape_and_truncate, one_line};
//!
//! assert_eq!(escape_and_truncate("पिछला सप्ताह", 40), "पिछला सप्ताह");
//! assert_eq!(escape_and_truncate("l'emna passada", 6), "l'emna…");
//! assert_eq!(escape_and_truncate("a\u{1b}[31m\u{202e}", 40), "a\\u{1b}[31m\\u{202e}");
//! assert_eq!(one_line(" a\u{1b}[2J\nb ", 40), "a [2J b");
//! ```

use alloc::borrow::Cow;
use alloc::string::String;

/// Escapes what could deceive in a text, and bounds it to so many characters.
#[must_use]
pub fn escape_and_truncate(text: &str, max_chars: usize) -> String {
    let mut escaped: String = text.chars().take(max_chars).flat_map(escape_char).collect();
    if text.chars().nth(max_chars).is_some() {
        escaped.push('…');
    }
    escaped
}

/// A character, escaped if it could deceive.
pub fn escape_char(char: char) -> impl Iterator<Item = char> {
    let is_deceptive = is_deceptive(char);
    let same = (!is_deceptive).then_some(char);
    same.into_iter().chain(char.escape_debug().filter(move |_| is_deceptive))
}

/// A text on one line: trimmed, each character that could deceive is a blank, and at most so many characters.
#[must_use]
pub fn one_line(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    let mut line: String = text.chars().take(max_chars).map(blank_if_deceptive).collect();
    if text.chars().nth(max_chars).is_some() {
        line.push('…');
    }
    line
}

/// A character, or a blank where it could deceive.
#[must_use]
pub fn blank_if_deceptive(char: char) -> char {
    if is_deceptive(char) { ' ' } else { char }
}

/// Content for people on several lines: each end of a line is `\n`, and what is [disruptive](is_disruptive) is U+FFFD.
///
/// ```
/// use mcp_attune_wire::text::content_lines;
///
/// assert_eq!(content_lines("a\r\nb\u{2028}c\td".into()), "a\nb\nc\td");
/// assert_eq!(content_lines("abc\u{202e}fdp.exe".into()), "abc\u{fffd}fdp.exe");
/// ```
#[must_use]
pub fn content_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    if !may_need_change(text.as_bytes()) {
        return text;
    }
    let mut lines = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                chars.next_if_eq(&'\n');
                lines.push('\n');
            }
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => lines.push('\n'),
            _ if is_disruptive(char) => lines.push(char::REPLACEMENT_CHARACTER),
            _ => lines.push(char),
        }
    }
    Cow::Owned(lines)
}

/// Whether a byte is there that something disruptive may begin with.
fn may_need_change(bytes: &[u8]) -> bool {
    let lead = |byte: u8| {
        byte < 0x20 && byte != b'\n' && byte != b'\t' || matches!(byte, 0x7f | 0xc2 | 0xe2 | 0xef | 0xf3)
    };
    bytes.iter().fold(false, |found, byte| found | lead(*byte))
}

/// Whether a character commands, hides, or changes how the text around it reads.
#[must_use]
pub fn is_deceptive(char: char) -> bool {
    match char {
        // Joiners.
        '\u{200c}' | '\u{200d}' => false,
        char if char.is_ascii() => char.is_ascii_control(),
        char if is_disruptive(char) => true,
        // What is printed is known to the standard library, which escapes a mark only where it begins a text.
        char => ['a', char].iter().collect::<String>().escape_debug().nth(1) != Some(char),
    }
}

/// Whether a character acts on the content around it, or hides a second text in it: control characters but for `\n` and tab,
/// overrides and isolates of the direction, line breaks that not everybody sees, the byte order mark, and tag characters.
#[must_use]
pub fn is_disruptive(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        char => char.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_every_script_stay_whole() {
        for text in [
            "पिछला सप्ताह",
            "สัปดาห์ที่แล้ว",
            "l'emna passada",
            "„Nächste“ \"Woche\"",
            "שָׁלוֹם",
            "می\u{200c}خواهم",
            "ක්\u{200d}ෂ",
            "👩\u{200d}🔧",
            "C:\\files",
            "e\u{301}\u{323}",
        ] {
            assert_eq!(escape_and_truncate(text, 40), text);
            assert_eq!(one_line(text, 40), text);
            assert_eq!(content_lines(text.into()), text);
        }
        // Content may say its direction, and where a word may be broken.
        let content = "שלום\u{200f}!\u{200b}Donau\u{ad}dampf";
        assert_eq!(content_lines(content.into()), content);
    }

    #[test]
    fn nothing_deceptive_is_left_whatever_comes() {
        let every = (0..=0xffff_u32).chain(0x1f600..0x1f650).chain(0xe0000..0xe0200);
        for char in every.filter_map(char::from_u32) {
            let text = String::from_iter(['a', char, 'b']);
            let shown = escape_and_truncate(&text, 8);
            assert!(!shown.chars().any(is_deceptive), "{char:?}");
            assert!(!one_line(&text, 8).chars().any(is_deceptive), "{char:?}");
            let lines = content_lines(text.as_str().into());
            assert!(!lines.chars().any(is_disruptive), "{char:?}");
            assert!(!is_disruptive(char) || is_deceptive(char), "{char:?}");
        }
    }

    #[test]
    fn shows_little_and_nothing_that_a_terminal_obeys() {
        assert_eq!(one_line(" a\x1b[2J\nb ", 200), "a [2J b");
        assert_eq!(one_line("a\u{9b}31m\u{202e}b\u{2066}", 200), "a 31m b ");
        assert_eq!(one_line(&"é".repeat(200), 200), "é".repeat(200));
        assert_eq!(one_line(&"é".repeat(201), 200), "é".repeat(200) + "…");
        assert_eq!(
            escape_and_truncate("\u{202e}\u{200f}\u{200b}\u{e0041}", 9),
            r"\u{202e}\u{200f}\u{200b}\u{e0041}"
        );
        assert_eq!(escape_and_truncate("\u{2028}\u{feff}\u{ad}\r\n", 9), r"\u{2028}\u{feff}\u{ad}\r\n");
    }

    #[test]
    fn lines_of_content_end_in_one_way() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("a\r\nb\rc\u{2028}d\u{85}e\u{b}f", "a\nb\nc\nd\ne\nf"),
            ("a\u{1b}[31m\u{7f}\u{9b}", "a\u{fffd}[31m\u{fffd}\u{fffd}"),
            ("\u{feff}a\u{e0041}", "\u{fffd}a\u{fffd}"),
        ] {
            assert_eq!(content_lines(text.into()), expected, "{text:?}");
        }
    }
}
