//! What came of each step, in one way and in another.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The step that is before all others: the connection.
pub(super) const BEGINS: &str = "begins";

/// What came of each step, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcomes(BTreeMap<String, Value>);

#[derive(Deserialize)]
struct Line {
    step: String,
    outcome: Value,
}

impl Outcomes {
    /// Reads what a client printed.
    pub(super) fn read(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Self(lines.map(|line| (line.step, line.outcome)).collect())
    }

    /// What came of a step; null where nothing did.
    pub(super) fn get(&self, step: &str) -> &Value {
        self.0.get(step).unwrap_or(&Value::Null)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is not as it should be by itself: the server began, and each step has what it should have.
    pub(super) fn unexpected(&self, expected: impl Iterator<Item = (String, String)>) -> Vec<String> {
        let began = (BEGINS.to_owned(), r#"{"result":"#.to_owned());
        let wrong = expected.chain([began]).filter_map(|(step, has)| match self.0.get(&step) {
            None => Some(format!("{step}: did not come")),
            Some(outcome) if !mentions(outcome, &has) => {
                Some(format!("{step}: no {has:?} in {}", short(outcome)))
            }
            Some(_) => None,
        });
        wrong.collect()
    }

    /// What is other here than it was directly.
    pub(super) fn other_than(&self, direct: &Self) -> Vec<String> {
        let names = direct.0.keys().chain(self.0.keys().filter(|name| !direct.0.contains_key(*name)));
        names
            .filter(|name| self.0.get(*name) != direct.0.get(*name))
            .map(|name| {
                let [here, there] = [self, direct].map(|all| all.0.get(name).unwrap_or(&Value::Null));
                format!("{name}: {}", difference(there, here))
            })
            .collect()
    }

    /// What does not tell a modern caller which legacy version the server speaks: the first answer that it gets has to.
    pub(super) fn not_refused(&self) -> Vec<String> {
        let refused = self.0.iter().filter(|(_, outcome)| outcome.get("error").is_some());
        let mut told = refused.filter(|(_, outcome)| is_refusal(outcome)).peekable();
        if told.peek().is_some() {
            return Vec::new();
        }
        let first = self
            .0
            .iter()
            .find(|(_, outcome)| outcome.get("error").is_some())
            .or_else(|| self.0.iter().next());
        let seen = first
            .map_or_else(|| "nothing".to_owned(), |(name, outcome)| format!("{name}: {}", short(outcome)));
        vec![format!("a modern caller is not told what the server speaks: {seen}")]
    }
}

/// -32022, or what rmcp says instead of it, and a version that begins with `initialize`.
fn is_refusal(outcome: &Value) -> bool {
    let refused = ["-32022", "no compatible protocol version"].iter().any(|words| mentions(outcome, words));
    refused && mentions(outcome, "2025-11-25")
}

/// Whether a text is somewhere in a value: in a string of it, or in how it is written.
fn mentions(value: &Value, text: &str) -> bool {
    let inside = match value {
        Value::String(string) => string.contains(text),
        Value::Array(list) => list.iter().any(|item| mentions(item, text)),
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains(text) || mentions(member, text))
        }
        _ => false,
    };
    inside || value.to_string().contains(text)
}

/// Where two values begin to differ.
fn difference(expected: &Value, found: &Value) -> String {
    match (expected, found) {
        (Value::Object(one), Value::Object(two)) => {
            let names = one.keys().chain(two.keys().filter(|name| !one.contains_key(*name)));
            let differs = names.filter(|name| one.get(*name) != two.get(*name)).map(|name| {
                let [one, two] = [one, two].map(|members| members.get(name).unwrap_or(&Value::Null));
                format!(".{name}{}", difference(one, two))
            });
            differs.take(3).collect::<Vec<_>>().join("; ")
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let at = one.iter().zip(two).position(|(one, two)| one != two).unwrap_or_default();
            format!("[{at}]{}", difference(&one[at], &two[at]))
        }
        _ => format!(" is {} instead of {}", short(found), short(expected)),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    let short: String = text.chars().take(300).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT: &str = r#"noise
        {"step":"begins","outcome":{"result":{"version":"2025-11-25"}}}
        {"step":"1 calls echo","outcome":{"result":{"content":[{"text":"a \"b\""}],"x":1}}}"#;

    fn expected(has: &str) -> impl Iterator<Item = (String, String)> + use<> {
        std::iter::once(("1 calls echo".to_owned(), has.to_owned()))
    }

    #[test]
    fn what_is_other_is_named_where_it_is() {
        let direct = Outcomes::read(DIRECT);
        assert_eq!((direct.len(), direct.other_than(&direct)), (2, vec![]));
        let other = Outcomes::read(&DIRECT.replace(r#"a \"b\""#, "c"));
        assert_eq!(
            other.other_than(&direct),
            [r#"1 calls echo: .result.content[0].text is "c" instead of "a \"b\"""#]
        );
        let less = Outcomes::read(&DIRECT.replace("1 calls echo", "2 calls echo"));
        assert_eq!(less.other_than(&direct).len(), 2, "one is missing, one is new");
    }

    #[test]
    fn failing_everywhere_is_no_agreement() {
        let direct = Outcomes::read(DIRECT);
        assert_eq!(direct.unexpected(expected(r#"a "b""#)), [""; 0]);
        assert_eq!(direct.unexpected(expected("absent")).len(), 1);
        assert_eq!(Outcomes::default().unexpected(expected("absent")).len(), 2);
    }

    #[test]
    fn a_modern_caller_has_to_be_told_what_a_legacy_server_speaks() {
        let told =
            r#"{"step":"begins","outcome":{"error":{"code":-32022,"data":{"supported":["2025-11-25"]}}}}"#;
        assert_eq!(Outcomes::read(told).not_refused(), [""; 0]);
        for other in [DIRECT.to_owned(), told.replace("-32022", "-32601"), told.replace("2025-11-25", "?")] {
            assert_eq!(Outcomes::read(&other).not_refused().len(), 1, "{other}");
        }
    }
}
