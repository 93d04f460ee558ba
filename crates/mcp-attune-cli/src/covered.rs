//! How far translations are, in a table; for server's locale files and for bundles.

use std::io::{self, Write};

use mcp_attune::catalog::{CatalogCoverage, LocaleKeyPath};
use mcp_attune::language::Tag;
use serde::Serialize;

/// How far one language is.
#[derive(Serialize)]
pub(crate) struct LocaleCoverageRow {
    pub(crate) locale: String,
    pub(crate) translated: usize,
    pub(crate) percent: usize,
    pub(crate) inherited: usize,
    pub(crate) missing: Vec<String>,
    pub(crate) stale: Vec<String>,
    pub(crate) surplus: Vec<String>,
}

impl LocaleCoverageRow {
    pub(crate) fn new(tag: &Tag, coverage: &CatalogCoverage) -> Self {
        let paths = |paths: &[LocaleKeyPath]| paths.iter().map(ToString::to_string).collect();
        Self {
            locale: tag.to_string(),
            translated: coverage.translated(),
            percent: coverage.percent(),
            inherited: coverage.inherited.len(),
            missing: paths(&coverage.missing),
            stale: paths(&coverage.stale),
            surplus: paths(&coverage.surplus),
        }
    }
}

/// Writes a line for each language.
pub(crate) fn write_coverage_table(out: &mut impl Write, locales: &[LocaleCoverageRow]) -> io::Result<()> {
    let width = locales.iter().map(|it| it.locale.len()).max().unwrap_or(0).max("locale".len());
    if locales.is_empty() {
        return writeln!(out, "There is no translation yet.");
    }
    writeln!(out, "\n{:<width$}  {:<26}  missing  stale  surplus", "locale", "translated")?;
    for it in locales {
        let (missing, stale, surplus) = (it.missing.len(), it.stale.len(), it.surplus.len());
        let bar = bar(it.percent);
        writeln!(
            out,
            "{:<width$}  {bar} {:>3} %  {missing:>7}  {stale:>5}  {surplus:>7}",
            it.locale, it.percent
        )?;
    }
    Ok(())
}

/// Twenty characters wide; full only where nothing is missing.
fn bar(percent: usize) -> String {
    let full = percent.min(100) / 5;
    "█".repeat(full) + &"░".repeat(20 - full)
}

/// Names each text that is missing, stale or surplus.
pub(crate) fn write_coverage_details(out: &mut impl Write, locales: &[LocaleCoverageRow]) -> io::Result<()> {
    writeln!(out)?;
    for it in locales {
        for (what, paths) in [("missing", &it.missing), ("stale", &it.stale), ("surplus", &it.surplus)] {
            for path in paths {
                writeln!(out, "{}: {what}: {path}", it.locale)?;
            }
        }
    }
    Ok(())
}
