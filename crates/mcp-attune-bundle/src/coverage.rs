//! How much of a manifest a locale file translates.

use std::borrow::Cow;

use super::manifest::Manifest;
use super::resolve::ManifestField;
use mcp_attune::catalog::{self, CatalogCoverage, LocaleFileEntry, LocaleKeyPath, ParsedLocaleFile};

/// Returns the texts of a manifest that can be translated, in the form of a locale file in the manifest's own
/// language.
///
/// Blank texts are left out, since there is nothing to translate. Keywords are one text, because they are
/// replaced together.
///
/// Rules: B3, B7.
#[must_use]
pub fn translatable_texts(manifest: &Manifest) -> ParsedLocaleFile {
    let line = |(field, text): (ManifestField, Option<Cow<'_, str>>)| {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(LocaleFileEntry { path: field.path(), text: text.into(), from: None, at: 0 })
    };
    ParsedLocaleFile::from_entries(ManifestField::all(manifest).into_iter().filter_map(line).collect())
}

/// Returns those texts of a locale file that apply to a manifest, with keywords as one text.
///
/// A locale file may also have texts for the running server, such as titles of tools and messages. They do not
/// count towards the translation of the manifest.
#[must_use]
pub fn applicable_texts(sheet: &ParsedLocaleFile) -> ParsedLocaleFile {
    let (mut lines, mut keywords): (Vec<LocaleFileEntry>, _) = (Vec::new(), false);
    for line in sheet.entries() {
        let names: Vec<&str> = line.path.names().collect();
        match names.as_slice() {
            ["keywords", _] => {
                if !keywords {
                    lines.push(LocaleFileEntry {
                        path: LocaleKeyPath::default().with("keywords"),
                        ..line.clone()
                    });
                }
                keywords = true;
            }
            ["display_name" | "description" | "long_description" | "keywords"]
            | ["author", "name"]
            | ["tools" | "prompts", _, "description"] => lines.push(line.clone()),
            _ => {}
        }
    }
    ParsedLocaleFile::from_entries(lines)
}

/// Compares a locale file with a manifest: which texts are translated, missing, outdated or superfluous.
///
/// ```
/// use mcp_attune_bundle::{Manifest, coverage};
/// use mcp_attune::catalog::ParsedLocaleFile;
///
/// let manifest = Manifest::read(br#"{"name": "a", "description": "b", "keywords": ["c", "d"]}"#).unwrap();
/// let (german, _) = ParsedLocaleFile::read(br#"{"keywords": ["e"], "display_name": "f", "server": {"title": "g"}}"#).unwrap();
/// let found = coverage(&manifest, &german);
/// assert_eq!((found.total, found.percent()), (2, 50));
/// assert_eq!(found.surplus[0].to_string(), "display_name");
/// ```
#[must_use]
pub fn coverage(manifest: &Manifest, sheet: &ParsedLocaleFile) -> CatalogCoverage {
    catalog::coverage(&translatable_texts(manifest), &applicable_texts(sheet))
}
