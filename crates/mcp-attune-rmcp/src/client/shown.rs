//! What others wrote, as it may be shown: short, and nothing that a terminal would obey.

/// How many characters are shown.
const LONGEST: usize = 200;

pub(crate) fn shown(text: &str) -> String {
    let text = text.trim();
    let plain = |char: char| if char.is_control() { ' ' } else { char };
    let mut short: String = text.chars().take(LONGEST).map(plain).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_little_and_nothing_that_a_terminal_obeys() {
        assert_eq!(shown(" a\x1b[2J\nb "), "a [2J b");
        assert_eq!(shown(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(shown(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
    }
}
