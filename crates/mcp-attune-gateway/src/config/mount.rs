//! A mount: one upstream and how it is attuned; at the top of a file, or one of several `[mounts.NAME]`.
//!
//! These two files describe the same gateway, except for the path and the name of the mount:
//!
//! ```toml
//! upstream = { url = "http://127.0.0.1:9000/mcp" }
//! headers = { agree = "report" }
//! ```
//!
//! ```toml
//! [mounts.weather]
//! path = "/weather/mcp"
//! upstream = { url = "http://127.0.0.1:9000/mcp" }
//! headers = { agree = "report" }
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use mcp_attune::bind::Bindings;
use mcp_attune::shaping::ShaperSource;
use mcp_attune_files::{FileWatcher, ServerTemplateFiles, ServerTemplatePaths, ToolTemplatePaths};
use mcp_attune_shape::OperatorContent;

use super::auth::AuthConfig;
use super::callers::CallersConfig;
use super::context::ContextConfig;
use super::findings::{ConfigProblem, quoted};
use super::headers::HeadersConfig;
use super::locales::{ContentConfig, LocalesConfig};
use super::reader::{ConfigTableReader, text};
use super::template_paths::TemplatesConfig;
use super::tools::ToolConfig;
use super::upstream::UpstreamConfig;

/// One upstream, the path that callers find it at, and how its requests and answers are adapted.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MountConfig {
    /// The name for logs and metrics: at most 64 ASCII letters, digits, `_` and `-`.
    /// [`MountConfig::DEFAULT_NAME`] where the file has no `[mounts]`.
    pub name: String,
    /// The public path of its endpoint. Default: `/mcp`.
    pub path: MountPath,
    /// `[upstream]`: the server. Always there in a file with `[mounts.NAME]`; otherwise `None` is possible,
    /// and the command line has to name the server.
    pub upstream: Option<UpstreamConfig>,
    /// `[headers]`: what happens when headers and body disagree.
    pub headers: HeadersConfig,
    /// `[locales]`: where translations are.
    pub locales: LocalesConfig,
    /// `[content]`: whether results are adapted.
    pub content: ContentConfig,
    /// `[context]`: what of the caller's context is forwarded.
    pub context: ContextConfig,
    /// `[callers]`: what is assumed of callers that do not say it themselves.
    pub callers: CallersConfig,
    /// `[auth]`: whose tokens are verified, for what they say of their callers. Default: nobody's.
    pub auth: Option<AuthConfig>,
    /// `[tools.NAME]`: settings of single tools, by name.
    pub tools: BTreeMap<String, ToolConfig>,
    /// `[resources."URI"]`: settings of single resources, by URI.
    pub resources: BTreeMap<String, TemplatesConfig>,
    /// `[prompts.NAME]`: settings of single prompts, by name.
    pub prompts: BTreeMap<String, TemplatesConfig>,
}

/// The path of an endpoint: it begins with `/`, and consists of characters that need no decoding, so that it
/// has one spelling only. No empty segments, no `.` and `..`, no slash at the end.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MountPath(String);

impl MountPath {
    /// Returns the path.
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

impl MountConfig {
    /// The name of the only mount of a file without `[mounts]`.
    pub const DEFAULT_NAME: &str = "default";

    /// Returns the arguments that callers' contexts fill, in the type of the rules. Rules: C9.
    #[must_use]
    pub fn bindings(&self) -> Bindings {
        let rules = |tool: &ToolConfig| {
            tool.context.iter().map(|(argument, binding)| (argument.clone(), binding.to_rule())).collect()
        };
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), rules(tool))).collect();
        Bindings::new(tools, self.context.to_forward().precision)
    }

    /// Returns the source of templates: those carried by the program, or files that are added to `watcher`.
    /// `None` if results are not adapted.
    pub(super) fn content_supply(&self, watcher: &mut FileWatcher) -> Option<Arc<dyn ShaperSource>> {
        if !self.content.enabled {
            return None;
        }
        let announce = self.content.announce;
        match OperatorContent::from_embedded(announce, self.content.carried) {
            Ok(carried) if !self.content.carried.is_empty() => return Some(Arc::new(Arc::new(carried))),
            Ok(_) => {}
            Err((file, why)) => tracing::warn!(file, "a template of the program itself is not used: {why}"),
        }
        let shelves = Arc::new(ServerTemplateFiles::new(self.template_locations()));
        watcher.add(shelves.clone());
        Some(shelves)
    }

    /// Returns where the templates and hints of all tools, resources and prompts are.
    pub(crate) fn template_locations(&self) -> ServerTemplatePaths {
        let announce = self.content.announce;
        let tool = |(name, tool): (&String, &ToolConfig)| {
            let ToolConfig { templates, hints, low_priority, .. } = tool.clone();
            (name.clone(), ToolTemplatePaths { templates, hints, low_priority })
        };
        let shaped = |all: &BTreeMap<String, TemplatesConfig>| {
            let named =
                all.iter().filter_map(|(name, shaped)| Some((name.clone(), shaped.templates.clone()?)));
            named.collect()
        };
        let tools = self.tools.iter().map(tool).collect();
        let (resources, prompts) = (shaped(&self.resources), shaped(&self.prompts));
        ServerTemplatePaths { announce, tools, resources, prompts }
    }

    /// Resolves every relative path from a folder.
    pub(super) fn within(&mut self, folder: &Path) {
        self.locales.path = self.locales.path.clone().resolve_from(folder);
        self.tools.values_mut().for_each(|tool| tool.within(folder));
        self.resources.values_mut().chain(self.prompts.values_mut()).for_each(|shaped| shaped.within(folder));
    }
}

impl Default for MountConfig {
    fn default() -> Self {
        Self {
            name: Self::DEFAULT_NAME.to_owned(),
            path: MountPath::default(),
            upstream: None,
            headers: HeadersConfig::default(),
            locales: LocalesConfig::default(),
            content: ContentConfig::default(),
            context: ContextConfig::default(),
            callers: CallersConfig::default(),
            auth: None,
            tools: BTreeMap::new(),
            resources: BTreeMap::new(),
            prompts: BTreeMap::new(),
        }
    }
}

/// Reads the mounts of a file: the only one, whose tables are at the top, or all `[mounts.NAME]`. Then
/// `[headers]`, `[locales]`, `[content]`, `[context]`, `[callers]` and `[auth]` at the top are the defaults of
/// each mount, key by key, and tables that belong to one server may not stand there.
pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>) -> Vec<MountConfig> {
    let base = settings(reader, MountConfig::default());
    let upstream = reader.table("upstream", None, |reader, _| UpstreamConfig::read(reader));
    let (tools, resources, prompts) =
        (tools(reader, &base.context), shaped(reader, "resources"), shaped(reader, "prompts"));
    if !reader.has("mounts") {
        reader.mark_known("mounts");
        return vec![MountConfig { upstream, tools, resources, prompts, ..base }];
    }
    for key in ["upstream", "tools", "resources", "prompts"] {
        let hint = format!("move it into a mount: [mounts.NAME.{key}]");
        reader.report_each_present(&[key], &ConfigProblem::new("stands beside [mounts]", hint));
    }
    let mut paths = BTreeMap::new();
    let mounts = reader.named_tables("mounts", |name, reader| mount(name, reader, &base, &mut paths));
    let mounts: Vec<MountConfig> = mounts.into_iter().map(|(_, mount)| mount).collect();
    if reader.is_empty("mounts") {
        let hint = "add a table [mounts.NAME] with a `path` and an `upstream`, or take [mounts] out";
        reader.report("mounts", ConfigProblem::new("names no server", hint));
    }
    mounts
}

/// Reads one `[mounts.NAME]`. `paths` are the paths of the mounts before it, which must differ. `None` if it
/// has no valid path, which is a finding already.
fn mount(
    name: &str,
    reader: &mut ConfigTableReader<'_, '_, '_>,
    base: &MountConfig,
    paths: &mut BTreeMap<MountPath, String>,
) -> Option<MountConfig> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let hint = "write at most 64 letters, digits, `_` and `-`";
        reader.report_table("has a name that no metric can carry", hint);
    }
    let path = reader.optional("path", |value| parse_mount_path(text(value)?));
    if !reader.has("path") {
        reader.report_table("has no `path`", format!("add `path = \"/{}\"`", suggested_path(name)));
    }
    if let Some(path) = &path
        && let Some(other) = paths.insert(path.clone(), name.to_owned())
    {
        let problem = ConfigProblem::new(
            format!("is the path of [mounts.{}] too", quoted(&other)),
            "give each its own",
        );
        reader.report("path", problem);
    }
    let mount = settings(reader, base.clone());
    let upstream = reader.table("upstream", None, |reader, _| UpstreamConfig::read(reader));
    if !reader.has("upstream") {
        reader.report_table("has no `upstream`", "add a table `upstream` with a `url` or a `command`");
    }
    let (tools, resources, prompts) =
        (tools(reader, &mount.context), shaped(reader, "resources"), shaped(reader, "prompts"));
    Some(MountConfig { name: name.to_owned(), path: path?, upstream, tools, resources, prompts, ..mount })
}

/// Returns a path for the hint about a mount without one: its name, if that is a valid path.
fn suggested_path(name: &str) -> &str {
    if parse_mount_path(&format!("/{name}")).is_ok() { name } else { "mcp" }
}

/// Reads the tables that a mount can have of its own or from the top.
fn settings(reader: &mut ConfigTableReader<'_, '_, '_>, base: MountConfig) -> MountConfig {
    MountConfig {
        headers: reader.table("headers", base.headers, HeadersConfig::read),
        locales: reader.table("locales", base.locales, LocalesConfig::read),
        content: reader.table("content", base.content, ContentConfig::read),
        context: reader.table("context", base.context, ContextConfig::read),
        callers: reader.table("callers", base.callers, CallersConfig::read),
        auth: reader.table("auth", base.auth, AuthConfig::read),
        ..base
    }
}

/// Reads `[tools]`.
fn tools(
    reader: &mut ConfigTableReader<'_, '_, '_>,
    context: &ContextConfig,
) -> BTreeMap<String, ToolConfig> {
    let tools = reader.named_tables("tools", |_, reader| Some(ToolConfig::read(reader, context.coordinates)));
    tools.into_iter().collect()
}

/// Reads `[resources]` or `[prompts]`.
fn shaped(
    reader: &mut ConfigTableReader<'_, '_, '_>,
    key: &'static str,
) -> BTreeMap<String, TemplatesConfig> {
    reader.named_tables(key, |_, reader| Some(TemplatesConfig::read(reader))).into_iter().collect()
}

/// Parses the path of a mount; see [`MountPath`].
fn parse_mount_path(text: &str) -> Result<MountPath, ConfigProblem> {
    let hint = "write a path such as \"/mcp\" or \"/weather/mcp\"";
    let Some(rest) = text.strip_prefix('/') else {
        return Err(ConfigProblem::new("does not begin with a slash", hint));
    };
    // One spelling for each path: nothing to decode, to fold or to join.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    let is_segment = |segment: &str| !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain);
    if rest.split('/').all(is_segment) {
        Ok(MountPath(text.to_owned()))
    } else if rest.ends_with('/') {
        Err(ConfigProblem::new("ends in a slash", "take the slash away"))
    } else {
        Err(ConfigProblem::new("is no plain path", hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for text in ["/mcp", "/a/b-c/d_e.f", "/~me/@v1"] {
            assert_eq!(parse_mount_path(text).unwrap().as_str(), text);
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
            assert_eq!(parse_mount_path(text).unwrap_err().what, what, "{text}");
        }
    }
}
