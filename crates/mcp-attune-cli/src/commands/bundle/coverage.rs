//! `attune bundle coverage`: how far a bundle is translated.

use std::io::Write;
use std::path::PathBuf;

use mcp_attune_bundle::{BundleThresholds, check, translatable_texts};
use serde::Serialize;

use super::open;
use crate::covered::{LocaleCoverageRow, write_coverage_details, write_coverage_table};
use crate::exit::Exit;
use crate::text::print_json;

/// See how far each locale of a bundle is translated
///
/// Counted are the texts that the manifest has. A text is missing where neither the locale's file nor that of a relative (es for
/// es-MX) has it; surplus where the manifest has no such text. Keywords count as one. The titles and descriptions of settings are told apart: hosts show
/// them, and no locale file has a place for them.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle coverage examples/bundle\n  $ attune bundle coverage --json examples/bundle\n  $ attune bundle coverage --at-least 100 examples/bundle"
)]
pub(super) struct BundleCoverageArgs {
    /// Exit with 1 where any locale has less
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    at_least: Option<u8>,
    /// Name each text that is missing, stale or surplus
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print JSON: `default_locale`, `total`, `settings` (texts that cannot be translated), and `locales` with `locale`, `translated`, `percent`, `inherited`, `missing`,
    /// `stale` and `surplus`
    #[arg(long)]
    json: bool,
    /// The bundle: its folder, or a .mcpb file
    path: PathBuf,
}

#[derive(Serialize)]
struct BundleCoverageOutput {
    default_locale: Option<String>,
    total: usize,
    /// Texts of settings, which no locale file has a place for.
    settings: usize,
    locales: Vec<LocaleCoverageRow>,
}

impl BundleCoverageArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let bundle = open(&self.path)?;
        let report = check(bundle.manifest_bytes(), &bundle, BundleThresholds::default());
        let default = bundle.locales().default_locale();
        let broken = bundle.locales().files.len() - report.coverage.len();
        if broken > 0 {
            let files = if broken == 1 { "locale file" } else { "locale files" };
            eprintln!("{broken} {files} cannot be read\nhint: `attune bundle validate` tells why");
        }
        let others = report.coverage.iter().filter(|it| Some(&it.tag) != default);
        let rows = others.map(|it| LocaleCoverageRow::new(&it.tag, &it.coverage)).collect();
        let total = translatable_texts(bundle.manifest()).entries().len();
        let settings = bundle.manifest().setting_text_count();
        let shown = BundleCoverageOutput {
            default_locale: default.map(ToString::to_string),
            total,
            settings,
            locales: rows,
        };
        if self.json {
            print_json(out, &shown)?;
        } else {
            let own = shown.default_locale.as_deref().unwrap_or("the manifest");
            writeln!(out, "{} texts in {own}", shown.total)?;
            write_coverage_table(out, &shown.locales)?;
            if settings > 0 {
                let texts = if settings == 1 { "1 text".to_owned() } else { format!("{settings} texts") };
                writeln!(
                    out,
                    "\n{texts} of settings (user_config) cannot be translated: everybody sees the manifest's own."
                )?;
            }
            if self.list {
                write_coverage_details(out, &shown.locales)?;
            }
        }
        let least = usize::from(self.at_least.unwrap_or(0));
        let fine = shown.locales.iter().all(|locale| locale.percent >= least);
        Ok(if fine { Exit::Fine } else { Exit::Findings })
    }
}
