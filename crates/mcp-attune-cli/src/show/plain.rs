//! Text that a terminal shows and does not obey.

use std::fmt::Write;

use mcp_attune_wire::text::is_disruptive;

/// Text on several lines, with what is unsafe escaped. A line break is one, however it is written.
pub(crate) fn lines(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' if chars.peek() == Some(&'\n') => {}
            char if is_disruptive(char) => _ = write!(plain, "{}", char.escape_unicode()),
            char => plain.push(char),
        }
    }
    plain
}

/// Text on one line.
pub(crate) fn line(text: &str) -> String {
    lines(text.trim()).replace(['\n', '\t'], " ")
}

/// The first line that says something.
pub(crate) fn first_line(text: &str) -> String {
    line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_a_terminal_obeys_and_what_hides() {
        assert_eq!(lines("a\x1b[2J\r\nb\tc\r\u{9b}1m\x07"), "a\\u{1b}[2J\nb\tc\\u{d}\\u{9b}1m\\u{7}");
        assert_eq!(lines("x\u{202e}y\u{e0041}z"), "x\\u{202e}y\\u{e0041}z");
        // Emoji and scripts that are written from the right are nobody's harm.
        assert_eq!(lines("👩\u{200d}🔧 שלום"), "👩\u{200d}🔧 שלום");
    }

    #[test]
    fn a_line_has_no_breaks() {
        assert_eq!(line(" a\nb\tc "), "a b c");
        assert_eq!(first_line("\n \n first \nsecond"), "first");
    }
}
