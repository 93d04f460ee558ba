//! `attune prompt`: the messages of a prompt.

use mcp_attune_wire::protocol::method;
use std::io::Write;

use mcp_attune_rmcp::ClientError;
use mcp_attune_shape::CompiledSchema;
use serde_json::{Map, Value, json};

use crate::asking::{CliSession, CliSessionArgs, MarkdownArgs, arguments, did_you_mean, parse_target_words};
use crate::exit::{Exit, hinted};
use crate::paint;
use crate::server::read_result;
use crate::show::{CliOutputForm, content, json};
use crate::text::quoted;

/// Get a prompt of a server
///
/// Arguments are key=value, and all of them are text. On a terminal the messages are shown as they came, in a pipe as JSON.
#[derive(clap::Args)]
#[command(
    override_usage = "attune prompt [OPTIONS] URL NAME [KEY=VALUE]…\n       attune prompt [OPTIONS] NAME [KEY=VALUE]… -- COMMAND…",
    after_help = "Examples:\n  $ attune prompt plan_trip city=Bern -- attune demo --bare --stdio\n  $ attune prompt --text plan_trip city=Bern -- attune demo --bare --stdio"
)]
pub(crate) struct PromptArgs {
    /// The URL of the server unless a program is named, the prompt, and its arguments
    #[arg(value_name = "URL NAME KEY=VALUE")]
    words: Vec<String>,
    #[command(flatten)]
    reading: MarkdownArgs,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl PromptArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, name, pairs) = parse_target_words(&self.words, &self.command, "prompt")?;
        let reading = self.reading;
        self.ask.run(&target, out, async |asked, out| {
            let schema = schema(asked, name).await?;
            let arguments = arguments::add_pairs(Map::new(), pairs, schema.as_ref())?;
            let raw =
                asked.request(method::PROMPTS_GET, json!({ "name": name, "arguments": arguments })).await?;
            let result = read_result(method::PROMPTS_GET, raw.get())?.root();
            match reading.form(asked) {
                CliOutputForm::Json { terminal } => {
                    writeln!(out, "{}", json::indented(result.raw(), terminal, paint::stdout()))?;
                }
                form => content::write_prompt(out, result, form)?,
            }
            Ok(Exit::Fine)
        })
    }
}

/// What the prompt takes, as a schema: its arguments are named, and are text.
async fn schema(asked: &CliSession, name: &str) -> anyhow::Result<Option<CompiledSchema>> {
    asked.show_progress(method::PROMPTS_LIST);
    let listing = match asked.connection.prompts().await {
        Ok(listing) => listing,
        Err(too_large @ ClientError::ListingTooLarge { .. }) => return Err(too_large.into()),
        Err(_) => return Ok(None),
    };
    let Some(prompt) = listing.iter().find(|prompt| prompt["name"] == name) else {
        let names: Vec<_> =
            listing.iter().filter_map(|prompt| prompt["name"].as_str()).map(str::to_owned).collect();
        return Err(hinted(
            format!("the server has no prompt `{}`", quoted(name)),
            did_you_mean::hint(name, &names),
        ));
    };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in prompt["arguments"].as_array().into_iter().flatten() {
        let Some(name) = argument["name"].as_str() else { continue };
        let description = argument["description"].as_str().unwrap_or_default();
        properties.insert(name.to_owned(), json!({ "type": "string", "description": description }));
        if argument["required"] == Value::Bool(true) {
            required.push(name);
        }
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Ok(CompiledSchema::read(&schema.to_string()))
}
