//! `attune catalog extract`: the texts of a running server as a locale file.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use mcp_attune::catalog::{LocaleFileDraft, LocaleFileEntry, ParsedLocaleFile, mark_stale};
use mcp_attune::language::Tag;
use mcp_attune_rmcp::Connection;
use serde::Serialize;

use super::folder::{CatalogFolder, parse_language};
use super::texts::{CollectedTexts, collect_texts};
use crate::call_plan::ToolCallOption;
use crate::exit::{Exit, hinted};
use crate::progress;
use crate::running::single_thread_runtime;
use crate::server::ServerArgs;
use crate::text::print_json;

/// Write the texts of a server into the locale file of its own language
///
/// What the server says now is written; messages, which no server lists, stay as they are. Words that results can hold are
/// written too: those that an outputSchema lists under enum, const and examples, and with --call those of real results;
/// values that are there already stay, while their tool does. In the other locale files of the
/// folder, texts that were translated from what the server no longer says are marked with what they were translated from,
/// and nothing else changes.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune catalog extract --out target/locales-of-help -- attune demo --bare --stdio\n  $ attune catalog extract --call 'get_weather={\"location\": \"Bern\"}' --out target/locales-of-help -- attune demo --bare --stdio\n\nA server that runs, and one that is started:\n  attune catalog extract http://127.0.0.1:9000/mcp --out locales\n  attune catalog extract --out locales -- npx -y some-server"
)]
pub(super) struct CatalogExtractArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// The folder of the locale files; it is made where it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// A tool to call for the words in its result, with arguments as JSON where its schema gives none
    #[arg(long, value_name = "TOOL[=JSON]")]
    call: Vec<String>,
    /// The language of the server's own texts; without it, what the server says, else en
    #[arg(long, value_name = "TAG")]
    default_language: Option<String>,
    /// How long the server may take: to be there, and for each answer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Print JSON: `file`, `texts`, `new`, `changed`, `gone`, `marked` and `untitled`
    #[arg(long)]
    json: bool,
}

/// What was written.
#[derive(Serialize)]
pub(in crate::commands) struct CatalogExtractOutput {
    file: String,
    texts: usize,
    /// What the server did not say before.
    new: Vec<String>,
    /// What it says in other words.
    changed: Vec<String>,
    /// What it no longer says.
    gone: Vec<String>,
    /// How many texts of each translation were marked.
    marked: BTreeMap<String, usize>,
    /// How many things have no title, so that people see a name.
    untitled: usize,
}

impl CatalogExtractArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let (target, mut options) = self.server.read()?;
        let patience = Duration::from_secs(self.timeout.into());
        (options.connect, options.answer) = (patience, patience);
        // What is wrong with the command line is told before anything is started.
        let given = self.default_language.as_deref().map(parse_language).transpose()?;
        let named: Vec<_> =
            self.call.iter().map(|text| ToolCallOption::read(text)).collect::<Result<_, _>>()?;
        let texts = single_thread_runtime()?.block_on(async {
            let connection = Connection::open(&target, &options).await?;
            let texts = collect_texts(&connection, &named, show_extract_progress).await;
            connection.close().await;
            progress::clear();
            texts
        })?;
        let own = own_language(given.as_ref(), &texts)?;
        let desk = CatalogFolder::new(&self.out, own.as_str())?;
        let shown = write_locale_files(&desk, &self.out, texts.draft)?;
        if self.json {
            print_json(out, &shown)?;
        } else {
            print_extraction(out, &shown)?;
        }
        Ok(Exit::Fine)
    }
}

/// The language of the server's own texts: the given one, else the one that the server reports, else English. Warns where
/// the two differ, and where texts are left out.
pub(in crate::commands) fn own_language(given: Option<&Tag>, texts: &CollectedTexts) -> anyhow::Result<Tag> {
    if let (Some(given), Some(said)) = (given, &texts.language)
        && given != said
    {
        eprintln!("warning: the server says that its texts are in {said}, and they are taken for {given}");
    }
    if texts.too_long > 0 {
        let bytes = ParsedLocaleFile::MAX_TEXT_BYTES;
        eprintln!("warning: {} texts have more than {bytes} bytes and are left out", texts.too_long);
    }
    match given.or(texts.language.as_ref()) {
        Some(tag) => Ok(tag.clone()),
        None => parse_language("en"),
    }
}

/// The marks first: a default language that is new beside marks that are not there would lose what changed.
pub(in crate::commands) fn write_locale_files(
    desk: &CatalogFolder,
    folder: &Path,
    draft: LocaleFileDraft,
) -> anyhow::Result<CatalogExtractOutput> {
    std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let path = desk.path(&desk.default);
    let before = if path.exists() { CatalogFolder::read(&path)? } else { b"{}".to_vec() };
    let refused =
        |why| hinted(format!("{} is no locale file: {why}", path.display()), "mend it, or move it away");
    let written = draft.with_existing(&before).map_err(refused)?.write();
    let (before, _) = ParsedLocaleFile::read(&before).map_err(refused)?;
    let (now, _) = ParsedLocaleFile::read(written.as_bytes()).map_err(|why| {
        hinted(
            format!("the server says more than a locale file can hold: {why}"),
            "is this the right server?",
        )
    })?;
    let marked = mark_others(desk, &before, &now)?;
    write_locale_file(&path, &written)?;
    let mut shown = compare_sheets(&before, &now);
    (shown.file, shown.marked) = (path.display().to_string(), marked);
    Ok(shown)
}

fn mark_others(
    desk: &CatalogFolder,
    before: &ParsedLocaleFile,
    now: &ParsedLocaleFile,
) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut marked = BTreeMap::new();
    for file in desk.files().0.into_iter().filter(|file| file.tag != desk.default) {
        let bytes = CatalogFolder::read(&file.path)?;
        // What is no locale file is left alone.
        let (Ok(text), Ok((sheet, _))) = (std::str::from_utf8(&bytes), ParsedLocaleFile::read(&bytes)) else {
            eprintln!("warning: {} is no locale file; see `attune catalog lint`", file.path.display());
            continue;
        };
        let with_marks = mark_stale(text, before, now);
        if with_marks != text {
            write_locale_file(&file.path, &with_marks)?;
            let count = |sheet: &ParsedLocaleFile| sheet.entries().filter(|line| line.from.is_some()).count();
            let after = ParsedLocaleFile::read(with_marks.as_bytes())
                .map(|(sheet, _)| count(&sheet))
                .unwrap_or_default();
            marked.insert(file.tag.to_string(), after.saturating_sub(count(&sheet)));
        }
    }
    Ok(marked)
}

fn write_locale_file(path: &Path, text: &str) -> anyhow::Result<()> {
    mcp_attune_files::write_atomically(path, text)
        .with_context(|| format!("could not write {}", path.display()))
}

fn compare_sheets(before: &ParsedLocaleFile, now: &ParsedLocaleFile) -> CatalogExtractOutput {
    let index = |sheet: &ParsedLocaleFile| -> HashMap<_, _> {
        sheet.entries().map(|line| (line.path.clone(), line.text.clone())).collect()
    };
    let (was, is) = (index(before), index(now));
    let paths = |sheet: &ParsedLocaleFile, keep: &dyn Fn(&LocaleFileEntry) -> bool| {
        sheet.entries().filter(|line| keep(line)).map(|line| line.path.to_string()).collect()
    };
    CatalogExtractOutput {
        file: String::new(),
        texts: now.entries().len(),
        new: paths(now, &|line| !was.contains_key(&line.path)),
        changed: paths(now, &|line| was.get(&line.path).is_some_and(|text| *text != line.text)),
        gone: paths(before, &|line| !is.contains_key(&line.path)),
        marked: BTreeMap::new(),
        untitled: count_untitled(now),
    }
}

/// How many tools and prompts have no title.
fn count_untitled(sheet: &ParsedLocaleFile) -> usize {
    let mut things = HashMap::new();
    for line in sheet.entries() {
        if let [section @ ("tools" | "prompts"), name, rest @ ..] =
            line.path.names().collect::<Vec<_>>().as_slice()
        {
            *things.entry((*section, *name)).or_insert(false) |= rest == ["title"];
        }
    }
    things.values().filter(|titled| !**titled).count()
}

pub(in crate::commands) fn print_extraction(
    out: &mut impl Write,
    shown: &CatalogExtractOutput,
) -> anyhow::Result<()> {
    let CatalogExtractOutput { file, texts, new, changed, gone, marked, untitled } = shown;
    let (new, changed, gone) = (new.len(), changed.len(), gone.len());
    writeln!(out, "{file}: {texts} texts, {new} new, {changed} changed, {gone} gone")?;
    for (locale, count) in marked {
        writeln!(out, "{locale}: {count} now stale")?;
    }
    if *untitled > 0 {
        writeln!(out, "{untitled} without a title: people see a bare name until you write one into {file}")?;
    }
    Ok(())
}

/// Shows how far the asking is.
pub(in crate::commands) fn show_extract_progress(method: &str, page: usize, texts: usize) {
    progress::show(&format!("{method}, page {page}: {texts} texts so far"));
}
