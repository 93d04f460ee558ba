//! An audit for a terminal.

use std::io::Write;

use mcp_attune::features::{ContentFormat, Verbosity};

use super::listing::ListingCost;
use super::report::{AuditCallOutcome, AuditReport, AuditRow, count, grouped};
use crate::text::quoted;

/// The form that costs least, which the last lines are about.
pub(super) const SMALLEST: (ContentFormat, Verbosity) = (ContentFormat::Json, Verbosity::Compact);

/// The forms that have columns of their own, one a format: data without what it can do without, texts as they are.
fn columns() -> impl Iterator<Item = (ContentFormat, Verbosity, String)> {
    ContentFormat::ALL.into_iter().map(|format| {
        if format.is_structured() {
            (format, Verbosity::Compact, format!("{format}, {}", Verbosity::Compact))
        } else {
            (format, Verbosity::Standard, format.to_string())
        }
    })
}

/// How many tools are listed with what they cost.
const MAX_TABLE_TOOLS: usize = 20;

pub(super) fn write(out: &mut impl Write, report: &AuditReport) -> anyhow::Result<()> {
    let AuditReport { server, version, tools, results, .. } = report;
    let (tools, calls) = (count(*tools, "tool"), count(results.len(), "call"));
    writeln!(out, "{server} ({}): {tools}, {calls}", quoted(version))?;
    listing(out, &report.listing)?;
    let rows: Vec<_> = results.iter().filter(|row| row.as_it_comes.is_some()).collect();
    if !rows.is_empty() {
        table(out, &rows)?;
    }
    findings(out, report)?;
    not_called(out, report)?;
    total(out, report)
}

/// What the tools cost before any is called.
fn listing(out: &mut impl Write, listing: &ListingCost) -> anyhow::Result<()> {
    let tools = count(listing.tools.len(), "tool");
    writeln!(out, "\n{tools}: {} in every conversation", count(listing.total.tokens, "token"))?;
    let shown = || listing.tools.iter().take(MAX_TABLE_TOOLS);
    let width = shown().map(|tool| quoted(&tool.tool).chars().count()).max().unwrap_or(0);
    for tool in shown() {
        writeln!(out, "  {:width$}  {:>6}", quoted(&tool.tool), grouped(tool.cost.tokens))?;
    }
    if let Some(more) = listing.tools.len().checked_sub(MAX_TABLE_TOOLS).filter(|more| *more > 0) {
        writeln!(out, "  and {more} more")?;
    }
    let hideable = listing.can_hide();
    if !hideable.is_empty() {
        let saved = count(listing.can_save, "token");
        writeln!(
            out,
            "Hidden and filled from the caller's context, {} would save {saved}.",
            hideable.join(", ")
        )?;
    }
    Ok(())
}

fn table(out: &mut impl Write, rows: &[&AuditRow]) -> anyhow::Result<()> {
    let names: Vec<_> = rows.iter().map(|row| quoted(&row.tool)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max("tool".len());
    write!(out, "\n{:width$}  {:>16}", "", "as it comes")?;
    for (_, _, title) in columns() {
        write!(out, "  {title:>14}")?;
    }
    write!(out, "\n{:width$}  {:>8}  {:>6}", "tool", "bytes", "tokens")?;
    for _ in columns() {
        write!(out, "  {:>6}  {:>6}", "tokens", "saved")?;
    }
    writeln!(out)?;
    for (name, row) in names.iter().zip(rows) {
        let cost = row.as_it_comes.unwrap_or_default();
        write!(out, "{name:width$}  {:>8}  {:>6}", cost.bytes, cost.tokens)?;
        // What is never shaped has nothing to show here.
        for shaped in columns().filter_map(|(format, verbosity, _)| row.shaped(format, verbosity)) {
            write!(out, "  {:>6}  {:>6}", shaped.cost.tokens, shaped.percent())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn findings(out: &mut impl Write, report: &AuditReport) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for row in &report.results {
        let name = quoted(&row.tool);
        lines.extend(row.why.iter().map(|why| format!("{name}: no result: {why}")));
        lines.extend(row.findings.iter().map(|finding| format!("{name}: {}", finding.what)));
    }
    if !lines.is_empty() {
        writeln!(out, "\n{}", lines.join("\n"))?;
    }
    Ok(())
}

fn not_called(out: &mut impl Write, report: &AuditReport) -> anyhow::Result<()> {
    if !report.not_called.is_empty() {
        writeln!(out, "\nNot called:")?;
    }
    for left in &report.not_called {
        let hint = if left.add.is_empty() { String::new() } else { format!("; add {}", left.add) };
        writeln!(out, "  {}: {}{hint}", quoted(&left.tool), left.why)?;
    }
    Ok(())
}

/// The last lines: what asking for the least saves.
fn total(out: &mut impl Write, report: &AuditReport) -> anyhow::Result<()> {
    let (format, verbosity) = SMALLEST;
    let errors = report.results.iter().filter(|row| row.outcome != AuditCallOutcome::Result).count();
    let aside = if errors > 0 { format!(" ({} aside)", count(errors, "error")) } else { String::new() };
    let total = &report.total;
    writeln!(out)?;
    if total.results == 0 {
        return Ok(writeln!(out, "No result to measure{aside}.")?);
    }
    let twice = &report.twice;
    if let Some(shaped) = twice.shaped(format, verbosity).filter(|_| twice.results > 0) {
        let (some, all) = (twice.results, count(total.results, "result"));
        let (come, tokens) = (if some == 1 { "comes" } else { "come" }, twice.as_they_come.tokens);
        writeln!(
            out,
            "{some} of {all} {come} twice; of {tokens} tokens format=json with verbosity=compact saves {}.",
            shaped.percent()
        )?;
    }
    if let Some(shaped) = total.shaped(format, verbosity) {
        writeln!(
            out,
            "In total{aside}: {} tokens as they come, {} with format=json and verbosity=compact, {} saved.",
            total.as_they_come.tokens,
            shaped.cost.tokens,
            shaped.percent()
        )?;
    }
    Ok(())
}
