//! The data-driven cases in `spec/cases/`, as far as the ledger speaks of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The files by their stems; a file that could not be read says why.
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
    pub(crate) cases: Vec<Case>,
}

/// One case. What goes in and comes out is for the test to read.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) rule: String,
    #[serde(rename = "input")]
    _input: IgnoredAny,
    #[serde(rename = "expected")]
    _expected: IgnoredAny,
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
    fn refuses_a_case_without_expectation() {
        let file =
            parse(r#"{"about": "a", "rules": [], "cases": [{"name": "n", "rule": "L1", "input": 1}]}"#);
        assert!(file.unwrap_err().contains("expected"));
    }
}
