//! Values made harmless: what a server says is text, and never markup.

use std::borrow::Cow;

/// A value in Markdown: one line that reads as the value, in CommonMark and in GitHub's tables.
///
/// Line breaks become blanks, so that nothing begins a line that was no beginning. Signs that could be markup are escaped,
/// those that can only be markup at a beginning only there.
pub(super) fn markdown(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
        && !text.starts_with(' ')
        && !text.ends_with(' ')
    {
        return Cow::Borrowed(text);
    }
    let text = visible(text);
    let text = text.trim();
    let mut out = String::with_capacity(text.len() + 8);
    let numbered = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut before = None;
    for (at, char) in text.char_indices() {
        let next = text.get(at + char.len_utf8()..).and_then(|rest| rest.chars().next());
        let word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        let ends = next.is_none_or(char::is_whitespace);
        let escaped = match char {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' => true,
            '_' => !(word(before) && word(next)),
            '&' => next.is_some_and(|next| next.is_ascii_alphanumeric() || next == '#'),
            '!' => next == Some('['),
            '#' | '+' | '-' | '=' => at == 0 && (ends || next == Some(char)),
            // `10. September` is a date, and not the tenth of a list.
            '.' | ')' => numbered > 0 && at == numbered && ends,
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        match char {
            '\n' | '\t' if before.is_none_or(|before| before == ' ') => {}
            '\n' | '\t' => out.push(' '),
            char => out.push(char),
        }
        before = Some(if matches!(char, '\n' | '\t') { ' ' } else { char });
    }
    Cow::Owned(out)
}

/// Text without signs of control, but for ends of lines and tabs: a terminal obeys the others.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let control = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    if text.contains(control) { Cow::Owned(text.replace(control, "")) } else { Cow::Borrowed(text) }
}

/// A URL as it can stand in a link; none where it is not one that a reader may follow without harm.
pub(super) fn url(text: &str) -> Option<String> {
    let scheme = text.split_once(':')?.0.to_ascii_lowercase();
    let rest = text.get(scheme.len() + 1..)?;
    let fits = match scheme.as_str() {
        "http" | "https" => rest.starts_with("//") && rest.len() > 2,
        "mailto" => !rest.is_empty(),
        _ => false,
    };
    if !fits || text.chars().any(char::is_control) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            ' ' => out.push_str("%20"),
            '"' => out.push_str("%22"),
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '\\' => out.push_str("%5C"),
            '`' => out.push_str("%60"),
            '|' => out.push_str("%7C"),
            '*' => out.push_str("%2A"),
            '[' => out.push_str("%5B"),
            ']' => out.push_str("%5D"),
            char if char.is_whitespace() => return None,
            char => out.push(char),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_values_is_text() {
        for (value, expected) in [
            ("Bern", "Bern"),
            ("wind_speed_kmh", "wind_speed_kmh"),
            ("_em_ __init__", "\\_em\\_ \\_\\_init\\_\\_"),
            ("# no heading", "\\# no heading"),
            ("C# is fine", "C# is fine"),
            ("**bold** `code`", "\\*\\*bold\\*\\* \\`code\\`"),
            ("[a](javascript:b)", "\\[a\\](javascript:b)"),
            ("![a](b)", "\\!\\[a\\](b)"),
            ("<script>", "\\<script\\>"),
            ("&lt; AT&T & Co", "\\&lt; AT\\&T & Co"),
            ("a | b", "a \\| b"),
            ("- item", "\\- item"),
            ("-5", "-5"),
            ("---", "\\---"),
            ("  - item ", "\\- item"),
            ("10. September 2024", "10\\. September 2024"),
            ("3) three", "3\\) three"),
            ("3.5", "3.5"),
            ("3.", "3\\."),
            ("a\n\n# b\r\n- c", "a # b - c"),
            ("\u{1b}[31mred", "\\[31mred"),
            ("    code", "code"),
            ("{{ x }}", "{{ x }}"),
        ] {
            assert_eq!(markdown(value), expected, "{value:?}");
        }
    }

    #[test]
    fn signs_of_control_are_not_text() {
        assert_eq!(visible("a\u{1b}[0m\u{7}\u{9b}\r\nb\tc"), "a[0m\nb\tc");
        assert!(matches!(visible("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn links_lead_to_the_web_and_to_mail_only() {
        assert_eq!(url("https://a.ch/b?c=d&e#f").as_deref(), Some("https://a.ch/b?c=d&e#f"));
        assert_eq!(url("HTTP://a.ch/(b) <c>").as_deref(), Some("HTTP://a.ch/%28b%29%20%3Cc%3E"));
        assert_eq!(url("mailto:a@b.ch").as_deref(), Some("mailto:a@b.ch"));
        for wrong in
            ["", "a", "javascript:alert(1)", "data:text/html,x", "https:a", "//a.ch", "http://", " https://a"]
        {
            assert_eq!(url(wrong), None, "{wrong}");
        }
        assert_eq!(url("https://a\nb"), None);
        assert_eq!(url("https://a\u{a0}b"), None);
    }
}
