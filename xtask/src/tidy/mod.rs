//! `cargo xtask tidy`: the habits of the house that no compiler checks.

mod crates;
mod layout;
mod documents;
mod names;
mod architecture;
mod protocol;
mod order;
mod source;
mod words;

use std::path::Path;

use anyhow::{Context, Result};

use kit::report::conclude;
use kit::shell::root;

/// What cargo, git and the fuzzer leave behind.
const LEFTOVERS: &[&str] = &["target", ".git", "fuzz/artifacts", "fuzz/corpus", "fuzz/coverage"];

/// Prints how many types share their name with another, and fails where a name is defined too often.
pub(crate) fn type_names() -> Result<()> {
    let names = names::TypeNames::collect(&files()?);
    print!("{}", names.summary());
    conclude("tidy --names", "rename all but the one that a stranger would expect", &names.findings())
}

/// Checks every text file of the tree.
pub(crate) fn run() -> Result<()> {
    let files = files()?;

    let exists = |path: &str| root().join(path).exists();
    let has_command = |name: &str| crate::command(&[name]).is_some();
    let home = files.iter().find(|(path, _)| path == protocol::HOME);
    let facts = home.map(|(_, text)| protocol::Facts::read(text)).unwrap_or_default();
    let mut findings = Vec::new();
    for (path, text) in &files {
        findings.extend(words::check(path, text));
        findings.extend(crates::check(path, text));
        if path.ends_with(".rs") {
            findings.extend(source::check(path, text));
            findings.extend(facts.check(path, text));
        }
        if documents::is_document(path) {
            findings.extend(documents::check(path, text, &exists, &has_command));
        }
    }
    findings.extend(layout::check(&files));
    findings.extend(order::check(&files));
    findings.extend(names::TypeNames::collect(&files).findings());
    findings.extend(architecture::check(&files));
    conclude("tidy", "each line above says where, what, and what to do", &findings)
}

/// All text files of the tree, in order of their paths.
fn files() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    collect(root(), "", &mut files)?;
    files.sort();
    Ok(files)
}

/// Collects the text files under a folder, by their paths from the root, with `/` on every system.
fn collect(folder: &Path, path: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("could not list the folder {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("could not list the folder {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if path.is_empty() { name } else { format!("{path}/{name}") };
        let kind = entry.file_type().with_context(|| format!("could not look at {path}"))?;
        // Cargo marks its target folders, wherever they are, as caches.
        if LEFTOVERS.contains(&path.as_str()) || entry.path().join("CACHEDIR.TAG").exists() {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).with_context(|| format!("could not read {path}"))?;
            files.extend(String::from_utf8(bytes).ok().map(|text| (path, text)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_the_tree_without_what_tools_leave_behind() {
        let mut files = Vec::new();
        collect(root(), "", &mut files).unwrap();
        assert!(files.iter().any(|(path, _)| path == "xtask/src/tidy/mod.rs"));
        assert!(files.iter().any(|(path, _)| path == ".ci/run"));
        assert!(!files.iter().any(|(path, _)| path.starts_with("target/") || path.starts_with(".git/")));
    }
}
