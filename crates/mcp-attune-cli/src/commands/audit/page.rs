//! An audit as one page that needs nothing else: no script, no network, light and dark.

use std::fmt::{self, Write};

use super::report::{Cost, Report, Row, Shaped, Total, count, shapes};
use super::table::COLUMNS;
use crate::text::quoted;

/// How wide a bar is at most.
const WIDEST: f64 = 240.0;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #57606a; --paper: #fff; --line: #d0d7de; --was: #8c959f; --is: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --dim: #9198a1; --paper: #0d1117; --line: #3d444d; --was: #656c76; --is: #4493f8; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
p.dim, caption { color: var(--dim); }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5rem; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: right; white-space: nowrap; }
th[scope=row], th.name { text-align: left; }
code { overflow-wrap: anywhere; }
rect.was { fill: var(--was); }
rect.is { fill: var(--is); }
";

/// A text as it stands in a page. What a reader would not see is shown as an escape.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            match char {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                char if char.is_control() => write!(f, "{}", char.escape_unicode())?,
                char => f.write_char(char)?,
            }
        }
        Ok(())
    }
}

/// The page of a report.
pub(super) fn page(report: &Report) -> String {
    let mut page = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut page, report);
    page
}

fn write(page: &mut String, report: &Report) -> fmt::Result {
    let (server, version) = (Escaped(&report.server), Escaped(&report.version));
    writeln!(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(page, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(
        page,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )?;
    writeln!(page, "<title>What results cost: {server}</title>\n<style>{STYLE}</style>\n</head>\n<body>")?;
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
    summary(page, &report.total, &report.twice)?;
    bars(page, report)?;
    table(page, report)?;
    findings(page, report)?;
    not_called(page, report)?;
    writeln!(page, "</body>\n</html>")
}

fn summary(page: &mut String, total: &Total, twice: &Total) -> fmt::Result {
    let (format, verbosity, _) = COLUMNS[0];
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

fn measured(report: &Report) -> impl Iterator<Item = (&Row, Cost)> {
    report.results.iter().filter_map(|row| row.as_it_comes.map(|cost| (row, cost)))
}

fn bars(page: &mut String, report: &Report) -> fmt::Result {
    let (format, verbosity, title) = COLUMNS[0];
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
        let width = |tokens: usize| (tokens as f64 / most * WIDEST).clamp(1.0, WIDEST);
        let (was, is) = (cost.tokens, shaped.cost.tokens);
        writeln!(page, "<tr><th scope=\"row\">{}</th><td>", Escaped(&quoted(&row.tool)))?;
        writeln!(
            page,
            "<svg role=\"img\" aria-label=\"{was} tokens as it comes, {is} as {title}\" width=\"{WIDEST}\" height=\"22\">\
             <rect class=\"was\" width=\"{:.1}\" height=\"10\"/><rect class=\"is\" y=\"12\" width=\"{:.1}\" height=\"10\"/></svg>",
            width(was),
            width(is)
        )?;
        writeln!(page, "</td><td>{}</td></tr>", shaped.percent())?;
    }
    writeln!(page, "</tbody>\n</table></div>")
}

fn table(page: &mut String, report: &Report) -> fmt::Result {
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
    cost: Cost,
    shaped: impl Iterator<Item = Option<&'s Shaped>>,
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

fn findings(page: &mut String, report: &Report) -> fmt::Result {
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

fn not_called(page: &mut String, report: &Report) -> fmt::Result {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_server_is_markup() {
        let hostile = "<script>alert('&\"')</script>\u{1b}\0";
        let escaped = Escaped(hostile).to_string();
        assert_eq!(escaped, "&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;\\u{1b}\\u{0}");
    }
}
