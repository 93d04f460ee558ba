//! What others wrote, as it may be shown: short, and nothing that a terminal would obey.

/// How many characters are shown.
const MAX_SANITIZED_CHARS: usize = 200;

pub(crate) fn sanitized(text: &str) -> String {
    let text = text.trim();
    let plain = |char: char| if controls_terminal(char) { ' ' } else { char };
    let mut short: String = text.chars().take(MAX_SANITIZED_CHARS).map(plain).collect();
    if text.chars().nth(MAX_SANITIZED_CHARS).is_some() {
        short.push('…');
    }
    short
}

/// Whether a terminal obeys a character instead of showing it, or writes what follows in another direction.
fn controls_terminal(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
