//! Words that no file may contain.

use kit::report::Finding;

/// A project speaks about itself, not about where it was written. Compared without regard to case, and taken
/// apart here so that this file does not contain them either.
const FORBIDDEN: &[&str] = &[
    concat!("../", "shared"),
    concat!("/", "work/"),
    concat!("/", "root/"),
    concat!("/.", "mirror"),
    concat!(".", "mirror/"),
];

pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for word in FORBIDDEN.iter().filter(|word| line.contains(**word)) {
            findings.push(Finding::new(
                format!("{path}:{}", index + 1),
                format!("contains `{word}`, a place outside the project"),
                "name a path in the tree, or say it without a path",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_forbidden_word_in_any_case() {
        for word in FORBIDDEN {
            for word in [(*word).to_owned(), word.to_uppercase()] {
                let findings = check("a.md", &format!("fine\nsee {word} there\n"));
                assert_eq!(findings.len(), 1, "{word}");
                assert_eq!(findings[0].place, "a.md:2");
            }
        }
    }

    #[test]
    fn finds_nothing_in_words_that_only_look_alike() {
        assert_eq!(
            check("a.rs", "self.mirror(x); headers.mirrored(); a/network/b; docs/rooted/x; a shared/ folder"),
            []
        );
    }
}
