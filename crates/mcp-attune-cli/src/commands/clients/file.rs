//! Entries of somebody's own, read from a file that is written as `spec/clients.toml`.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use mcp_attune::clients::{
    AtlasEntry, AtlasMeasurement, ClientAtlas, ClientVersion, ReadField, VersionRange,
};
use mcp_attune_wire::agree::Era;
use serde::Deserialize;

use crate::exit::hinted;

/// More than any atlas has.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtlasFile {
    client: Vec<AtlasFileEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AtlasFileEntry {
    product: String,
    names: Vec<String>,
    from: Option<String>,
    before: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    note: String,
    #[serde(default, rename = "measured_with")]
    _measured_with: Vec<String>,
    package: Option<String>,
    measured: Option<toml::value::Datetime>,
    era: Option<FileEra>,
    #[serde(rename = "protocol")]
    _protocol: Option<String>,
    #[serde(default)]
    declares: Vec<String>,
    reads: Option<FileReads>,
    #[serde(default)]
    falls_back: bool,
    validates: Option<bool>,
    shows_titles: Option<bool>,
    limit_characters: Option<u32>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum FileEra {
    Modern,
    Legacy,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
enum FileReads {
    Content,
    StructuredContent,
    Both,
}

/// Reads a file of entries in front of the built-in ones.
pub(super) fn read(file: &Path) -> anyhow::Result<ClientAtlas> {
    let open = File::open(file).with_context(|| format!("could not open {}", file.display()))?;
    let mut text = String::new();
    let read = open.take(MAX_FILE_BYTES + 1).read_to_string(&mut text);
    read.with_context(|| format!("could not read {}", file.display()))?;
    if u64::try_from(text.len()).is_ok_and(|len| len > MAX_FILE_BYTES) {
        return Err(hinted(format!("{} has more than 1 MiB", file.display()), "write fewer entries"));
    }
    let hint = "spec/clients.toml of Attune says how entries are written";
    let named = |why: String| hinted(format!("{}: {why}", file.display()), hint);
    let entries = parse(&text).map_err(named)?;
    let products: Vec<_> = entries.iter().map(|entry| entry.product.clone()).collect();
    ClientAtlas::built_in().with(entries).map_err(|(at, error)| match products.get(at) {
        Some(product) => named(format!("entry {} ({product}): {error}", at + 1)),
        None => named(error.to_string()),
    })
}

/// Parses entries. What is wrong is said with its line, or with the entry that it is in.
fn parse(text: &str) -> Result<Vec<AtlasEntry>, String> {
    let file: AtlasFile = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let entries = file.client.into_iter().enumerate();
    entries.map(|(at, entry)| entry.read().map_err(|why| format!("entry {}: {why}", at + 1))).collect()
}

impl AtlasFileEntry {
    fn read(self) -> Result<AtlasEntry, String> {
        let version = |name: &str, text: Option<String>| match text {
            None => Ok(None),
            Some(text) => ClientVersion::parse(&text)
                .map(Some)
                .ok_or_else(|| format!("`{name}` is no version such as \"1.2.3\"")),
        };
        let texts = |texts: Vec<String>| texts.into_iter().map(Cow::Owned).collect();
        Ok(AtlasEntry {
            versions: VersionRange {
                from: version("from", self.from)?,
                before: version("before", self.before)?,
            },
            era: self.era.map(|era| match era {
                FileEra::Modern => Era::Modern,
                FileEra::Legacy => Era::Legacy,
            }),
            declares: texts(self.declares),
            reads: self.reads.map(|reads| match reads {
                FileReads::Content => ReadField::Content,
                FileReads::StructuredContent => ReadField::StructuredContent,
                FileReads::Both => ReadField::Both,
            }),
            falls_back: self.falls_back,
            validates: self.validates,
            shows_titles: self.shows_titles,
            limit_characters: self.limit_characters,
            tags: texts(self.tags),
            measured: self.measured.map(|date| AtlasMeasurement {
                date: date.to_string().into(),
                package: self.package.unwrap_or_default().into(),
            }),
            note: self.note.into(),
            ..AtlasEntry::new(self.product, self.names)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_entries_are_those_of_the_file() {
        let written = parse(include_str!("../../../../../spec/clients.toml")).expect("valid");
        let atlas = ClientAtlas::built_in();
        let built_in: Vec<_> = atlas.entries().cloned().collect();
        assert_eq!(built_in, written, "run `interop/agents/measure.py --write`, which writes the table anew");
    }
}
