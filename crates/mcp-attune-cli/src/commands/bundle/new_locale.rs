//! `attune bundle new-locale`: a locale file with gaps to fill.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune::language::Tag;
use mcp_attune_bundle::{Manifest, ManifestEntry, translatable_texts};
use mcp_attune_wire::json::JsonQuoted;

use super::open;
use crate::exit::{Exit, hinted, print_error};
use crate::text::quoted;

/// Write a locale file for a bundle with a gap for every text: exit 1 if the file is there already
///
/// A gap that is left empty changes nothing: users see the text of a related locale, or the manifest's own.
#[derive(clap::Args)]
#[command(
    name = "new-locale",
    after_help = "Examples:\n  attune bundle new-locale my-bundle fr\n  attune bundle coverage my-bundle"
)]
pub(super) struct BundleNewLocaleArgs {
    /// The bundle's folder
    path: PathBuf,
    /// The language of the file, such as fr or pt-BR
    tag: String,
}

impl BundleNewLocaleArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let tag = Tag::parse(&self.tag).map_err(|why| {
            hinted(format!("{} is {why}", quoted(&self.tag)), "write a tag of BCP 47, such as fr or pt-BR")
        })?;
        let bundle = open(&self.path)?;
        if bundle.folder().is_none() {
            let hint = "name its folder, or unpack it first with `mcpb unpack`";
            return Err(hinted(format!("{} is packed", self.path.display()), hint));
        }
        // As it was written, and where the manifest is that may be named instead.
        let folder =
            if self.path.is_dir() { &self.path } else { self.path.parent().unwrap_or(Path::new("")) };
        let manifest = bundle.manifest();
        let Some(places) = &manifest.localization else {
            let hint = "add \"localization\": { \"resources\": \"locales/${locale}.json\", \"default_locale\": \"en-US\" }, with the \
                        language of the manifest's own texts";
            return Err(hinted("the manifest does not say where its locale files are", hint));
        };
        if tag == places.default_locale {
            let what = format!("the manifest itself is in {tag}");
            return Err(hinted(what, "name another language; the texts of this one stand in manifest.json"));
        }
        let name = places
            .locale_file_name(&tag)
            .map_err(|why| hinted(format!("the manifest's `localization.resources` {why}"), why.hint()))?;
        let file = folder.join(name.as_str());
        if bundle.locales().file_for(&tag).is_some() || file.exists() {
            let what = format!("there is a file for {tag} already, and nothing was written");
            print_error(&hinted(what, "`attune bundle coverage --list` names what is missing in it"));
            return Ok(Exit::Findings);
        }
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("could not make {}", parent.display()))?;
        }
        mcp_attune_files::write_atomically(&file, &empty_locale_file(manifest))
            .with_context(|| format!("could not write {}", file.display()))?;
        let (count, own) = (translatable_texts(manifest).entries().len(), &places.default_locale);
        writeln!(
            out,
            "{}: {count} gaps to fill; the texts stand in manifest.json, in {own}",
            file.display()
        )?;
        Ok(Exit::Fine)
    }
}

/// A locale file for this manifest in which nothing is translated.
fn empty_locale_file(manifest: &Manifest) -> String {
    let has = |text: &Option<Box<str>>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
    let mut members = Vec::new();
    for (name, text) in [
        ("display_name", &manifest.display_name),
        ("description", &manifest.description),
        ("long_description", &manifest.long_description),
    ] {
        members.extend(has(text).then(|| format!("  \"{name}\": \"\"")));
    }
    members.extend((!manifest.keywords.is_empty()).then(|| "  \"keywords\": []".to_owned()));
    members.extend(has(&manifest.author).then(|| "  \"author\": { \"name\": \"\" }".to_owned()));
    for (name, listed) in [("tools", &manifest.tools), ("prompts", &manifest.prompts)] {
        members.extend(entries(name, listed));
    }
    format!("{{\n{}\n}}\n", members.join(",\n"))
}

fn entries(name: &str, listed: &[ManifestEntry]) -> Option<String> {
    let described =
        listed.iter().filter(|it| it.description.as_deref().is_some_and(|text| !text.trim().is_empty()));
    let mut names: Vec<&str> = Vec::new();
    for it in described {
        // A name twice would be a key twice.
        if !names.contains(&&*it.name) {
            names.push(&it.name);
        }
    }
    let entry = |name: &&str| format!("    {}: {{ \"description\": \"\" }}", JsonQuoted(name));
    let entries: Vec<String> = names.iter().map(entry).collect();
    (!entries.is_empty()).then(|| format!("  \"{name}\": {{\n{}\n  }}", entries.join(",\n")))
}

#[cfg(test)]
mod tests {
    use mcp_attune::catalog::ParsedLocaleFile;
    use mcp_attune_bundle::coverage;

    use super::*;

    #[test]
    fn a_new_file_can_be_read_and_has_a_gap_for_every_text() {
        let text = r#"{"name": "a", "display_name": "A", "description": "b", "keywords": ["c"], "author": {"name": "d"},
            "tools": [{"name": "t\"1", "description": "e"}, {"name": "t2"}, {"name": "t\"1", "description": "f"}]}"#;
        let manifest = Manifest::read(text.as_bytes()).unwrap();
        let gaps = empty_locale_file(&manifest);
        let (sheet, findings) = ParsedLocaleFile::read(gaps.as_bytes()).unwrap();
        let found = coverage(&manifest, &sheet);
        assert_eq!(
            (found.translated(), found.missing.len()),
            (0, translatable_texts(&manifest).entries().len()),
            "{gaps}"
        );
        assert!(findings.iter().all(|finding| finding.what.to_string() == "no text"), "{findings:?}");
        let filled = gaps.replace("\"\"", "\"x\"").replace("[]", "[\"x\"]");
        let (sheet, findings) = ParsedLocaleFile::read(filled.as_bytes()).unwrap();
        let found = coverage(&manifest, &sheet);
        assert_eq!((found.percent(), found.surplus.len(), findings.len()), (100, 0, 0), "{filled}");
    }
}
