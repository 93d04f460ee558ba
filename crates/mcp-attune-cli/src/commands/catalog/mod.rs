//! `attune catalog extract|status|lint|pseudo`: what translators and those who run servers do with locale files.

pub(super) mod folder;
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
pub(crate) struct CatalogArgs {
    #[command(subcommand)]
    command: CatalogCommand,
}

#[derive(clap::Subcommand)]
enum CatalogCommand {
    Extract(extract::CatalogExtractArgs),
    Status(status::CatalogStatusArgs),
    Lint(lint::CatalogLintArgs),
    Pseudo(pseudo::CatalogPseudoArgs),
}

impl CatalogArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            CatalogCommand::Extract(extract) => extract.run(out),
            CatalogCommand::Status(status) => status.run(out),
            CatalogCommand::Lint(lint) => lint.run(out),
            CatalogCommand::Pseudo(pseudo) => pseudo.run(out),
        }
    }
}
