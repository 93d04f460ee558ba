//! `attune catalog extract|status|lint|pseudo`: what translators and those who run servers do with locale files.

pub(super) mod desk;
pub(super) mod texts;

pub(super) mod extract;
mod lint;
mod pseudo;
mod status;

use std::io::Write;

use crate::exit::Exit;

/// Make locale files of a server, and see how far they are
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune catalog status crates/mcp-attune-demo/locales\n  $ attune catalog lint crates/mcp-attune-demo/locales\n\nFrom the beginning, for a server of yours:\n  attune catalog extract --out locales -- npx -y some-server\n  attune catalog pseudo locales"
)]
pub(crate) struct Catalog {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Extract(extract::Extract),
    Status(status::Status),
    Lint(lint::Lint),
    Pseudo(pseudo::Pseudo),
}

impl Catalog {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Extract(extract) => extract.run(out),
            Command::Status(status) => status.run(out),
            Command::Lint(lint) => lint.run(out),
            Command::Pseudo(pseudo) => pseudo.run(out),
        }
    }
}
