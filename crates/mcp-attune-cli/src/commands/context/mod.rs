//! `attune context resolve`: what a caller's time and place come to.

mod first_day;
mod resolve;

use std::io::Write;

use crate::exit::Exit;

/// See what a caller's time and place come to
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune context resolve last week --timezone Europe/Zurich --locale de-CH"
)]
pub(crate) struct Context {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Resolve(resolve::Resolve),
}

impl Context {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Resolve(resolve) => resolve.run(out),
        }
    }
}
