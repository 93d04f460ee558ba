//! An audit as one page that needs nothing else: no script, no network, light and dark.

use std::fmt::{self, Write};

use super::report::{
    AuditReport, AuditRow, AuditShapeCost, AuditTokenCost, AuditTotal, count, grouped, shapes,
};
use super::table::SMALLEST;
use crate::html::{self, Escaped};
use crate::text::quoted;

/// How wide a bar is at most.
const MAX_BAR_WIDTH: f64 = 240.0;

const STYLE: &str = "rect.was { fill: var(--was); }
rect.is { fill: var(--is); }
";

/// The page of a report.
pub(super) fn page(report: &AuditReport) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut page, report);
    page
}

fn write(page: &mut String, report: &AuditReport) -> fmt::Result {
    let (server, version) = (Escaped(&report.server), Escaped(&report.version));
    html::begin(page, &format!("What results cost: {}", report.server), STYLE, "")?;
    writeln!(
        page,
        "<h1>What results cost</h1>\n<p><code>{server}</code>, MCP {version}, {}.",
        count(report.tools, "tool")
    )?;
    writeln!(
        page,
        "Counted is what reaches a model: the texts of a result and its structured content as JSON, in tokens of {}.</p>",
        Escaped(report.tokenizer)
    )?;
    listing(page, report)?;
    summary(page, &report.total, &report.twice)?;
    bars(page, report)?;
    table(page, report)?;
    findings(page, report)?;
    not_called(page, report)?;
    html::end(page)
}

/// What the tools cost before any is called.
fn listing(page: &mut String, report: &AuditReport) -> fmt::Result {
    let listing = &report.listing;
    let (tools, tokens) = (count(listing.tools.len(), "tool"), count(listing.total.tokens, "token"));
    writeln!(
        page,
        "<h2>In every conversation</h2>\n<p>{tools}: <strong>{tokens}</strong>, whether or not one is called."
    )?;
    let hideable = listing.can_hide();
    if !hideable.is_empty() {
        let saved = count(listing.can_save, "token");
        let names = hideable.join(", ");
        writeln!(
            page,
            "Hidden and filled from the caller’s context, {} would save {saved}.",
            Escaped(&names)
        )?;
    }
    writeln!(page, "</p>\n<details><summary>By tool</summary>\n<div class=\"wide\"><table>\n<tbody>")?;
    for tool in &listing.tools {
        let name = quoted(&tool.tool);
        writeln!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
            Escaped(&name),
            grouped(tool.cost.tokens)
        )?;
    }
    writeln!(page, "</tbody>\n</table></div></details>\n<h2>Results</h2>")
}

fn summary(page: &mut String, total: &AuditTotal, twice: &AuditTotal) -> fmt::Result {
    let (format, verbosity) = SMALLEST;
    for (total, which) in [(total, "In total"), (twice, "Those that come twice")] {
        if let Some(shaped) = total.shaped(format, verbosity).filter(|_| total.results > 0) {
            writeln!(
                page,
                "<p>{which}: {}, {} tokens as they come, {} with <code>format=json</code> and \
                 <code>verbosity=compact</code>: <strong>{} saved</strong>.</p>",
                count(total.results, "result"),
                total.as_they_come.tokens,
                shaped.cost.tokens,
                shaped.percent()
            )?;
        }
    }
    Ok(())
}

fn measured(report: &AuditReport) -> impl Iterator<Item = (&AuditRow, AuditTokenCost)> {
    report.results.iter().filter_map(|row| row.as_it_comes.map(|cost| (row, cost)))
}

fn bars(page: &mut String, report: &AuditReport) -> fmt::Result {
    let (format, verbosity) = SMALLEST;
    let title = format!("{format}, {verbosity}");
    let most = measured(report).map(|(_, cost)| cost.tokens).max().unwrap_or(0).max(1) as f64;
    let shaped =
        || measured(report).filter_map(|(row, cost)| Some((row, cost, row.shaped(format, verbosity)?)));
    if shaped().next().is_none() {
        return Ok(());
    }
    writeln!(page, "<h2>At a glance</h2>\n<div class=\"wide\"><table>")?;
    writeln!(page, "<caption>Tokens of each result: above as it comes, below as {title}</caption>")?;
    writeln!(page, "<tbody>")?;
    for (row, cost, shaped) in shaped() {
        let width = |tokens: usize| (tokens as f64 / most * MAX_BAR_WIDTH).clamp(1.0, MAX_BAR_WIDTH);
        let (was, is) = (cost.tokens, shaped.cost.tokens);
        writeln!(page, "<tr><th scope=\"row\">{}</th><td>", Escaped(&quoted(&row.tool)))?;
        writeln!(
            page,
            "<svg role=\"img\" aria-label=\"{was} tokens as it comes, {is} as {title}\" width=\"{MAX_BAR_WIDTH}\" height=\"22\">\
             <rect class=\"was\" width=\"{:.1}\" height=\"10\"/><rect class=\"is\" y=\"12\" width=\"{:.1}\" height=\"10\"/></svg>",
            width(was),
            width(is)
        )?;
        writeln!(page, "</td><td>{}</td></tr>", shaped.percent())?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

fn table(page: &mut String, report: &AuditReport) -> fmt::Result {
    if measured(report).next().is_none() {
        return Ok(());
    }
    writeln!(page, "<h2>Every form</h2>\n<div class=\"wide\"><table>")?;
    writeln!(page, "<caption>Tokens of each result in every form that a caller can ask for</caption>")?;
    writeln!(
        page,
        "<thead><tr><th class=\"name\" scope=\"col\">tool</th><th scope=\"col\">bytes</th><th scope=\"col\">tokens</th>"
    )?;
    for (format, verbosity) in shapes() {
        writeln!(page, "<th scope=\"col\">{format}<br>{verbosity}</th>")?;
    }
    writeln!(page, "</tr></thead>\n<tbody>")?;
    for (row, cost) in measured(report) {
        let name = quoted(&row.tool);
        line(page, &name, cost, shapes().map(|(format, verbosity)| row.shaped(format, verbosity)))?;
    }
    writeln!(page, "</tbody>\n<tfoot>")?;
    let total = &report.total;
    line(
        page,
        "all",
        total.as_they_come,
        shapes().map(|(format, verbosity)| total.shaped(format, verbosity)),
    )?;
    writeln!(page, "</tfoot>\n</table></div>")
}

fn line<'s>(
    page: &mut String,
    name: &str,
    cost: AuditTokenCost,
    shaped: impl Iterator<Item = Option<&'s AuditShapeCost>>,
) -> fmt::Result {
    write!(
        page,
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
        Escaped(name),
        cost.bytes,
        cost.tokens
    )?;
    for shaped in shaped {
        match shaped {
            Some(shaped) => {
                write!(page, "<td title=\"{} saved\">{}</td>", shaped.percent(), shaped.cost.tokens)?;
            }
            None => write!(page, "<td>as it is</td>")?,
        }
    }
    writeln!(page, "</tr>")
}

fn findings(page: &mut String, report: &AuditReport) -> fmt::Result {
    let mut found = Vec::new();
    for row in &report.results {
        found.extend(row.why.iter().map(|why| (&row.tool, format!("no result: {why}"))));
        found.extend(row.findings.iter().map(|finding| (&row.tool, finding.what.clone())));
    }
    if found.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Findings</h2>\n<ul>")?;
    for (tool, what) in found {
        writeln!(page, "<li><code>{}</code>: {}</li>", Escaped(&quoted(tool)), Escaped(&what))?;
    }
    writeln!(page, "</ul>")
}

fn not_called(page: &mut String, report: &AuditReport) -> fmt::Result {
    if report.not_called.is_empty() {
        return Ok(());
    }
    writeln!(page, "<h2>Not called</h2>\n<ul>")?;
    for left in &report.not_called {
        let (tool, why) = (quoted(&left.tool), Escaped(&left.why));
        writeln!(page, "<li><code>{}</code>: {why}</li>", Escaped(&tool))?;
    }
    writeln!(page, "</ul>")
}
