//! Habits of the source: nothing unfinished, names that read as sentences, no sentence taken apart for its hint, files of a size
//! that can be read.

use kit::report::Finding;

/// What may not stand in any source file, and what to do instead. Taken apart, so that this file has none of it.
const UNWANTED: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it, or return an error that says what is not built"),
    (concat!("unimplemented", "!("), "finish it, or return an error that says what is not built"),
    (concat!("dbg", "!("), "take it out"),
    (concat!("#[", "ignore"), "make the test run, or remove it; a test that does not run proves nothing"),
    (concat!("fn ", "test_"), "name the test as a sentence: `falls_back_to_the_default`"),
    (
        concat!("split_once(", "\"; \")"),
        "give the error a `hint()` beside what is wrong; a semicolon is no interface",
    ),
    (
        concat!("split(", "\"; \")"),
        "give the error a `hint()` beside what is wrong; a semicolon is no interface",
    ),
];

/// The one place that says which characters of somebody else are safe, and what tells that another file says it again.
const SAFE_TEXT: &str = "crates/mcp-attune-wire/src/text.rs";
const UNSAFE_TEXT: &[&str] = &[concat!("is_", "control"), concat!("u{", "202a}"), concat!("u{", "2066}")];
/// Files that refuse or recognize such characters, and show none of them.
const REFUSES: &[&str] = &[
    "crates/mcp-attune-bundle/src/file_name.rs",
    "crates/mcp-attune-cli/src/commands/check/junit.rs",
    "crates/mcp-attune-cli/src/commands/language.rs",
    "crates/mcp-attune-shape/src/render/value.rs",
    "crates/mcp-attune-shape/src/format_writer.rs",
    "crates/mcp-attune-wire/src/endpoint.rs",
    "crates/mcp-attune/src/catalog/draft.rs",
    "crates/mcp-attune/src/context/place.rs",
];

/// From here on a file is worth a second look.
const LONG: usize = 400;
/// From here on it has more than one subject.
const TOO_LONG: usize = 800;

pub(crate) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (mark, hint) in UNWANTED.iter().filter(|(mark, _)| line.contains(mark)) {
            findings.push(Finding::new(format!("{path}:{}", index + 1), format!("contains `{mark}`"), *hint));
        }
    }
    findings.extend(safe_text(path, text));
    findings.extend(length(path, text));
    findings
}

/// Library code outside of tests does not decide by itself which characters of a stranger's text are harmless.
fn safe_text(path: &str, text: &str) -> Option<Finding> {
    let is_library = path.starts_with("crates/") && path.contains("/src/");
    if !is_library || path == SAFE_TEXT || REFUSES.contains(&path) {
        return None;
    }
    let code = text.split("#[cfg(test)]").next().unwrap_or(text);
    let found = code.lines().enumerate().find_map(|(index, line)| {
        let mark = UNSAFE_TEXT.iter().find(|mark| line.contains(**mark) && !line.trim().starts_with("//"))?;
        Some((index + 1, mark))
    });
    let (line, mark) = found?;
    let hint = format!("use what {SAFE_TEXT} has for messages, logs and content");
    Some(Finding::new(format!("{path}:{line}"), format!("`{mark}` decides which text is safe"), hint))
}

/// Library files only: tables of tests may be long, and nobody edits a generated file.
fn length(path: &str, text: &str) -> Option<Finding> {
    let is_library = path.strip_prefix("crates/").and_then(|rest| rest.split('/').nth(1)) == Some("src");
    if !is_library || text.starts_with("// @generated") {
        return None;
    }
    let lines = text.lines().count();
    let finding = Finding::new(
        format!("{path}:{lines}"),
        format!("the file has {lines} lines, {LONG} are worth a second look and {TOO_LONG} are too many"),
        "split it by subject, into files that can each be named",
    );
    match lines {
        _ if lines > TOO_LONG => Some(finding),
        _ if lines > LONG => Some(finding.warning()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_made_safe_in_one_place() {
        let cleaner = format!("text.chars().filter(|char| !char.{}())", UNSAFE_TEXT[0]);
        let findings = check("crates/a/src/b.rs", &format!("fine\n{cleaner}\n"));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].place, "crates/a/src/b.rs:2");
        assert_eq!(check(SAFE_TEXT, &cleaner), []);
        assert_eq!(check(REFUSES[0], &cleaner), []);
        assert_eq!(check("crates/a/src/b.rs", &format!("#[cfg(test)]\nmod tests {{ {cleaner} }}")), []);
        assert_eq!(check("crates/a/tests/it/b.rs", &cleaner), []);
    }

    #[test]
    fn finds_what_is_unfinished_and_hints_that_are_cut_out_of_sentences() {
        for (mark, _) in UNWANTED {
            let findings = check("xtask/src/a.rs", &format!("fine\n    {mark}"));
            assert_eq!(findings.len(), 1, "{mark}");
            assert_eq!(findings[0].place, "xtask/src/a.rs:2");
        }
        assert_eq!(check("a.rs", "fn falls_back() { todo() } #[test] fn tests_x() {}"), []);
    }

    #[test]
    fn finds_ignored_tests_with_a_reason_too() {
        assert_eq!(check("a.rs", concat!("#[", "ignore = \"slow\"]")).len(), 1);
    }

    #[test]
    fn finds_library_files_that_are_long() {
        let path = "crates/mcp-attune/src/language/negotiate.rs";
        let of = |lines: usize| check(path, &"x\n".repeat(lines));
        assert_eq!(of(LONG), []);
        assert!(of(LONG + 1)[0].warning);
        assert!(of(TOO_LONG)[0].warning);
        assert!(!of(TOO_LONG + 1)[0].warning);
    }

    #[test]
    fn leaves_generated_files_and_tests_alone() {
        let long = "x\n".repeat(TOO_LONG + 1);
        assert_eq!(check("crates/mcp-attune/src/a.rs", &format!("// @generated by x\n{long}")), []);
        assert_eq!(check("crates/mcp-attune/tests/it/src.rs", &long), []);
        assert_eq!(check("xtask/src/a.rs", &long), []);
    }
}
