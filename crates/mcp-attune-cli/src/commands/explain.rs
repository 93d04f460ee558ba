//! `attune explain [RULE] [--tests] [--json]`: what a rule asks, why, where it comes from, and what proves it.

use std::io::Write;

use serde::Serialize;

use crate::exit::Exit;
use crate::rules::{Rule, RuleLedger, RuleState, family};
use crate::text::{print_json, wrap_rule_text};

/// Explain a rule: what it asks, why, where it comes from, and what proves it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune explain L14\n  $ attune explain L\n  $ attune explain h7 --tests"
)]
pub(crate) struct ExplainArgs {
    /// A rule, such as L14, or a family of rules, such as L; without it, all rules are listed
    rule: Option<String>,
    /// Show the tests that prove it, too
    #[arg(long)]
    tests: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let rules = RuleLedger::built_in()?;
        let family = self.rule.as_deref().map(family);
        let listed: Option<Vec<&Rule>> = match family {
            None => Some(rules.0.iter().collect()),
            Some(Some((letter, _))) => {
                Some(rules.0.iter().filter(|rule| rule.id.starts_with(letter)).collect())
            }
            Some(None) => None,
        };
        match (listed, self.json) {
            (Some(listed), true) => {
                print_json(out, &listed.into_iter().map(RuleSummary::of).collect::<Vec<_>>())?;
            }
            (Some(listed), false) => {
                if let Some((letter, subject)) = family.flatten() {
                    writeln!(out, "{letter}: {subject}\n")?;
                }
                list(out, &listed)?;
            }
            (None, true) => print_json(out, rules.find(&self.rule.unwrap_or_default())?)?,
            (None, false) => print(out, rules.find(&self.rule.unwrap_or_default())?, self.tests)?,
        }
        Ok(Exit::Fine)
    }
}

/// What a listing says about a rule.
#[derive(Serialize)]
struct RuleSummary<'a> {
    id: &'a str,
    title: &'a str,
    level: &'a str,
    state: RuleState,
}

impl<'a> RuleSummary<'a> {
    fn of(rule: &'a Rule) -> Self {
        Self { id: &rule.id, title: &rule.title, level: &rule.level, state: rule.state }
    }
}

fn list(out: &mut impl Write, rules: &[&Rule]) -> anyhow::Result<()> {
    for rule in rules {
        let planned = if rule.state == RuleState::Planned { " (planned)" } else { "" };
        writeln!(out, "{:<4} {}{planned}", rule.id, rule.title)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, rule: &Rule, tests: bool) -> anyhow::Result<()> {
    writeln!(out, "{}: {}", rule.id, rule.title)?;
    writeln!(out, "Level:  {}", rule.level)?;
    writeln!(out, "Source: {}", rule.source)?;
    section(out, "What it asks", &rule.says)?;
    section(out, "Why", &rule.why)?;
    if !rule.example.is_empty() {
        section(out, "Example", &rule.example)?;
    }
    if rule.state == RuleState::Planned {
        return section(out, "State", "planned: not built yet, so no test proves it");
    }
    if let Some(still) = &rule.still {
        section(out, "Still to come", still)?;
    }
    if !tests {
        let all = rule.kept.len() + rule.refused.len();
        let them = if all == 1 { "1 test".to_owned() } else { format!("{all} tests") };
        return section(
            out,
            "Proven by",
            &format!("{them}; `attune explain {} --tests` names them", rule.id),
        );
    }
    section(out, "Shown kept by", &items(&rule.kept))?;
    match &rule.nothing_to_refuse {
        Some(why) => section(out, "Nothing to refuse", why),
        None => section(out, "Shown refused by", &items(&rule.refused)),
    }
}

fn section(out: &mut impl Write, label: &str, text: &str) -> anyhow::Result<()> {
    Ok(write!(out, "\n{label}\n{}", wrap_rule_text(text))?)
}

/// One test on each line.
fn items(tests: &[String]) -> String {
    tests.iter().map(|test| format!("- {test}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
[words]
modern = "new"

[H1]
title = "Planned one"
level = "may"
source = "S"
says = "x"
why = "y"
state = "planned"

[L10]
title = "Nothing to refuse"
level = "should"
source = "S"
says = "x"
why = "y"
kept = ["wire::a"]
refused = "n/a: it always answers"

[L2]
title = "Proven on both sides"
level = "must"
source = "RFC 0"
says = """
First paragraph.

- a list
  of one
"""
why = "One line that its author did not break, because in the ledger a short text stands between two quotes, and which a terminal would break in the middle of a word."
example = "`fr` is fine."
kept = ["wire::a", "wire::it::cases::agree#b"]
refused = ["wire::c"]
still = "the other half"
"#;

    fn sample() -> RuleLedger {
        RuleLedger::parse(SAMPLE).unwrap()
    }

    fn printed(print: impl Fn(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prints_a_proven_rule() {
        insta::assert_snapshot!(printed(|out| print(out, sample().find("l2")?, true)), @"
        L2: Proven on both sides
        Level:  must
        Source: RFC 0

        What it asks
          First paragraph.

          - a list of one

        Why
          One line that its author did not break, because in the ledger a short text
          stands between two quotes, and which a terminal would break in the middle of a
          word.

        Example
          `fr` is fine.

        Still to come
          the other half

        Shown kept by
          - wire::a
          - wire::it::cases::agree#b

        Shown refused by
          - wire::c
        ");
    }

    #[test]
    fn prints_a_rule_that_has_nothing_to_refuse() {
        insta::assert_snapshot!(printed(|out| print(out, sample().find("L10")?, true)), @"
        L10: Nothing to refuse
        Level:  should
        Source: S

        What it asks
          x

        Why
          y

        Shown kept by
          - wire::a

        Nothing to refuse
          it always answers
        ");
    }

    #[test]
    fn prints_a_planned_rule() {
        insta::assert_snapshot!(printed(|out| print(out, sample().find("H1")?, true)), @"
        H1: Planned one
        Level:  may
        Source: S

        What it asks
          x

        Why
          y

        State
          planned: not built yet, so no test proves it
        ");
    }

    #[test]
    fn counts_the_tests_where_nobody_asks_for_their_names() {
        let shown = printed(|out| print(out, sample().find("L2")?, false));
        assert!(!shown.contains("wire::"), "{shown}");
        assert!(shown.ends_with("Proven by\n  3 tests; `attune explain L2 --tests` names them\n"), "{shown}");
    }

    #[test]
    fn prints_json() {
        insta::assert_snapshot!(printed(|out| print_json(out, sample().find("L10")?)), @r#"
        {
          "id": "L10",
          "title": "Nothing to refuse",
          "level": "should",
          "source": "S",
          "says": "x",
          "why": "y",
          "example": "",
          "state": "proven",
          "kept": [
            "wire::a"
          ],
          "refused": [],
          "nothing_to_refuse": "it always answers",
          "still": null
        }
        "#);
    }

    #[test]
    fn lists_rules_in_the_order_of_families_and_numbers() {
        insta::assert_snapshot!(printed(|out| list(out, &sample().0.iter().collect::<Vec<_>>())), @"
        L2   Proven on both sides
        L10  Nothing to refuse
        H1   Planned one (planned)
        ");
    }
}
