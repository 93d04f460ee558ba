//! `attune context show|resolve|check`: what a caller's time and place come to.

mod options;

mod check;
mod resolve;
mod show;

use std::io::Write;

use crate::exit::Exit;

/// See what a caller's time and place come to
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune context show --timezone Europe/Zurich --locale de-CH\n  $ attune context check --timezone Europe/Zurich\n  $ attune context resolve last week --timezone Europe/Zurich --locale de-CH"
)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    command: ContextCommand,
}

#[derive(clap::Subcommand)]
enum ContextCommand {
    Check(check::ContextCheckArgs),
    Resolve(resolve::ContextResolveArgs),
    Show(show::ContextShowArgs),
}

impl ContextArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            ContextCommand::Check(check) => check.run(out),
            ContextCommand::Resolve(resolve) => resolve.run(out),
            ContextCommand::Show(show) => show.run(out),
        }
    }
}
