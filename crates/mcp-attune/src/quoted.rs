//! Text of somebody else in a message of ours: as it was written, but for what could deceive.
//!
//! 1. Control characters are escaped: they command terminals and break lines.
//! 2. So is what cannot be seen, or changes how the text around it reads: overrides of the direction, blanks without width,
//!    tags, characters that nobody has assigned.
//! 3. All else stays, in every script: letters with the marks that belong to them, apostrophes, quotation marks, and the
//!    joiners that Persian, the scripts of India and emoji are written with.
//!
//! ```
//! use mcp_attune::quoted::escape_and_truncate;
//!
//! assert_eq!(escape_and_truncate("पिछला सप्ताह", 40), "पिछला सप्ताह");
//! assert_eq!(escape_and_truncate("l'emna passada", 6), "l'emna…");
//! assert_eq!(escape_and_truncate("a\u{1b}[31m\u{202e}", 40), "a\\u{1b}[31m\\u{202e}");
//! ```

/// Escapes a text and bounds it to so many characters.
#[must_use]
pub fn escape_and_truncate(text: &str, max_chars: usize) -> String {
    let mut quoted: String = text.chars().take(max_chars).flat_map(escape_char).collect();
    if text.chars().nth(max_chars).is_some() {
        quoted.push('…');
    }
    quoted
}

/// A character, escaped where it has to be.
pub fn escape_char(char: char) -> impl Iterator<Item = char> {
    let is_deceptive = is_deceptive(char);
    let same = (!is_deceptive).then_some(char);
    same.into_iter().chain(char.escape_debug().filter(move |_| is_deceptive))
}

/// Whether a character commands, hides, or changes how the text around it reads.
fn is_deceptive(char: char) -> bool {
    match char {
        // Joiners.
        '\u{200c}' | '\u{200d}' => false,
        // Tags, which nobody sees.
        '\u{e0000}'..='\u{e007f}' => true,
        char if char.is_ascii() => char.is_ascii_control(),
        // What is printed is known to the standard library, which escapes a mark only where it begins a text.
        char => ['a', char].iter().collect::<String>().escape_debug().nth(1) != Some(char),
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
        }
    }

    #[test]
    fn what_commands_or_hides_is_escaped() {
        for (text, expected) in [
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{1b}[2J\u{7}\u{9b}", "\\u{1b}[2J\\u{7}\\u{9b}"),
            ("\u{202e}\u{2066}\u{200f}\u{200b}", "\\u{202e}\\u{2066}\\u{200f}\\u{200b}"),
            ("\u{2028}\u{feff}\u{ad}\u{2060}", "\\u{2028}\\u{feff}\\u{ad}\\u{2060}"),
            ("\u{e0041}\u{e000}\u{378}", "\\u{e0041}\\u{e000}\\u{378}"),
        ] {
            assert_eq!(escape_and_truncate(text, 40), expected);
        }
    }

    #[test]
    fn a_long_text_is_shortened() {
        assert_eq!(escape_and_truncate(&"é".repeat(41), 40), format!("{}…", "é".repeat(40)));
        assert_eq!(escape_and_truncate(&"é".repeat(40), 40), "é".repeat(40));
    }
}
