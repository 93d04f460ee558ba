//! `attune bundle resolve`: a bundle as somebody sees it.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use mcp_attune::language::Tag;
use mcp_attune_bundle::{Localization, ManifestFieldOrigin, choose_icon};
use serde_json::Value;

use super::open;
use crate::asking::system;
use crate::exit::{Exit, hinted};
use crate::show::plain::line;

/// See a bundle as a user of a locale does
///
/// Each text comes from the nearest locale file that has it, then from that of the default locale, then from the manifest.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle resolve --locale es-UY examples/bundle\n  $ attune bundle resolve --locale ar --theme dark --size 32 --json examples/bundle\n  $ attune bundle resolve examples/bundle"
)]
pub(super) struct BundleResolveArgs {
    /// The language of the user, such as es-UY; without it, that of the system, else that of the manifest
    #[arg(long, value_name = "TAG")]
    locale: Option<String>,
    /// The user's theme, such as dark; chooses the icon
    #[arg(long, value_name = "WORD")]
    theme: Option<String>,
    /// How many pixels the icon has on each side
    #[arg(long, value_name = "N")]
    size: Option<u32>,
    /// Print the manifest as JSON, with everything in it; `icon` is an object where `--theme` or `--size` chooses it
    #[arg(long)]
    json: bool,
    /// The bundle: its folder, or a .mcpb file
    path: PathBuf,
}

impl BundleResolveArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let read = |text: &String| {
            Tag::parse(text)
                .map_err(|why| hinted(format!("--locale {} is {why}", line(text)), "such as --locale es-UY"))
        };
        let asked = self.locale.as_ref().map(read).transpose()?;
        let bundle = open(&self.path)?;
        let own = || bundle.manifest().localization.as_ref().map(|it| it.default_locale.clone());
        let locale = asked.or_else(|| Some(system::display_locale()?.0)).or_else(own);
        let locale = locale.or_else(|| Tag::parse(Localization::DEFAULT_LOCALE).ok());
        let Some(locale) = locale else {
            return Err(hinted("no locale is known", "name one, such as --locale es-UY"));
        };
        let icons = bundle.manifest().icons();
        let asked = self.theme.is_some() || self.size.is_some();
        let icon = choose_icon(&icons, self.theme.as_deref(), self.size).filter(|_| asked);
        let mut resolved = bundle.resolve(&locale);
        if let Some(icon) = icon {
            resolved = resolved.with_icon(icon);
        }
        if self.json {
            writeln!(out, "{}", resolved.text.trim_end())?;
            return Ok(Exit::Fine);
        }
        let manifest: Value = serde_json::from_str(&resolved.text)?;
        let shown = |path: &[&str]| path.iter().try_fold(&manifest, |value, name| value.get(name)).map(text);
        let described = ResolvedDescriptions::of(&manifest);
        for (field, from) in &resolved.fields {
            let path = field.path();
            let names: Vec<&str> = path.names().collect();
            let text = match names.as_slice() {
                [list @ ("tools" | "prompts"), name, _] => described.find(list, name),
                names => shown(names),
            };
            let from = match from {
                ManifestFieldOrigin::Locale(tag) => tag.to_string(),
                ManifestFieldOrigin::Manifest => "manifest".to_owned(),
                ManifestFieldOrigin::Nowhere => continue,
            };
            writeln!(out, "{field} ({from}): {}", line(&text.unwrap_or_default()))?;
        }
        if let Some(icon) = icon {
            writeln!(out, "icon: {}", line(&icon.src))?;
        }
        Ok(Exit::Fine)
    }
}

/// The descriptions of a manifest's tools and prompts by their names; of equal names the first counts.
struct ResolvedDescriptions<'m>(HashMap<(&'static str, &'m str), Option<&'m Value>>);

impl<'m> ResolvedDescriptions<'m> {
    fn of(manifest: &'m Value) -> Self {
        let mut found = HashMap::new();
        for list in ["tools", "prompts"] {
            for entry in manifest.get(list).and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = entry.get("name").and_then(Value::as_str) {
                    found.entry((list, name)).or_insert_with(|| entry.get("description"));
                }
            }
        }
        Self(found)
    }

    fn find(&self, list: &str, name: &str) -> Option<String> {
        self.0.get(&(list, name)).copied().flatten().map(text)
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
