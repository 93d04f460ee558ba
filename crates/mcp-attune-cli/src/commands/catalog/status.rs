//! `attune catalog status`: how far the translations are.

use std::io::Write;
use std::path::PathBuf;

use mcp_attune::catalog::{CatalogCoverage, LocaleIndex, ParsedLocaleFile, coverage};
use mcp_attune::language::Tag;
use serde::Serialize;

use super::folder::CatalogFolder;
use crate::covered::{LocaleCoverageRow, write_coverage_details, write_coverage_table};
use crate::exit::{Exit, hinted};
use crate::text::print_json;

/// See how far each translation is: what is missing, stale or surplus
///
/// A text is missing where neither the file nor a relative of its language (es for es-MX) has it; stale where the server
/// says something else since it was translated; surplus where the server no longer has it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune catalog status crates/mcp-attune-demo/locales --at-least 100\n  $ attune catalog status crates/mcp-attune-demo/locales --json"
)]
pub(super) struct CatalogStatusArgs {
    /// The folder of the locale files
    dir: PathBuf,
    /// The language that the others are translated from
    #[arg(long, value_name = "TAG", default_value = "en")]
    default_language: String,
    /// Exit with 1 where any language has less
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    at_least: Option<u8>,
    /// Name each text that is missing, stale or surplus
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print JSON: `default_language`, `total`, and `locales` with `locale`, `translated`, `percent`, `inherited`, `missing`,
    /// `stale` and `surplus`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CatalogStatusOutput {
    default_language: String,
    total: usize,
    locales: Vec<LocaleCoverageRow>,
}

impl CatalogStatusArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let desk = CatalogFolder::open(&self.dir, &self.default_language)?;
        let source = desk.source_sheet()?;
        let files = desk.files().0;
        let mut sheets = Vec::new();
        for file in &files {
            sheets.push((file.tag.clone(), CatalogFolder::read_sheet(&file.path)?));
        }
        let tags = sheets.iter().map(|(tag, _)| tag.clone());
        let catalogs = LocaleIndex::new(desk.default.clone(), tags)
            .map_err(|why| hinted(format!("{}: {why}", self.dir.display()), "remove some of the files"))?;
        let others = sheets.iter().filter(|(tag, _)| *tag != desk.default);
        let locales = others.map(|(tag, sheet)| {
            LocaleCoverageRow::new(tag, &coverage_with_relatives(&catalogs, &sheets, &source, tag, sheet))
        });
        let shown = CatalogStatusOutput {
            default_language: desk.default.to_string(),
            total: source.entries().len(),
            locales: locales.collect(),
        };
        if self.json {
            print_json(out, &shown)?;
        } else {
            writeln!(out, "{} texts in {}", shown.total, shown.default_language)?;
            write_coverage_table(out, &shown.locales)?;
            if self.list {
                write_coverage_details(out, &shown.locales)?;
            }
        }
        let least = usize::from(self.at_least.unwrap_or(0));
        let fine = shown.locales.iter().all(|locale| locale.percent >= least);
        Ok(if fine { Exit::Fine } else { Exit::Findings })
    }
}

/// How far one language is, with what its relatives lend it.
fn coverage_with_relatives(
    catalogs: &LocaleIndex,
    sheets: &[(Tag, ParsedLocaleFile)],
    source: &ParsedLocaleFile,
    tag: &Tag,
    sheet: &ParsedLocaleFile,
) -> CatalogCoverage {
    let mut coverage = coverage(source, sheet);
    for relative in catalogs.required_locales(tag) {
        if let Some((_, sheet)) = sheets.iter().find(|(known, _)| known == relative && known != tag) {
            coverage.inherit(sheet);
        }
    }
    coverage
}
