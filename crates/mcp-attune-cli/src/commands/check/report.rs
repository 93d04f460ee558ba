//! What came of a check, as one object. `show.rs` writes it for a terminal, `junit.rs` for CI systems.

use std::time::Duration;

use serde::Serialize;

use super::outcome::{CalledToolCount, ScenarioOutcome, ScenarioResult};
use super::scenarios;
use super::standard::{CheckPolicy, RuleAuthority};
use crate::call_plan::SkippedTool;
use crate::rules::RuleLedger;

/// A rule with its scenarios.
#[derive(Debug, Serialize)]
pub(super) struct JudgedRule {
    pub(super) rule: String,
    pub(super) title: String,
    pub(super) level: String,
    pub(super) outcome: ScenarioOutcome,
    pub(super) checks: Vec<ScenarioResult>,
}

impl JudgedRule {
    pub(super) fn count(&self, outcome: ScenarioOutcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }

    pub(super) fn took(&self) -> Duration {
        self.checks.iter().map(|check| check.took).sum()
    }
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct OutcomeCounts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warnings: usize,
    pub(super) allowed: usize,
    pub(super) not_applicable: usize,
    pub(super) unclear: usize,
}

impl OutcomeCounts {
    pub(super) fn of<'a>(checks: impl Iterator<Item = &'a ScenarioResult>) -> Self {
        let mut counts = Self::default();
        for check in checks {
            *match check.outcome {
                ScenarioOutcome::Passed => &mut counts.passed,
                ScenarioOutcome::Failed => &mut counts.failed,
                ScenarioOutcome::Warning => &mut counts.warnings,
                ScenarioOutcome::Allowed => &mut counts.allowed,
                ScenarioOutcome::NotApplicable => &mut counts.not_applicable,
                ScenarioOutcome::Unclear => &mut counts.unclear,
            } += 1;
        }
        counts
    }

    pub(super) fn all(&self) -> usize {
        self.passed + self.failed + self.warnings + self.allowed + self.not_applicable + self.unclear
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ServerCheckReport {
    pub(super) server: String,
    /// The version of MCP that it speaks.
    pub(super) version: String,
    pub(super) by: RuleAuthority,
    pub(super) called: Vec<CalledToolCount>,
    /// The tools that were not called, or not again, and why.
    pub(super) left_out: Vec<SkippedTool>,
    pub(super) counts: OutcomeCounts,
    /// The scenarios that are broken and known to be.
    pub(super) allowed: Vec<String>,
    /// What is allowed, and did not have to be.
    pub(super) stale: Vec<String>,
    pub(super) rules: Vec<JudgedRule>,
    /// Rules about servers that cannot be seen from outside, or are about clients.
    pub(super) not_judged: Vec<String>,
}

/// What was looked at.
pub(super) struct CheckedServer {
    pub(super) server: String,
    pub(super) version: String,
    pub(super) called: Vec<CalledToolCount>,
    pub(super) left_out: Vec<SkippedTool>,
}

impl ServerCheckReport {
    pub(super) fn new(
        rules: &RuleLedger,
        standard: &CheckPolicy,
        subject: CheckedServer,
        mut checks: Vec<(&'static str, ScenarioResult)>,
        not_judged: Vec<String>,
    ) -> Self {
        for (_, check) in &mut checks {
            standard.apply(check);
        }
        let stale = standard.stale_allowances(&checks);
        let counts = OutcomeCounts::of(checks.iter().map(|(_, check)| check));
        let allowed = checks.iter().filter(|(_, check)| check.outcome == ScenarioOutcome::Allowed);
        let allowed = allowed.map(|(_, check)| check.id.clone()).collect();
        let CheckedServer { server, version, called, left_out } = subject;
        let (by, rules) = (standard.by, by_rule(rules, checks));
        Self { server, version, by, called, left_out, counts, allowed, stale, rules, not_judged }
    }

    /// The same with other known failures.
    pub(super) fn rejudge(self, rules: &RuleLedger, standard: &CheckPolicy) -> Self {
        let Self { server, version, called, left_out, rules: judged, not_judged, .. } = self;
        let checks = judged.into_iter().flat_map(|judged| judged.checks);
        let checks = checks.map(|check| (scenarios::rule_of(&check.id), check)).collect();
        Self::new(rules, standard, CheckedServer { server, version, called, left_out }, checks, not_judged)
    }

    pub(super) fn has_failures(&self) -> bool {
        self.counts.failed > 0
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = &ScenarioResult> {
        self.rules.iter().flat_map(|judged| &judged.checks)
    }
}

/// The checks under their rules, in the order of the rules.
fn by_rule(rules: &RuleLedger, checks: Vec<(&'static str, ScenarioResult)>) -> Vec<JudgedRule> {
    let mut all: Vec<JudgedRule> = Vec::new();
    for (id, check) in checks {
        match all.iter_mut().find(|judged| judged.rule == id) {
            Some(judged) => judged.checks.push(check),
            None => {
                let found = rules.find(id).ok();
                let text =
                    |of: fn(&crate::rules::Rule) -> &String| found.map(of).cloned().unwrap_or_default();
                let (title, level) = (text(|rule| &rule.title), text(|rule| &rule.level));
                let (rule, outcome) = (id.to_owned(), ScenarioOutcome::Passed);
                all.push(JudgedRule { rule, title, level, outcome, checks: vec![check] });
            }
        }
    }
    for judged in &mut all {
        use ScenarioOutcome::{Allowed, Failed, NotApplicable, Passed, Unclear, Warning};
        let worst = [Failed, Warning, Unclear, Allowed, Passed, NotApplicable];
        let worst = worst.into_iter().find(|outcome| judged.count(*outcome) > 0);
        judged.outcome = worst.unwrap_or(NotApplicable);
    }
    all.sort_by_key(|judged| rules.0.iter().position(|rule| rule.id == judged.rule));
    all
}
