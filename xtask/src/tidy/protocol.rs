//! Facts of the protocol are written once, in `mcp_attune_wire::protocol`.
//!
//! 1. The facts are read from that module: header names, versions, keys, extensions and error codes. Methods are not looked
//!    for: their names are the words of the field, and stand in matches and in JSON all over.
//! 2. Product source is everything in a `src` folder of the product up to its tests, without comments.
//! 3. A fact is a copy where it stands between quotes, also inside JSON, or is a number of its own. Sentences that
//!    mention one are fine. The case of a header name does not matter.

use kit::report::Finding;

/// Where the facts stand.
pub(crate) const HOME: &str = "crates/mcp-attune-wire/src/protocol.rs";

/// Source that only tests use, in files of its own.
const TESTS: &[&str] = &["/proof/", "/tests.rs", "/sample.rs"];

/// The beginning of MCP's own keys and extensions.
const NAMESPACE: &str = "io.modelcontextprotocol/";

const HINT: &str = "use the constant in `mcp_attune_wire::protocol`";

/// What may stand in one place only.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// In lower case.
    texts: Vec<String>,
    codes: Vec<String>,
}

impl Facts {
    /// Reads the facts from the text of their module.
    pub(crate) fn read(home: &str) -> Self {
        let mut facts = Self::default();
        for (_, line) in product(home) {
            let Some((_, value)) = line.split_once(" = ") else { continue };
            if let Some(text) = value.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                if text.contains('-') || text.starts_with(NAMESPACE) {
                    facts.texts.push(text.to_ascii_lowercase());
                }
            } else if value.starts_with("-32") {
                facts.codes.push(value.trim_end_matches(';').to_owned());
            }
        }
        facts
    }

    /// Finds copies of facts in a source file of the product.
    pub(crate) fn check(&self, path: &str, text: &str) -> Vec<Finding> {
        if !is_product(path) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for (number, line) in product(text) {
            let lower = line.to_ascii_lowercase();
            let copy = self.texts.iter().find(|fact| is_quoted(&lower, fact));
            let copy = copy.or_else(|| self.codes.iter().find(|code| is_number(line, code)));
            findings.extend(copy.map(|fact| {
                Finding::new(
                    format!("{path}:{number}"),
                    format!("writes `{fact}`, a fact of MCP, again"),
                    HINT,
                )
            }));
        }
        findings
    }
}

fn is_product(path: &str) -> bool {
    let is_source = path.ends_with(".rs") && path.starts_with("crates/") && path.contains("/src/");
    is_source && path != HOME && !TESTS.iter().any(|tests| path.contains(tests))
}

/// The lines of a file up to its tests that are no comments, each with its number.
fn product(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let end = text.find("\n#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text.get(..end).unwrap_or_default().lines().enumerate();
    lines.map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Whether a text stands between quotes, which JSON in a string escapes.
fn is_quoted(line: &str, fact: &str) -> bool {
    line.match_indices(fact).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + fact.len()..).unwrap_or_default();
        before.ends_with('"') && after.trim_start_matches('\\').starts_with('"')
    })
}

/// Whether a code stands as a number, and not in a sentence: what is before it has whole strings only.
fn is_number(line: &str, code: &str) -> bool {
    line.match_indices(code).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + code.len()..).unwrap_or_default();
        let in_text = before.matches('"').count() % 2 == 1;
        let alone = before.ends_with('"') && after.starts_with('"');
        (!in_text || alone) && !after.starts_with(|next: char| next.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/mcp-attune-gateway/src/a.rs";

    fn facts() -> Facts {
        let home = std::fs::read_to_string(kit::shell::root().join(HOME)).unwrap();
        Facts::read(&home)
    }

    fn places(text: &str) -> Vec<String> {
        facts().check(PATH, text).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn reads_the_facts_from_their_home() {
        let facts = facts();
        for text in ["mcp-session-id", "2026-07-28", "io.modelcontextprotocol/ui"] {
            assert!(facts.texts.iter().any(|fact| fact == text), "{text}");
        }
        assert!(facts.codes.iter().any(|code| code == "-32020"), "{:?}", facts.codes);
    }

    #[test]
    fn finds_a_fact_that_is_written_again() {
        for copy in [
            r#"const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");"#,
            r#"headers.get("Mcp-Session-Id")"#,
            r#"const MODERN: &str = "2026-07-28";"#,
            r##"r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"{MODERN}"}}"#"##,
            r#""{\"io.modelcontextprotocol/ui\":{}}""#,
            "Some(-32020) => 400,",
            r#"code.raw() == "-32603""#,
        ] {
            let text = format!("fine\n{copy}\nfine");
            assert_eq!(places(&text), [format!("{PATH}:2")], "{copy}");
        }
    }

    #[test]
    fn leaves_sentences_comments_tests_and_other_files_alone() {
        for fine in [
            r#""Mcp-Session-Id is missing; begin with `initialize`""#,
            r#"title: "a batch is 400 and -32600","#,
            "/// `\"2026-07-28\"` and later.",
            "use mcp_attune_wire::protocol::version::MODERN;",
            "let other = -320201;",
            "\n#[cfg(test)]\nmod tests {\n    const A: &str = \"2026-07-28\";",
        ] {
            assert_eq!(places(fine), Vec::<String>::new(), "{fine}");
        }
        let copy = "\"2026-07-28\"";
        for path in [
            HOME,
            "crates/mcp-attune/tests/it/a.rs",
            "crates/mcp-attune-cli/src/commands/check/proof/right/mod.rs",
        ] {
            assert_eq!(facts().check(path, copy), [], "{path}");
        }
    }
}
