//! `attune clients`: what is known of MCP clients, and what follows from it for one of them.

mod config;
mod file;

mod explain;

use std::io::Write;
use std::path::PathBuf;

use mcp_attune::clients::{AtlasEntry, ClientAtlas, ReadField};
use mcp_attune_wire::agree::Era;
use serde::Serialize;

use crate::exit::Exit;
use crate::show::table::render_table;
use crate::show::terminal_columns;
use crate::text::print_json;

/// List what is known of MCP clients: which part of a result reaches their model, and which tags to assume for them
///
/// It was measured with the clients themselves; docs/clients.md says how.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune clients\n  $ attune clients explain codex-mcp-client 0.169.0\n  $ attune clients --file spec/clients.toml --json\n\nWith the entries of a gateway, [callers.clients.NAME]:\n  attune clients --config attune.toml\n  attune clients explain acme-desktop 2.1 --config attune.toml"
)]
pub(crate) struct ClientsArgs {
    /// Print JSON: `clients`, each with `name`, `product`, `versions`, `era`, `reads`, `falls_back`, `validates`, `shows_titles`,
    /// `limit_tokens`, `limit_characters`, `declares`, `tags`, `measured`, `package` and `source`
    #[arg(long, global = true)]
    json: bool,
    /// Entries of your own, written as in spec/clients.toml, which come before those that are built in
    #[arg(long, global = true, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The configuration of a gateway, whose entries [callers.clients.NAME] come before those that are built in
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// The mount whose entries they are, where its configuration has several
    #[arg(long, global = true, value_name = "NAME", requires = "config")]
    mount: Option<String>,
    #[command(subcommand)]
    command: Option<ClientsCommand>,
}

#[derive(clap::Subcommand)]
enum ClientsCommand {
    Explain(explain::ClientsExplainArgs),
}

#[derive(Serialize)]
struct ClientsOutput<'a> {
    clients: Vec<ClientOutput<'a>>,
}

#[derive(Serialize)]
struct ClientOutput<'a> {
    /// The first of its names in `clientInfo`.
    name: &'a str,
    product: &'a str,
    versions: String,
    era: Option<&'static str>,
    reads: Option<&'static str>,
    falls_back: bool,
    validates: Option<bool>,
    shows_titles: Option<bool>,
    /// Always null so far: every limit that was seen is one of characters, or was measured as one.
    limit_tokens: Option<u32>,
    limit_characters: Option<u32>,
    declares: Vec<&'a str>,
    tags: Vec<&'a str>,
    measured: Option<&'a str>,
    package: Option<&'a str>,
    /// The file that it is from, or `built in`.
    source: &'a str,
}

/// The atlas, and where the entries that were added to it are from.
struct SourcedAtlas {
    atlas: ClientAtlas,
    /// The file of the added entries, where one was named.
    file: Option<String>,
    /// Whether profiles are off in the configuration that was named.
    is_off: bool,
}

impl SourcedAtlas {
    /// Returns all entries in the order in which they are asked, each with where it is from.
    fn entries(&self) -> impl Iterator<Item = (&AtlasEntry, &str)> {
        let added = self.atlas.added().len();
        let file = self.file.as_deref().unwrap_or(BUILT_IN);
        self.atlas
            .entries()
            .enumerate()
            .map(move |(at, entry)| (entry, if at < added { file } else { BUILT_IN }))
    }
}

/// Where an entry is from that the library carries.
const BUILT_IN: &str = "built in";

impl ClientsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let atlas = match (&self.file, &self.config) {
            (Some(file), _) => SourcedAtlas {
                atlas: file::read(file)?,
                file: Some(file.display().to_string()),
                is_off: false,
            },
            (None, Some(file)) => config::read(file, self.mount.as_deref())?,
            (None, None) => SourcedAtlas { atlas: ClientAtlas::built_in(), file: None, is_off: false },
        };
        match self.command {
            Some(ClientsCommand::Explain(explain)) => return explain.run(out, &atlas, self.json),
            None if self.json => {
                print_json(out, &ClientsOutput { clients: atlas.entries().map(ClientOutput::of).collect() })?;
            }
            None => list(out, &atlas)?,
        }
        Ok(Exit::Fine)
    }
}

impl<'a> ClientOutput<'a> {
    fn of((entry, source): (&'a AtlasEntry, &'a str)) -> Self {
        let texts = |texts: &'a [_]| texts.iter().map(AsRef::as_ref).collect();
        Self {
            name: entry.names.first().map_or("", AsRef::as_ref),
            product: &entry.product,
            versions: entry.versions.to_string(),
            era: entry.era.map(era_name),
            reads: entry.reads.map(ReadField::name),
            falls_back: entry.falls_back,
            validates: entry.validates,
            shows_titles: entry.shows_titles,
            limit_tokens: None,
            limit_characters: entry.limit_characters,
            declares: texts(&entry.declares),
            tags: texts(&entry.tags),
            measured: entry.measured.as_ref().map(|measured| measured.date.as_ref()),
            package: entry.measured.as_ref().map(|measured| measured.package.as_ref()),
            source,
        }
    }
}

fn era_name(era: Era) -> &'static str {
    match era {
        Era::Modern => "modern",
        Era::Legacy => "legacy",
    }
}

fn list(out: &mut impl Write, atlas: &SourcedAtlas) -> anyhow::Result<()> {
    // A column for where entries are from would take the room of the tags.
    if let Some(file) = &atlas.file {
        writeln!(out, "From {file}:")?;
        list_entries(out, atlas.entries().take(atlas.atlas.added().len()))?;
        if atlas.is_off {
            writeln!(out, "{}", config::off_sentence(file))?;
        }
        writeln!(out, "\nBuilt in:")?;
    }
    list_entries(out, atlas.entries().skip(atlas.atlas.added().len()))
}

fn list_entries<'a>(
    out: &mut impl Write,
    entries: impl Iterator<Item = (&'a AtlasEntry, &'a str)>,
) -> anyhow::Result<()> {
    let heads = ["NAME", "VERSIONS", "HANDS ON", "TAGS TO ASSUME"];
    let row = |client: ClientOutput<'_>| {
        let tags = if client.tags.is_empty() { "none".to_owned() } else { client.tags.join(" ") };
        vec![client.name.to_owned(), client.versions, client.reads.unwrap_or("-").to_owned(), tags]
    };
    let rows: Vec<_> = entries.map(ClientOutput::of).map(row).collect();
    if rows.is_empty() {
        return Ok(writeln!(out, "no entries")?);
    }
    Ok(write!(out, "{}", render_table(&heads, &rows, terminal_columns()))?)
}
