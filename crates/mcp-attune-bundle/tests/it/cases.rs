//! The cases of bundles in `spec/cases/`.

use std::collections::BTreeMap;

use case_table::{check, same};
use mcp_attune::language::Tag;
use mcp_attune_bundle::{Locales, Manifest, Resolve, Thresholds, check as judge, choose};
use serde::Deserialize;
use serde_json::Value;

use crate::check::Memory;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    manifest: Value,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    official: bool,
    valid: bool,
}

#[test]
fn manifest() {
    let cases = include_str!("../../../../spec/cases/manifest.json");
    check(cases, 50, |Judged { manifest, files }, expected: Verdict| {
        let mut memory = Memory(files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect());
        memory.0.insert("i.js".to_owned(), Vec::new());
        let report = judge(manifest.to_string().as_bytes(), &memory, Thresholds::default());
        same("official", &report.officially_valid, &expected.official)?;
        same("valid", &report.valid, &expected.valid)
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    manifest: Value,
    theme: Option<String>,
    size: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    src: Option<String>,
}

#[test]
fn icon() {
    let cases = include_str!("../../../../spec/cases/icon.json");
    check(cases, 15, |Asked { manifest, theme, size }, expected: Chosen| {
        let icons = Manifest::read(manifest.to_string().as_bytes()).map_err(|why| why.to_string())?.icons();
        let chosen = choose(&icons, theme.as_deref(), size).map(|icon| icon.src.to_string());
        same("src", &chosen, &expected.src)
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Localized {
    manifest: Value,
    files: BTreeMap<String, String>,
    locale: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    manifest: Value,
}

#[test]
fn bundle() {
    let cases = include_str!("../../../../spec/cases/bundle.json");
    check(cases, 20, |Localized { manifest, files, locale }, expected: Seen| {
        let manifest = Manifest::read(manifest.to_string().as_bytes()).map_err(|why| why.to_string())?;
        let locales = Locales::among(&manifest, files.keys().map(String::as_str));
        let locale = Tag::parse(&locale).map_err(|why| format!("{why:?}"))?;
        let mut resolve = Resolve::new(&manifest, &locales, &locale);
        while let Some(wanted) = resolve.wanted() {
            let file = files.get(wanted.name.as_str()).ok_or("a file that there is not")?;
            drop(resolve.read(file.as_bytes()));
        }
        let seen: Value = serde_json::from_str(&resolve.finish().text).map_err(|why| why.to_string())?;
        same("manifest", &seen, &expected.manifest)
    });
}
