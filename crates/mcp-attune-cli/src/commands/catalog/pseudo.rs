//! `attune catalog pseudo`: a locale that looks translated, to see what cannot be.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use mcp_attune::catalog::{self, pseudo_localize};

use super::folder::{CatalogFolder, parse_language};
use crate::exit::{Exit, hinted};

/// Write a pseudo-locale: text that looks translated and can still be read
///
/// Letters get accents, text gets longer and stands in brackets; variables, names and code stay. With a locale of the region XB
/// words are turned round, as where one writes from right to left. Whatever a client then shows as it always did cannot be
/// translated yet.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune catalog pseudo crates/mcp-attune-demo/locales --out -\n  $ attune catalog pseudo crates/mcp-attune-demo/locales --locale ar-XB --out -"
)]
pub(super) struct CatalogPseudoArgs {
    /// The folder of the locale files
    dir: PathBuf,
    /// What to write: a locale of the region XA, with accents, or XB, turned round
    #[arg(long, value_name = "TAG", default_value = "en-XA")]
    locale: String,
    /// The language that it is made from
    #[arg(long, value_name = "TAG", default_value = "en")]
    default_language: String,
    /// Where to write it; `-` is standard output; without it, beside the others
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl CatalogPseudoArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let desk = CatalogFolder::open(&self.dir, &self.default_language)?;
        let tag = parse_language(&self.locale)?;
        let how = catalog::PseudoLocale::of(&tag).filter(|_| tag != desk.default).ok_or_else(|| {
            hinted(
                format!("{tag} is no pseudo-locale"),
                "write --locale en-XA, or ar-XB for words that are turned round",
            )
        })?;
        let source = desk.source_sheet()?;
        let text = pseudo_localize(&source, how);
        let file = match &self.out {
            Some(file) if file.as_os_str() == "-" => {
                out.write_all(text.as_bytes())?;
                return Ok(Exit::Fine);
            }
            Some(file) => file.clone(),
            None => desk.path(&tag),
        };
        let shown = file.display();
        mcp_attune_files::write_atomically(&file, &text)
            .with_context(|| format!("could not write {shown}"))?;
        writeln!(out, "{shown}: {} texts", source.entries().len())?;
        Ok(Exit::Fine)
    }
}
