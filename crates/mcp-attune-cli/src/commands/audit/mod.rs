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
use mcp_attune_rmcp::{Era, Error, Options, Target};
use mcp_attune_wire::json::Type;
use mcp_attune_wire::protocol::method;
use serde_json::value::RawValue;

use self::ask::Asked;
use self::found::{findings, is_error};
use self::listing::ListingCost;
use self::report::{Outcome, Report, Row};
use crate::arguments::{Call, Left, Named, choose};
use crate::exit::Exit;
use crate::output::writable;
use crate::progress;
use crate::running::one_thread;
use crate::server::{Server, as_answer, read_result};
use crate::text::{json, quoted};

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
pub(crate) struct Audit {
    #[command(flatten)]
    server: Server,
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

impl Audit {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        // What is wrong with the command line is told before anything is started.
        let (target, options) = self.server.read()?;
        let named: Vec<_> = self.call.iter().map(|text| Named::read(text)).collect::<Result<_, _>>()?;
        if let Some(file) = &self.html {
            writable(file, "name a file for the page, such as --html audit.html")?;
        }
        let patience = Duration::from_secs(self.timeout.into());
        let report = one_thread()?.block_on(audit(&target, options, patience, &named))?;
        if let Some(file) = &self.html {
            let written = mcp_attune_files::write(file, &page::page(&report));
            written.with_context(|| format!("could not write {}", file.display()))?;
        }
        if self.json {
            json(out, &report)?;
        } else {
            table::write(out, &report)?;
        }
        Ok(if report.is_bad() { Exit::Findings } else { Exit::Fine })
    }
}

async fn audit(
    target: &Target,
    options: Options,
    patience: Duration,
    named: &[Named],
) -> anyhow::Result<Report> {
    let mut asked = Asked::open(target, options, patience).await?;
    let (version, era) = asked.version().context("the connection is closed")?;
    let version = version.to_owned();
    let found = rows(&mut asked, named, era == Era::Modern).await;
    asked.close().await;
    progress::clear();
    let (listing, rows, left) = found?;
    Ok(Report::new(target.to_string(), version, tokens::NAME, listing, rows, left))
}

/// What the tools cost, what came of those that were called, and which were not.
async fn rows(
    asked: &mut Asked<'_>,
    named: &[Named],
    modern: bool,
) -> anyhow::Result<(ListingCost, Vec<Row>, Vec<Left>)> {
    let (tools, listing) = asked.tools().await?;
    let (calls, mut left) = choose(&tools, named)?;
    let mut rows = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        if asked.gave_up() {
            let why = "the server broke off too often before it".to_owned();
            left.push(Left { tool: call.tool.name.clone(), why, add: String::new() });
            continue;
        }
        progress::show(&format!("call {} of {}: {}", number + 1, calls.len(), quoted(&call.tool.name)));
        let answered = asked.call(call).await;
        rows.push(row(call, modern, answered));
    }
    Ok((listing, rows, left))
}

fn row(call: &Call<'_>, modern: bool, answered: Result<Box<RawValue>, Error>) -> Row {
    let mut row = Row {
        tool: call.tool.name.clone(),
        arguments: call.arguments.clone(),
        outcome: Outcome::Failed,
        why: None,
        as_it_comes: None,
        shaped: Vec::new(),
        findings: Vec::new(),
    };
    let measured = match answered {
        Ok(raw) => measure(&mut row, call, modern, raw.get()).map_err(|why| what(&why.to_string())),
        // The server's own words, all of them.
        Err(error) if error.is_refusal() => Err(error.to_string()),
        Err(error) => Err(what(&error.to_string())),
    };
    row.why = measured.err().map(|why| plain(&why));
    row
}

fn measure(row: &mut Row, call: &Call<'_>, modern: bool, result: &str) -> anyhow::Result<()> {
    let answer = as_answer(result);
    let result = read_result(method::TOOLS_CALL, result)?;
    let result = Some(result.root()).filter(|result| result.kind() == Type::Object);
    let result = result.context("what came is no object")?;
    let before = shapes::cost(result);
    row.as_it_comes = Some(before);
    row.findings = findings(call.tool, result);
    row.outcome = if is_error(result) { Outcome::Error } else { Outcome::Result };
    if row.outcome == Outcome::Result {
        row.shaped = shapes::all(call, modern, &answer, before);
    }
    Ok(())
}

/// What happened, without what could be done about it: here that is another tool's business.
fn what(told: &str) -> String {
    told.split_once("; ").map_or(told, |(what, _)| what).to_owned()
}

/// One line that a terminal does not obey.
fn plain(text: &str) -> String {
    text.chars().take(400).map(|char| if char.is_control() { ' ' } else { char }).collect()
}
