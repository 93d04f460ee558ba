//! `attune read`: a resource.

use mcp_attune_wire::protocol::method;
use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use crate::asking::{CliSessionArgs, MarkdownArgs, parse_target_words};
use crate::exit::{Exit, hinted};
use crate::paint;
use crate::progress;
use crate::saving;
use crate::server::read_result;
use crate::show::{CliOutputForm, content, json};

/// Read a resource of a server
///
/// On a terminal text is shown as it came, but for resources of the kind text/markdown, and what is no text by its kind and
/// size. In a pipe the result is JSON; --text gives the text itself.
#[derive(clap::Args)]
#[command(
    override_usage = "attune read [OPTIONS] URL URI\n       attune read [OPTIONS] URI -- COMMAND…",
    after_help = "Examples:\n  $ attune read map://features/alpine-valley-1 -- attune demo --bare --stdio\n  $ attune read --text map://features/alpine-valley-1 -- attune demo --bare --stdio\n  $ attune read map://features/alpine-valley-1 --out $(mktemp -d)/valley.json -- attune demo --bare --stdio"
)]
pub(crate) struct ReadArgs {
    /// The URL of the server unless a program is named, and the URI of the resource
    #[arg(value_name = "URL URI")]
    words: Vec<String>,
    /// Save the resource in this file, and what has several parts in this folder; nothing is written over, and nothing is
    /// printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reading: MarkdownArgs,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl ReadArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, uri, rest) = parse_target_words(&self.words, &self.command, "URI")?;
        if !rest.is_empty() {
            return Err(hinted("more than one URI is named", "read them one by one"));
        }
        self.out.as_deref().map(saving::check_out_path).transpose()?;
        let (reading, save) = (self.reading, self.out);
        self.ask.run(&target, out, async |asked, out| {
            let raw = asked.request(method::RESOURCES_READ, json!({ "uri": uri })).await?;
            let result = read_result(method::RESOURCES_READ, raw.get())?.root();
            match (&save, reading.form(asked)) {
                (Some(path), _) => {
                    progress::clear();
                    saving::save(&saving::contents_of_resource(result)?, path)?;
                }
                (None, CliOutputForm::Json { terminal }) => {
                    writeln!(out, "{}", json::indented(result.raw(), terminal, paint::stdout()))?;
                }
                (None, form) => content::write_resource(out, result, form)?,
            }
            Ok(Exit::Fine)
        })
    }
}
