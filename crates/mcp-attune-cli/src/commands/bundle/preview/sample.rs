//! A small bundle for tests, in memory.

use mcp_attune::language::Tag;
use mcp_attune_bundle::{BundleFileName, Manifest};

use super::content::BundlePreview;

/// The beginning of a PNG, which is all that is looked at.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";
    [&head[..], &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x06\0\0\0"].concat()
}

pub(super) const MANIFEST: &str = r#"{
  "manifest_version": "0.3", "name": "weather", "version": "1.2.0",
  "display_name": "Weather", "description": "The weather, anywhere", "long_description": "Asks a service.\n\nKeeps nothing.",
  "keywords": ["weather", "rain"], "author": {"name": "Ann"}, "server": {"type": "node"},
  "localization": {"resources": "r/${locale}.json", "default_locale": "en-US"},
  "icons": [{"src": "i/light.png", "size": "128x128", "theme": "light"}, {"src": "i/dark.png", "size": "128x128", "theme": "dark"},
    {"src": "i/gone.png", "size": "16x16", "theme": "dark"}],
  "tools": [{"name": "today", "description": "Today's weather"}, {"name": "bare"}],
  "prompts": [{"name": "pack", "description": "What to pack"}]
}"#;

pub(super) const FILES: &[(&str, &str)] = &[
    ("r/ar.json", r#"{"display_name": "الطقس", "description": "الطقس في أي مكان"}"#),
    ("r/broken.json", "{"),
    ("r/es-MX.json", r#"{"display_name": "Clima", "tools": {"today": {"description": "El clima de hoy"}}}"#),
    (
        "r/es.json",
        r#"{"display_name": "El tiempo", "description": "El tiempo, donde sea", "keywords": ["lluvia"]}"#,
    ),
    ("r/pt_BR.json", "{}"),
];

/// What a preview shows of this manifest with these files.
pub(super) fn shown(manifest: &str, files: &[(&str, &str)], asked: &[&str]) -> BundlePreview {
    let manifest = Manifest::read(manifest.as_bytes()).unwrap();
    let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let read = |name: &BundleFileName, _: usize| match files.iter().find(|(known, _)| *known == name.as_str())
    {
        Some((_, text)) => Ok(text.as_bytes().to_vec()),
        None if name.as_str().contains("gone") => Err("there is no such file".to_owned()),
        None if name.as_str().ends_with(".png") => Ok(png(128, 128)),
        None => Err("there is no such file".to_owned()),
    };
    let asked: Vec<Tag> = asked.iter().map(|tag| Tag::parse(tag).unwrap()).collect();
    BundlePreview::new(&manifest, &names, &read, &asked)
}
