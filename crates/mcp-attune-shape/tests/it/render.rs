//! Pages of real results and of made-up ones, as they were read and found good.
//!
//! `tests/render/real` has what tools of other people's servers returned, with the server's name and version, and
//! `tests/render/made` what was made up. The pages are in `tests/render/pages`. To write them anew:
//! `UPDATE_PAGES=1 cargo test -p mcp-attune --test it render`; then read them.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

use std::fs;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use mcp_attune::features::Verbosity;
use mcp_attune::format::ValueFormatter;
use mcp_attune::language::Tag;
use mcp_attune_shape::CompiledSchema;
use mcp_attune_shape::render::{DefaultLabels, RenderOptions, RenderedPage, markdown, text};
use mcp_attune_wire::message::Message;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Case<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow, rename = "outputSchema")]
    schema: Option<&'a RawValue>,
    #[serde(default)]
    low_priority: Vec<String>,
}

pub(super) fn format(locale: &str, zone: &str) -> ValueFormatter {
    mcp_attune_format::formatters(&Tag::parse(locale).unwrap()).for_locales([], TimeZone::get(zone).unwrap())
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/render").join(name)
}

fn files(name: &str) -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Holds a page against the one that was read.
fn check(name: &str, page: &str) {
    let path = folder("pages").join(name);
    let page = format!("{page}\n");
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(page, expected, "{name} is another page; see it with UPDATE_PAGES=1 and git diff");
}

fn render(file: &str, locale: &str, zone: &str, verbosity: Verbosity) -> [RenderedPage; 2] {
    let case: Case<'_> = serde_json::from_str(file).unwrap();
    let output = case.schema.map(|schema| CompiledSchema::read(schema.get()).unwrap());
    let message = Message::parse(case.data.get().as_bytes()).unwrap();
    let how = RenderOptions {
        output: output.as_ref().map(CompiledSchema::root),
        values: &format(locale, zone),
        verbosity,
        low_priority: &case.low_priority,
        labels: &DefaultLabels::new(locale),
        room: RenderOptions::MAX_PAGE_BYTES,
    };
    [markdown(message.body(), &how), text(message.body(), &how)]
}

fn check_all(name: &str, file: &str, locale: &str, zone: &str, verbosity: Verbosity) {
    let [markdown, text] = render(file, locale, zone, verbosity);
    let kind = if verbosity == Verbosity::Standard { String::new() } else { format!(".{verbosity}") };
    check(&format!("{name}.{locale}{kind}.md"), &markdown.text);
    check(&format!("{name}.{locale}{kind}.txt"), &text.text);
}

#[test]
fn results_of_real_tools_read_well() {
    let files = files("real");
    assert!(files.len() >= 20);
    for (name, file) in &files {
        check_all(name, file, "de-CH", "Europe/Zurich", Verbosity::Standard);
    }
}

#[test]
fn results_that_were_made_up_read_well() {
    let files = files("made");
    assert!(files.len() >= 5);
    for (name, file) in &files {
        check_all(name, file, "en-US", "America/New_York", Verbosity::Standard);
        check_all(name, file, "de-CH", "Europe/Zurich", Verbosity::Standard);
    }
    for (name, file) in files.iter().filter(|(name, _)| matches!(name.as_str(), "weather" | "invoice")) {
        check_all(name, file, "ar-EG", "Africa/Cairo", Verbosity::Standard);
        check_all(name, file, "hi", "Asia/Kolkata", Verbosity::Standard);
        check_all(name, file, "en-US", "America/New_York", Verbosity::Verbose);
        check_all(name, file, "en-US", "America/New_York", Verbosity::Compact);
    }
}
