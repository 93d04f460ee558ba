//! `attune audit`: what each result of a server costs a model, and what it would cost in another form.

mod tokens;

mod listing;

mod ask;

mod found;

mod report;
mod shapes;

mod table;
mod page;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use mcp_attune_rmcp::{ClientError, ConnectionOptions, Era, ServerTarget};
use mcp_attune_wire::json::JsonKind;
use mcp_attune_wire::protocol::method;
use serde_json::value::RawValue;

use self::ask::AuditSession;
use self::found::{findings, is_error};
use self::listing::ListingCost;
use self::report::{AuditCallOutcome, AuditReport, AuditRow};
use crate::call_plan::{PlannedCall, SkippedTool, ToolCallOption, plan_calls};
use crate::exit::Exit;
use crate::output::check_writable;
use crate::progress;
use crate::running::single_thread_runtime;
use crate::server::{ServerArgs, read_result, wrap_in_answer};
use crate::text::{print_json, quoted};

/// See what the tools of a server cost in every conversation, and what each result costs, in bytes and tokens
///
/// First comes what clients give a model of every tool, whether or not it is called: name, description and input schema.
/// Arguments that the caller's context could fill (a time zone, a locale, a language) could be hidden, which saves some of it.
///
/// Tools that are marked as read-only are called with what their schemas give (`const`, `default`, `examples`, `enum`),
/// others only when they are named with --call. Each result is counted as it comes and in every format and verbosity
/// that a caller can ask for.
///
/// Counted is what reaches a model: the text of text blocks and of resources inside the result, and structuredContent as
/// JSON. Clients differ: some show a model only one of the two. Images, audio and links are the same in every form
/// and are not counted. Tokens are those of o200k_base; other tokenizers differ by some percent, and savings hardly.
///
/// Exit 1: a result is not what its outputSchema asks for, or a call gave no result. Other findings are no failure.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune audit -- attune demo --bare --stdio\n  $ attune audit --call 'get_weather={\"location\": \"Bern\"}' --json -- attune demo --bare --stdio\n\nA server that runs, and one that is started:\n  attune audit http://127.0.0.1:9000/mcp --html audit.html\n  attune audit --call search -- npx -y some-server"
)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Call this tool too, whatever it does; its arguments follow as JSON, else they come from its schema
    #[arg(long, value_name = "TOOL[={…}]")]
    call: Vec<String>,
    /// How long a call may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Print JSON: `server`, `version`, `tokenizer`, `tools`, `listing`, `results`, `not_called`, `total` and `twice`
    #[arg(long)]
    json: bool,
    /// Write a page to look at, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl AuditArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        // What is wrong with the command line is told before anything is started.
        let (target, options) = self.server.read()?;
        let named: Vec<_> =
            self.call.iter().map(|text| ToolCallOption::read(text)).collect::<Result<_, _>>()?;
        if let Some(file) = &self.html {
            check_writable(file, "name a file for the page, such as --html audit.html")?;
        }
        let patience = Duration::from_secs(self.timeout.into());
        let report = single_thread_runtime()?.block_on(audit(&target, options, patience, &named))?;
        if let Some(file) = &self.html {
            let written = mcp_attune_files::write_atomically(file, &page::page(&report));
            written.with_context(|| format!("could not write {}", file.display()))?;
        }
        if self.json {
            print_json(out, &report)?;
        } else {
            table::write(out, &report)?;
        }
        Ok(if report.has_faults() { Exit::Findings } else { Exit::Fine })
    }
}

async fn audit(
    target: &ServerTarget,
    options: ConnectionOptions,
    patience: Duration,
    named: &[ToolCallOption],
) -> anyhow::Result<AuditReport> {
    let mut asked = AuditSession::open(target, options, patience).await?;
    let (version, era) = asked.version().context("the connection is closed")?;
    let version = version.to_owned();
    let found = rows(&mut asked, named, era == Era::Modern).await;
    asked.close().await;
    progress::clear();
    let (listing, rows, left) = found?;
    Ok(AuditReport::new(target.to_string(), version, tokens::TOKENIZER_NAME, listing, rows, left))
}

/// What the tools cost, what came of those that were called, and which were not.
async fn rows(
    asked: &mut AuditSession<'_>,
    named: &[ToolCallOption],
    modern: bool,
) -> anyhow::Result<(ListingCost, Vec<AuditRow>, Vec<SkippedTool>)> {
    let (tools, listing) = asked.tools().await?;
    let (calls, mut left) = plan_calls(&tools, named)?;
    let mut rows = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        if asked.gave_up() {
            let why = "the server broke off too often before it".to_owned();
            left.push(SkippedTool { tool: call.tool.name.clone(), why, add: String::new() });
            continue;
        }
        progress::show(&format!("call {} of {}: {}", number + 1, calls.len(), quoted(&call.tool.name)));
        let answered = asked.call(call).await;
        rows.push(row(call, modern, answered));
    }
    Ok((listing, rows, left))
}

fn row(call: &PlannedCall<'_>, modern: bool, answered: Result<Box<RawValue>, ClientError>) -> AuditRow {
    let mut row = AuditRow {
        tool: call.tool.name.clone(),
        arguments: call.arguments.clone(),
        outcome: AuditCallOutcome::Failed,
        why: None,
        as_it_comes: None,
        shaped: Vec::new(),
        findings: Vec::new(),
    };
    let measured = match answered {
        Ok(raw) => measure(&mut row, call, modern, raw.get()).map_err(|why| why.to_string()),
        // The server's own words, all of them.
        Err(error) if error.is_refusal() => Err(error.to_string()),
        // What could be done about it is another tool's business here.
        Err(error) => Err(error.without_advice()),
    };
    row.why = measured.err().map(|why| without_controls(&why));
    row
}

fn measure(row: &mut AuditRow, call: &PlannedCall<'_>, modern: bool, result: &str) -> anyhow::Result<()> {
    let answer = wrap_in_answer(result);
    let result = read_result(method::TOOLS_CALL, result)?;
    let result = Some(result.root()).filter(|result| result.kind() == JsonKind::Object);
    let result = result.context("what came is no object")?;
    let before = shapes::cost(result);
    row.as_it_comes = Some(before);
    row.findings = findings(call.tool, result);
    row.outcome = if is_error(result) { AuditCallOutcome::Error } else { AuditCallOutcome::Result };
    if row.outcome == AuditCallOutcome::Result {
        row.shaped = shapes::shaped_costs(call, modern, &answer, before);
    }
    Ok(())
}

/// One line that a terminal does not obey.
fn without_controls(text: &str) -> String {
    mcp_attune_wire::text::one_line(text, 400)
}
