//! What came of a check, as one object, and as lines for a terminal.

use std::io::Write;

use serde::Serialize;

use super::judge::{Fault, Seen, Verdict};
use super::scenario::Scenario;
use crate::rules::Rules;
use crate::text::quoted;

/// How much of a body is shown.
const MOST_SHOWN: usize = 1200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    Passed,
    Failed,
    NotApplicable,
    Unclear,
}

impl Outcome {
    fn told(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
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
        text.chars().take(MOST_SHOWN).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        shown.push('…');
    }
    shown.trim().to_owned()
}

fn quoted_long(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}

/// One scenario.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) outcome: Outcome,
    /// Whether no document asks for it: it is Attune's own reading.
    pub(super) own: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) came: Option<String>,
    /// Why it is not applicable, or unclear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'static str>,
    /// The exchange that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<Exchange>,
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
        Self { name, title, outcome, own, expected: None, came: None, why: None, hint: None, exchange: None }
    }
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
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) not_applicable: usize,
    pub(super) unclear: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) server: String,
    /// The version of MCP that it speaks.
    pub(super) version: String,
    /// The tools that were called.
    pub(super) called: Vec<String>,
    pub(super) counts: Counts,
    pub(super) rules: Vec<Judged>,
    /// Rules about servers that cannot be seen from outside, or are about clients.
    pub(super) not_judged: Vec<String>,
}

impl Report {
    pub(super) fn new(
        rules: &Rules,
        server: String,
        version: String,
        called: Vec<String>,
        checks: Vec<(&'static str, Check)>,
        not_judged: Vec<String>,
    ) -> Self {
        let mut judged: Vec<Judged> = Vec::new();
        let mut counts = Counts::default();
        for (id, check) in checks {
            match check.outcome {
                Outcome::Passed => counts.passed += 1,
                Outcome::Failed => counts.failed += 1,
                Outcome::NotApplicable => counts.not_applicable += 1,
                Outcome::Unclear => counts.unclear += 1,
            }
            match judged.iter_mut().find(|judged| judged.rule == id) {
                Some(judged) => judged.checks.push(check),
                None => {
                    let found = rules.find(id).ok();
                    let text =
                        |of: fn(&crate::rules::Rule) -> &String| found.map(of).cloned().unwrap_or_default();
                    let (title, level) = (text(|rule| &rule.title), text(|rule| &rule.level));
                    let (rule, outcome) = (id.to_owned(), Outcome::Passed);
                    judged.push(Judged { rule, title, level, outcome, checks: vec![check] });
                }
            }
        }
        for judged in &mut judged {
            let worst = [Outcome::Failed, Outcome::Unclear, Outcome::Passed, Outcome::NotApplicable];
            let worst = worst.into_iter().find(|outcome| judged.count(*outcome) > 0);
            judged.outcome = worst.unwrap_or(Outcome::NotApplicable);
        }
        judged.sort_by_key(|judged| rules.0.iter().position(|rule| rule.id == judged.rule));
        Self { server, version, called, counts, rules: judged, not_judged }
    }

    pub(super) fn is_bad(&self) -> bool {
        self.counts.failed > 0
    }
}

/// The report for a terminal.
pub(super) fn write(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    writeln!(out, "{} ({})", report.server, quoted(&report.version))?;
    for (letter, subject) in super::FAMILIES {
        let rules: Vec<_> = report.rules.iter().filter(|judged| judged.rule.starts_with(letter)).collect();
        if !rules.is_empty() {
            writeln!(out, "\n{letter}: {subject}")?;
        }
        for judged in rules {
            rule(out, judged)?;
        }
    }
    let Counts { passed, failed, not_applicable, unclear } = report.counts;
    writeln!(out)?;
    if !report.not_judged.is_empty() {
        writeln!(
            out,
            "Not judged, because it cannot be seen from outside or is about clients: {}.",
            report.not_judged.join(", ")
        )?;
    }
    if !report.called.is_empty() {
        let names: Vec<_> = report.called.iter().map(|name| quoted(name)).collect();
        writeln!(out, "Tools that were called: {}.", names.join(", "))?;
    }
    let unclear = if unclear > 0 { format!(", {unclear} unclear") } else { String::new() };
    Ok(writeln!(out, "{passed} passed, {failed} failed, {not_applicable} not applicable{unclear}.")?)
}

fn rule(out: &mut impl Write, judged: &Judged) -> anyhow::Result<()> {
    let Judged { rule, title, outcome, checks, .. } = judged;
    let (passed, all) = (judged.count(Outcome::Passed), checks.len() - judged.count(Outcome::NotApplicable));
    let of = if all > 0 { format!(" ({passed} of {all})") } else { String::new() };
    writeln!(out, "  {rule:<4}{:<15}{title}{of}", outcome.told())?;
    for check in checks.iter().filter(|check| check.outcome == Outcome::Failed) {
        let own = if check.own { " (Attune's own reading)" } else { "" };
        writeln!(out, "      {}{own}", check.title)?;
        for (label, text) in [("expected", &check.expected), ("came", &check.came)] {
            writeln!(out, "        {label}: {}", text.as_deref().unwrap_or_default())?;
        }
        if let Some(exchange) = &check.exchange {
            for line in exchange.sent.lines() {
                writeln!(out, "        > {line}")?;
            }
            for line in exchange.came.lines() {
                writeln!(out, "        < {line}")?;
            }
        }
        writeln!(out, "        hint: {}; `attune explain {rule}`", check.hint.unwrap_or_default())?;
    }
    for check in checks.iter().filter(|check| check.outcome == Outcome::Unclear) {
        writeln!(out, "      {}: {}", check.title, check.why.as_deref().unwrap_or_default())?;
    }
    if *outcome == Outcome::NotApplicable {
        let why = checks.iter().find_map(|check| check.why.as_deref());
        writeln!(out, "      {}", why.unwrap_or_default())?;
    }
    Ok(())
}
