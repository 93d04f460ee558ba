//! `attune tools`, `attune prompts` and `attune resources`: what a server has.

use std::io::Write;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{Type, Value};
use mcp_attune_wire::protocol::method;
use mcp_attune_wire::schema::Declared;

use crate::asking::{Ask, Asked, near};
use crate::exit::{self, Exit, hinted};
use crate::paint;
use crate::server::target;
use crate::show::text;
use crate::show::{Form, json, plain, table, tool, width};
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
pub(crate) struct Tools {
    /// The URL of the server unless a program is named, and the name of a tool
    #[arg(value_name = "URL NAME")]
    words: Vec<String>,
    #[command(flatten)]
    ask: Ask,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// List the prompts of a server, with their arguments
///
/// Arguments that may be left out are in brackets; a terminal of fewer than 100 columns has no room for them. In a pipe the list is JSON, as the server said it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune prompts -- attune demo --bare --stdio")]
pub(crate) struct Prompts {
    #[command(flatten)]
    listing: Listing,
}

/// List the resources of a server, and the templates of resources
///
/// In a pipe the list is JSON, as the server said it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune resources -- attune demo --bare --stdio")]
pub(crate) struct Resources {
    #[command(flatten)]
    listing: Listing,
}

/// From how many columns on a table has a third thing to say.
const WIDE: usize = 100;

#[derive(clap::Args)]
struct Listing {
    /// The URL of the server
    url: Option<String>,
    #[command(flatten)]
    ask: Ask,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// One kind of thing: how it is asked for, and what a row about it says.
struct Kind {
    method: &'static str,
    member: &'static str,
    heads: [&'static str; 4],
    row: fn(Value<'_>) -> Vec<String>,
}

const TOOLS: Kind = Kind {
    method: method::TOOLS_LIST,
    member: "tools",
    heads: ["TOOL", "TITLE", "ARGUMENTS", "DESCRIPTION"],
    row: |tool| row(tool, "name", &schema_arguments(tool)),
};
const PROMPTS: Kind = Kind {
    method: method::PROMPTS_LIST,
    member: "prompts",
    heads: ["PROMPT", "TITLE", "ARGUMENTS", "DESCRIPTION"],
    row: |prompt| row(prompt, "name", &prompt_arguments(prompt)),
};
const RESOURCES: Kind = Kind {
    method: method::RESOURCES_LIST,
    member: "resources",
    heads: ["RESOURCE", "TITLE", "KIND", "DESCRIPTION"],
    row: |resource| row(resource, "uri", &text(resource, "mimeType").unwrap_or_default()),
};
const TEMPLATES: Kind = Kind {
    method: method::RESOURCES_TEMPLATES_LIST,
    member: "resourceTemplates",
    heads: ["TEMPLATE", "TITLE", "KIND", "DESCRIPTION"],
    row: |resource| row(resource, "uriTemplate", &text(resource, "mimeType").unwrap_or_default()),
};

impl Tools {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (url, names) = match (self.command.is_empty(), self.words.as_slice()) {
            (true, [url, names @ ..]) => (Some(url.clone()), names),
            (_, names) => (None, names),
        };
        match names {
            [] => Listing { url, ask: self.ask, command: self.command }.run(out, &[TOOLS]),
            [name] => one(out, self.ask, url.as_deref(), &self.command, name),
            _ => Err(hinted("more than one tool is named", "see them one by one, or all without a name")),
        }
    }
}

/// Shows one tool whole.
fn one(
    out: &mut impl Write,
    ask: Ask,
    url: Option<&str>,
    command: &[String],
    name: &str,
) -> anyhow::Result<Exit> {
    let target = target(url, command)?;
    ask.run(&target, out, async |asked, out| {
        let tools = asked.list(TOOLS.method, TOOLS.member).await?;
        crate::progress::clear();
        let named = |item: &&String| read(item, |tool| text(tool, "name")).flatten().as_deref() == Some(name);
        let Some(tool) = tools.iter().find(named) else {
            let names: Vec<_> =
                tools.iter().filter_map(|item| read(item, |tool| text(tool, "name"))?).collect();
            return Err(hinted(
                format!("the server has no tool `{}`", quoted(name)),
                near::hint(name, &names),
            ));
        };
        match asked.form {
            Form::Json { terminal } => writeln!(out, "{}", json::indented(tool, terminal, paint::stdout()))?,
            form => {
                let program =
                    if command.is_empty() { String::new() } else { format!("-- {}", tool::shell(command)) };
                let at = (url.unwrap_or_default(), program.as_str());
                let page = read(tool, |tool| tool::page(tool, at, form, paint::stdout()));
                write!(out, "{}", page.unwrap_or_default())?;
            }
        }
        unusable(&[(&TOOLS, vec![tool.clone()])]);
        Ok(Exit::Fine)
    })
}

impl Prompts {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        self.listing.run(out, &[PROMPTS])
    }
}

impl Resources {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        self.listing.run(out, &[RESOURCES, TEMPLATES])
    }
}

impl Listing {
    fn run(self, out: &mut impl Write, kinds: &[Kind]) -> anyhow::Result<Exit> {
        let target = target(self.url.as_deref(), &self.command)?;
        self.ask.run(&target, out, async |asked, out| {
            let mut listed = Vec::new();
            for kind in kinds {
                listed.push((kind, asked.list(kind.method, kind.member).await?));
            }
            crate::progress::clear();
            if let Form::Json { terminal } = asked.form {
                let member = |(kind, items): &(&Kind, Vec<String>)| {
                    format!("\"{}\":[{}]", kind.member, items.join(","))
                };
                let whole = listed.iter().map(member).collect::<Vec<_>>().join(",");
                writeln!(out, "{}", json::indented(&format!("{{{whole}}}"), terminal, paint::stdout()))?;
            } else {
                write(out, asked, &listed)?;
            }
            unusable(&listed);
            Ok(Exit::Fine)
        })
    }
}

fn write(out: &mut impl Write, asked: &Asked, listed: &[(&Kind, Vec<String>)]) -> anyhow::Result<()> {
    let width = if matches!(asked.form, Form::Terminal { .. }) { width() } else { usize::MAX };
    let mut first = true;
    for (kind, items) in listed.iter().filter(|(_, items)| !items.is_empty()) {
        if !std::mem::replace(&mut first, false) {
            writeln!(out)?;
        }
        let mut rows: Vec<_> = items.iter().filter_map(|item| read(item, kind.row)).collect();
        if width < WIDE {
            // What it is says more than what it takes.
            rows.iter_mut().filter_map(|row| row.get_mut(2)).for_each(String::clear);
        }
        write!(out, "{}", table::table(&kind.heads, &rows, width))?;
    }
    if first {
        writeln!(out, "The server has none.")?;
    }
    Ok(())
}

/// Reads an item that was cut out of an answer.
fn read<T>(item: &str, read: impl FnOnce(Value<'_>) -> T) -> Option<T> {
    Some(read(Document::parse(item.as_bytes()).ok()?.root()))
}

fn row(item: Value<'_>, name: &str, third: &str) -> Vec<String> {
    let annotated = || text(item.member("annotations")?, "title");
    let title = text(item, "title").or_else(annotated);
    let title = title.or_else(|| text(item, "name").filter(|_| name != "name")).unwrap_or_default();
    let description = text(item, "description").unwrap_or_default();
    vec![
        plain::line(&text(item, name).unwrap_or_default()),
        plain::line(&title),
        plain::line(third),
        plain::first_line(&description),
    ]
}

/// The arguments of a tool, those that it needs first.
fn schema_arguments(tool: Value<'_>) -> String {
    let schema = tool.member("inputSchema");
    let names = |member: &str| schema.and_then(|schema| schema.member(member));
    let required: Vec<String> = names("required")
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned))
        .collect();
    let all = names("properties").into_iter().flat_map(Value::members);
    let all = all.filter_map(|(name, _)| name.decode().map(std::borrow::Cow::into_owned));
    listed(all.map(|name| (required.contains(&name), name)))
}

fn prompt_arguments(prompt: Value<'_>) -> String {
    let all = prompt.member("arguments").into_iter().flat_map(Value::elements);
    let needed = |argument: Value<'_>| argument.member("required").is_some_and(|it| it.raw() == "true");
    listed(all.filter_map(|argument| Some((needed(argument), text(argument, "name")?))))
}

fn listed(arguments: impl Iterator<Item = (bool, String)>) -> String {
    let (needed, others): (Vec<_>, Vec<_>) = arguments.partition(|(needed, _)| *needed);
    let needed = needed.into_iter().map(|(_, name)| name);
    needed.chain(others.into_iter().map(|(_, name)| format!("[{name}]"))).collect::<Vec<_>>().join(" ")
}

/// Tells which tools clients have to leave out, over HTTP in the modern era.
///
/// Rules: H5.
fn unusable(listed: &[(&Kind, Vec<String>)]) {
    for item in listed.iter().filter(|(kind, _)| kind.member == "tools").flat_map(|(_, items)| items) {
        let wrong = read(item, |tool| {
            let schema = tool.member("inputSchema").filter(|schema| schema.kind() == Type::Object)?;
            let why = Declared::read(schema.raw().as_bytes()).err()?;
            Some((text(tool, "name").unwrap_or_default(), why.to_string()))
        });
        if let Some((name, why)) = wrong.flatten() {
            exit::doubt(&format!("clients cannot call `{}` over HTTP: {}", quoted(&name), plain::line(&why)));
        }
    }
}
