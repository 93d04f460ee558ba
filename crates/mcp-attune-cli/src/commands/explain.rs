//! `attune explain [RULE] [--json]`: what a rule asks, why, where it comes from, and what proves it.

use std::io::Write;

use serde::Serialize;

use crate::exit::Exit;
use crate::rules::{Rule, Rules, State};
use crate::text::{json, wrapped};

/// Explain a rule: what it asks, why, where it comes from, and what proves it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune explain\n  $ attune explain L14\n  $ attune explain h7 --json")]
pub(crate) struct Explain {
    /// The rule's id, such as L14; without it, all rules are listed
    rule: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let rules = Rules::built_in()?;
        match (self.rule, self.json) {
            (None, false) => list(out, &rules)?,
            (None, true) => json(out, &rules.0.iter().map(Summary::of).collect::<Vec<_>>())?,
            (Some(id), false) => print(out, rules.find(&id)?)?,
            (Some(id), true) => json(out, rules.find(&id)?)?,
        }
        Ok(Exit::Fine)
    }
}

/// What a listing says about a rule.
#[derive(Serialize)]
struct Summary<'a> {
    id: &'a str,
    title: &'a str,
    level: &'a str,
    state: State,
}

impl<'a> Summary<'a> {
    fn of(rule: &'a Rule) -> Self {
        Self { id: &rule.id, title: &rule.title, level: &rule.level, state: rule.state }
    }
}

fn list(out: &mut impl Write, rules: &Rules) -> anyhow::Result<()> {
    for rule in &rules.0 {
        let planned = if rule.state == State::Planned { " (planned)" } else { "" };
        writeln!(out, "{:<4} {}{planned}", rule.id, rule.title)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, rule: &Rule) -> anyhow::Result<()> {
    writeln!(out, "{}: {}", rule.id, rule.title)?;
    writeln!(out, "Level:  {}", rule.level)?;
    writeln!(out, "Source: {}", rule.source)?;
    section(out, "What it asks", &rule.says)?;
    section(out, "Why", &rule.why)?;
    if !rule.example.is_empty() {
        section(out, "Example", &rule.example)?;
    }
    if rule.state == State::Planned {
        return section(out, "State", "planned: not built yet, so no test proves it");
    }
    if let Some(still) = &rule.still {
        section(out, "Still to come", still)?;
    }
    section(out, "Shown kept by", &items(&rule.kept))?;
    match &rule.nothing_to_refuse {
        Some(why) => section(out, "Nothing to refuse", why),
        None => section(out, "Shown refused by", &items(&rule.refused)),
    }
}

fn section(out: &mut impl Write, label: &str, text: &str) -> anyhow::Result<()> {
    Ok(write!(out, "\n{label}\n{}", wrapped(text))?)
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

    fn sample() -> Rules {
        Rules::parse(SAMPLE).unwrap()
    }

    fn printed(print: impl Fn(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prints_a_proven_rule() {
        insta::assert_snapshot!(printed(|out| print(out, sample().find("l2")?)), @"
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
        insta::assert_snapshot!(printed(|out| print(out, sample().find("L10")?)), @"
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
        insta::assert_snapshot!(printed(|out| print(out, sample().find("H1")?)), @"
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
    fn prints_json() {
        insta::assert_snapshot!(printed(|out| json(out, sample().find("L10")?)), @r#"
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
        insta::assert_snapshot!(printed(|out| list(out, &sample())), @"
        L2   Proven on both sides
        L10  Nothing to refuse
        H1   Planned one (planned)
        ");
    }
}
