//! `attune bundle preview`: a bundle as a store shows it, in every locale, on one page.

// What is shown,
mod view;

mod picture;
mod setting;
mod locale_files;

mod content;

// and the page that shows it.
mod fragments;
mod markdown;

mod coverage;
mod icons;
mod store;

mod page;

#[cfg(test)]
mod sample;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use mcp_attune::language::Tag;
use mcp_attune_bundle::BundleFileName;

use self::content::BundlePreview;
use super::open;
use crate::exit::{Exit, hinted};
use crate::output::check_writable;
use crate::text::quoted;

/// Show a bundle as a store would, on one page
///
/// The page has every locale of the bundle, light and dark, each text that is not translated marked with where it comes from, how
/// far each locale is, what users fill in when they install it, and which icon serves which size. It needs no network and no script.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle preview --out - --locale es-AR examples/bundle\n\nA bundle of yours, and what is seen in Uruguay:\n  attune bundle preview --out preview.html --locale es-UY my-bundle"
)]
pub(super) struct BundlePreviewArgs {
    /// The bundle: its folder, or a .mcpb file
    path: PathBuf,
    /// Where to write the page; `-` is standard output
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
    /// Show what users of this locale see, too; it needs no file
    #[arg(long, value_name = "TAG")]
    locale: Vec<String>,
}

impl BundlePreviewArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let asked: Vec<Tag> = self.locale.iter().map(|text| locale(text)).collect::<Result<_, _>>()?;
        let printed = self.out.as_os_str() == "-";
        if !printed {
            check_writable(&self.out, "name a file for the page, such as --out preview.html")?;
        }
        let bundle = open(&self.path)?;
        let names: Vec<String> = bundle.names().iter().map(ToString::to_string).collect();
        let read = |name: &BundleFileName, most: usize| {
            bundle.read(name, most as u64).map_err(|why| format!("it {why}"))
        };
        let shown = BundlePreview::new(bundle.manifest(), &names, &read, &asked);
        let page = page::page(&shown);
        if printed {
            out.write_all(page.as_bytes())?;
            return Ok(Exit::Fine);
        }
        let file = self.out.display();
        mcp_attune_files::write_atomically(&self.out, &page)
            .with_context(|| format!("could not write {file}"))?;
        writeln!(out, "{file}: {}", shown.summary())?;
        Ok(Exit::Fine)
    }
}

fn locale(text: &str) -> anyhow::Result<Tag> {
    Tag::parse(text).map_err(|why| {
        hinted(format!("--locale {}: {why}", quoted(text)), "write a language tag, such as --locale es-UY")
    })
}
