//! Checks whether the locale files of a mount are there, and what is wrong with them.
//!
//! What is found in a file has its position, so that an editor can go there: `locales/de.json:3:7`. A file
//! that cannot be used at all is an error; what is found inside a file that can be used is a warning.

use std::path::Path;

use mcp_attune::catalog::CompiledLocale;
use mcp_attune_files::{LocaleFilePattern, TaggedLocaleFile, read_locale_file};

use super::{ConfigIssue, InspectionDepth, IssueSeverity, MountSettingKeys};
use crate::config::{Config, LocalesConfig, MountConfig, SettingPositions};

/// How many issues of one file are reported; then only their number.
const MAX_ISSUES_PER_FILE: usize = 10;

/// Checks the locale files of a mount.
///
/// That there are none is an issue only if the operator set `path`: no translations is what the default
/// means. Without `positions` that is guessed from whether the path differs from the default. At
/// [`InspectionDepth::Contents`] every file is compiled, and names that are no language are warnings.
pub(super) fn inspect(
    config: &Config,
    mount: &MountConfig,
    keys: MountSettingKeys<'_>,
    positions: Option<&SettingPositions<'_>>,
    depth: InspectionDepth,
) -> Vec<ConfigIssue> {
    let LocalesConfig { path, carried, .. } = &mount.locales;
    if !carried.is_empty() {
        return Vec::new();
    }
    let key = || keys.key(&["locales", "path"]);
    let (files, strange) = path.files();
    if files.is_empty() {
        let is_set = positions
            .map_or(*path != LocalesConfig::default().path && !is_default_path(path), |positions| {
                keys.is_set(&["locales", "path"], positions)
            });
        return if is_set { vec![no_locale_files(path, key())] } else { Vec::new() };
    }
    let mut issues = Vec::new();
    if config.default_language.is_none() && depth == InspectionDepth::Contents {
        let issue = ConfigIssue::new("locales", IssueSeverity::Warning, vec!["default_language".to_owned()]);
        let says = "there are locale files, and nothing says what language the server itself speaks";
        issues
            .push(issue.with_message(says, "add `default_language = \"en\"` at the top, or whichever it is"));
    }
    for name in strange.iter().filter(|_| depth == InspectionDepth::Contents).take(MAX_ISSUES_PER_FILE) {
        let issue = ConfigIssue::new("locales", IssueSeverity::Warning, key()).with_place(name.clone());
        let says = format!("the name stands where {path} has a language, and is none");
        issues.push(issue.with_message(says, "name it such as de-CH.json, or move it away"));
    }
    for TaggedLocaleFile { tag, path, .. } in files.iter().filter(|_| depth == InspectionDepth::Contents) {
        let read = read_locale_file(path).map_err(|why| (why.to_string(), None));
        let read = read.and_then(|bytes| {
            CompiledLocale::read(tag.clone(), &bytes)
                .map(|(_, found)| (bytes, found))
                .map_err(|why| (why.what(), why.hint()))
        });
        match read {
            Ok((bytes, found)) => {
                let warning = || ConfigIssue::new("locales", IssueSeverity::Warning, key());
                issues.extend(found.iter().take(MAX_ISSUES_PER_FILE).map(|finding| {
                    let (line, column) = finding.position(&bytes);
                    warning()
                        .with_place(file_position(path, line, column))
                        .with_message(finding.to_string(), finding.hint())
                }));
                if found.len() > MAX_ISSUES_PER_FILE {
                    let says = format!("and {} more", found.len() - MAX_ISSUES_PER_FILE);
                    let hint = "`attune catalog lint` tells all";
                    issues.push(warning().with_place(path.display().to_string()).with_message(says, hint));
                }
            }
            Err((says, hint)) => {
                let issue = ConfigIssue::new("locales", IssueSeverity::Error, key())
                    .with_place(path.display().to_string());
                issues.push(issue.with_message(says, hint.unwrap_or("`attune catalog lint` says more")));
            }
        }
    }
    issues
}

/// Returns whether it is the default path, resolved from any folder.
fn is_default_path(path: &LocaleFilePattern) -> bool {
    let (path, usual) = (path.to_string(), LocalesConfig::default().path.to_string());
    path.strip_suffix(&usual).is_some_and(|folder| folder.ends_with('/'))
}

/// Returns the issue of a path without any files: an error if even the folder is missing, else a warning.
fn no_locale_files(path: &LocaleFilePattern, key: Vec<String>) -> ConfigIssue {
    let folder = path.folder();
    if folder.is_dir() {
        let says = format!("no locale file is there: {path}");
        let hint = "`attune catalog extract` makes the first one from a running server";
        return ConfigIssue::new("locales", IssueSeverity::Warning, key).with_message(says, hint);
    }
    let says = format!("the folder {} is not there", folder.display());
    ConfigIssue::new("locales", IssueSeverity::Error, key)
        .with_message(says, "paths begin at the folder of the configuration; mend it, or make the folder")
}

fn file_position(path: &Path, line: usize, column: usize) -> String {
    format!("{}:{line}:{column}", path.display())
}
