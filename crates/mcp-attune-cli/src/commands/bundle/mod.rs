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
pub(crate) struct BundleArgs {
    #[command(subcommand)]
    command: BundleCommand,
}

#[derive(clap::Subcommand)]
enum BundleCommand {
    Coverage(coverage::BundleCoverageArgs),
    Icon(icon::BundleIconArgs),
    Info(info::BundleInfoArgs),
    NewLocale(new_locale::BundleNewLocaleArgs),
    Pack(pack::BundlePackArgs),
    Preview(preview::BundlePreviewArgs),
    Resolve(resolve::BundleResolveArgs),
    Validate(validate::BundleValidateArgs),
}

impl BundleArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            BundleCommand::Coverage(coverage) => coverage.run(out),
            BundleCommand::Icon(icon) => icon.run(out),
            BundleCommand::Info(info) => info.run(out),
            BundleCommand::NewLocale(new_locale) => new_locale.run(out),
            BundleCommand::Pack(pack) => pack.run(out),
            BundleCommand::Preview(preview) => preview.run(out),
            BundleCommand::Resolve(resolve) => resolve.run(out),
            BundleCommand::Validate(validate) => validate.run(out),
        }
    }
}

/// Opens a bundle, or says why it cannot be.
fn open(path: &Path) -> anyhow::Result<Opened> {
    Opened::open(path).map_err(|why| hinted(format!("{}: {why}", path.display()), why.hint()))
}
