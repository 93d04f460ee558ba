//! Whether the locale files of a mount are there, and what is wrong with them.

use std::path::Path;

use mcp_attune::catalog::Locale;
use mcp_attune_files::{Named, Pattern, read};

use super::{Depth, Issue, Keys, Severity};
use crate::config::{Config, Locales, Mount, Positions};

/// How many things that are wrong with one file are told.
const MAX_ISSUES_PER_FILE: usize = 10;

pub(super) fn inspect(
    config: &Config,
    mount: &Mount,
    keys: Keys<'_>,
    positions: Option<&Positions<'_>>,
    depth: Depth,
) -> Vec<Issue> {
    let Locales { path, carried, .. } = &mount.locales;
    if !carried.is_empty() {
        return Vec::new();
    }
    let key = || keys.key(&["locales", "path"]);
    let (files, strange) = path.files();
    if files.is_empty() {
        let is_set = positions.map_or(*path != Locales::default().path && !is_usual(path), |positions| {
            keys.is_set(&["locales", "path"], positions)
        });
        return if is_set { vec![none_there(path, key())] } else { Vec::new() };
    }
    let mut issues = Vec::new();
    if config.default_language.is_none() && depth == Depth::Contents {
        let issue = Issue::new("locales", Severity::Warning, vec!["default_language".to_owned()]);
        let says = "there are locale files, and nothing says what language the server itself speaks";
        issues.push(issue.says(says, "add `default_language = \"en\"` at the top, or whichever it is"));
    }
    for name in strange.iter().filter(|_| depth == Depth::Contents).take(MAX_ISSUES_PER_FILE) {
        let issue = Issue::new("locales", Severity::Warning, key()).at(name.clone());
        let says = format!("the name stands where {path} has a language, and is none");
        issues.push(issue.says(says, "name it such as de-CH.json, or move it away"));
    }
    for Named { tag, path, .. } in files.iter().filter(|_| depth == Depth::Contents) {
        let read = read(path).map_err(|why| why.to_string());
        let read = read.and_then(|bytes| {
            Locale::read(tag.clone(), &bytes).map(|(_, found)| (bytes, found)).map_err(|why| why.to_string())
        });
        match read {
            Ok((bytes, found)) => {
                let warning = || Issue::new("locales", Severity::Warning, key());
                issues.extend(found.iter().take(MAX_ISSUES_PER_FILE).map(|finding| {
                    let (line, column) = finding.place(&bytes);
                    warning().at(at(path, line, column)).says(finding.to_string(), finding.hint())
                }));
                if found.len() > MAX_ISSUES_PER_FILE {
                    let says = format!("and {} more", found.len() - MAX_ISSUES_PER_FILE);
                    let hint = "`attune catalog lint` tells all";
                    issues.push(warning().at(path.display().to_string()).says(says, hint));
                }
            }
            Err(why) => {
                let issue = Issue::new("locales", Severity::Error, key()).at(path.display().to_string());
                issues.push(issue.told(&why, "`attune catalog lint` says more"));
            }
        }
    }
    issues
}

/// Whether it is the usual path, seen from any folder.
fn is_usual(path: &Pattern) -> bool {
    let (path, usual) = (path.to_string(), Locales::default().path.to_string());
    path.strip_suffix(&usual).is_some_and(|folder| folder.ends_with('/'))
}

fn none_there(path: &Pattern, key: Vec<String>) -> Issue {
    let folder = path.folder();
    if folder.is_dir() {
        let says = format!("no locale file is there: {path}");
        let hint = "`attune catalog extract` makes the first one from a running server";
        return Issue::new("locales", Severity::Warning, key).says(says, hint);
    }
    let says = format!("the folder {} is not there", folder.display());
    Issue::new("locales", Severity::Error, key)
        .says(says, "paths begin at the folder of the configuration; mend it, or make the folder")
}

fn at(path: &Path, line: usize, column: usize) -> String {
    format!("{}:{line}:{column}", path.display())
}
