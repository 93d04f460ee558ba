//! What came of a check, as one object. `show.rs` writes it for a terminal, `junit.rs` for CI systems.

use std::time::Duration;

use serde::Serialize;

use super::judge::{Fault, Seen, Verdict};
use super::scenario::Scenario;
use super::standard::{By, Standard};
use crate::arguments::Left;
use crate::rules::Rules;

/// How much of a body is shown.
const MAX_SHOWN_CHARS: usize = 1200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// Broken, but no published document asks for it.
    Warning,
    /// Broken, and known to be.
    Allowed,
    NotApplicable,
    Unclear,
}

impl Outcome {
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Warning => "warning",
            Self::Allowed => "allowed",
            Self::NotApplicable => "not applicable",
            Self::Unclear => "unclear",
        }
    }
}

/// What was sent, and what came back.
#[derive(Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) sent: String,
    pub(super) came: String,
}

impl Exchange {
    pub(super) fn of(seen: &Seen) -> Self {
        let body = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes));
        let mut sent = String::new();
        for (name, value) in &seen.sent.headers {
            let name = if seen.sent.small { name.to_ascii_lowercase() } else { name.clone() };
            sent += &format!("{name}: {}\n", quoted_long(&String::from_utf8_lossy(value)));
        }
        sent += &body(&seen.sent.body);
        let mut came = String::new();
        if let Some(status) = seen.came.status {
            came += &format!("{status}\n");
        }
        for (name, value) in &seen.came.headers {
            came += &format!("{name}: {}\n", quoted_long(value));
        }
        came += &seen.came.trouble.clone().unwrap_or_else(|| shown(&seen.came.text));
        Self { sent, came }
    }
}

/// A text that a terminal and XML can bear, up to a bound.
fn shown(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MAX_SHOWN_CHARS).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(MAX_SHOWN_CHARS).is_some() {
        shown.push('…');
    }
    shown.trim().to_owned()
}

/// The value of a header on one line, up to a bound.
fn quoted_long(text: &str) -> String {
    mcp_attune::quoted::shortened(text, 200)
}

/// One scenario.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    /// What it is selected by: `H9/form`.
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) outcome: Outcome,
    /// Whether no document asks for it: it is Attune's own reading.
    pub(super) own: bool,
    /// Whether it belongs to the protocol, or to a proposal that the server claims to follow.
    pub(super) claimed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) came: Option<String>,
    /// Why it is not applicable, unclear, allowed, or only a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'static str>,
    /// The exchange that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<Exchange>,
    /// How long its exchanges took.
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub(super) took: Duration,
}

impl Check {
    pub(super) fn not_applicable(scenario: &Scenario, why: &str) -> Self {
        Self { why: Some(why.to_owned()), ..Self::new(scenario, Outcome::NotApplicable) }
    }

    pub(super) fn judged(scenario: &Scenario, seen: &[Seen], verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::new(scenario, Outcome::Passed),
            Err(Fault::Unclear(why)) => Self { why: Some(why), ..Self::new(scenario, Outcome::Unclear) },
            Err(Fault::Broken { at, expected, came }) => Self {
                expected: Some(expected),
                came: Some(came),
                hint: Some(scenario.hint),
                exchange: seen.get(at).map(Exchange::of),
                ..Self::new(scenario, Outcome::Failed)
            },
        }
    }

    fn new(scenario: &Scenario, outcome: Outcome) -> Self {
        let Scenario { name, title, own, .. } = *scenario;
        Self {
            id: scenario.id(),
            name,
            title,
            outcome,
            own,
            claimed: true,
            expected: None,
            came: None,
            why: None,
            hint: None,
            exchange: None,
            took: Duration::ZERO,
        }
    }
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// A rule with its scenarios.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) rule: String,
    pub(super) title: String,
    pub(super) level: String,
    pub(super) outcome: Outcome,
    pub(super) checks: Vec<Check>,
}

impl Judged {
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }

    pub(super) fn took(&self) -> Duration {
        self.checks.iter().map(|check| check.took).sum()
    }
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warnings: usize,
    pub(super) allowed: usize,
    pub(super) not_applicable: usize,
    pub(super) unclear: usize,
}

impl Counts {
    pub(super) fn of<'a>(checks: impl Iterator<Item = &'a Check>) -> Self {
        let mut counts = Self::default();
        for check in checks {
            *match check.outcome {
                Outcome::Passed => &mut counts.passed,
                Outcome::Failed => &mut counts.failed,
                Outcome::Warning => &mut counts.warnings,
                Outcome::Allowed => &mut counts.allowed,
                Outcome::NotApplicable => &mut counts.not_applicable,
                Outcome::Unclear => &mut counts.unclear,
            } += 1;
        }
        counts
    }

    pub(super) fn all(&self) -> usize {
        self.passed + self.failed + self.warnings + self.allowed + self.not_applicable + self.unclear
    }
}

/// A tool that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Called {
    pub(super) tool: String,
    /// How many requests asked for it, those that should be refused included.
    pub(super) times: usize,
    /// How long they took together.
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub(super) took: Duration,
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) server: String,
    /// The version of MCP that it speaks.
    pub(super) version: String,
    pub(super) by: By,
    pub(super) called: Vec<Called>,
    /// The tools that were not called, or not again, and why.
    pub(super) left_out: Vec<Left>,
    pub(super) counts: Counts,
    /// The scenarios that are broken and known to be.
    pub(super) allowed: Vec<String>,
    /// What is allowed, and did not have to be.
    pub(super) stale: Vec<String>,
    pub(super) rules: Vec<Judged>,
    /// Rules about servers that cannot be seen from outside, or are about clients.
    pub(super) not_judged: Vec<String>,
}

/// What was looked at.
pub(super) struct Subject {
    pub(super) server: String,
    pub(super) version: String,
    pub(super) called: Vec<Called>,
    pub(super) left_out: Vec<Left>,
}

impl Report {
    pub(super) fn new(
        rules: &Rules,
        standard: &Standard,
        subject: Subject,
        mut checks: Vec<(&'static str, Check)>,
        not_judged: Vec<String>,
    ) -> Self {
        for (_, check) in &mut checks {
            standard.apply(check);
        }
        let stale = standard.stale(&checks);
        let counts = Counts::of(checks.iter().map(|(_, check)| check));
        let allowed = checks.iter().filter(|(_, check)| check.outcome == Outcome::Allowed);
        let allowed = allowed.map(|(_, check)| check.id.clone()).collect();
        let Subject { server, version, called, left_out } = subject;
        let (by, rules) = (standard.by, by_rule(rules, checks));
        Self { server, version, by, called, left_out, counts, allowed, stale, rules, not_judged }
    }

    /// The same with other known failures.
    pub(super) fn again(self, rules: &Rules, standard: &Standard) -> Self {
        let Self { server, version, called, left_out, rules: judged, not_judged, .. } = self;
        let checks = judged.into_iter().flat_map(|judged| judged.checks);
        let checks = checks.map(|check| (super::scenario::rule_of(&check.id), check)).collect();
        Self::new(rules, standard, Subject { server, version, called, left_out }, checks, not_judged)
    }

    pub(super) fn is_bad(&self) -> bool {
        self.counts.failed > 0
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = &Check> {
        self.rules.iter().flat_map(|judged| &judged.checks)
    }
}

/// The checks under their rules, in the order of the rules.
fn by_rule(rules: &Rules, checks: Vec<(&'static str, Check)>) -> Vec<Judged> {
    let mut all: Vec<Judged> = Vec::new();
    for (id, check) in checks {
        match all.iter_mut().find(|judged| judged.rule == id) {
            Some(judged) => judged.checks.push(check),
            None => {
                let found = rules.find(id).ok();
                let text =
                    |of: fn(&crate::rules::Rule) -> &String| found.map(of).cloned().unwrap_or_default();
                let (title, level) = (text(|rule| &rule.title), text(|rule| &rule.level));
                let (rule, outcome) = (id.to_owned(), Outcome::Passed);
                all.push(Judged { rule, title, level, outcome, checks: vec![check] });
            }
        }
    }
    for judged in &mut all {
        use Outcome::{Allowed, Failed, NotApplicable, Passed, Unclear, Warning};
        let worst = [Failed, Warning, Unclear, Allowed, Passed, NotApplicable];
        let worst = worst.into_iter().find(|outcome| judged.count(*outcome) > 0);
        judged.outcome = worst.unwrap_or(NotApplicable);
    }
    all.sort_by_key(|judged| rules.0.iter().position(|rule| rule.id == judged.rule));
    all
}
