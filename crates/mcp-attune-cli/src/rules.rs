//! The rules, read from the ledger that the program carries.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::exit::hinted;
use crate::text::quoted;

/// The ledger of rules, as it was when this program was built.
const LEDGER: &str = include_str!("../../../spec/rules.toml");

/// The families of rules, in the order of every listing.
const FAMILIES: [(char, &str); 8] = [
    ('L', "language"),
    ('H', "headers agree with the body"),
    ('F', "content negotiation"),
    ('C', "the caller's context"),
    ('B', "bundles"),
    ('G', "the gateway"),
    ('A', "assumed callers"),
    ('X', "the bridge between the eras"),
];

/// A rule as the ledger has it; what else stands there is not printed.
#[derive(Deserialize)]
struct LedgerEntry {
    title: String,
    level: String,
    source: String,
    says: String,
    why: String,
    #[serde(default)]
    example: String,
    #[serde(default)]
    kept: Vec<String>,
    #[serde(default)]
    refused: RefusalProof,
    state: Option<RuleState>,
    #[serde(default)]
    still: String,
}

/// The tests that show a breach refused, or `n/a: why` where nothing can be.
#[derive(Deserialize)]
#[serde(untagged)]
enum RefusalProof {
    Tests(Vec<String>),
    Nothing(String),
}

impl Default for RefusalProof {
    fn default() -> Self {
        Self::Tests(Vec::new())
    }
}

/// Whether tests prove a rule yet.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RuleState {
    Planned,
    Proven,
}

/// A rule, as it is printed.
#[derive(Serialize)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) level: String,
    pub(crate) source: String,
    pub(crate) says: String,
    pub(crate) why: String,
    pub(crate) example: String,
    pub(crate) state: RuleState,
    pub(crate) kept: Vec<String>,
    pub(crate) refused: Vec<String>,
    pub(crate) nothing_to_refuse: Option<String>,
    /// What of the rule is still to be built.
    pub(crate) still: Option<String>,
}

impl Rule {
    fn new(id: String, entry: LedgerEntry) -> Self {
        let (refused, nothing_to_refuse) = match entry.refused {
            RefusalProof::Tests(tests) => (tests, None),
            RefusalProof::Nothing(text) => {
                (Vec::new(), Some(text.trim_start_matches("n/a:").trim().to_owned()))
            }
        };
        Self {
            id,
            title: entry.title,
            level: entry.level,
            source: entry.source,
            says: entry.says.trim().to_owned(),
            why: entry.why.trim().to_owned(),
            example: entry.example.trim().to_owned(),
            state: entry.state.unwrap_or(RuleState::Proven),
            kept: entry.kept,
            refused,
            nothing_to_refuse,
            still: Some(entry.still.trim().to_owned()).filter(|still| !still.is_empty()),
        }
    }
}

/// All rules, in the order of listings.
pub(crate) struct RuleLedger(pub(crate) Vec<Rule>);

impl RuleLedger {
    /// The rules that this program was built with.
    pub(crate) fn built_in() -> anyhow::Result<Self> {
        Self::parse(LEDGER)
    }

    pub(crate) fn parse(ledger: &str) -> anyhow::Result<Self> {
        let broken = "the rules in this program cannot be read";
        let mut table: BTreeMap<String, toml::Value> = toml::from_str(ledger).context(broken)?;
        table.remove("words");
        let mut rules = table
            .into_iter()
            .map(|(id, value)| match value.try_into() {
                Ok(entry) => Ok(Rule::new(id, entry)),
                Err(error) => Err(hinted(
                    format!("{broken}: {id}: {}", error.message()),
                    "mend spec/rules.toml, check it with `cargo xtask spec`, and build again",
                )),
            })
            .collect::<anyhow::Result<Vec<Rule>>>()?;
        rules.sort_by_key(|rule| sort_key(&rule.id));
        Ok(Self(rules))
    }

    /// The rule with this id, in upper or lower case.
    pub(crate) fn find(&self, id: &str) -> anyhow::Result<&Rule> {
        let found = self.0.iter().find(|rule| rule.id.eq_ignore_ascii_case(id.trim()));
        found.ok_or_else(|| hinted(format!("there is no rule {}", quoted(id)), self.hint(id)))
    }

    /// What to ask for instead of an id that does not exist.
    fn hint(&self, id: &str) -> String {
        let id = id.trim().to_uppercase();
        let family = FAMILIES.into_iter().find(|(letter, _)| id.starts_with(*letter));
        if let Some((letter, subject)) = family {
            return format!(
                "the {letter} rules ({subject}) are {}; `attune explain` lists all",
                self.family_range(letter)
            );
        }
        let same_number: Vec<&str> =
            self.0.iter().map(|rule| rule.id.as_str()).filter(|known| known.get(1..) == Some(&id)).collect();
        if !same_number.is_empty() {
            return format!("did you mean {}? `attune explain` lists all", same_number.join(", "));
        }
        let families = FAMILIES.map(|(letter, subject)| format!("{} ({subject})", self.family_range(letter)));
        format!("the rules are {}", families.join(", "))
    }

    /// `L1 to L21`
    fn family_range(&self, letter: char) -> String {
        let mut family = self.0.iter().map(|rule| rule.id.as_str()).filter(|id| id.starts_with(letter));
        match (family.next(), family.next_back()) {
            (Some(first), Some(last)) => format!("{first} to {last}"),
            (first, _) => first.unwrap_or("none").to_owned(),
        }
    }
}

/// The family that a letter names, in upper or lower case, and what it is about.
pub(crate) fn family(text: &str) -> Option<(char, &'static str)> {
    FAMILIES.into_iter().find(|(letter, _)| text.trim().eq_ignore_ascii_case(&letter.to_string()))
}

/// Families in their order, numbers as numbers.
fn sort_key(id: &str) -> (usize, u32) {
    let family = FAMILIES.iter().position(|(letter, _)| id.starts_with(*letter)).unwrap_or(FAMILIES.len());
    (family, id.get(1..).and_then(|number| number.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_in_this_program_can_be_read() {
        let rules = RuleLedger::built_in().unwrap();
        let ranges = FAMILIES.map(|(letter, _)| rules.family_range(letter));
        let expected = [
            "L1 to L23",
            "H1 to H20",
            "F1 to F17",
            "C1 to C17",
            "B1 to B8",
            "G1 to G17",
            "A1 to A7",
            "X1 to X8",
        ];
        assert_eq!(ranges, expected);
        assert_eq!(rules.0.len(), 117);
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_named() {
        let error = RuleLedger::parse("[L1]\ntitle = 'x'\n").err().unwrap();
        assert_eq!(error.to_string(), "the rules in this program cannot be read: L1: missing field `level`");
    }
}
