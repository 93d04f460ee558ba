//! Names that are there twice, variables that nothing stands for, and settings that contradict themselves.

use std::borrow::Cow;
use std::collections::HashSet;

use mcp_attune_wire::json::{Text, Type, Value};

use super::Look;
use super::collect::{Collect, here, path};
use crate::problem::{ServerProblem, What};
use mcp_attune::catalog::Path;
use mcp_attune::near::nearest;

/// How many names are compared with one that is not there, to find the one that was meant.
pub(super) const COMPARED: usize = 1000;

/// What hosts replace in `mcp_config`.
const VARIABLES: [&str; 7] = ["__dirname", "HOME", "DESKTOP", "DOCUMENTS", "DOWNLOADS", "pathSeparator", "/"];

pub(super) fn look(look: &Look<'_>, found: &mut Collect) {
    let root = look.root;
    if let (Some(value), Some(release)) = (root.member("version"), &look.manifest.release)
        && semver::Version::parse(release).is_err()
    {
        found.warn(here(&path(&["version"]), value), What::Server(ServerProblem::NotSemver));
    }
    for list in ["tools", "prompts"] {
        repeated(list, root, found);
    }
    for (at, prompt) in elements(root.member("prompts")).enumerate() {
        arguments(&path(&["prompts", &at.to_string()]), prompt, found);
    }
    variables(look, found);
    for (key, setting) in members(root.member("user_config")) {
        setting_agrees(&path(&["user_config", &key]), setting, found);
    }
}

pub(super) fn elements(value: Option<Value<'_>>) -> impl Iterator<Item = Value<'_>> {
    value.filter(|it| it.kind() == Type::Array).into_iter().flat_map(Value::elements)
}

fn members(value: Option<Value<'_>>) -> impl Iterator<Item = (Cow<'_, str>, Value<'_>)> {
    let value = value.filter(|it| it.kind() == Type::Object);
    value.into_iter().flat_map(|it| it.members().filter_map(|(name, value)| Some((name.decode()?, value))))
}

pub(super) fn text(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.text().and_then(Text::decode)
}

fn repeated(list: &str, root: Value<'_>, found: &mut Collect) {
    let mut known = HashSet::new();
    for (at, entry) in elements(root.member(list)).enumerate() {
        let Some(value) = entry.member("name") else { continue };
        if text(value).is_some_and(|name| !known.insert(name)) {
            let path = path(&[list, &at.to_string(), "name"]);
            found.error(here(&path, value), What::Server(ServerProblem::RepeatedName));
        }
    }
}

/// The names of the variables in a text.
fn variables_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Whether what a prompt's text has and what it asks for are the same.
fn arguments(at: &Path, prompt: Value<'_>, found: &mut Collect) {
    let Some((value, said)) = prompt.member("text").and_then(|it| Some((it, text(it)?))) else { return };
    let declared: Vec<Cow<'_, str>> = elements(prompt.member("arguments")).filter_map(text).collect();
    let known: HashSet<&str> = declared.iter().map(|it| &**it).collect();
    let used: HashSet<&str> =
        variables_in(&said).filter_map(|name| name.strip_prefix("arguments.")).collect();
    for name in sorted(used.iter().filter(|name| !known.contains(**name))) {
        let near =
            if found.full() { None } else { nearest(name, declared.iter().map(|it| &**it).take(COMPARED)) };
        let what = ServerProblem::UnknownArgument { name: name.into(), near };
        found.error(here(&at.with("text"), value), What::Server(what));
    }
    for (index, value) in elements(prompt.member("arguments")).enumerate() {
        if text(value).is_some_and(|name| !used.contains(&*name)) {
            let path = at.with("arguments").with(&index.to_string());
            found.warn(here(&path, value), What::Server(ServerProblem::UnusedArgument));
        }
    }
}

fn sorted<'a>(names: impl Iterator<Item = &'a &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.copied().collect();
    names.sort_unstable();
    names
}

/// Whether every variable of `mcp_config` stands for something, and every setting is used.
fn variables(look: &Look<'_>, found: &mut Collect) {
    let Some(config) = look.root.member("server").and_then(|it| it.member("mcp_config")) else { return };
    let settings: HashSet<Cow<'_, str>> =
        members(look.root.member("user_config")).map(|(key, _)| key).collect();
    let mut used: HashSet<String> = HashSet::new();
    for (path, value) in texts(config) {
        let Some(said) = text(value) else { continue };
        for name in variables_in(&said) {
            let what = match name.strip_prefix("user_config.") {
                Some(key) if settings.contains(key) => {
                    used.insert(key.to_owned());
                    continue;
                }
                None if VARIABLES.contains(&name) => continue,
                _ if found.full() => ServerProblem::UnknownVariable { name: String::new(), near: None },
                Some(key) => {
                    let near = nearest(key, settings.iter().map(|it| &**it).take(COMPARED));
                    ServerProblem::UnknownSetting { name: key.to_owned(), near }
                }
                None => {
                    let near = nearest(name, VARIABLES.into_iter());
                    ServerProblem::UnknownVariable { name: name.to_owned(), near }
                }
            };
            found.error(here(&path, value), What::Server(what));
        }
    }
    for (key, value) in members(look.root.member("user_config")) {
        if !used.contains(&*key) {
            let path = path(&["user_config", &key]);
            found.warn(here(&path, value), What::Server(ServerProblem::UnusedSetting));
        }
    }
}

/// The texts of `mcp_config` that hosts replace variables in.
fn texts(config: Value<'_>) -> Vec<(Path, Value<'_>)> {
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

/// Whether a setting's type, default and bounds fit each other.
fn setting_agrees(at: &Path, setting: Value<'_>, found: &mut Collect) {
    let kind = setting.member("type").and_then(text).unwrap_or_default();
    let several = setting.member("multiple").is_some_and(|it| it.raw() == "true");
    let number = |name: &str| {
        let value = setting.member(name).filter(|it| it.kind() == Type::Number)?;
        value.raw().parse::<f64>().ok()
    };
    let (min, max) = (number("min"), number("max"));
    if let (Some(least), Some(most), Some(value)) = (min, max, setting.member("min"))
        && least > most
    {
        found.error(here(&at.with("min"), value), What::Server(ServerProblem::Backwards));
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
            found.warn(here(&at.with(name), value), What::Server(ServerProblem::Idle { kinds: shown }));
        }
    }
    let Some(default) = setting.member("default") else { return };
    let wanted = match (&*kind, default.kind()) {
        ("string" | "directory" | "file", Type::Number | Type::Boolean) => "text",
        ("number", Type::String | Type::Boolean | Type::Array) => "number",
        ("boolean", Type::String | Type::Number | Type::Array) => "truth value",
        ("string" | "directory" | "file", Type::Array) if !several => {
            return found
                .error(here(&at.with("default"), default), What::Server(ServerProblem::SeveralDefaults));
        }
        _ => "",
    };
    if !wanted.is_empty() {
        let what = ServerProblem::OtherDefault { kind: wanted };
        return found.error(here(&at.with("default"), default), What::Server(what));
    }
    if let (Some(default_number), "number") = (number("default"), &*kind)
        && (min.is_some_and(|min| default_number < min) || max.is_some_and(|max| default_number > max))
    {
        found.error(here(&at.with("default"), default), What::Server(ServerProblem::DefaultOutOfRange));
    }
    for name in text(default).as_deref().into_iter().flat_map(variables_in) {
        if !VARIABLES.contains(&name) && !found.full() {
            let what = ServerProblem::UnknownVariable {
                name: name.into(),
                near: nearest(name, VARIABLES.into_iter()),
            };
            found.error(here(&at.with("default"), default), What::Server(what));
        }
    }
}
