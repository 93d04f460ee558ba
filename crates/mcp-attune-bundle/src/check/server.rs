//! Consistency of the manifest: repeated names, undefined variables, and settings that contradict themselves.

use std::borrow::Cow;
use std::collections::HashSet;

use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

use super::BundleCheckInput;
use super::collect::{BundleProblemCollector, manifest_location, path};
use crate::problem::{BundleProblemKind, ManifestConsistencyProblem};
use mcp_attune::catalog::LocaleKeyPath;
use mcp_attune::suggestion::nearest;

/// Maximum number of names that an unknown name is compared with for a suggestion.
pub(super) const MAX_COMPARED_NAMES: usize = 1000;

/// The variables that hosts replace in `mcp_config` and in defaults of settings, besides `user_config.…`.
const VARIABLES: [&str; 7] = ["__dirname", "HOME", "DESKTOP", "DOCUMENTS", "DOWNLOADS", "pathSeparator", "/"];

/// Checks the version, the names of tools and prompts, the arguments of prompts, the variables and the
/// settings.
pub(super) fn check_consistency(look: &BundleCheckInput<'_>, found: &mut BundleProblemCollector) {
    let root = look.root;
    if let (Some(value), Some(release)) = (root.member("version"), &look.manifest.release)
        && semver::Version::parse(release).is_err()
    {
        found.warn(
            manifest_location(&path(&["version"]), value),
            BundleProblemKind::Server(ManifestConsistencyProblem::NotSemver),
        );
    }
    for list in ["tools", "prompts"] {
        check_repeated_names(list, root, found);
    }
    for (at, prompt) in elements(root.member("prompts")).enumerate() {
        check_prompt_arguments(&path(&["prompts", &at.to_string()]), prompt, found);
    }
    check_variables(look, found);
    for (key, setting) in members(root.member("user_config")) {
        check_setting(&path(&["user_config", &key]), setting, found);
    }
}

/// Iterates over the elements of an array; empty for anything else.
pub(super) fn elements(value: Option<SpannedValue<'_>>) -> impl Iterator<Item = SpannedValue<'_>> {
    value.filter(|it| it.kind() == JsonKind::Array).into_iter().flat_map(SpannedValue::elements)
}

/// Iterates over the members of an object; empty for anything else. Names that are not valid Unicode are left
/// out.
fn members(value: Option<SpannedValue<'_>>) -> impl Iterator<Item = (Cow<'_, str>, SpannedValue<'_>)> {
    let value = value.filter(|it| it.kind() == JsonKind::Object);
    value.into_iter().flat_map(|it| it.members().filter_map(|(name, value)| Some((name.decode()?, value))))
}

/// Decodes a string. Returns `None` for another type, and for a string that is not valid Unicode.
pub(super) fn text(value: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    value.text().and_then(JsonString::decode)
}

/// Reports each entry of `tools` or `prompts` that has the name of an earlier one.
fn check_repeated_names(list: &str, root: SpannedValue<'_>, found: &mut BundleProblemCollector) {
    let mut known = HashSet::new();
    for (at, entry) in elements(root.member(list)).enumerate() {
        let Some(value) = entry.member("name") else { continue };
        if text(value).is_some_and(|name| !known.insert(name)) {
            let path = path(&[list, &at.to_string(), "name"]);
            found.error(
                manifest_location(&path, value),
                BundleProblemKind::Server(ManifestConsistencyProblem::RepeatedName),
            );
        }
    }
}

/// Iterates over the names of the `${…}` variables in a text.
fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Checks that a prompt's text uses exactly the arguments that the prompt declares.
fn check_prompt_arguments(at: &LocaleKeyPath, prompt: SpannedValue<'_>, found: &mut BundleProblemCollector) {
    let Some((value, said)) = prompt.member("text").and_then(|it| Some((it, text(it)?))) else { return };
    let declared: Vec<Cow<'_, str>> = elements(prompt.member("arguments")).filter_map(text).collect();
    let known: HashSet<&str> = declared.iter().map(|it| &**it).collect();
    let used: HashSet<&str> =
        variables_in(&said).filter_map(|name| name.strip_prefix("arguments.")).collect();
    for name in sorted(used.iter().filter(|name| !known.contains(**name))) {
        let near = if found.is_full() {
            None
        } else {
            nearest(name, declared.iter().map(|it| &**it).take(MAX_COMPARED_NAMES))
        };
        let what = ManifestConsistencyProblem::UnknownArgument { name: name.into(), near };
        found.error(manifest_location(&at.with("text"), value), BundleProblemKind::Server(what));
    }
    for (index, value) in elements(prompt.member("arguments")).enumerate() {
        if text(value).is_some_and(|name| !used.contains(&*name)) {
            let path = at.with("arguments").with(&index.to_string());
            found.warn(
                manifest_location(&path, value),
                BundleProblemKind::Server(ManifestConsistencyProblem::UnusedArgument),
            );
        }
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.copied().collect();
    names.sort_unstable();
    names
}

/// Checks that every variable in `mcp_config` is defined, and that every setting is used.
fn check_variables(look: &BundleCheckInput<'_>, found: &mut BundleProblemCollector) {
    let Some(config) = look.root.member("server").and_then(|it| it.member("mcp_config")) else { return };
    let settings: HashSet<Cow<'_, str>> =
        members(look.root.member("user_config")).map(|(key, _)| key).collect();
    let mut used: HashSet<String> = HashSet::new();
    for (path, value) in config_texts(config) {
        let Some(said) = text(value) else { continue };
        for name in variables_in(&said) {
            let what = match name.strip_prefix("user_config.") {
                Some(key) if settings.contains(key) => {
                    used.insert(key.to_owned());
                    continue;
                }
                None if VARIABLES.contains(&name) => continue,
                _ if found.is_full() => {
                    ManifestConsistencyProblem::UnknownVariable { name: String::new(), near: None }
                }
                Some(key) => {
                    let near = nearest(key, settings.iter().map(|it| &**it).take(MAX_COMPARED_NAMES));
                    ManifestConsistencyProblem::UnknownSetting { name: key.to_owned(), near }
                }
                None => {
                    let near = nearest(name, VARIABLES.into_iter());
                    ManifestConsistencyProblem::UnknownVariable { name: name.to_owned(), near }
                }
            };
            found.error(manifest_location(&path, value), BundleProblemKind::Server(what));
        }
    }
    for (key, value) in members(look.root.member("user_config")) {
        if !used.contains(&*key) {
            let path = path(&["user_config", &key]);
            found.warn(
                manifest_location(&path, value),
                BundleProblemKind::Server(ManifestConsistencyProblem::UnusedSetting),
            );
        }
    }
}

/// Returns all texts in which hosts replace variables, with their paths: commands, arguments and values of the
/// environment, of the base and of every platform.
fn config_texts(config: SpannedValue<'_>) -> Vec<(LocaleKeyPath, SpannedValue<'_>)> {
    let top = path(&["server", "mcp_config"]);
    let mut parts = vec![(top.clone(), config)];
    let platforms = members(config.member("platform_overrides"));
    parts.extend(platforms.map(|(name, part)| (top.with("platform_overrides").with(&name), part)));
    let mut texts = Vec::new();
    for (path, part) in parts {
        texts.extend(part.member("command").map(|it| (path.with("command"), it)));
        let args = elements(part.member("args")).enumerate();
        texts.extend(args.map(|(at, it)| (path.with("args").with(&at.to_string()), it)));
        texts.extend(members(part.member("env")).map(|(name, it)| (path.with("env").with(&name), it)));
    }
    texts
}

/// Checks that the type, the default and the bounds of a setting fit each other.
fn check_setting(at: &LocaleKeyPath, setting: SpannedValue<'_>, found: &mut BundleProblemCollector) {
    let kind = setting.member("type").and_then(text).unwrap_or_default();
    let several = setting.member("multiple").is_some_and(|it| it.raw() == "true");
    let number = |name: &str| {
        let value = setting.member(name).filter(|it| it.kind() == JsonKind::Number)?;
        value.raw().parse::<f64>().ok()
    };
    let (min, max) = (number("min"), number("max"));
    if let (Some(least), Some(most), Some(value)) = (min, max, setting.member("min"))
        && least > most
    {
        found.error(
            manifest_location(&at.with("min"), value),
            BundleProblemKind::Server(ManifestConsistencyProblem::Backwards),
        );
    }
    let idle: [(&str, &[&str], &'static str); 4] = [
        ("min", &["number"], "numbers"),
        ("max", &["number"], "numbers"),
        ("sensitive", &["string"], "texts"),
        ("multiple", &["directory", "file"], "directories and files"),
    ];
    for (name, kinds, shown) in idle {
        let Some(value) = setting.member(name).filter(|it| it.raw() != "false") else { continue };
        if !kind.is_empty() && !kinds.contains(&&*kind) {
            found.warn(
                manifest_location(&at.with(name), value),
                BundleProblemKind::Server(ManifestConsistencyProblem::Idle { kinds: shown }),
            );
        }
    }
    let Some(default) = setting.member("default") else { return };
    let wanted = match (&*kind, default.kind()) {
        ("string" | "directory" | "file", JsonKind::Number | JsonKind::Boolean) => "text",
        ("number", JsonKind::String | JsonKind::Boolean | JsonKind::Array) => "number",
        ("boolean", JsonKind::String | JsonKind::Number | JsonKind::Array) => "truth value",
        ("string" | "directory" | "file", JsonKind::Array) if !several => {
            return found.error(
                manifest_location(&at.with("default"), default),
                BundleProblemKind::Server(ManifestConsistencyProblem::SeveralDefaults),
            );
        }
        _ => "",
    };
    if !wanted.is_empty() {
        let what = ManifestConsistencyProblem::OtherDefault { kind: wanted };
        return found.error(manifest_location(&at.with("default"), default), BundleProblemKind::Server(what));
    }
    if let (Some(default_number), "number") = (number("default"), &*kind)
        && (min.is_some_and(|min| default_number < min) || max.is_some_and(|max| default_number > max))
    {
        found.error(
            manifest_location(&at.with("default"), default),
            BundleProblemKind::Server(ManifestConsistencyProblem::DefaultOutOfRange),
        );
    }
    for name in text(default).as_deref().into_iter().flat_map(variables_in) {
        if !VARIABLES.contains(&name) && !found.is_full() {
            let what = ManifestConsistencyProblem::UnknownVariable {
                name: name.into(),
                near: nearest(name, VARIABLES.into_iter()),
            };
            found.error(manifest_location(&at.with("default"), default), BundleProblemKind::Server(what));
        }
    }
}
