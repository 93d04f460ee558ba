//! The excerpt of a file that a finding shows: the line in question with a mark under the place, and secrets
//! masked.
//!
//! ```text
//!   7 | keys = […, 1]
//!     |            ^
//! ```

use std::fmt;
use std::ops::Range;

use mcp_attune_wire::text::blank_if_deceptive;

/// How many characters of the line are shown before the place in question,
const MAX_CHARS_BEFORE: usize = 50;
/// and how many from there on.
const MAX_CHARS_AFTER: usize = 60;

/// Stands in the place of a secret, however long that is.
const MASK: char = '…';

/// The byte ranges of a file that no excerpt may show.
#[derive(Debug, Default)]
pub(super) struct SecretMasks(Vec<Range<usize>>);

impl SecretMasks {
    /// Masks a range. Ranges may overlap and come in any order.
    pub(super) fn add(&mut self, at: Range<usize>) {
        self.0.push(at);
    }

    /// Sorts the ranges and joins those that overlap. Call it once, after the last [`add`](Self::add) and
    /// before any excerpt.
    pub(super) fn sort(&mut self) {
        self.0.sort_by_key(|at| at.start);
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(self.0.len());
        for next in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if next.start < last.end => last.end = last.end.max(next.end),
                _ => joined.push(next),
            }
        }
        self.0 = joined;
    }

    /// Returns the range that a byte lies in, or `None` if it may be shown.
    fn mask_at(&self, offset: usize) -> Option<&Range<usize>> {
        let next = self.0.partition_point(|at| at.end <= offset);
        self.0.get(next).filter(|at| at.contains(&offset))
    }
}

/// A part of one line, with a mark under the place in question. Characters that could deceive a reader of a
/// terminal are blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// What is shown of the line.
    text: String,
    /// How many characters precede the mark.
    indent: usize,
    /// How many characters are marked; 0 is shown as one.
    width: usize,
}

impl Excerpt {
    /// Cuts the excerpt for the range `at` out of `text`; `line_start` is where its line begins. The cost
    /// does not depend on how long the line is. A range of several lines is marked up to the end of the
    /// first.
    pub(super) fn new(text: &str, line_start: usize, at: Range<usize>, masks: &SecretMasks) -> Self {
        let start = floor_char_boundary(text, at.start).max(line_start);
        let end = floor_char_boundary(text, at.end).max(start);
        let before = text.get(line_start..start).unwrap_or_default();
        let from = before.char_indices().rev().nth(MAX_CHARS_BEFORE - 1).map_or(0, |(index, _)| index);
        let mut excerpt = Self { text: String::new(), indent: 0, width: 0 };
        if from > 0 {
            excerpt.text.push_str("… ");
            excerpt.indent = 2;
        }
        let from = line_start + from;
        let rest = text.get(start..).unwrap_or_default();
        let until = rest.char_indices().take_while(|(_, c)| *c != '\n' && *c != '\r');
        let until =
            until.take(MAX_CHARS_AFTER).last().map_or(start, |(index, c)| start + index + c.len_utf8());
        for (index, c) in text.get(from..until).unwrap_or_default().char_indices() {
            let offset = from + index;
            let shown = match masks.mask_at(offset) {
                // A secret is one sign long, however long it is.
                Some(mask) if offset > mask.start && offset > from => continue,
                Some(_) => MASK,
                None => blank_if_deceptive(c),
            };
            excerpt.text.push(shown);
            excerpt.indent += usize::from(offset < start);
            excerpt.width += usize::from((start..end).contains(&offset));
        }
        if text.get(until..).is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['\n', '\r'])) {
            excerpt.text.push_str(" …");
        }
        excerpt
    }

    /// Writes the excerpt and its mark on two lines, with the line number in a gutter.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, line: usize) -> fmt::Result {
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "  {number} | {}", self.text.trim_end())?;
        writeln!(f, "  {gutter} | {}{}", " ".repeat(self.indent), "^".repeat(self.width.max(1)))
    }
}

/// Returns the offset, or the nearest before it at which a character begins.
pub(super) fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|offset| text.is_char_boundary(*offset)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, at: Range<usize>, masks: &[Range<usize>]) -> String {
        struct Shown(Excerpt);
        impl fmt::Display for Shown {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write(f, 7)
            }
        }
        let mut all = SecretMasks::default();
        masks.iter().cloned().for_each(|mask| all.add(mask));
        all.sort();
        let line_start = text[..at.start.min(text.len())].rfind('\n').map_or(0, |index| index + 1);
        Shown(Excerpt::new(text, line_start, at, &all)).to_string()
    }

    #[test]
    fn marks_the_place() {
        assert_eq!(
            shown("a = 1\nkey = \"ü\" # x\nb", 12..16, &[]),
            "  7 | key = \"ü\" # x\n    |       ^^^\n"
        );
    }

    #[test]
    fn the_end_of_the_text_can_be_marked() {
        assert_eq!(shown("a =", 3..3, &[]), "  7 | a =\n    |    ^\n");
        assert_eq!(shown("", 0..0, &[]), "  7 | \n    | ^\n");
    }

    #[test]
    fn marks_of_several_lines_end_with_the_line() {
        assert_eq!(shown("a = [\n1]", 4..8, &[]), "  7 | a = [\n    |     ^\n");
    }

    #[test]
    fn secrets_are_one_sign_long_wherever_they_stand() {
        let text = "k = [\"secret\", 1]";
        assert_eq!(shown(text, 5..13, &[5..13, 6..9]), "  7 | k = […, 1]\n    |      ^\n");
        assert_eq!(shown(text, 15..16, &[5..13, 5..6]), "  7 | k = […, 1]\n    |         ^\n");
        assert_eq!(shown("k = '''a\nsecret'''", 9..10, &[4..18, 4..5]), "  7 | …\n    | ^\n");
    }

    #[test]
    fn tabs_and_signs_of_control_are_blanks() {
        assert_eq!(shown("\ta = \u{1b}", 1..2, &[]), "  7 |  a =\n    |  ^\n");
    }

    #[test]
    fn long_lines_are_cut_on_both_sides() {
        let text = format!("{}x{}", "é".repeat(999), "ü".repeat(999));
        let expected =
            format!("  7 | … {}x{} …\n    | {}^\n", "é".repeat(50), "ü".repeat(59), " ".repeat(52));
        assert_eq!(shown(&text, 1998..1999, &[]), expected);
    }
}
