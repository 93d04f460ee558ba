//! Checks whether a server has the tools and arguments that a configuration names.
//!
//! This is the one check that needs the server's own words. The running gateway does the same by itself when
//! it starts (see `server_check`), and logs what it finds.

use mcp_attune::exchange::listing::takes_argument;
use mcp_attune::shaping::ShaperSource;
use mcp_attune_files::ServerTemplateFiles;
use mcp_attune_wire::message::Message;

use super::{ConfigIssue, IssueSeverity, MountSettingKeys};
use crate::config::{Config, MountConfig};

/// Compares the bindings, templates and language arguments of a mount with all pages of the server's
/// `tools/list`, and returns what the server does not have. Everything found is an error: a binding to an
/// argument that does not exist fills nothing.
///
/// The caller has asked the server, and has the answer to every page. See [`inspect`](super::inspect) for
/// everything that can be checked without it.
#[must_use]
pub fn inspect_tools(config: &Config, mount: &MountConfig, pages: &[Message<'_>]) -> Vec<ConfigIssue> {
    let keys = MountSettingKeys {
        mount: (config.mounts.len() > 1 || mount.name != MountConfig::DEFAULT_NAME).then_some(mount),
    };
    let error = |names: &[&str]| ConfigIssue::new("tools", IssueSeverity::Error, keys.key(names));
    let mut issues = Vec::new();
    for finding in mount.bindings().check(pages, true) {
        let names = ["tools", finding.tool.as_str(), "context", finding.argument.as_str()];
        issues.push(
            error(names.get(..4 - usize::from(finding.argument.is_empty())).unwrap_or(&names))
                .with_message(finding.what(), finding.hint()),
        );
    }
    if mount.content.enabled && mount.content.carried.is_empty() {
        for finding in
            ServerTemplateFiles::new(mount.template_locations()).current_shaper().check(pages, true)
        {
            // Templates lie beside the configuration, which need not name their tool.
            let tool = Some(finding.tool.as_str()).filter(|tool| mount.tools.contains_key(*tool));
            let names: Vec<&str> = ["tools"].into_iter().chain(tool).collect();
            // A tool that is not there was told already where it has bindings.
            let known =
                |issue: &ConfigIssue| finding.is_tool_missing && issue.key.starts_with(&keys.key(&names));
            if !issues.iter().any(known) {
                let says = format!("{}: {}", finding.place, finding.what);
                let hint = finding.hint.as_deref().unwrap_or("see `attune tools`");
                issues.push(error(&names).with_message(says, hint));
            }
        }
    }
    issues.extend(language_arguments(mount, pages, error));
    issues
}

/// Returns an issue for each `language_argument` that its tool does not have.
fn language_arguments(
    mount: &MountConfig,
    pages: &[Message<'_>],
    error: impl Fn(&[&str]) -> ConfigIssue,
) -> Vec<ConfigIssue> {
    let mut issues = Vec::new();
    for (name, argument) in
        mount.tools.iter().filter_map(|(name, tool)| Some((name, tool.language_argument.as_deref()?)))
    {
        let issue = || error(&["tools", name, "language_argument"]);
        match takes_argument(pages, name, argument) {
            None => {
                issues.push(issue().with_message(
                    format!("the server lists no tool `{name}`"),
                    "see what `attune tools` lists",
                ));
            }
            Some(false) => {
                let says = format!("the tool has no argument `{argument}`");
                issues.push(issue().with_message(says, "see its arguments with `attune tools`"));
            }
            Some(true) => {}
        }
    }
    issues
}
