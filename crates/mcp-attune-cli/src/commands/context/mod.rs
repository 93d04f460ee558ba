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
pub(crate) struct Context {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(check::Check),
    Resolve(resolve::Resolve),
    Show(show::Show),
}

impl Context {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Check(check) => check.run(out),
            Command::Resolve(resolve) => resolve.run(out),
            Command::Show(show) => show.run(out),
        }
    }
}
