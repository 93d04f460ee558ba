//! `attune bundle preview`: what authors of desktop bundles do with them.

mod preview;

use std::io::Write;

use crate::exit::Exit;

/// See a desktop bundle as its users do
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune bundle preview --out - examples/bundle")]
pub(crate) struct Bundle {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Preview(preview::Preview),
}

impl Bundle {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Preview(preview) => preview.run(out),
        }
    }
}
