//! The ledger as it is written: one TOML table for each rule.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use toml::de::DeTable;

use super::LEDGER;

/// The whole file.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The glossary.
    pub(crate) words: BTreeMap<String, String>,
    /// What stands under each id, also under ids that do not exist.
    pub(crate) entries: BTreeMap<String, Entry>,
}

/// One table, and where it begins.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) line: usize,
    /// The rule, or why the table could not be read as one.
    pub(crate) rule: Result<Rule, String>,
}

/// A rule, before anything about it is checked: a field that is missing is found with all the others.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rule {
    pub(crate) title: String,
    pub(crate) level: String,
    pub(crate) source: String,
    pub(crate) says: String,
    pub(crate) why: String,
    pub(crate) example: String,
    pub(crate) kept: Option<Side>,
    pub(crate) refused: Option<Side>,
    pub(crate) state: Option<String>,
    /// What of the rule is still to be built, where the rest is proven.
    pub(crate) still: String,
}

/// One side of a proof.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Side {
    /// The tests, each by the name that [`super::listing`] gives it, with `#case` for one case of a data-driven test.
    Tests(Vec<String>),
    /// `n/a: why`
    Text(String),
}

impl Side {
    pub(crate) fn tests(&self) -> &[String] {
        match self {
            Self::Tests(tests) => tests,
            Self::Text(_) => &[],
        }
    }
}

impl Rule {
    pub(crate) fn is_planned(&self) -> bool {
        self.state.as_deref() == Some("planned")
    }
}

impl Ledger {
    /// The rule with this id, when it is there and can be read.
    pub(crate) fn rule(&self, id: &str) -> Option<&Rule> {
        self.entries.get(id)?.rule.as_ref().ok()
    }
}

/// Reads the file. Only what is no TOML at all is an error; the rest is for the check to find.
pub(crate) fn parse(text: &str) -> Result<Ledger> {
    let spans = DeTable::parse(text).with_context(|| format!("{LEDGER} is not TOML"))?;
    let lines: BTreeMap<String, usize> =
        spans.get_ref().keys().map(|key| (key.get_ref().to_string(), line(text, key.span().start))).collect();

    let mut ledger = Ledger::default();
    let table: toml::Table = text.parse().with_context(|| format!("{LEDGER} is not TOML"))?;
    for (key, value) in table {
        if key == "words" {
            ledger.words =
                value.try_into().with_context(|| format!("{LEDGER}: [words] holds more than strings"))?;
            continue;
        }
        let line = lines.get(&key).copied().unwrap_or(1);
        let rule = value.try_into().map_err(|error| error.message().trim().to_owned());
        ledger.entries.insert(key, Entry { line, rule });
    }
    Ok(ledger)
}

fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_rules_with_their_lines_and_the_glossary() {
        let text = "[words]\nmodern = 'new'\n\n[L1]\ntitle = 'One'\nkept = ['a::b']\nrefused = 'n/a: never'\n[L2]\nstate = 'planned'\n";
        let ledger = parse(text).unwrap();
        assert_eq!(ledger.words["modern"], "new");
        assert_eq!(
            ledger.entries.iter().map(|(id, entry)| (id.as_str(), entry.line)).collect::<Vec<_>>(),
            [("L1", 4), ("L2", 8)]
        );
        let rule = ledger.rule("L1").unwrap();
        assert_eq!(rule.title, "One");
        assert_eq!(rule.kept.as_ref().unwrap().tests(), ["a::b"]);
        assert!(matches!(&rule.refused, Some(Side::Text(text)) if text == "n/a: never"));
        assert!(ledger.rule("L2").unwrap().is_planned());
    }

    #[test]
    fn keeps_a_table_that_is_no_rule_for_the_check() {
        let ledger = parse("[L1]\ntitel = 'x'\n").unwrap();
        assert!(ledger.entries["L1"].rule.as_ref().unwrap_err().contains("titel"));
        assert!(ledger.rule("L1").is_none());
    }

    #[test]
    fn refuses_what_is_not_toml() {
        assert!(parse("[L1\n").is_err());
        assert!(parse("[L1]\n[L1]\n").is_err());
    }
}
