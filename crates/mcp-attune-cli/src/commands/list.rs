//! `attune tools`, `attune prompts` and `attune resources`: what a server has.

use std::io::Write;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::protocol::method;
use mcp_attune_wire::schema::DeclaredHeaders;

use crate::asking::{CliSession, CliSessionArgs, did_you_mean};
use crate::exit::{self, Exit, hinted};
use crate::paint;
use crate::server::parse_target;
use crate::show::text_member;
use crate::show::{CliOutputForm, json, plain, table, terminal_columns, tool};
use crate::text::quoted;

/// List the tools of a server, or see one of them whole
///
/// Arguments that may be left out are in brackets; a terminal of fewer than 100 columns has no room for them. With the name
/// of a tool: what it does, each argument with its type, its values and its default, what it gives, and a call to copy.
/// In a pipe the list, or the tool, is JSON, as the server said it.
#[derive(clap::Args)]
#[command(
    override_usage = "attune tools [OPTIONS] URL [NAME]\n       attune tools [OPTIONS] [NAME] -- COMMAND…",
    after_help = "Examples:\n  $ attune tools -- attune demo --bare --stdio\n  $ attune tools --text --language fr -- attune demo --bare --stdio\n  $ attune tools --text get_weather -- attune demo --bare --stdio\n\nA server that runs:\n  attune tools http://127.0.0.1:8808/mcp get_weather --language de"
)]
pub(crate) struct ToolsArgs {
    /// The URL of the server unless a program is named, and the name of a tool
    #[arg(value_name = "URL NAME")]
    words: Vec<String>,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// List the prompts of a server, with their arguments
///
/// Arguments that may be left out are in brackets; a terminal of fewer than 100 columns has no room for them. In a pipe the list is JSON, as the server said it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune prompts -- attune demo --bare --stdio")]
pub(crate) struct PromptsArgs {
    #[command(flatten)]
    listing: ListingArgs,
}

/// List the resources of a server, and the templates of resources
///
/// In a pipe the list is JSON, as the server said it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune resources -- attune demo --bare --stdio")]
pub(crate) struct ResourcesArgs {
    #[command(flatten)]
    listing: ListingArgs,
}

/// From how many columns on a table has a third thing to say.
const WIDE_TABLE_COLUMNS: usize = 100;

#[derive(clap::Args)]
struct ListingArgs {
    /// The URL of the server
    url: Option<String>,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// One kind of thing: how it is asked for, and what a row about it says.
struct ListingTableSpec {
    method: &'static str,
    member: &'static str,
    heads: [&'static str; 4],
    row: fn(SpannedValue<'_>) -> Vec<String>,
}

const TOOLS: ListingTableSpec = ListingTableSpec {
    method: method::TOOLS_LIST,
    member: "tools",
    heads: ["TOOL", "TITLE", "ARGUMENTS", "DESCRIPTION"],
    row: |tool| row(tool, "name", &schema_arguments(tool)),
};
const PROMPTS: ListingTableSpec = ListingTableSpec {
    method: method::PROMPTS_LIST,
    member: "prompts",
    heads: ["PROMPT", "TITLE", "ARGUMENTS", "DESCRIPTION"],
    row: |prompt| row(prompt, "name", &prompt_arguments(prompt)),
};
const RESOURCES: ListingTableSpec = ListingTableSpec {
    method: method::RESOURCES_LIST,
    member: "resources",
    heads: ["RESOURCE", "TITLE", "KIND", "DESCRIPTION"],
    row: |resource| row(resource, "uri", &text_member(resource, "mimeType").unwrap_or_default()),
};
const TEMPLATES: ListingTableSpec = ListingTableSpec {
    method: method::RESOURCES_TEMPLATES_LIST,
    member: "resourceTemplates",
    heads: ["TEMPLATE", "TITLE", "KIND", "DESCRIPTION"],
    row: |resource| row(resource, "uriTemplate", &text_member(resource, "mimeType").unwrap_or_default()),
};

impl ToolsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (url, names) = match (self.command.is_empty(), self.words.as_slice()) {
            (true, [url, names @ ..]) => (Some(url.clone()), names),
            (_, names) => (None, names),
        };
        match names {
            [] => ListingArgs { url, ask: self.ask, command: self.command }.run(out, &[TOOLS]),
            [name] => show_tool(out, self.ask, url.as_deref(), &self.command, name),
            _ => Err(hinted("more than one tool is named", "see them one by one, or all without a name")),
        }
    }
}

/// Shows one tool whole.
fn show_tool(
    out: &mut impl Write,
    ask: CliSessionArgs,
    url: Option<&str>,
    command: &[String],
    name: &str,
) -> anyhow::Result<Exit> {
    let target = parse_target(url, command)?;
    ask.run(&target, out, async |asked, out| {
        let tools = asked.list(TOOLS.method, TOOLS.member).await?;
        crate::progress::clear();
        let named =
            |item: &&String| read(item, |tool| text_member(tool, "name")).flatten().as_deref() == Some(name);
        let Some(tool) = tools.iter().find(named) else {
            let names: Vec<_> =
                tools.iter().filter_map(|item| read(item, |tool| text_member(tool, "name"))?).collect();
            return Err(hinted(
                format!("the server has no tool `{}`", quoted(name)),
                did_you_mean::hint(name, &names),
            ));
        };
        match asked.form {
            CliOutputForm::Json { terminal } => {
                writeln!(out, "{}", json::indented(tool, terminal, paint::stdout()))?;
            }
            form => {
                let program = if command.is_empty() {
                    String::new()
                } else {
                    format!("-- {}", tool::shell_command(command))
                };
                let at = (url.unwrap_or_default(), program.as_str());
                let page = read(tool, |tool| tool::render_tool(tool, at, form, paint::stdout()));
                write!(out, "{}", page.unwrap_or_default())?;
            }
        }
        warn_unusable_tools(&[(&TOOLS, vec![tool.clone()])]);
        Ok(Exit::Fine)
    })
}

impl PromptsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        self.listing.run(out, &[PROMPTS])
    }
}

impl ResourcesArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        self.listing.run(out, &[RESOURCES, TEMPLATES])
    }
}

impl ListingArgs {
    fn run(self, out: &mut impl Write, kinds: &[ListingTableSpec]) -> anyhow::Result<Exit> {
        let target = parse_target(self.url.as_deref(), &self.command)?;
        self.ask.run(&target, out, async |asked, out| {
            let mut listed = Vec::new();
            for kind in kinds {
                listed.push((kind, asked.list(kind.method, kind.member).await?));
            }
            crate::progress::clear();
            if let CliOutputForm::Json { terminal } = asked.form {
                let member = |(kind, items): &(&ListingTableSpec, Vec<String>)| {
                    format!("\"{}\":[{}]", kind.member, items.join(","))
                };
                let whole = listed.iter().map(member).collect::<Vec<_>>().join(",");
                writeln!(out, "{}", json::indented(&format!("{{{whole}}}"), terminal, paint::stdout()))?;
            } else {
                write(out, asked, &listed)?;
            }
            warn_unusable_tools(&listed);
            Ok(Exit::Fine)
        })
    }
}

fn write(
    out: &mut impl Write,
    asked: &CliSession,
    listed: &[(&ListingTableSpec, Vec<String>)],
) -> anyhow::Result<()> {
    let width =
        if matches!(asked.form, CliOutputForm::Terminal { .. }) { terminal_columns() } else { usize::MAX };
    let mut first = true;
    for (kind, items) in listed.iter().filter(|(_, items)| !items.is_empty()) {
        if !std::mem::replace(&mut first, false) {
            writeln!(out)?;
        }
        let mut rows: Vec<_> = items.iter().filter_map(|item| read(item, kind.row)).collect();
        if width < WIDE_TABLE_COLUMNS {
            // What it is says more than what it takes.
            rows.iter_mut().filter_map(|row| row.get_mut(2)).for_each(String::clear);
        }
        write!(out, "{}", table::render_table(&kind.heads, &rows, width))?;
    }
    if first {
        writeln!(out, "The server has none.")?;
    }
    Ok(())
}

/// Reads an item that was cut out of an answer.
fn read<T>(item: &str, read: impl FnOnce(SpannedValue<'_>) -> T) -> Option<T> {
    Some(read(Document::parse(item.as_bytes()).ok()?.root()))
}

fn row(item: SpannedValue<'_>, name: &str, third: &str) -> Vec<String> {
    let annotated = || text_member(item.member("annotations")?, "title");
    let title = text_member(item, "title").or_else(annotated);
    let title = title.or_else(|| text_member(item, "name").filter(|_| name != "name")).unwrap_or_default();
    let description = text_member(item, "description").unwrap_or_default();
    vec![
        plain::line(&text_member(item, name).unwrap_or_default()),
        plain::line(&title),
        plain::line(third),
        plain::first_line(&description),
    ]
}

/// The arguments of a tool, those that it needs first.
fn schema_arguments(tool: SpannedValue<'_>) -> String {
    let schema = tool.member("inputSchema");
    let names = |member: &str| schema.and_then(|schema| schema.member(member));
    let required: Vec<String> = names("required")
        .into_iter()
        .flat_map(SpannedValue::elements)
        .filter_map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned))
        .collect();
    let all = names("properties").into_iter().flat_map(SpannedValue::members);
    let all = all.filter_map(|(name, _)| name.decode().map(std::borrow::Cow::into_owned));
    listed(all.map(|name| (required.contains(&name), name)))
}

fn prompt_arguments(prompt: SpannedValue<'_>) -> String {
    let all = prompt.member("arguments").into_iter().flat_map(SpannedValue::elements);
    let needed =
        |argument: SpannedValue<'_>| argument.member("required").is_some_and(|it| it.raw() == "true");
    listed(all.filter_map(|argument| Some((needed(argument), text_member(argument, "name")?))))
}

fn listed(arguments: impl Iterator<Item = (bool, String)>) -> String {
    let (needed, others): (Vec<_>, Vec<_>) = arguments.partition(|(needed, _)| *needed);
    let needed = needed.into_iter().map(|(_, name)| name);
    needed.chain(others.into_iter().map(|(_, name)| format!("[{name}]"))).collect::<Vec<_>>().join(" ")
}

/// Tells which tools clients have to leave out, over HTTP in the modern era.
///
/// Rules: H5.
fn warn_unusable_tools(listed: &[(&ListingTableSpec, Vec<String>)]) {
    for item in listed.iter().filter(|(kind, _)| kind.member == "tools").flat_map(|(_, items)| items) {
        let wrong = read(item, |tool| {
            let schema = tool.member("inputSchema").filter(|schema| schema.kind() == JsonKind::Object)?;
            let why = DeclaredHeaders::read(schema.raw().as_bytes()).err()?;
            Some((text_member(tool, "name").unwrap_or_default(), why.to_string()))
        });
        if let Some((name, why)) = wrong.flatten() {
            exit::print_warning(&format!(
                "clients cannot call `{}` over HTTP: {}",
                quoted(&name),
                plain::line(&why)
            ));
        }
    }
}
