//! Text in Markdown, such that it reads as it is and nothing of it acts.
//!
//! Only what would be active is escaped: people read Markdown unrendered too. So `snake_case`, `a < b`, `R&D`, `[1, 2]`
//! and `3 * 4` stay as they are, while `*x*`, `<b>`, `&lt;` and `[x](y)` get a backslash. What is active is the union of
//! CommonMark and GitHub's tables, task lists, strike-through and footnotes.

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EscapeContext {
    /// At the beginning of a line that a block could begin at.
    Start,
    /// The same, and other lines of the text stand around it.
    Line,
    /// Somewhere in a line.
    Within,
    /// In bold, where a tilde could meet another outside.
    Label,
    /// In a heading, up to its end.
    Heading,
    /// In a table.
    Cell,
    /// Wherever somebody else puts it, with text of theirs around it.
    Anywhere,
}

/// Writes a text of one line.
pub(crate) fn escape(text: &str, place: EscapeContext, out: &mut String) {
    let text = trim(text);
    let (begun, text) = match place {
        EscapeContext::Start | EscapeContext::Line | EscapeContext::Anywhere => {
            escape_line_start(text, place, out)
        }
        _ => (0, text),
    };
    let bytes = text.as_bytes();
    let mut written = begun;
    let mut at = begun;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| is_active(*byte))) {
        let here = at + found;
        out.push_str(text.get(written..here).unwrap_or_default());
        let length = escape_next(text, here, place, out);
        at = here + length;
        written = at;
    }
    let rest = text.get(written..).unwrap_or_default();
    if closes_heading(rest, place) {
        out.push_str(rest.get(..rest.len() - 1).unwrap_or_default());
        out.push_str("\\#");
    } else {
        out.push_str(rest);
    }
}

/// The text without white space at its ends; most have none, and begin and end in ASCII.
#[inline]
fn trim(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~'] | [b'!'..=b'~', .., b'!'..=b'~'] => text,
        _ => text.trim(),
    }
}

/// Whether the end of a text could end a heading.
fn closes_heading(rest: &str, place: EscapeContext) -> bool {
    match place {
        EscapeContext::Heading => rest.ends_with('#'),
        EscapeContext::Anywhere => rest.ends_with('#') && rest.trim_end_matches('#').ends_with(' '),
        _ => false,
    }
}

/// The bytes that need a look, as a table: every byte of a page is looked up here.
#[expect(clippy::indexing_slicing, reason = "it is evaluated when this is compiled")]
static ACTIVE: [bool; 256] = {
    let mut active = [false; 256];
    let mut rest: &[u8] = b"\\`*_~[]<>&|\n\t";
    while let [byte, others @ ..] = rest {
        active[*byte as usize] = true;
        rest = others;
    }
    active
};

/// Whether a byte needs a look.
#[inline]
fn is_active(byte: u8) -> bool {
    ACTIVE.get(usize::from(byte)) == Some(&true)
}

/// Takes the fire out of what would begin a block. Gives how many bytes were written, and the text.
fn escape_line_start<'t>(text: &'t str, place: EscapeContext, out: &mut String) -> (usize, &'t str) {
    let bytes = text.as_bytes();
    let ends = |at: usize| bytes.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
    let run = |byte: u8| bytes.iter().take_while(|one| **one == byte).count();
    let only = |set: &[u8]| bytes.iter().all(|byte| set.contains(byte));
    let marks = match bytes.first() {
        Some(b'#') => run(b'#') <= 6 && ends(run(b'#')),
        Some(b'>') => true,
        Some(b'+') => ends(1),
        Some(b'-') => ends(1) || only(b"-:| \t"),
        Some(b'=') => only(b"= \t"),
        Some(b':') => place == EscapeContext::Line && only(b"-:| \t") || ends(1),
        Some(b'~') => run(b'~') >= 3,
        Some(b'[') => matches!(bytes, [_, b' ' | b'x' | b'X' | b'\t', b']', ..]) && ends(3),
        Some(b'0'..=b'9') => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits <= 9 && matches!(bytes.get(digits), Some(b'.' | b')')) && ends(digits + 1) {
                out.push_str(text.get(..digits).unwrap_or_default());
                out.push('\\');
                out.push_str(text.get(digits..=digits).unwrap_or_default());
                return (digits + 1, text);
            }
            false
        }
        _ => false,
    };
    if !marks {
        return (0, text);
    }
    out.push('\\');
    out.push_str(text.get(..1).unwrap_or_default());
    (1, text)
}

/// Writes what begins here, escaped if it would act, and gives how many bytes it has.
fn escape_next(text: &str, here: usize, place: EscapeContext, out: &mut String) -> usize {
    let bytes = text.as_bytes();
    let byte = bytes.get(here).copied().unwrap_or(b' ');
    let next = bytes.get(here + 1).copied();
    let blank = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_whitespace());
    let acts = match byte {
        // What stands around the text is not known: it could complete whatever the text begins.
        b'\\' | b'*' | b'~' | b'[' | b']' | b'<' | b'>' | b'|' if place == EscapeContext::Anywhere => true,
        b'&' if place == EscapeContext::Anywhere => {
            next.is_some_and(|next| next.is_ascii_alphanumeric() || next == b'#')
        }
        b'>' => false,
        b'\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        b'`' => true,
        b'*' => !(blank(next) && blank(here.checked_sub(1).and_then(|before| bytes.get(before)).copied())),
        b'_' => return escape_underscores(text, here, out),
        b'~' => place == EscapeContext::Label || bytes.iter().filter(|byte| **byte == b'~').count() > 1,
        b'[' => next == Some(b'^'),
        b']' => matches!(next, Some(b'(' | b'[' | b':')),
        b'<' => next.is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')),
        b'&' => is_entity(bytes.get(here + 1..).unwrap_or_default()),
        b'|' => matches!(place, EscapeContext::Cell | EscapeContext::Line),
        _ => {
            out.push(' ');
            return 1;
        }
    };
    if acts {
        out.push('\\');
    }
    out.push(char::from(byte));
    1
}

/// A run of them acts unless it is inside of a word, or all by itself.
fn escape_underscores(text: &str, here: usize, out: &mut String) -> usize {
    let rest = text.get(here..).unwrap_or_default();
    let run = rest.bytes().take_while(|byte| *byte == b'_').count();
    let before = text.get(..here).and_then(|before| before.chars().next_back());
    let after = rest.get(run..).and_then(|after| after.chars().next());
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    let acts = !both(char::is_alphanumeric) && !both(char::is_whitespace);
    for _ in 0..run {
        out.push_str(if acts { "\\_" } else { "_" });
    }
    run
}

/// Whether what stands behind an ampersand makes a character of it.
fn is_entity(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"#").unwrap_or(rest);
    let length = name.iter().take(40).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // No name has fewer than two letters.
    length >= if name.len() < rest.len() { 1 } else { 2 } && name.get(length) == Some(&b';')
}

/// Writes code in a line, between as many backticks as it needs.
pub(crate) fn write_code_span(text: &str, place: EscapeContext, out: &mut String) {
    let fence = "`".repeat(longest_backtick_run(text) + 1);
    let pad = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    out.push_str(&fence);
    if pad {
        out.push(' ');
    }
    match place {
        EscapeContext::Cell => out.push_str(&text.replace('|', "\\|")),
        _ => out.push_str(text),
    }
    if pad {
        out.push(' ');
    }
    out.push_str(&fence);
}

/// The longest run of backticks.
pub(crate) fn longest_backtick_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: EscapeContext, text: &str, expected: &str) {
        let mut out = String::new();
        escape(text, place, &mut out);
        assert_eq!(out, expected, "{text} {place:?}");
    }

    #[test]
    fn what_would_act_is_escaped() {
        for (text, expected) in [
            ("*x*", "\\*x\\*"),
            ("_x_", "\\_x\\_"),
            ("a `b`", "a \\`b\\`"),
            ("<script>", "\\<script>"),
            ("</b>", "\\</b>"),
            ("[x](javascript:alert(1))", "[x\\](javascript:alert(1))"),
            ("![x](y)", "![x\\](y)"),
            ("[x]: y", "[x\\]: y"),
            ("[^1]", "\\[^1]"),
            ("&lt;b&gt; &#35; &copy;", "\\&lt;b\\&gt; \\&#35; \\&copy;"),
            ("~~gone~~", "\\~\\~gone\\~\\~"),
            ("\\*", "\\\\\\*"),
            ("ends\\", "ends\\\\"),
        ] {
            check(EscapeContext::Within, text, expected);
        }
        check(EscapeContext::Cell, "a|b", "a\\|b");
        check(EscapeContext::Heading, "C #", "C \\#");
        check(EscapeContext::Heading, "C#", "C\\#");
    }

    #[test]
    fn what_would_not_act_is_left() {
        for text in [
            "snake_case",
            "__a__b".trim_matches('_'),
            "a < b",
            "R&D; AT&T",
            "[1, 2]",
            "3 * 4",
            "C:\\Users",
            "~5 km",
            "a|b",
            "https://a.b/c_d?e=1&f=2#g",
            "1. x",
            "# x",
            "- x",
            "100%",
            "a@b.example",
            "$5 (!)",
            "x = y",
            "a -- b",
        ] {
            check(EscapeContext::Within, text, text);
        }
        for text in
            ["#5 is alive", "-5", "3.5", "2024-09-10", "+41 31", "1.5. x", "[INFO] x", ":smile:", "=1", "—"]
        {
            check(EscapeContext::Start, text, text);
        }
    }

    #[test]
    fn nothing_begins_a_block() {
        for (text, expected) in [
            ("# x", "\\# x"),
            ("> x", "\\> x"),
            ("- x", "\\- x"),
            ("-", "\\-"),
            ("---", "\\---"),
            ("- - -", "\\- - -"),
            ("***", "\\*\\*\\*"),
            ("* x", "\\* x"),
            ("+ x", "\\+ x"),
            ("1. x", "1\\. x"),
            ("12)", "12\\)"),
            ("```sh", "\\`\\`\\`sh"),
            ("~~~", "\\~\\~\\~"),
            ("===", "\\==="),
            ("[x] done", "\\[x] done"),
            ("<!-- x", "\\<!-- x"),
        ] {
            check(EscapeContext::Start, text, expected);
            check(EscapeContext::Line, text, expected);
        }
        check(EscapeContext::Line, ":--|--:", "\\:--\\|--:");
        check(EscapeContext::Line, "--|--", "\\--\\|--");
    }

    #[test]
    fn code_has_a_fence_that_it_does_not_hold() {
        for (text, expected) in [("{}", "`{}`"), ("a`b", "``a`b``"), ("`", "`` ` ``")] {
            let mut out = String::new();
            write_code_span(text, EscapeContext::Within, &mut out);
            assert_eq!(out, expected);
        }
    }
}
