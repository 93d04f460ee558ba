//! The files in `spec/cases/` whose cases are one input and one expected outcome each: read strictly, and run.
//!
//! A test gives [`check`] a file and a function that runs one case; a failure lists every case that failed, by name.
//! Whole exchanges have a runner of their own, in `spec/runner`.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<I, E> {
    about: String,
    rules: BTreeSet<String>,
    /// What several cases share, for their test to read.
    #[serde(default, rename = "catalogs")]
    _catalogs: IgnoredAny,
    cases: Vec<Case<I, E>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I, E> {
    name: String,
    rule: String,
    source: String,
    input: I,
    expected: E,
}

/// Runs every case of a file, which has to have at least so many; `run` says what is wrong with one.
///
/// # Panics
/// If the file cannot be read as such a table, has too few cases or one without a source, or if a case fails. The message lists every case that failed.
pub fn check<I, E>(text: &str, at_least: usize, run: impl Fn(I, E) -> Result<(), String>)
where
    I: DeserializeOwned,
    E: DeserializeOwned,
{
    let file: File<I, E> = serde_json::from_str(text).unwrap();
    assert!(!file.about.is_empty());
    assert!(file.cases.len() >= at_least, "only {} cases", file.cases.len());
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut failures = Vec::new();
    for case in file.cases {
        assert!(!case.source.is_empty(), "{} has no source", case.name);
        assert!(names.insert(case.name.clone()), "{} comes twice", case.name);
        used.insert(case.rule);
        if let Err(failure) = run(case.input, case.expected) {
            failures.push(format!("{}: {failure}", case.name));
        }
    }
    assert!(used.is_subset(&file.rules), "a case has a rule that the file does not name");
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

/// Compares one thing that a case expects.
///
/// # Errors
/// What differs, in words.
pub fn same<T: PartialEq + Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    if actual == expected { Ok(()) } else { Err(format!("{what} is {actual:?}, not {expected:?}")) }
}
