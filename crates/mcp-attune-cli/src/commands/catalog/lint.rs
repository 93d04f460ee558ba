//! `attune catalog lint`: what is wrong with locale files, or doubtful.

use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_attune::catalog::{
    CompiledLocale, LocaleIndex, ParsedLocaleFile, line_and_column, lint_with_relatives,
};
use mcp_attune::language::Tag;
use serde::Serialize;

use super::folder::CatalogFolder;
use crate::exit::Exit;
use crate::text::print_json;

/// Find mistakes in locale files: exit 0 if there are none, 1 if there are
///
/// Found are names that got translated, variables that were lost or invented, errors in Fluent, names of files that are no
/// language, values of a field of which some are translated and others are not, words of mixed scripts, plural forms that the language does not have or lacks, blanks at an end, empty
/// texts, and texts much longer than in the default language.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune catalog lint crates/mcp-attune-demo/locales\n  $ attune catalog lint crates/mcp-attune-demo/locales --json"
)]
pub(super) struct CatalogLintArgs {
    /// The folder of the locale files
    dir: PathBuf,
    /// The language that the others are translated from
    #[arg(long, value_name = "TAG", default_value = "en")]
    default_language: String,
    /// Print JSON: `files`, and `findings` with `file`, `line`, `column`, `path`, `kind`, `what` and `hint`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CatalogLintOutput {
    files: usize,
    findings: Vec<CatalogLintFinding>,
}

#[derive(Serialize)]
struct CatalogLintFinding {
    file: String,
    line: usize,
    column: usize,
    path: String,
    kind: &'static str,
    what: String,
    hint: &'static str,
}

impl CatalogLintArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let desk = CatalogFolder::open(&self.dir, &self.default_language)?;
        // One that is there and broken is told when its turn comes.
        let source = match desk.source_sheet() {
            Err(why) if !desk.path(&desk.default).exists() => return Err(why),
            source => source.ok(),
        };
        let (files, strange) = desk.files();
        let mut shown = CatalogLintOutput { files: files.len() + strange.len(), findings: Vec::new() };
        for name in strange {
            shown.findings.push(whole_file_finding(
                &self.dir.join(name),
                "tag",
                "the name is no language",
                "name it such as de-CH.json, or move it away",
            ));
        }
        let mut read = Vec::new();
        for file in files {
            let bytes = CatalogFolder::read(&file.path)?;
            let sheet = ParsedLocaleFile::read(&bytes).ok().map(|(sheet, _)| sheet);
            read.push((file, bytes, sheet));
        }
        let tags = read.iter().map(|(file, ..)| file.tag.clone());
        // With more languages than a server can offer, each is looked at as if it had no relatives.
        let catalogs = LocaleIndex::new(desk.default.clone(), tags).ok();
        for (file, bytes, _) in &read {
            let source = source.as_ref().filter(|_| file.tag != desk.default);
            let wanted =
                catalogs.as_ref().map(|catalogs| catalogs.required_locales(&file.tag)).unwrap_or_default();
            let lends = |tag: &Tag| *tag != file.tag && *tag != desk.default && wanted.contains(&tag);
            let relatives = read.iter().filter(|(other, ..)| lends(&other.tag));
            let relatives: Vec<&ParsedLocaleFile> =
                relatives.filter_map(|(.., sheet)| sheet.as_ref()).collect();
            lint_file(&file.path, &file.tag, bytes, source, &relatives, &mut shown.findings);
        }
        if self.json {
            print_json(out, &shown)?;
        } else {
            write(out, &shown)?;
        }
        Ok(if shown.findings.is_empty() { Exit::Fine } else { Exit::Findings })
    }
}

/// A finding about a file as a whole.
fn whole_file_finding(file: &Path, kind: &'static str, what: &str, hint: &'static str) -> CatalogLintFinding {
    let file = file.display().to_string();
    CatalogLintFinding { file, line: 1, column: 1, path: String::new(), kind, what: what.to_owned(), hint }
}

fn lint_file(
    path: &Path,
    tag: &Tag,
    bytes: &[u8],
    source: Option<&ParsedLocaleFile>,
    relatives: &[&ParsedLocaleFile],
    found: &mut Vec<CatalogLintFinding>,
) {
    let (sheet, mut unusable) = match ParsedLocaleFile::read(bytes) {
        Ok(read) => read,
        Err(why) => {
            let told = why.to_string();
            return found.push(whole_file_finding(
                path,
                "refused",
                &told,
                "nothing in this file is used until that is mended",
            ));
        }
    };
    unusable.extend(CompiledLocale::new(tag.clone(), &sheet).1);
    let from = found.len();
    let mut tell = |at: usize, path_in: String, kind, what: String, hint| {
        let (line, column) = line_and_column(bytes, at);
        found.push(CatalogLintFinding {
            file: path.display().to_string(),
            line,
            column,
            path: path_in,
            kind,
            what,
            hint,
        });
    };
    for it in unusable {
        tell(it.at, it.path.to_string(), "unusable", it.what.to_string(), it.hint());
    }
    for it in lint_with_relatives(tag, &sheet, source, relatives) {
        tell(it.at, it.path.to_string(), it.what.kind(), it.what.to_string(), it.what.hint());
    }
    if let Some(own) = found.get_mut(from..) {
        own.sort_by_key(|it| (it.line, it.column));
    }
}

fn write(out: &mut impl Write, shown: &CatalogLintOutput) -> anyhow::Result<()> {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    for CatalogLintFinding { file, line, column, path, what, hint, .. } in &shown.findings {
        let path = if path.is_empty() { String::new() } else { format!("{path}: ") };
        writeln!(out, "{file}:{line}:{column}: {path}{what}\nhint: {hint}\n")?;
    }
    let files = count(shown.files, "file");
    match shown.findings.len() {
        0 => writeln!(out, "{files}, nothing wrong")?,
        number => writeln!(out, "{files}, {}", count(number, "finding"))?,
    }
    Ok(())
}
