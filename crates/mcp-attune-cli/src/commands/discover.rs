//! `attune discover`: who a server is, and what it can do.

use std::io::Write;

use mcp_attune_rmcp::Era;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::meta;
use mcp_attune_wire::protocol::method;

use crate::asking::{CliSession, CliSessionArgs};
use crate::exit::{Exit, hinted};
use crate::paint::{self, PaintStyle};
use crate::server::{parse_target, read_result};
use crate::show::text_member;
use crate::show::{CliOutputForm, content, json, plain, wrap};

/// See who a server is, which versions it speaks and what it can do
///
/// In a pipe that is JSON: the server's own answer to `server/discover`, or to `initialize` where it is older.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune discover -- attune demo --bare --stdio\n  $ attune discover --text --language de-CH -- attune demo --bare --stdio\n\nA server that runs:\n  attune discover http://127.0.0.1:8808/mcp"
)]
pub(crate) struct DiscoverArgs {
    /// The URL of the server
    url: Option<String>,
    #[command(flatten)]
    ask: CliSessionArgs,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl DiscoverArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let target = parse_target(self.url.as_deref(), &self.command)?;
        self.ask.run(&target, out, async |asked, out| {
            asked.report_introduction();
            let Some(raw) = asked.connection.introduction() else {
                return Err(hinted("the server did not say who it is", "ask it for its tools: attune tools"));
            };
            let method = if asked.connection.era() == Era::Modern {
                method::SERVER_DISCOVER
            } else {
                method::INITIALIZE
            };
            let result = read_result(method, raw.get())?.root();
            match asked.form {
                CliOutputForm::Json { terminal } => {
                    writeln!(out, "{}", json::indented(result.raw(), terminal, paint::stdout()))?;
                }
                form => write(out, asked, result, form)?,
            }
            Ok(Exit::Fine)
        })
    }
}

fn write(
    out: &mut impl Write,
    asked: &CliSession,
    result: SpannedValue<'_>,
    form: CliOutputForm,
) -> anyhow::Result<()> {
    let meta = result.member("_meta");
    let info = result.member("serverInfo").or_else(|| meta?.member(meta::SERVER_INFO));
    let of = |member: &str| info.and_then(|info| text_member(info, member)).map(|text| plain::line(&text));
    let name = of("name").unwrap_or_else(|| "a server without a name".to_owned());
    let named = match of("title").filter(|title| *title != name) {
        Some(title) => format!("{title} ({name})"),
        None => name,
    };
    let mut rows =
        vec![("server", format!("{named} {}", of("version").unwrap_or_default()).trim_end().to_owned())];
    for member in ["description", "websiteUrl"] {
        if let Some(said) = of(member) {
            rows.push((if member == "description" { "is" } else { "website" }, said));
        }
    }
    let spoken = asked.connection.version();
    rows.push((
        "version",
        match asked.connection.era() {
            Era::Modern => format!("{spoken}, spoken now; in all {}", versions(result)),
            _ => format!("{spoken}, agreed on with initialize"),
        },
    ));
    let capabilities = result.member("capabilities");
    rows.push((
        "can",
        capabilities
            .map(capabilities_text)
            .filter(|can| !can.is_empty())
            .unwrap_or_else(|| "nothing that it says".to_owned()),
    ));
    let extensions = capabilities.and_then(|can| can.member("extensions"));
    let negotiates = extensions.is_some_and(|extensions| extensions.member(CONTENT_NEGOTIATION).is_some());
    let yes = "yes: --feature shapes its answers";
    rows.push(("content negotiation", if negotiates { yes } else { "not declared" }.to_owned()));
    let language = meta.and_then(|meta| text_member(meta, meta::CONTENT_LANGUAGE));
    rows.push((
        "language",
        match language {
            Some(language) => format!("this answer is in {}", plain::line(&language)),
            None => "not told; a server may do so when --language asks for one".to_owned(),
        },
    ));
    let others: Vec<_> = extensions
        .into_iter()
        .flat_map(SpannedValue::members)
        .filter_map(|(name, _)| name.decode())
        .filter(|name| name != CONTENT_NEGOTIATION)
        .map(|name| plain::line(&name))
        .collect();
    if !others.is_empty() {
        rows.push(("other extensions", others.join(", ")));
    }
    for (name, value) in rows {
        let row = format!("{name:<19}  {value}");
        let row = match form {
            CliOutputForm::Terminal { width, .. } => wrap::wrapped(&row, width, 21),
            _ => row,
        };
        // Padding first: a style takes no columns.
        let (name, value) = row.split_at_checked(19).unwrap_or((&row, ""));
        writeln!(out, "{}{value}", paint::stdout().paint(PaintStyle::Strong, name))?;
    }
    if let Some(instructions) = text_member(result, "instructions").filter(|text| !text.trim().is_empty()) {
        writeln!(out, "\n{}", content::description_text(&instructions, form))?;
    }
    Ok(())
}

fn versions(result: SpannedValue<'_>) -> String {
    let all = result.member("supportedVersions").into_iter().flat_map(SpannedValue::elements);
    let all: Vec<_> = all.filter_map(|version| version.text().and_then(JsonString::decode)).collect();
    plain::line(&all.join(", "))
}

/// The capabilities, with what is said of each.
fn capabilities_text(capabilities: SpannedValue<'_>) -> String {
    let known = |name: &str| !matches!(name, "extensions" | "experimental");
    let one = |(name, value): (JsonString<'_>, SpannedValue<'_>)| {
        let name = name.decode().filter(|name| known(name))?;
        let more =
            value.members().filter(|(_, value)| value.raw() == "true" || value.kind() == JsonKind::Object);
        let more: Vec<_> = more.filter_map(|(name, _)| name.decode()).collect();
        let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join(", ")) };
        Some(plain::line(&format!("{name}{more}")))
    };
    capabilities.members().filter_map(one).collect::<Vec<_>>().join(", ")
}
