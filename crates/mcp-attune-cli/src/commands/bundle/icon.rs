//! `attune bundle icon`: which icon somebody sees.

use std::io::Write;
use std::path::PathBuf;

use mcp_attune_bundle::choose_icon;
use serde_json::json;

use super::open;
use crate::exit::Exit;
use crate::show::plain::line;
use crate::text::print_json;

/// See which icon a theme and a size get: exit 0 where there is one, 1 where the bundle has none
///
/// The theme that is asked for goes first, then icons for no theme, then any; of those, the smallest that is large enough, or else
/// the largest.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle icon --theme dark --size 32 examples/bundle\n  $ attune bundle icon --theme dark --json examples/bundle"
)]
pub(super) struct BundleIconArgs {
    /// The theme, such as light or dark
    #[arg(long, value_name = "WORD")]
    theme: Option<String>,
    /// How many pixels it has on each side
    #[arg(long, value_name = "N")]
    size: Option<u32>,
    /// Print JSON: `src`, `size` and `theme`
    #[arg(long)]
    json: bool,
    /// The bundle: its folder, or a .mcpb file
    path: PathBuf,
}

impl BundleIconArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let bundle = open(&self.path)?;
        let icons = bundle.manifest().icons();
        let Some(icon) = choose_icon(&icons, self.theme.as_deref(), self.size) else {
            eprintln!(
                "the bundle has no icon\nhint: add `icons` to the manifest, and `icon` for hosts that do not know them"
            );
            return Ok(Exit::Findings);
        };
        if self.json {
            let size = icon.size.map(|size| size.to_string());
            print_json(out, &json!({ "src": icon.src, "size": size, "theme": icon.theme }))?;
        } else {
            writeln!(out, "{}", line(&icon.src))?;
        }
        Ok(Exit::Fine)
    }
}
