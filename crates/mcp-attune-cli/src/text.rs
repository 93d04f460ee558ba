//! Text for a terminal, and JSON for a program.

use std::io::Write;

use serde::Serialize;

/// How wide a terminal is at least.
const WIDTH: usize = 80;

/// The Markdown of the rules as a terminal shows it: indented, wrapped between words, with list items hanging.
pub(crate) fn wrap_rule_text(text: &str) -> String {
    let mut lines = vec![String::new()];
    let mut indent = 2;
    for line in text.lines() {
        let mut start = None;
        let mut words = line.split_whitespace().peekable();
        match words.peek() {
            // An empty line ends the paragraph, and the list.
            None => {
                lines.extend([String::new(), String::new()]);
                indent = 2;
            }
            Some(word) if is_marker(word) => {
                lines.push(String::new());
                start = Some(2);
                indent = 2 + word.chars().count() + 1;
            }
            Some(_) => {}
        }
        for word in words {
            let room = WIDTH.saturating_sub(word.chars().count());
            match lines.last_mut() {
                Some(last) if last.is_empty() => *last = " ".repeat(start.unwrap_or(indent)) + word,
                Some(last) if last.chars().count() < room => *last += &format!(" {word}"),
                _ => lines.push(" ".repeat(indent) + word),
            }
        }
    }
    // Paragraphs stand one empty line apart, however many were asked for.
    lines.dedup_by(|one, other| one.is_empty() && other.is_empty());
    lines.iter().skip_while(|line| line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// Whether a word begins an item of a list: `-`, or a number such as `1.`.
fn is_marker(word: &str) -> bool {
    word == "-" || word.strip_suffix('.').is_some_and(|number| number.parse::<u8>().is_ok())
}

/// Prints a value as JSON, with a line break after it.
pub(crate) fn print_json(out: &mut impl Write, value: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}

/// A number of bytes as people read it: `512 bytes`, `1.5 kB`, `500.0 MB`.
pub(crate) fn byte_size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        // Tenths, rounded down: what is shown is never more than there is.
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

/// A value as an error may quote it: escaped, and no longer than a line can bear.
pub(crate) fn quoted(value: &str) -> String {
    const MAX_CHARS: usize = 40;
    mcp_attune_wire::text::escape_and_truncate(value, MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_paragraphs_and_lists() {
        let text = "One line of the source that ends\nearly, and one that does not end before it has become far too long for a terminal.\n\n\
                    - an item that goes on and on, so that it has to be continued below, under its text\n  and further\n\
                    - another\n10. a number\n\nThe end.";
        insta::assert_snapshot!(wrap_rule_text(text), @"
        One line of the source that ends early, and one that does not end before it
        has become far too long for a terminal.

        - an item that goes on and on, so that it has to be continued below, under its
          text and further
        - another
        10. a number

        The end.
        ");
    }

    #[test]
    fn keeps_a_word_that_is_too_long_whole() {
        let long = "x".repeat(100);
        assert_eq!(wrap_rule_text(&format!("a {long} b")), format!("  a\n  {long}\n  b\n"));
    }

    #[test]
    fn no_line_is_wider_than_a_terminal_or_ends_in_a_blank() {
        let text = wrap_rule_text(&"abcdefg ".repeat(99));
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH && !line.ends_with(' '), "{line:?}");
        }
        // Nine words of eight fit after the indent, and a tenth would not.
        assert_eq!(text.lines().next().map(str::len), Some(2 + 9 * 8 - 1));
    }

    #[test]
    fn sizes_are_told_in_the_unit_that_fits() {
        for (bytes, told) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (1_999, "1.9 kB"),
            (500_011_701, "500.0 MB"),
            (2_150_000_000, "2.1 GB"),
            (u64::MAX, "18446744073.7 GB"),
        ] {
            assert_eq!(byte_size(bytes), told);
        }
    }

    #[test]
    fn quoted_values_are_escaped_and_shortened() {
        assert_eq!(quoted("fr\n\u{1b}[31m"), "fr\\n\\u{1b}[31m");
        assert_eq!(quoted(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }
}
