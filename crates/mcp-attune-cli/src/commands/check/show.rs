//! The report for a terminal: what is broken first, then what is doubtful, then a line for each family of rules.

use std::io::Write;

use super::outcome::{CalledToolCount, ScenarioOutcome, ScenarioResult};
use super::report::{JudgedRule, OutcomeCounts, ServerCheckReport};
use crate::call_plan::SkippedTool;
use crate::text::quoted;

/// How many tools of one kind are named.
const MAX_NAMED_TOOLS: usize = 12;

/// Writes a report; with `verbose` also every rule, and what was sent and came for warnings and what is allowed.
pub(super) fn write(out: &mut impl Write, report: &ServerCheckReport, verbose: bool) -> anyhow::Result<()> {
    writeln!(out, "{} ({}), {}", report.server, quoted(&report.version), report.by.description())?;
    let parts = [
        (ScenarioOutcome::Failed, "Failed", true),
        (ScenarioOutcome::Warning, "Warnings, which do not fail the check", verbose),
        (ScenarioOutcome::Allowed, "Allowed", verbose),
        (ScenarioOutcome::Unclear, "Unclear", verbose),
    ];
    for (outcome, title, exchanges) in parts {
        broken(out, report, outcome, title, exchanges)?;
    }
    writeln!(out)?;
    for (letter, subject) in super::FAMILIES {
        let rules: Vec<_> = report.rules.iter().filter(|judged| judged.rule.starts_with(letter)).collect();
        if rules.is_empty() {
            continue;
        }
        if verbose {
            writeln!(out, "{letter}: {subject}")?;
            rules.iter().try_for_each(|judged| rule(out, judged))?;
        } else {
            writeln!(out, "{letter}: {}", family(&rules))?;
        }
    }
    writeln!(out)?;
    notes(out, report)?;
    Ok(writeln!(out, "{}.", counted(&report.counts, true))?)
}

/// All scenarios with one outcome, under their rules.
fn broken(
    out: &mut impl Write,
    report: &ServerCheckReport,
    outcome: ScenarioOutcome,
    title: &str,
    exchanges: bool,
) -> anyhow::Result<()> {
    let rules = report.rules.iter().filter(|judged| judged.count(outcome) > 0);
    for (number, judged) in rules.enumerate() {
        if number == 0 {
            writeln!(out, "\n{title}")?;
        }
        writeln!(out, "  {:<4}{}", judged.rule, judged.title)?;
        for check in judged.checks.iter().filter(|check| check.outcome == outcome) {
            scenario(out, &judged.rule, check, exchanges)?;
        }
    }
    Ok(())
}

fn scenario(out: &mut impl Write, rule: &str, check: &ScenarioResult, exchanges: bool) -> anyhow::Result<()> {
    let own =
        if check.own && check.outcome == ScenarioOutcome::Failed { ", Attune's own reading" } else { "" };
    writeln!(out, "      {} ({}{own})", check.title, check.id)?;
    if let Some(why) = &check.why {
        writeln!(out, "        {why}")?;
    }
    for (label, text) in [("expected", &check.expected), ("came", &check.came)] {
        if let Some(text) = text {
            writeln!(out, "        {label}: {text}")?;
        }
    }
    if let Some(exchange) = check.exchange.as_ref().filter(|_| exchanges) {
        for line in exchange.sent.lines() {
            writeln!(out, "        > {line}")?;
        }
        for line in exchange.came.lines() {
            writeln!(out, "        < {line}")?;
        }
    }
    match check.hint {
        Some(hint) => Ok(writeln!(out, "        hint: {hint}; `attune explain {rule}`")?),
        None => Ok(()),
    }
}

/// One rule in a line, with why it does not apply.
fn rule(out: &mut impl Write, judged: &JudgedRule) -> anyhow::Result<()> {
    let JudgedRule { rule, title, outcome, checks, .. } = judged;
    let (passed, all) =
        (judged.count(ScenarioOutcome::Passed), checks.len() - judged.count(ScenarioOutcome::NotApplicable));
    let of = if all > 0 { format!(" ({passed} of {all})") } else { String::new() };
    writeln!(out, "  {rule:<4}{:<15}{title}{of}", outcome.label())?;
    if *outcome == ScenarioOutcome::NotApplicable {
        let why = checks.iter().find_map(|check| check.why.as_deref());
        writeln!(out, "      {}", why.unwrap_or_default())?;
    }
    Ok(())
}

/// A family in one line: its counts, or why it does not apply.
fn family(rules: &[&JudgedRule]) -> String {
    let checks = || rules.iter().flat_map(|judged| &judged.checks);
    let counts = OutcomeCounts::of(checks());
    if counts.not_applicable < counts.all() {
        return counted(&counts, false);
    }
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for why in checks().filter_map(|check| check.why.as_deref()) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, times)) => *times += 1,
            None => reasons.push((why, 1)),
        }
    }
    // The commonest reason says most.
    let why = reasons.iter().max_by_key(|(_, times)| times).map(|(why, _)| *why);
    format!("not applicable, {}", why.unwrap_or("nothing was seen of it"))
}

/// `3 passed, 1 failed, 2 not applicable`. What is never zero in the summary may be so in a family.
fn counted(counts: &OutcomeCounts, is_summary: bool) -> String {
    let OutcomeCounts { passed, failed, warnings, allowed, not_applicable, unclear } = *counts;
    let warned = if warnings == 1 { "warning" } else { "warnings" };
    let parts = [
        (passed, "passed", true),
        (failed, "failed", is_summary),
        (warnings, warned, false),
        (allowed, "allowed", false),
        (not_applicable, "not applicable", is_summary),
        (unclear, "unclear", false),
    ];
    let parts = parts.into_iter().filter(|(count, _, always)| *always || *count > 0);
    parts.map(|(count, what, _)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

/// What the reader should know besides.
fn notes(out: &mut impl Write, report: &ServerCheckReport) -> anyhow::Result<()> {
    if !report.not_judged.is_empty() {
        let rules = report.not_judged.join(", ");
        writeln!(out, "Not judged, because it cannot be seen from outside or is about clients: {rules}.")?;
    }
    if !report.called.is_empty() {
        let calls: Vec<_> = report.called.iter().map(called).collect();
        writeln!(out, "Tools that were called: {}.", calls.join(", "))?;
    }
    left_out(out, &report.left_out)?;
    if !report.stale.is_empty() {
        writeln!(out, "Allowed, but not broken any more: {}. Take it off.", report.stale.join(", "))?;
    }
    Ok(())
}

/// `export once (1.5 s)`
fn called(call: &CalledToolCount) -> String {
    let times = match call.times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    format!("{} {times} ({:.1} s)", quoted(&call.tool), call.took.as_secs_f64())
}

/// The tools that were left out, those with one reason on one line.
fn left_out(out: &mut impl Write, all: &[SkippedTool]) -> anyhow::Result<()> {
    let mut reasons: Vec<(&str, Vec<&SkippedTool>)> = Vec::new();
    for left in all {
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, same)) => same.push(left),
            None => reasons.push((&left.why, vec![left])),
        }
    }
    for (why, tools) in reasons {
        let mut names: Vec<_> = tools.iter().take(MAX_NAMED_TOOLS).map(|left| quoted(&left.tool)).collect();
        if tools.len() > MAX_NAMED_TOOLS {
            names.push(format!("{} more", tools.len() - MAX_NAMED_TOOLS));
        }
        let add = tools.first().map(|left| left.add.as_str()).unwrap_or_default();
        writeln!(out, "Left out because {why}: {}. To judge it, add {add}.", names.join(", "))?;
    }
    Ok(())
}
