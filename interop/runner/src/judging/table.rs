//! Rule by server: how many of the scenarios that apply were passed.

use serde_json::Value;

/// What `attune check` said of one server.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) behind: bool,
    pub(super) report: Value,
}

impl Column {
    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.report["rules"].as_array().into_iter().flatten()
    }

    /// What was broken, or could not be judged, a line each.
    pub(super) fn broken(&self) -> impl Iterator<Item = String> {
        let bad = |check: &&Value| check["outcome"] == "failed" || check["outcome"] == "unclear";
        self.rules().flat_map(move |rule| {
            let checks = rule["checks"].as_array().into_iter().flatten().filter(bad);
            checks.map(|check| {
                format!("{}: {}: {}", text(&rule["rule"]), text(&check["title"]), text(&check["came"]))
            })
        })
    }

    /// `7 of 8`, or a dash where nothing applies.
    fn cell(&self, id: &str) -> String {
        let rule = self.rules().find(|rule| rule["rule"] == id);
        let checks = rule.and_then(|rule| rule["checks"].as_array());
        let outcomes: Vec<_> = checks.into_iter().flatten().map(|check| text(&check["outcome"])).collect();
        let applied = outcomes.iter().filter(|outcome| **outcome != "not-applicable").count();
        let passed = outcomes.iter().filter(|outcome| **outcome == "passed").count();
        match (passed, applied) {
            (_, 0) => "–".to_owned(),
            (passed, applied) if passed == applied => format!("{passed}"),
            (passed, applied) => format!("**{passed} of {applied}**"),
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The table, with a line for each rule.
pub(super) fn markdown(columns: &[Column]) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let titles = columns
        .iter()
        .map(|column| if column.behind { format!("{}, behind", column.name) } else { column.name.clone() });
    let mut lines = vec![row("rule", titles), format!("|---{}|", "|---".repeat(columns.len()))];
    let versions = columns.iter().map(|column| text(&column.report["version"]).to_owned());
    lines.push(row("speaks", versions));
    for rule in first.rules() {
        let id = text(&rule["rule"]);
        let title = format!("{id} {}", text(&rule["title"]));
        lines.push(row(&title, columns.iter().map(|column| column.cell(id))));
    }
    for (title, count) in [("passed", "passed"), ("failed", "failed"), ("not applicable", "not_applicable")] {
        let counts = columns.iter().map(|column| column.report["counts"][count].to_string());
        lines.push(row(&format!("in all {title}"), counts));
    }
    lines.join("\n") + "\n"
}

fn row(title: &str, cells: impl Iterator<Item = String>) -> String {
    format!("| {title} | {} |", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cell_says_how_much_of_what_applies_was_passed() {
        let check = |outcome: &str| json!({ "title": "t", "outcome": outcome, "came": "200" });
        let rule = |id: &str, outcomes: &[&str]| json!({ "rule": id, "title": "T", "checks": outcomes.iter().map(|it| check(it)).collect::<Vec<_>>() });
        let rules = [
            rule("H1", &["passed", "failed", "not-applicable"]),
            rule("H2", &["passed", "passed"]),
            rule("L1", &["not-applicable"]),
        ];
        let column = Column { name: "a".to_owned(), behind: true, report: json!({ "rules": rules }) };
        assert_eq!(["H1", "H2", "L1", "H9"].map(|id| column.cell(id)), ["**1 of 2**", "2", "–", "–"]);
        assert_eq!(column.broken().collect::<Vec<_>>(), ["H1: t: 200"]);
    }
}
