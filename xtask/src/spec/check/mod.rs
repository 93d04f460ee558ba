//! Whether the ledger keeps its word: one function over what was read, so that every finding can be tested.

use std::collections::BTreeSet;

use super::cases::{Cases, File};
use super::ledger::{Ledger, Rule, Side};
use super::listing::{Tests, last_segment};
use super::{CASES, LEDGER, WIRE, ids};
use kit::report::Finding;

/// Everything that is wrong with the ledger.
pub(crate) fn check(ledger: &Ledger, tests: &Tests, cases: &Cases) -> Vec<Finding> {
    let mut findings = missing_ids(ledger);
    for (id, entry) in &ledger.entries {
        let place = format!("{LEDGER}:{}: {id}", entry.line);
        if !ids::all().any(|known| known == *id) {
            let hint = format!("the rules are {}", ids::ranges());
            findings.push(Finding::new(place, "there is no such rule", hint));
            continue;
        }
        match &entry.rule {
            Err(why) => findings.push(Finding::new(
                place,
                format!("cannot be read as a rule: {why}"),
                "a rule has title, level, source, says, why, example, and kept and refused, or state",
            )),
            Ok(rule) => {
                let mut about = About { place, findings: &mut findings };
                about.texts(rule);
                about.proof(rule);
                for (side, tests_of) in [("kept", &rule.kept), ("refused", &rule.refused)] {
                    about.names(side, tests_of.as_ref().map_or(&[], Side::tests), tests, cases);
                }
            }
        }
    }
    for (stem, file) in cases {
        case_file(stem, file, ledger, &mut findings);
    }
    findings
}

fn missing_ids(ledger: &Ledger) -> Vec<Finding> {
    ids::all()
        .filter(|id| !ledger.entries.contains_key(id))
        .map(|id| {
            let hint = format!("add a table [{id}]; what is not built yet says state = \"planned\"");
            Finding::new(format!("{LEDGER}: {id}"), "the rule is missing", hint)
        })
        .collect()
}

/// The findings about one rule.
struct About<'a> {
    place: String,
    findings: &'a mut Vec<Finding>,
}

impl About<'_> {
    fn find(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        self.findings.push(Finding::new(&self.place, what, hint));
    }

    fn texts(&mut self, rule: &Rule) {
        let texts = [
            ("title", &rule.title),
            ("level", &rule.level),
            ("source", &rule.source),
            ("says", &rule.says),
            ("why", &rule.why),
        ];
        for (field, text) in texts {
            if text.trim().is_empty() {
                self.find(format!("`{field}` is missing or empty"), "write it, for a reader who is new here");
            }
        }
        if !matches!(rule.level.trim(), "" | "must" | "should" | "may") {
            self.find(format!("there is no level `{}`", rule.level), "the levels are must, should and may");
        }
    }

    /// Both sides are there, or the rule is planned and neither is.
    fn proof(&mut self, rule: &Rule) {
        if let Some(state) = rule.state.as_deref().filter(|state| *state != "planned") {
            self.find(
                format!("there is no state `{state}`"),
                "write `planned`, or leave it out and name the tests",
            );
            return;
        }
        if rule.is_planned() {
            if rule.kept.is_some() || rule.refused.is_some() {
                self.find("is planned and also names tests", "take `state` out once the rule is proven");
            }
            return;
        }
        self.side("kept", rule.kept.as_ref());
        self.side("refused", rule.refused.as_ref());
    }

    fn side(&mut self, side: &str, value: Option<&Side>) {
        let others = if side == "refused" { ", or \"n/a: why\" where nothing can be refused" } else { "" };
        let hint = format!(
            "name the tests that prove this side{others}; what is not built says state = \"planned\""
        );
        match value {
            None => self.find(format!("`{side}` is missing"), hint),
            Some(Side::Tests(tests)) if tests.is_empty() => {
                self.find(format!("`{side}` is an empty list"), hint);
            }
            Some(Side::Text(_)) if side == "kept" => self.find("`kept` must be a list of tests", hint),
            Some(Side::Text(text)) if text.strip_prefix("n/a:").is_none_or(|why| why.trim().is_empty()) => {
                self.find(format!("`{side}` is a text that does not say `n/a: why`"), hint);
            }
            Some(_) => {}
        }
    }

    /// Each test exists once, runs, and has the case that is named.
    fn names(&mut self, side: &str, names: &[String], tests: &Tests, cases: &Cases) {
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name) {
                self.find(format!("`{side}` lists `{name}` twice"), "list it once");
                continue;
            }
            let (test, case) = match name.split_once('#') {
                Some((test, case)) => (test, Some(case)),
                None => (name.as_str(), None),
            };
            let found = tests.find(test);
            if found.count == 0 {
                self.find(
                    format!("`{side}` names `{test}`, and there is no such test"),
                    namesakes(test, tests),
                );
                continue;
            }
            if found.count > 1 {
                let hint = "rename all but one of them, so that the ledger says which test it means";
                self.find(format!("`{side}` names `{test}`, and {} tests have that name", found.count), hint);
            }
            if found.ignored {
                let hint = "make it run, or plan the rule";
                self.find(format!("`{side}` names `{test}`, which is ignored"), hint);
            }
            if let Some(case) = case {
                self.case(side, test, case, cases);
            }
        }
    }

    fn case(&mut self, side: &str, test: &str, case: &str, cases: &Cases) {
        let stem = last_segment(test);
        let is_wire = cases.get(stem).is_some_and(|file| file.as_ref().is_ok_and(|file| file.is_wire));
        let path = if is_wire { format!("{WIRE}/{stem}") } else { format!("{CASES}/{stem}.json") };
        let named = format!("`{side}` names `{test}#{case}`");
        match cases.get(last_segment(test)) {
            None => self.find(
                format!("{named}, and there is no {path}"),
                "the last segment of a data-driven test is the stem of its file of cases",
            ),
            // What cannot be read is found where the files are checked.
            Some(Err(_)) => {}
            Some(Ok(file)) => match file.cases.iter().filter(|known| known.name == case).count() {
                1 => {}
                0 => self.find(
                    format!("{named}, and {path} has no such case"),
                    "write the case, or mend its name",
                ),
                count => self.find(
                    format!("{named}, and {path} has {count} cases of that name"),
                    "rename all but one",
                ),
            },
        }
    }
}

fn namesakes(test: &str, tests: &Tests) -> String {
    match tests.namesakes(test).as_slice() {
        [] => "write the test, or mend the name: CRATE::[BINARY::]MODULE::NAME, without `tests`".to_owned(),
        known => format!("did you mean `{}`?", known.join("` or `")),
    }
}

/// A file of cases speaks of rules that exist, and proves something about the rules it is about.
fn case_file(stem: &str, file: &Result<File, String>, ledger: &Ledger, findings: &mut Vec<Finding>) {
    let place = format!("{CASES}/{stem}.json");
    let file = match file {
        Ok(file) => file,
        Err(why) => {
            let hint = "a file of cases has about, rules, and cases with name, rule, input and expected";
            findings.push(Finding::new(place, format!("cannot be read: {why}"), hint));
            return;
        }
    };
    let named: BTreeSet<&String> =
        file.rules.iter().chain(file.cases.iter().filter_map(|case| case.rule.as_ref())).collect();
    for id in named {
        if !ids::all().any(|known| known == *id) {
            let hint = format!("the rules are {}", ids::ranges());
            findings.push(Finding::new(
                &place,
                format!("names the rule {id}, and there is no such rule"),
                hint,
            ));
        }
    }
    for id in &file.rules {
        if ledger.rule(id).is_some_and(Rule::is_planned) {
            findings.push(Finding::new(
                &place,
                format!("has cases for {id}, which {LEDGER} calls planned"),
                "name the cases in the ledger, or take the rule out of `rules`",
            ));
        }
    }
}

#[cfg(test)]
mod tests;
