//! Long lines, broken at blanks.

use unicode_width::UnicodeWidthStr;

/// The narrowest that text is made.
const MIN_WIDTH: usize = 20;

/// Breaks the lines that are longer than so many columns, at blanks. What goes on stands below where it began: under the
/// text of an item of a list, or as far in as its line, and `hang` columns more. Lines that fit stay as they are, and so does
/// a word that is longer than a line.
pub(crate) fn wrapped(text: &str, width: usize, hang: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        wrap_line(&mut out, line, width.max(MIN_WIDTH), hang);
    }
    out
}

fn wrap_line(out: &mut String, line: &str, width: usize, hang: usize) {
    if visible_width(line) <= width {
        return out.push_str(line);
    }
    let (start, rest) = margin(line);
    // A margin that leaves no room is none.
    let hanging = hanging(start, hang, width);
    out.push_str(start);
    let mut used = visible_width(start);
    let mut first = true;
    for word in rest.split(' ') {
        let wide = visible_width(word);
        if !first && used + 1 + wide > width {
            let end = out.trim_end_matches(' ').len();
            out.truncate(end);
            out.push('\n');
            out.push_str(&hanging);
            used = hanging.width();
        } else if !first {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
        first = false;
    }
}

/// What stands left of the lines that go on.
fn hanging(start: &str, hang: usize, width: usize) -> String {
    let quotes: String = start.chars().map(|char| if char == '>' { '>' } else { ' ' }).collect();
    let hanging = quotes + &" ".repeat(hang);
    if hanging.width() * 2 > width { String::new() } else { hanging }
}

/// What a line begins with: blanks, marks of quotes, and the mark of an item.
fn margin(line: &str) -> (&str, &str) {
    let inner = line.trim_start_matches([' ', '>']);
    let digits = inner.trim_start_matches(|char: char| char.is_ascii_digit());
    let rest = inner
        .strip_prefix("- ")
        .or_else(|| inner.strip_prefix("* "))
        .or_else(|| digits.strip_prefix(". ").filter(|_| digits.len() < inner.len()))
        .unwrap_or(inner);
    line.split_at_checked(line.len() - rest.len()).unwrap_or(("", line))
}

/// How many columns a text takes, our own styles aside.
pub(crate) fn visible_width(text: &str) -> usize {
    let mut pieces = text.split('\u{1b}');
    let first = pieces.next().map_or(0, UnicodeWidthStr::width);
    let others = pieces.map(|piece| piece.split_once('m').map_or(0, |(_, rest)| rest.width()));
    first + others.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_hang_below_where_they_began() {
        let text = "The forecast shows rain.\n- an item that goes on\n12. and a number that does\n\n  > said in a quote";
        insta::assert_snapshot!(wrapped(text, 20, 0), @"
        The forecast shows
        rain.
        - an item that goes
          on
        12. and a number
            that does

          > said in a quote
        ");
        assert_eq!(
            wrapped("error: this is what went wrong", 20, 7),
            "error: this is what\n       went wrong"
        );
    }

    #[test]
    fn what_fits_stays_and_so_does_a_long_word() {
        for text in ["a  b   c", "", "  ", &"x".repeat(50)] {
            assert_eq!(wrapped(text, 20, 2), text);
        }
        let long = "y".repeat(30);
        assert_eq!(wrapped(&format!("a {long} b"), 20, 0), format!("a\n{long}\nb"));
    }

    #[test]
    fn styles_take_no_room() {
        let text = "\u{1b}[1mone\u{1b}[0m two three four";
        assert_eq!(visible_width(text), 18);
        assert_eq!(wrapped(text, 20, 0), text);
    }
}
