//! `attune features describe`: what each tag does on a server, tool by tool.

use std::io::Write;
use std::time::Duration;

use mcp_attune::features::TagEffect;
use mcp_attune::shaping::declares_content_negotiation;
use mcp_attune_rmcp::{Connection, ConnectionOptions, Era, ServerTarget};
use mcp_attune_shape::effect_on_tool;
use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;
use serde::Serialize;

use crate::exit::Exit;
use crate::running::single_thread_runtime;
use crate::server::{ServerArgs, endless_error, for_each_page, read_result, wrap_in_answer};
use crate::show::plain::line;
use crate::text::{print_json, wrap_rule_text};
use crate::tool::CallableTool;

/// How many tools a server may have.
const MAX_TOOLS: usize = 10_000;
/// How long one answer may take.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Describe what each feature tag does on a server, tool by tool
///
/// The server is asked for its tools, and none is called. A server that does not negotiate content itself gets what Attune does
/// in front of it by default; templates and hints of an operator are known to their gateway alone.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune features describe -- attune demo --bare --stdio\n  $ attune features describe --json -- attune demo --bare --stdio\n\nA server that runs:\n  attune features describe http://127.0.0.1:8808/mcp"
)]
pub(super) struct FeaturesDescribeArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Print JSON: `server`, `negotiates`, and `tags`, each with `tag`, `does` and `tools`, each with `tool` and `does`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FeaturesDescribeOutput {
    server: String,
    /// Whether the server says that it negotiates content itself.
    negotiates: bool,
    tags: Vec<TagDescription>,
}

#[derive(Serialize)]
struct TagDescription {
    tag: &'static str,
    does: &'static str,
    tools: Vec<ToolDescription>,
}

#[derive(Serialize)]
struct ToolDescription {
    tool: String,
    does: String,
}

impl FeaturesDescribeArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, options) = self.server.read()?;
        let described = single_thread_runtime()?.block_on(describe(&target, options))?;
        if self.json {
            print_json(out, &described)?;
        } else {
            tell(out, &described)?;
        }
        Ok(Exit::Fine)
    }
}

async fn describe(
    target: &ServerTarget,
    mut options: ConnectionOptions,
) -> anyhow::Result<FeaturesDescribeOutput> {
    options.answer = DESCRIBE_TIMEOUT;
    let connection = Connection::open(target, &options).await?;
    let asked = describe_connection(&connection).await;
    connection.close().await;
    asked
}

async fn describe_connection(connection: &Connection) -> anyhow::Result<FeaturesDescribeOutput> {
    let method = if connection.era() == Era::Modern { method::SERVER_DISCOVER } else { method::INITIALIZE };
    let mut negotiated = false;
    if let Some(raw) = connection.introduction() {
        read_result(method, raw.get())?;
        let answer = wrap_in_answer(raw.get());
        negotiated = Message::parse(answer.as_bytes())
            .ok()
            .as_ref()
            .and_then(declares_content_negotiation)
            .unwrap_or(false);
    }
    let info = connection.info();
    let named = info.server_info.as_ref().map(|server| server.name.clone());
    let server = named.unwrap_or_else(|| "a server without a name".to_owned());
    let mut tools = Vec::new();
    if info.capabilities.tools.is_some() {
        let take = |result: SpannedValue<'_>| {
            let listed = result.member("tools");
            tools.extend(listed.into_iter().flat_map(SpannedValue::elements).filter_map(CallableTool::read));
            let fits = tools.len() <= MAX_TOOLS;
            if fits { Ok(()) } else { Err(endless_error(&format!("more than {MAX_TOOLS} tools"))) }
        };
        for_each_page(connection, method::TOOLS_LIST, |_| (), take).await?;
    }
    let tags = TagEffect::all().map(|effect| {
        let on_tool = |tool: &CallableTool| {
            let does = effect_on_tool(effect.tag, &tool.output)?;
            Some(ToolDescription { tool: tool.name.clone(), does })
        };
        TagDescription {
            tag: effect.tag,
            does: effect.does,
            tools: tools.iter().filter_map(on_tool).collect(),
        }
    });
    Ok(FeaturesDescribeOutput { server, negotiates: negotiated, tags: tags.collect() })
}

fn tell(out: &mut impl Write, described: &FeaturesDescribeOutput) -> anyhow::Result<()> {
    let server = line(&described.server);
    if described.negotiates {
        writeln!(out, "{server} negotiates content itself, so it decides; these are the defaults.")?;
    } else {
        writeln!(
            out,
            "{server} does not negotiate content; this is what `[content] enabled = true` does in front of it."
        )?;
    }
    for TagDescription { tag, does, tools } in &described.tags {
        writeln!(out, "\n{tag}\n{}", wrap_rule_text(does).trim_end())?;
        // What stands for another tag does what that one does.
        if matches!(*tag, "agent" | "human") {
            continue;
        }
        let width = tools.iter().map(|it| line(&it.tool).chars().count()).max().unwrap_or(0).min(40);
        for ToolDescription { tool, does } in tools {
            writeln!(out, "    {:<width$}  {does}", line(tool))?;
        }
    }
    Ok(())
}
