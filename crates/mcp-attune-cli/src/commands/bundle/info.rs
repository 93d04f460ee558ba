//! `attune bundle info`: what is in a bundle, at a glance.

use std::io::Write;
use std::path::PathBuf;

use mcp_attune_bundle::{Manifest, ManifestVersion};
use serde::Serialize;

use super::{Opened, open};
use crate::exit::Exit;
use crate::show::plain::line;
use crate::text::{byte_size, print_json};

/// See what is in a bundle, at a glance
///
/// Whether it is in order is for `attune bundle validate` to say.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle info examples/bundle\n  $ attune bundle info --json examples/bundle"
)]
pub(super) struct BundleInfoArgs {
    /// The bundle: its folder, or a .mcpb file
    path: PathBuf,
    /// Print JSON: `name`, `display_name`, `version`, `manifest_version`, `author`, `server`, `tools`, `prompts`, `settings`,
    /// `default_locale`, `locales`, `icons`, `screenshots`, `files`, `bytes` and `signed`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct BundleInfoOutput {
    name: Option<String>,
    display_name: Option<String>,
    version: Option<String>,
    manifest_version: Option<&'static str>,
    author: Option<String>,
    /// The kind of the server: node, python, binary or uv.
    server: Option<String>,
    tools: Vec<String>,
    prompts: Vec<String>,
    /// The names of what users fill in; those that have to be filled in end in `*`.
    settings: Vec<String>,
    default_locale: Option<String>,
    locales: Vec<String>,
    icons: usize,
    screenshots: usize,
    files: usize,
    /// Of the archive; none where it is a folder.
    bytes: Option<u64>,
    signed: bool,
}

impl BundleInfoArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let bundle = open(&self.path)?;
        let mut shown = BundleInfoOutput::of(&bundle);
        if bundle.folder().is_none() {
            shown.bytes = std::fs::metadata(&self.path).ok().map(|about| about.len());
        }
        if self.json {
            print_json(out, &shown)?;
        } else {
            tell(out, &shown)?;
        }
        Ok(Exit::Fine)
    }
}

impl BundleInfoOutput {
    fn of(bundle: &Opened) -> Self {
        let manifest: &Manifest = bundle.manifest();
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let required = |it: &mcp_attune_bundle::UserConfigSetting| {
            format!("{}{}", it.key, if it.required { "*" } else { "" })
        };
        let mut locales: Vec<String> =
            bundle.locales().files.iter().map(|file| file.tag.to_string()).collect();
        locales.sort();
        Self {
            name: text(&manifest.name),
            display_name: text(&manifest.display_name),
            version: text(&manifest.release),
            manifest_version: manifest.version.map(ManifestVersion::as_str),
            author: text(&manifest.author),
            server: manifest.server.as_ref().and_then(|server| text(&server.kind)),
            tools: manifest.tools.iter().map(|tool| tool.name.to_string()).collect(),
            prompts: manifest.prompts.iter().map(|prompt| prompt.name.to_string()).collect(),
            settings: manifest.user_config.iter().map(required).collect(),
            default_locale: bundle.locales().default_locale().map(ToString::to_string),
            locales,
            icons: manifest.icons().len(),
            screenshots: manifest.screenshots.len(),
            files: bundle.names().len(),
            bytes: None,
            signed: bundle.signature().is_some(),
        }
    }
}

fn tell(out: &mut impl Write, shown: &BundleInfoOutput) -> anyhow::Result<()> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let own =
        shown.default_locale.as_ref().map(|own| format!(" (the manifest is in {own})")).unwrap_or_default();
    let files = match shown.bytes {
        Some(bytes) => format!("{} in {}", shown.files, byte_size(bytes)),
        None => shown.files.to_string(),
    };
    for (name, value) in [
        ("name", text(&shown.name)),
        ("display name", text(&shown.display_name)),
        ("version", text(&shown.version)),
        ("author", text(&shown.author)),
        ("manifest", shown.manifest_version.unwrap_or("none").to_owned()),
        ("server", text(&shown.server)),
        ("tools", list(&shown.tools)),
        ("prompts", list(&shown.prompts)),
        ("settings", list(&shown.settings)),
        ("locales", format!("{}{own}", list(&shown.locales))),
        ("icons", shown.icons.to_string()),
        ("screenshots", shown.screenshots.to_string()),
        ("files", files),
        ("signed", if shown.signed { "yes" } else { "no" }.to_owned()),
    ] {
        writeln!(out, "{name:<12}  {}", line(&value))?;
    }
    if shown.settings.iter().any(|name| name.ends_with('*')) {
        writeln!(out, "* has to be filled in")?;
    }
    Ok(())
}
