//! The data-driven cases in `spec/cases/` and `spec/wire/`, as far as the ledger speaks of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The files by their stems, and the folders of `spec/wire/` by their names; a file that could not be read says why.
pub(crate) type Cases = BTreeMap<String, Result<File, String>>;

/// One file of cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(rename = "about")]
    _about: String,
    /// The rules that the file is about.
    pub(crate) rules: Vec<String>,
    /// What several cases share; that too is for the test to read.
    #[serde(default, rename = "catalogs")]
    _catalogs: IgnoredAny,
    #[serde(default, rename = "setups")]
    _setups: IgnoredAny,
    pub(crate) cases: Vec<Case>,
    /// Whether it stands for a folder of `spec/wire/`.
    #[serde(skip)]
    pub(crate) is_wire: bool,
}

/// One case. What goes in and comes out is for the test to read.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// None in `spec/wire/`.
    #[serde(deserialize_with = "some")]
    pub(crate) rule: Option<String>,
    #[serde(rename = "input")]
    _input: IgnoredAny,
    #[serde(rename = "expected")]
    _expected: IgnoredAny,
}

/// A file of raw requests or answers. What is sent and what comes of it is for the test to read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<WireCase>,
}

#[derive(Debug, Deserialize)]
struct WireCase {
    name: String,
}

/// Reads the folders in a folder: the files of each are the cases of one test.
pub(crate) fn read_wire(folder: &Path) -> Result<Cases> {
    let mut cases = Cases::new();
    for (name, path) in entries(folder)? {
        if path.is_dir() {
            let files: Result<Vec<String>> = entries(&path)?
                .into_iter()
                .map(|(_, path)| {
                    std::fs::read_to_string(&path)
                        .with_context(|| format!("could not read {}", path.display()))
                })
                .collect();
            cases.insert(name, parse_wire(&files?));
        }
    }
    Ok(cases)
}

/// The cases of all files together. They belong to no rule: the ledger says which rule a case shows.
pub(crate) fn parse_wire(texts: &[String]) -> Result<File, String> {
    let mut file = File {
        _about: String::new(),
        rules: Vec::new(),
        _catalogs: IgnoredAny,
        _setups: IgnoredAny,
        cases: Vec::new(),
        is_wire: true,
    };
    for text in texts {
        let wire: WireFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        file.cases.extend(wire.cases.into_iter().map(|case| Case {
            name: case.name,
            rule: None,
            _input: IgnoredAny,
            _expected: IgnoredAny,
        }));
    }
    Ok(file)
}

/// What is in a folder, with its names without extensions.
fn entries(folder: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let listed = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("could not list the folder {}", folder.display()))?;
    let named = |path: std::path::PathBuf| {
        (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path)
    };
    Ok(listed.into_iter().map(|entry| named(entry.path())).collect())
}

/// Reads all files in the folder.
pub(crate) fn read(folder: &Path) -> Result<Cases> {
    let mut cases = Cases::new();
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("could not list the folder {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("could not list the folder {}", folder.display()))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        cases.insert(stem, parse(&text));
    }
    Ok(cases)
}

pub(crate) fn parse(text: &str) -> Result<File, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn some<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_file_of_cases() {
        let file = parse(
            r#"{"about": "a", "rules": ["L1"], "cases": [{"name": "n", "rule": "L1", "input": {}, "expected": null}]}"#,
        );
        assert_eq!(file.unwrap().cases[0].name, "n");
    }

    #[test]
    fn reads_raw_requests_from_several_files() {
        let texts = ["a", "b"]
            .map(|name| format!(r#"{{"about": "a", "cases": [{{"name": "{name}", "send": ""}}]}}"#));
        let names: Vec<_> = parse_wire(&texts).unwrap().cases.into_iter().map(|case| case.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(parse_wire(&["{}".to_owned()]).unwrap_err().contains("about"));
    }

    #[test]
    fn refuses_a_case_without_expectation() {
        let file =
            parse(r#"{"about": "a", "rules": [], "cases": [{"name": "n", "rule": "L1", "input": 1}]}"#);
        assert!(file.unwrap_err().contains("expected"));
    }
}
