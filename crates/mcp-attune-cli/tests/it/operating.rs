//! What docs/operating.md says of the gateway. Its snippets for other programs are run by `cargo xtask interop operating`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::attune;

const PAGE: &str = include_str!("../../../../docs/operating.md");

/// The words of a text that begin with `attune_`.
fn series(text: &str) -> BTreeSet<&str> {
    let words = text.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    words.filter(|word| word.starts_with("attune_")).collect()
}

/// The text of all files under a folder.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let text = |path: PathBuf| {
        if path.is_dir() { sources(&path) } else { fs::read_to_string(path).expect("a text") }
    };
    entries.map(text).collect()
}

/// A series that was never counted is not in what `/metrics` says, so its name is looked for where it is given.
#[test]
fn every_series_that_operators_are_told_of_is_counted() {
    let gateway = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-attune-gateway/src"));
    let named = series(PAGE);
    assert!(named.len() >= 9, "{named:?}");
    for name in named {
        // What the text format adds to the name of a counter, of a histogram, and for a unit.
        let base = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let base = base.strip_suffix("_seconds").unwrap_or(base).trim_start_matches("attune_");
        assert!(gateway.contains(&format!("\"{base}\"")), "nothing counts {name}");
    }
}

/// The files that the second one names are there where it is run.
#[test]
fn the_configuration_that_operators_are_shown_is_fine() {
    let block =
        PAGE.split("\n```toml\n").nth(1).and_then(|rest| rest.split("\n```").next()).expect("a block");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("attune.toml");
    fs::write(&file, block).expect("a file");
    let shown = attune(&["config", "check", file.to_str().expect("UTF-8")]);
    assert!(shown.starts_with("exit: 0\n"), "{shown}");
}
