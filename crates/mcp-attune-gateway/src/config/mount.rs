//! One server behind the gateway, and `[mounts.NAME]` for several.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mcp_attune::bind::Bindings;
use mcp_attune::shaping::Supply;
use mcp_attune_files::{Places, Shelves, ToolPlaces, Watcher};
use mcp_attune_shape::Content as OperatorContent;

use super::context::Context;
use super::findings::{Problem, quoted};
use super::headers::Headers;
use super::locales::{Content, Locales};
use super::reader::{Reader, text};
use super::shaped::Shaped;
use super::tools::Tool;
use super::upstream::Upstream;

/// One server behind the gateway, and how it is attuned.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Mount {
    /// The name for logs and metrics; [`Mount::ALONE`] where the file names none.
    pub name: String,
    /// Where callers find it.
    pub path: MountPath,
    /// The server. Always there in a file with `[mounts.NAME]`; elsewhere the command line may name it.
    pub upstream: Option<Upstream>,
    /// What happens when headers and body disagree.
    pub headers: Headers,
    /// Where translations are.
    pub locales: Locales,
    /// Whether results are adapted.
    pub content: Content,
    /// What of the caller's context goes on.
    pub context: Context,
    /// The tools that there is something to say about.
    pub tools: BTreeMap<String, Tool>,
    /// The resources that there is something to say about, by URI.
    pub resources: BTreeMap<String, Shaped>,
    /// The prompts that there is something to say about.
    pub prompts: BTreeMap<String, Shaped>,
}

/// The path of an endpoint: it begins with `/`, and is the same text in every request for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MountPath(String);

impl MountPath {
    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for MountPath {
    fn default() -> Self {
        Self("/mcp".to_owned())
    }
}

impl fmt::Display for MountPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Mount {
    /// The name of the one server that has no name.
    pub const ALONE: &str = "default";

    /// The arguments that contexts fill, as the rules want them. Rules: C9.
    #[must_use]
    pub fn bindings(&self) -> Bindings {
        let rules = |tool: &Tool| {
            tool.context.iter().map(|(argument, binding)| (argument.clone(), binding.to_rule())).collect()
        };
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), rules(tool))).collect();
        Bindings::new(tools, self.context.to_forward().precision)
    }

    /// How answers are shaped, where they are; `watcher` follows the files.
    pub(super) fn supply(&self, watcher: &mut Watcher) -> Option<Arc<dyn Supply>> {
        if !self.content.enabled {
            return None;
        }
        let announce = self.content.announce;
        match OperatorContent::carried(announce, self.content.carried) {
            Ok(carried) if !self.content.carried.is_empty() => return Some(Arc::new(Arc::new(carried))),
            Ok(_) => {}
            Err((file, why)) => tracing::warn!(file, "a template of the program itself is not used: {why}"),
        }
        let shelves = Arc::new(Shelves::new(self.places()));
        watcher.add(shelves.clone());
        Some(shelves)
    }

    /// Where the templates and hints are.
    pub(crate) fn places(&self) -> Places {
        let announce = self.content.announce;
        let tool = |(name, tool): (&String, &Tool)| {
            let Tool { templates, hints, low_priority, .. } = tool.clone();
            (name.clone(), ToolPlaces { templates, hints, low_priority })
        };
        let shaped = |all: &BTreeMap<String, Shaped>| {
            let named =
                all.iter().filter_map(|(name, shaped)| Some((name.clone(), shaped.templates.clone()?)));
            named.collect()
        };
        let tools = self.tools.iter().map(tool).collect();
        let (resources, prompts) = (shaped(&self.resources), shaped(&self.prompts));
        Places { announce, tools, resources, prompts }
    }

    /// Sees every path from a folder where it is relative.
    pub(super) fn within(&mut self, folder: &Path) {
        self.locales.path = self.locales.path.clone().within(folder);
        self.tools.values_mut().for_each(|tool| tool.within(folder));
        self.resources.values_mut().chain(self.prompts.values_mut()).for_each(|shaped| shaped.within(folder));
    }
}

impl Default for Mount {
    fn default() -> Self {
        Self {
            name: Self::ALONE.to_owned(),
            path: MountPath::default(),
            upstream: None,
            headers: Headers::default(),
            locales: Locales::default(),
            content: Content::default(),
            context: Context::default(),
            tools: BTreeMap::new(),
            resources: BTreeMap::new(),
            prompts: BTreeMap::new(),
        }
    }
}

/// Reads the one server of a file, or the several. What the file says of headers, locales, content and context at
/// its top holds for each mount, key by key, unless the mount says otherwise; a server and what it has belong to one.
pub(super) fn read(reader: &mut Reader<'_, '_, '_>) -> Vec<Mount> {
    let base = settings(reader, Mount::default());
    let upstream = reader.table("upstream", None, |reader, _| Upstream::read(reader));
    let (tools, resources, prompts) =
        (tools(reader, &base.context), shaped(reader, "resources"), shaped(reader, "prompts"));
    if !reader.has("mounts") {
        reader.skip("mounts");
        return vec![Mount { upstream, tools, resources, prompts, ..base }];
    }
    for key in ["upstream", "tools", "resources", "prompts"] {
        let hint = format!("move it into a mount: [mounts.NAME.{key}]");
        reader.refuse(&[key], &Problem::new("stands beside [mounts]", hint));
    }
    let mut paths = BTreeMap::new();
    let mounts = reader.named("mounts", |name, reader| mount(name, reader, &base, &mut paths));
    let mounts: Vec<Mount> = mounts.into_iter().map(|(_, mount)| mount).collect();
    if reader.is_empty("mounts") {
        let hint = "add a table [mounts.NAME] with a `path` and an `upstream`, or take [mounts] out";
        reader.wrong("mounts", Problem::new("names no server", hint));
    }
    mounts
}

fn mount(
    name: &str,
    reader: &mut Reader<'_, '_, '_>,
    base: &Mount,
    paths: &mut BTreeMap<MountPath, String>,
) -> Option<Mount> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let hint = "write at most 64 letters, digits, `_` and `-`";
        reader.wrong_table("has a name that no metric can carry", hint);
    }
    let path = reader.optional("path", |value| mount_path(text(value)?));
    if !reader.has("path") {
        reader.wrong_table("has no `path`", format!("add `path = \"/{}\"`", suggested(name)));
    }
    if let Some(path) = &path
        && let Some(other) = paths.insert(path.clone(), name.to_owned())
    {
        let problem =
            Problem::new(format!("is the path of [mounts.{}] too", quoted(&other)), "give each its own");
        reader.wrong("path", problem);
    }
    let mount = settings(reader, base.clone());
    let upstream = reader.table("upstream", None, |reader, _| Upstream::read(reader));
    if !reader.has("upstream") {
        reader.wrong_table("has no `upstream`", "add a table `upstream` with a `url` or a `command`");
    }
    let (tools, resources, prompts) =
        (tools(reader, &mount.context), shaped(reader, "resources"), shaped(reader, "prompts"));
    Some(Mount { name: name.to_owned(), path: path?, upstream, tools, resources, prompts, ..mount })
}

/// A path for a mount that has none: its name, where it can be one.
fn suggested(name: &str) -> &str {
    if mount_path(&format!("/{name}")).is_ok() { name } else { "mcp" }
}

/// What a mount can have of its own or from the top.
fn settings(reader: &mut Reader<'_, '_, '_>, base: Mount) -> Mount {
    Mount {
        headers: reader.table("headers", base.headers, Headers::read),
        locales: reader.table("locales", base.locales, Locales::read),
        content: reader.table("content", base.content, Content::read),
        context: reader.table("context", base.context, Context::read),
        ..base
    }
}

fn tools(reader: &mut Reader<'_, '_, '_>, context: &Context) -> BTreeMap<String, Tool> {
    let tools = reader.named("tools", |_, reader| Some(Tool::read(reader, context.coordinates)));
    tools.into_iter().collect()
}

fn shaped(reader: &mut Reader<'_, '_, '_>, key: &'static str) -> BTreeMap<String, Shaped> {
    reader.named(key, |_, reader| Some(Shaped::read(reader))).into_iter().collect()
}

fn mount_path(text: &str) -> Result<MountPath, Problem> {
    let hint = "write a path such as \"/mcp\" or \"/weather/mcp\"";
    let Some(rest) = text.strip_prefix('/') else {
        return Err(Problem::new("does not begin with a slash", hint));
    };
    // One spelling for each path: nothing to decode, to fold or to join.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain);
    if rest.split('/').all(is_segment) {
        Ok(MountPath(text.to_owned()))
    } else if rest.ends_with('/') {
        Err(Problem::new("ends in a slash", "take the slash away"))
    } else {
        Err(Problem::new("is no plain path", hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for text in ["/mcp", "/a/b-c/d_e.f", "/~me/@v1"] {
            assert_eq!(mount_path(text).unwrap().as_str(), text);
        }
        for (text, what) in [
            ("", "does not begin with a slash"),
            ("mcp", "does not begin with a slash"),
            ("/mcp/", "ends in a slash"),
            ("/", "is no plain path"),
            ("//mcp", "is no plain path"),
            ("/a/../b", "is no plain path"),
            ("/a/./b", "is no plain path"),
            ("/a%2fb", "is no plain path"),
            ("/a b", "is no plain path"),
            ("/a?b", "is no plain path"),
            ("/a#b", "is no plain path"),
            ("/é", "is no plain path"),
        ] {
            assert_eq!(mount_path(text).unwrap_err().what, what, "{text}");
        }
    }
}
