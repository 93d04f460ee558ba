//! The cases of bundles in `spec/cases/`.

use std::collections::BTreeMap;

use case_table::{check, same};
use mcp_attune::language::Tag;
use mcp_attune_bundle::{
    BundleLocales, BundleThresholds, Manifest, ManifestResolver, check as judge, choose_icon,
};
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
        let report = judge(manifest.to_string().as_bytes(), &memory, BundleThresholds::default());
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
        let chosen = choose_icon(&icons, theme.as_deref(), size).map(|icon| icon.src.to_string());
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
        let locales = BundleLocales::find_among(&manifest, files.keys().map(String::as_str));
        let locale = Tag::parse(&locale).map_err(|why| format!("{why:?}"))?;
        let mut resolve = ManifestResolver::new(&manifest, &locales, &locale);
        while let Some(wanted) = resolve.next_file() {
            let file = files.get(wanted.name.as_str()).ok_or("a file that there is not")?;
            drop(resolve.apply_file(file.as_bytes()));
        }
        let seen: Value = serde_json::from_str(&resolve.finish().text).map_err(|why| why.to_string())?;
        same("manifest", &seen, &expected.manifest)
    });
}
