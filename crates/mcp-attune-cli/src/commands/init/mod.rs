//! `attune init`: a configuration and a locale file for a server, to begin with.

pub(super) mod toml;

mod proposals;

mod file;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune::language::Tag;
use mcp_attune_rmcp::Connection;
use mcp_attune_wire::protocol::meta::SERVER_INFO;
use serde_json::Value;

use super::catalog::extract;
use super::catalog::folder::{CatalogFolder, parse_language};
use super::catalog::texts::{CollectedTexts, collect_texts};
use crate::exit::{Exit, hinted, print_error};
use crate::progress;
use crate::running::single_thread_runtime;
use crate::server::ServerArgs;
use file::{InitConfig, InitUpstream};
#[cfg(feature = "audit")]
pub(super) use proposals::context_source;
use proposals::{ToolBindingProposal, propose};

/// The configuration, and the folder of the locale files beside it.
const CONFIG: &str = "attune.toml";
const LOCALES: &str = "locales";

/// Write a configuration and a locale file for a server, to begin with
///
/// The server is asked for what it has. Its texts go into the locale file of its own language, for translators, and a short
/// attune.toml puts Attune in front of it. Arguments for a time zone are filled from what callers say of themselves; other
/// arguments that could be are proposed in comments. Files that are there already are left alone, and then nothing is written
/// (exit 1), unless `--force` is given.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune init --out target/init-of-help --force -- attune demo --bare --stdio\n  $ attune config check target/init-of-help/attune.toml\n\nFor a server that runs, and for a program that is one:\n  attune init http://127.0.0.1:9000/mcp\n  attune init -- npx -y some-server"
)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The folder to write to; it is made where it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Write over attune.toml. In a locale file that is there, messages and titles of yours are kept
    #[arg(long)]
    force: bool,
    /// The language of the server's own texts; without it, what the server says, else en
    #[arg(long, value_name = "TAG")]
    default_language: Option<String>,
}

/// What a server says of itself.
struct InitServerDescription {
    /// Its title, or its name.
    name: Option<String>,
    tools: Vec<Value>,
    texts: CollectedTexts,
}

impl InitArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, options) = self.server.read()?;
        let given = self.default_language.as_deref().map(parse_language).transpose()?;
        let config = self.out_path(CONFIG);
        // Nobody waits for a server only to hear this.
        if self.keeps_existing(&config) {
            return Ok(Exit::Findings);
        }
        let asked = single_thread_runtime()?.block_on(async {
            let connection = Connection::open(&target, &options).await?;
            let asked = describe_server(&connection).await;
            connection.close().await;
            progress::clear();
            asked
        })?;
        let own = extract::own_language(given.as_ref(), &asked.texts)?;
        let folder = self.out_path(LOCALES);
        let desk = CatalogFolder::new(&folder, own.as_str())?;
        if self.keeps_existing(&desk.path(&own)) {
            return Ok(Exit::Findings);
        }
        let configuration = self.configuration(&own, &asked)?;
        let proposals = configuration.usable_proposals(propose(&asked.tools));
        let written = extract::write_locale_files(&desk, &folder, asked.texts.draft)?;
        store(&config, &configuration.write(&proposals))?;
        tell_bindings(out, &config, &proposals)?;
        extract::print_extraction(out, &written)?;
        self.tell_next(out, &config, &folder)?;
        Ok(Exit::Fine)
    }

    /// A path in the folder, as it is written by hand.
    fn out_path(&self, name: &str) -> PathBuf {
        if self.out == Path::new(".") { name.into() } else { self.out.join(name) }
    }

    /// Whether a file is there that is not to be written over, and says so.
    fn keeps_existing(&self, file: &Path) -> bool {
        let keeps = !self.force && file.exists();
        if keeps {
            let what = format!("{} is there already, and nothing was written", file.display());
            print_error(&hinted(what, "write over it with --force, or choose another folder with --out DIR"));
        }
        keeps
    }

    fn configuration(&self, own: &Tag, asked: &InitServerDescription) -> anyhow::Result<InitConfig> {
        let upstream = match self.server.url() {
            Some(url) => InitUpstream::Url(url.to_owned()),
            None => InitUpstream::Command(self.server.command().to_vec()),
        };
        let (name, tools) = (asked.name.clone(), asked.tools.len());
        let configuration = InitConfig { name, tools, language: own.to_string(), upstream };
        configuration.check().map_err(|findings| {
            let hint = "begin with `attune config example`, and write the server under [upstream]";
            hinted(format!("this server cannot be written into a configuration\n{findings}"), hint)
        })?;
        Ok(configuration)
    }

    fn tell_next(&self, out: &mut impl Write, config: &Path, locales: &Path) -> anyhow::Result<()> {
        let (config, locales) = (config.display(), locales.display());
        writeln!(out, "\nNext:")?;
        writeln!(out, "  attune config check {config}")?;
        writeln!(out, "  attune serve --config {config}")?;
        if !self.server.command().is_empty() {
            writeln!(out, "or, in the settings of a desktop client, in place of the server's own command:")?;
            writeln!(out, "  attune stdio --config {config}")?;
        }
        writeln!(
            out,
            "Translations go beside the file of the server's own texts: {locales}/de.json, {locales}/fr.json and so on."
        )?;
        Ok(())
    }
}

async fn describe_server(connection: &Connection) -> anyhow::Result<InitServerDescription> {
    let texts = collect_texts(connection, &[], extract::show_extract_progress).await?;
    let tools = match connection.info().capabilities.tools {
        Some(_) => connection.tools().await?.to_vec(),
        None => Vec::new(),
    };
    let about = connection.introduction().and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let info =
        about.as_ref().and_then(|about| about.get("serverInfo").or(about.get("_meta")?.get(SERVER_INFO)));
    let name = info.and_then(|info| info.get("title").or_else(|| info.get("name"))).and_then(Value::as_str);
    Ok(InitServerDescription { name: name.map(str::to_owned), tools, texts })
}

fn store(path: &Path, text: &str) -> anyhow::Result<()> {
    mcp_attune_files::write_atomically(path, text)
        .with_context(|| format!("could not write {}", path.display()))
}

fn tell_bindings(
    out: &mut impl Write,
    config: &Path,
    proposals: &[ToolBindingProposal],
) -> anyhow::Result<()> {
    writeln!(out, "{}: written", config.display())?;
    for proposal in proposals {
        let tool = crate::show::plain::line(&proposal.tool);
        for binding in &proposal.bindings {
            let state = if binding.active { "filled" } else { "proposed, in a comment" };
            writeln!(out, "  {tool}: {}: {state}", crate::show::plain::line(&binding.about))?;
        }
    }
    Ok(())
}
