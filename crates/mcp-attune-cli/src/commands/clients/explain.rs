//! `attune clients explain NAME [VERSION]`: what is assumed for one client, and why.

use std::io::Write;

use mcp_attune::clients::{AtlasEntry, ReadField, ResultForm};
use serde::Serialize;

use super::{SourcedAtlas, config};
use crate::exit::Exit;
use crate::text::{print_json, quoted};

/// Explain what would be assumed for a client, by the name and version in its `clientInfo`, and why
///
/// Exits with 1 where nothing is known of it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune clients explain opencode 1.18.33\n  $ attune clients explain gemini-cli-mcp-client --json"
)]
pub(super) struct ClientsExplainArgs {
    /// Its name in `clientInfo`, such as codex-mcp-client
    name: String,
    /// Its version in `clientInfo`; without it, the first entry of this name is explained
    version: Option<String>,
}

#[derive(Serialize)]
struct ClientsExplainOutput<'a> {
    client: &'a str,
    version: Option<&'a str>,
    /// The name of the entry, as people call the client.
    profile: Option<&'a str>,
    /// The file that the entry is from, or `built in`.
    source: Option<&'a str>,
    tags: Vec<&'a str>,
    result: &'static str,
    why: Vec<String>,
}

impl ClientsExplainArgs {
    pub(super) fn run(self, out: &mut impl Write, atlas: &SourcedAtlas, json: bool) -> anyhow::Result<Exit> {
        let entry = match &self.version {
            Some(version) => {
                atlas.entries().find(|(entry, _)| entry.is_of(&self.name) && entry.versions.contains(version))
            }
            None => atlas.entries().find(|(entry, _)| entry.is_of(&self.name)),
        };
        let (entry, source) = entry.unzip();
        let mut why = entry.map_or_else(|| self.why_none(atlas), reasons);
        why.extend(atlas.file.as_ref().filter(|_| atlas.is_off).map(|file| config::off_sentence(file)));
        let output = ClientsExplainOutput {
            client: &self.name,
            version: self.version.as_deref(),
            profile: entry.map(|entry| entry.product.as_ref()),
            source,
            tags: entry.map(|entry| entry.tags.iter().map(AsRef::as_ref).collect()).unwrap_or_default(),
            result: entry.map_or(ResultForm::AsItCame, AtlasEntry::result_form).name(),
            why,
        };
        if json {
            print_json(out, &output)?;
        } else {
            tell(out, &output)?;
        }
        Ok(if entry.is_some() { Exit::Fine } else { Exit::Findings })
    }

    fn why_none(&self, atlas: &SourcedAtlas) -> Vec<String> {
        let mut known =
            atlas.entries().map(|(entry, _)| entry).filter(|entry| entry.is_of(&self.name)).peekable();
        if known.peek().is_none() {
            return vec![format!(
                "No entry is for the name {}; `attune clients` lists them.",
                quoted(&self.name)
            )];
        }
        known
            .map(|entry| {
                format!("The entry for {} holds for the versions {}.", entry.product, entry.versions)
            })
            .collect()
    }
}

/// Why an entry assumes what it does, in sentences.
fn reasons(entry: &AtlasEntry) -> Vec<String> {
    let reads = match (entry.reads, entry.falls_back) {
        (Some(ReadField::Content), true) => {
            "It hands `content` to its model, and `structuredContent` where there is no content"
        }
        (Some(ReadField::Content), false) => "It hands `content` to its model, and `structuredContent` never",
        (Some(ReadField::StructuredContent), _) => {
            "It hands `structuredContent` to its model, and `content` where there is none"
        }
        (Some(ReadField::Both), _) => "It hands both fields to its model, so what comes twice costs twice",
        (None, _) if entry.measured.is_none() => {
            "The entry says which tags to assume, and not what it hands to its model"
        }
        (None, _) => "It is not known that it hands results to a model",
    };
    let measured = entry.measured.as_ref();
    let measured =
        measured.map(|measured| format!(" (measured {} with {})", measured.date, measured.package));
    let result = match entry.result_form() {
        ResultForm::Content => {
            "The tags make each result come once, as text; structured content and `outputSchema` are left out (F6, F7, F13)."
        }
        ResultForm::StructuredContent => {
            "The tags make each result come once, as structured content; text that repeats it is left out (F5)."
        }
        ResultForm::AsItCame => "No tags that ask for a form are assumed, so results stay as they came (F4).",
    };
    let mut why = vec![format!("{reads}{}.", measured.unwrap_or_default()), result.to_owned()];
    if entry.validates == Some(true) {
        why.push("It refuses structured content that breaks the `outputSchema` of its tool.".to_owned());
    }
    why.extend(entry.limit_characters.map(|limit| {
        format!("Results of up to {limit} characters reach its model whole; longer ones are cut.")
    }));
    why.extend((!entry.note.is_empty()).then(|| entry.note.clone().into_owned()));
    why
}

fn tell(out: &mut impl Write, output: &ClientsExplainOutput<'_>) -> anyhow::Result<()> {
    let tags = if output.tags.is_empty() { "none".to_owned() } else { output.tags.join(" ") };
    writeln!(out, "profile  {}", output.profile.unwrap_or("none"))?;
    if let Some(source) = output.source {
        writeln!(out, "from     {source}")?;
    }
    writeln!(out, "tags     {tags}")?;
    writeln!(out, "result   {}", output.result)?;
    for sentence in &output.why {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}
