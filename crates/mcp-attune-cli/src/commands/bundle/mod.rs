//! `attune bundle`: desktop bundles, for those who write them.

mod coverage;
mod icon;
mod info;
mod new_locale;
mod pack;
mod preview;
mod resolve;
mod validate;

use std::io::Write;
use std::path::Path;

use mcp_attune_files::bundle::Bundle as Opened;

use crate::exit::{Exit, hinted};

/// Look at a desktop bundle (MCPB) as its users do, and check it
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune bundle validate examples/bundle")]
pub(crate) struct Bundle {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Coverage(coverage::Coverage),
    Icon(icon::Icon),
    Info(info::Info),
    NewLocale(new_locale::NewLocale),
    Pack(pack::Pack),
    Preview(preview::Preview),
    Resolve(resolve::Resolve),
    Validate(validate::Validate),
}

impl Bundle {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Coverage(coverage) => coverage.run(out),
            Command::Icon(icon) => icon.run(out),
            Command::Info(info) => info.run(out),
            Command::NewLocale(new_locale) => new_locale.run(out),
            Command::Pack(pack) => pack.run(out),
            Command::Preview(preview) => preview.run(out),
            Command::Resolve(resolve) => resolve.run(out),
            Command::Validate(validate) => validate.run(out),
        }
    }
}

/// Opens a bundle, or says why it cannot be.
fn open(path: &Path) -> anyhow::Result<Opened> {
    Opened::open(path).map_err(|why| hinted(format!("{}: {why}", path.display()), why.hint()))
}
