//! `attune call`: one call of a tool, and what comes of it.

use mcp_attune_wire::protocol::method;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_attune_rmcp::ClientError;
use mcp_attune_shape::CompiledSchema;
use serde_json::value::RawValue;
use serde_json::{Map, json};

use crate::asking::scripted::ScriptedAnswers;
use crate::asking::{CliSession, CliSessionArgs, MarkdownArgs, arguments, did_you_mean, parse_target_words};
use crate::exit::{Exit, hinted};
use crate::paint::{self, PaintStyle};
use crate::progress;
use crate::saving;
use crate::server::read_result;
use crate::show::{CliOutputForm, content, json};
use crate::text::quoted;

/// Call a tool of a server, and see what comes of it
///
/// Arguments are key=value, with the type that the tool's schema gives them; key:=JSON is JSON as it stands, a key that is
/// an array may come several times, and a.b=value is a member of an object. What does not fit the schema is not sent;
/// --arguments JSON is sent as it is.
///
/// On a terminal text is shown as it came, or as Markdown where it is known to be that (--feature human and --feature
/// format=markdown ask for it); progress is shown while it lasts, and what the server asks is put to you. In a pipe the
/// result is JSON, and a server that wants to ask gets what --answer says, or nothing.
///
/// Exit 1: the tool says that it failed, or the server refuses the call.
#[derive(clap::Args)]
#[command(
    override_usage = "attune call [OPTIONS] URL TOOL [KEY=VALUE]…\n       attune call [OPTIONS] TOOL [KEY=VALUE]… -- COMMAND…",
    after_help = "Examples:\n  $ attune call get_weather location=Bern -- attune demo --bare --stdio\n  $ attune call --text get_weather location=Bern --language de-CH -- attune demo --bare --stdio\n  $ echo '{\"location\": \"Bern\"}' | attune call get_weather --arguments - -- attune demo --bare --stdio\n  $ attune call book_seat connection=bern-zurich-2026-02-22-0831 --answer position=window --answer travel_class=second -- attune demo --bare --stdio\n\nA server that runs, with a token from the environment:\n  ATTUNE_TOKEN=… attune call https://example.com/mcp search query=trains limit=5"
)]
pub(crate) struct CallArgs {
    /// The URL of the server unless a program is named, the tool, and its arguments
    #[arg(value_name = "URL TOOL KEY=VALUE")]
    words: Vec<String>,
    /// All arguments, as a JSON object that is sent as it is; @FILE reads it from a file, and - from standard input
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// What to answer where the server asks: KEY=VALUE for each field, or `decline` or `cancel`
    #[arg(long, value_name = "KEY=VALUE")]
    answer: Vec<String>,
    /// Save the images, the audio and the files of the result in this folder, or the one that there is in this file; where
    /// there are none, the text. Nothing is written over
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reading: MarkdownArgs,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl CallArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, tool, pairs) = parse_target_words(&self.words, &self.command, "tool")?;
        let given = arguments::read_json_arguments(self.arguments.as_deref())?;
        let answers = ScriptedAnswers::read(&self.answer)?;
        self.out.as_deref().map(saving::check_out_path).transpose()?;
        let (reading, save) = (self.reading, self.out);
        self.ask.with_answers(answers).run(&target, out, async |asked, out| {
            let raw = call_tool(asked, tool, pairs, given).await?;
            show(out, &raw, reading.form(asked), save.as_deref())
        })
    }
}

/// Calls the tool with what its schema makes of the arguments.
async fn call_tool(
    asked: &CliSession,
    tool: &str,
    pairs: &[String],
    given: Map<String, serde_json::Value>,
) -> anyhow::Result<Box<RawValue>> {
    let schema = input_schema(asked, tool).await?;
    let arguments = arguments::add_pairs(given, pairs, schema.as_ref())?;
    asked.request(method::TOOLS_CALL, json!({ "name": tool, "arguments": arguments })).await
}

/// Shows a result, and saves what is in it.
fn show(
    out: &mut impl Write,
    raw: &RawValue,
    form: CliOutputForm,
    save: Option<&Path>,
) -> anyhow::Result<Exit> {
    let result = read_result(method::TOOLS_CALL, raw.get())?.root();
    match form {
        CliOutputForm::Json { terminal } => {
            writeln!(out, "{}", json::indented(result.raw(), terminal, paint::stdout()))?;
        }
        form => content::write_result(out, result, form)?,
    }
    out.flush()?;
    progress::clear();
    if let Some(path) = save {
        saving::save(&saving::contents_of_call(result)?, path)?;
    }
    let failed = result.member("isError").is_some_and(|failed| failed.raw() == "true");
    if failed {
        eprintln!("{}", paint::stderr().paint(PaintStyle::Bad, "the tool says that it failed"));
    }
    Ok(if failed { Exit::Findings } else { Exit::Fine })
}

/// What the tool takes. A server that cannot list its tools may still be called.
async fn input_schema(asked: &CliSession, tool: &str) -> anyhow::Result<Option<CompiledSchema>> {
    asked.show_progress(method::TOOLS_LIST);
    let listing = match asked.connection.tools().await {
        Ok(listing) => listing,
        Err(too_large @ ClientError::ListingTooLarge { .. }) => return Err(too_large.into()),
        Err(_) => return Ok(None),
    };
    if let Some(found) = listing.iter().find(|found| found["name"] == tool) {
        return Ok(CompiledSchema::read(&found["inputSchema"].to_string()));
    }
    if listing.dropped().iter().any(|dropped| dropped.name() == tool) {
        // The call itself says what is wrong with it.
        return Ok(None);
    }
    let names: Vec<String> =
        listing.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect();
    Err(hinted(format!("the server has no tool `{}`", quoted(tool)), did_you_mean::hint(tool, &names)))
}
