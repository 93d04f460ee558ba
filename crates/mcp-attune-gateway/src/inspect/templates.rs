//! Checks whether the templates and hints of a mount are there, and can be used.
//!
//! Templates are named by a stem that several files begin with. Where none does, the hint names the stem of
//! other files that is most alike. What is wrong inside a template has its line and column.

use std::path::Path;

use mcp_attune_files::TemplateFiles;
use mcp_attune_shape::template::template_endings;

use super::{ConfigIssue, InspectionDepth, IssueSeverity, MountSettingKeys};
use crate::config::{MountConfig, nearest_name};

/// How many names of a folder are looked through.
const MAX_NAMES: usize = 10_000;

/// Checks the templates and hints of all tools, resources and prompts of a mount. Templates that are
/// configured while `[content]` is off are a warning.
pub(super) fn inspect(
    mount: &MountConfig,
    keys: MountSettingKeys<'_>,
    depth: InspectionDepth,
) -> Vec<ConfigIssue> {
    let tools = mount
        .tools
        .iter()
        .map(|(name, tool)| ("tools", name.as_str(), tool.templates.as_deref(), tool.hints.as_deref()));
    let shaped = [("resources", &mount.resources), ("prompts", &mount.prompts)];
    let shaped = shaped.into_iter().flat_map(|(kind, all)| {
        all.iter().map(move |(name, shaped)| (kind, name.as_str(), shaped.templates.as_deref(), None))
    });
    let (mut issues, mut any) = (Vec::new(), false);
    for (kind, name, stem, hints) in tools.chain(shaped) {
        any |= stem.is_some() || hints.is_some();
        if let Some(stem) = stem {
            issues.extend(templates(stem, keys.key(&[kind, name, "templates"]), depth));
        }
        if let Some(hints) = hints {
            issues.extend(self::hints(hints, keys.key(&[kind, name, "hints"]), depth));
        }
    }
    if any && !mount.content.enabled {
        let says = "templates are named, and no answer is shaped";
        let issue = ConfigIssue::new("templates", IssueSeverity::Warning, keys.key(&["content", "enabled"]));
        issues.push(issue.with_message(says, "set `enabled = true` in [content], or take the templates out"));
    }
    issues
}

/// Checks the templates of one stem.
fn templates(stem: &Path, key: Vec<String>, depth: InspectionDepth) -> Vec<ConfigIssue> {
    if !has_template(stem) {
        let says = format!("no template is there: {}{}", stem.display(), template_endings());
        let hint = match similar_stem(stem) {
            Some(meant) => format!("did you mean {meant}?"),
            None => {
                "paths begin at the folder of the configuration; docs/templates.md says what files are called"
                    .to_owned()
            }
        };
        return vec![ConfigIssue::new("templates", IssueSeverity::Error, key).with_message(says, hint)];
    }
    template_issues(Some(stem), None, &key, depth)
}

/// Checks one file of hints.
fn hints(file: &Path, key: Vec<String>, depth: InspectionDepth) -> Vec<ConfigIssue> {
    if !file.is_file() {
        let says = format!("the file {} is not there", file.display());
        let hint = "paths begin at the folder of the configuration";
        return vec![ConfigIssue::new("templates", IssueSeverity::Error, key).with_message(says, hint)];
    }
    template_issues(None, Some(file), &key, depth)
}

/// Compiles the files, and returns what is wrong with them. Does nothing at [`InspectionDepth::Names`].
fn template_issues(
    stem: Option<&Path>,
    hints: Option<&Path>,
    key: &[String],
    depth: InspectionDepth,
) -> Vec<ConfigIssue> {
    if depth == InspectionDepth::Names {
        return Vec::new();
    }
    let findings = TemplateFiles::new(stem, hints).findings();
    let issues = findings.iter().map(|finding| {
        ConfigIssue::new("templates", IssueSeverity::Error, key.to_vec())
            .with_place(finding.place())
            .with_message(finding.why.what(), finding.why.hint())
    });
    issues.collect()
}

/// Returns the folder of a stem, and the names in it; none if it cannot be read.
fn folder(stem: &Path) -> (&Path, Vec<String>) {
    let folder = stem.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().take(MAX_NAMES).filter_map(Result::ok);
    (folder, entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// Returns whether there is a file that begins with the stem and a dot, and is not the file of hints.
fn has_template(stem: &Path) -> bool {
    let Some(name) = stem.file_name().and_then(|name| name.to_str()) else { return false };
    let rest = |file: &String| Some(file.strip_prefix(name)?.strip_prefix('.')? != "hints");
    folder(stem).1.iter().any(|file| rest(file) == Some(true))
}

/// Returns the stem of files that are there and whose name is much like the missing one.
fn similar_stem(stem: &Path) -> Option<String> {
    let (folder, files) = folder(stem);
    let names: Vec<_> = files.iter().filter_map(|file| Some(file.split_once('.')?.0)).collect();
    let near = nearest_name(stem.file_name()?.to_str()?, names.into_iter())?;
    Some(folder.join(near).display().to_string())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::config::Config;

    #[test]
    fn names_are_looked_for_at_the_start_and_contents_when_they_are_asked_for() {
        let folder = std::env::temp_dir().join(format!("attune-inspect-templates-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("broken.md"), "{{ total | numbr }}").unwrap();
        // Hints are no template.
        std::fs::write(folder.join("hinted.hints"), "x").unwrap();
        let path = folder.display();
        let toml = format!(
            "content.enabled = true\ntools.a.templates = '{path}/broken'\ntools.b.templates = '{path}/hinted'\n"
        );
        let config = Config::parse(&toml, "attune.toml").unwrap();
        let told = |depth: InspectionDepth| -> Vec<String> {
            let issues = super::super::inspect(&config, None, depth, SystemTime::now());
            let about = issues.iter().filter(|issue| issue.what == "templates");
            about.map(|issue| format!("{}: {}", issue.key.join("."), issue.says)).collect()
        };
        let missing = format!("tools.b.templates: no template is there: {path}/hinted.md, .txt or .json");
        assert_eq!(told(InspectionDepth::Names), std::slice::from_ref(&missing));
        let broken = "tools.a.templates: there is no filter `numbr`".to_owned();
        assert_eq!(told(InspectionDepth::Contents), [broken, missing]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
