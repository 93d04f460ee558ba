//! `attune bundle validate`: what authors of desktop bundles do with them.

mod open;

mod validate;

use std::io::Write;

use crate::exit::Exit;

/// Check desktop bundles
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune bundle validate examples/bundle")]
pub(crate) struct Bundle {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Validate(validate::Validate),
}

impl Bundle {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Validate(validate) => validate.run(out),
        }
    }
}
