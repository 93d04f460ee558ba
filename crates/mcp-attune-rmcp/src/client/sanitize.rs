//! What others wrote, as it may be shown: short, and nothing that a terminal would obey.

/// How many characters are shown.
const MAX_SANITIZED_CHARS: usize = 200;

pub(crate) fn sanitized(text: &str) -> String {
    mcp_attune_wire::text::one_line(text, MAX_SANITIZED_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_little_and_nothing_that_a_terminal_obeys() {
        assert_eq!(sanitized(" a\x1b[2J\nb "), "a [2J b");
        assert_eq!(sanitized("a\u{9b}31m\u{202e}b\u{2066}"), "a 31m b ");
        assert_eq!(sanitized(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(sanitized(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
    }
}
