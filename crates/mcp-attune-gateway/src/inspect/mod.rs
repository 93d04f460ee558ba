//! Checks whether what a configuration names is there and can be used: locale files, templates, certificates,
//! programs.
//!
//! 1. A configuration that was parsed is right in itself. Here the files that it names are looked at, and
//!    nothing is changed.
//! 2. What keeps callers from getting what the operator configured is an error: a folder, a template or a
//!    program that is not there, a file that cannot be used. What may be intended is a warning.
//! 3. `attune config check` reads every file whole ([`InspectionDepth::Contents`]). A gateway that starts, or
//!    is reconfigured, only looks whether they are there ([`InspectionDepth::Names`]): what is wrong in them
//!    is logged by whoever reads them.

mod validity;

mod clients;
mod locales;
mod server;
mod templates;
mod tls;

use std::time::SystemTime;

use crate::child;
use crate::config::{Config, MountConfig, SettingPositions, UpstreamTarget};

pub use server::inspect_tools;

/// Something that a configuration names and that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ConfigIssue {
    /// What it is about, in one word: `clients`, `locales`, `templates`, `tls`, `upstream` or
    /// `tools`.
    pub what: &'static str,
    /// The setting, name by name: `["server", "tls", "cert"]`. Empty for the configuration as a whole.
    pub key: Vec<String>,
    /// The file that it is about, with line and column where they are known: `locales/de.json:3:7`. `None` if
    /// it is about the configuration itself.
    pub place: Option<String>,
    /// How grave it is.
    pub severity: IssueSeverity,
    /// What is wrong.
    pub says: String,
    /// What to do about it.
    pub hint: String,
}

/// How grave an issue is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IssueSeverity {
    /// Something that was configured does not work.
    Error,
    /// It works, and may not be what was meant.
    Warning,
}

impl IssueSeverity {
    /// Returns `error` or `warning`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// How closely files are looked at. The certificate is always read whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InspectionDepth {
    /// Only whether they are there. Cheap enough for every start and reload.
    Names,
    /// Also what is in them: every file is read and compiled.
    Contents,
}

impl ConfigIssue {
    /// Makes an issue about a setting, without a message yet.
    fn new(what: &'static str, severity: IssueSeverity, key: Vec<String>) -> Self {
        Self { what, key, place: None, severity, says: String::new(), hint: String::new() }
    }

    /// Sets the file that it is about.
    fn with_place(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// Sets what is wrong and what to do.
    fn with_message(self, says: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { says: says.into(), hint: hint.into(), ..self }
    }
}

/// Looks at everything that a configuration names, and returns what is wrong. Blocks on the disk.
///
/// `positions` are those of the file that the configuration was read from, by which a default is told from a
/// setting; `None` if there is no file. `now` decides whether the certificate has expired.
#[must_use]
pub fn inspect(
    config: &Config,
    positions: Option<&SettingPositions<'_>>,
    depth: InspectionDepth,
    now: SystemTime,
) -> Vec<ConfigIssue> {
    let mut issues = Vec::new();
    if let Some(tls) = &config.server.tls {
        issues.extend(tls::inspect(tls, now));
    }
    let mut seen = Vec::new();
    for mount in &config.mounts {
        let keys = MountSettingKeys {
            mount: (config.mounts.len() > 1 || mount.name != MountConfig::DEFAULT_NAME).then_some(mount),
        };
        issues.extend(upstream(config, mount, keys));
        // Several mounts can have the same files.
        if !seen.contains(&&mount.locales.path) {
            seen.push(&mount.locales.path);
            issues.extend(locales::inspect(config, mount, keys, positions, depth));
        }
        issues.extend(templates::inspect(mount, keys, depth));
        // Entries at the top are those of every mount.
        let about_clients = clients::inspect(config, mount, keys, positions);
        issues.extend(about_clients.filter(|issue| !issues.contains(issue)).into_iter().collect::<Vec<_>>());
    }
    issues
}

/// Logs what is missing at a start or reload, as warnings. What keeps a gateway from serving at all is left
/// out, because it is reported as the error of the start or the reload.
pub(crate) fn log_issues(config: &Config) {
    for issue in inspect(config, None, InspectionDepth::Names, SystemTime::now()) {
        let ConfigIssue { what, key, severity, says, hint, .. } = issue;
        if what != "upstream" && !(what == "tls" && severity == IssueSeverity::Error) {
            tracing::warn!("`{}`: {says}; {hint}", key.join("."));
        }
    }
}

/// Names the settings of one mount as they stand in the file.
#[derive(Clone, Copy, Debug)]
struct MountSettingKeys<'c> {
    /// `None` if the settings of the only server stand at the top.
    mount: Option<&'c MountConfig>,
}

impl MountSettingKeys<'_> {
    /// Returns the whole name of a setting: `mounts.NAME` before it where the file has `[mounts]`.
    fn key(self, names: &[&str]) -> Vec<String> {
        let mount = self.mount.map(|mount| ["mounts", mount.name.as_str()]);
        mount.iter().flatten().chain(names).map(|name| (*name).to_owned()).collect()
    }

    /// Returns whether the file sets it, in the mount or at the top for all mounts.
    fn is_set(self, names: &[&str], positions: &SettingPositions<'_>) -> bool {
        positions.find(&self.key(names)).is_some() || positions.find(names).is_some()
    }
}

/// Checks that a mount names a server, and that its program can be found. Servers over HTTP are not
/// contacted.
fn upstream(config: &Config, mount: &MountConfig, keys: MountSettingKeys<'_>) -> Option<ConfigIssue> {
    let Some(upstream) = &mount.upstream else {
        let says = "no server is named";
        let hint = "add [upstream] with a `url` or a `command`, or name the server on the command line";
        return Some(
            ConfigIssue::new("upstream", IssueSeverity::Warning, Vec::new()).with_message(says, hint),
        );
    };
    let UpstreamTarget::Stdio(program) = &upstream.target else { return None };
    let missing =
        child::ChildOptions::new(&mount.name, program, &config.limits).check_program_exists().err()?;
    let issue = ConfigIssue::new("upstream", IssueSeverity::Error, keys.key(&["upstream", "command"]));
    Some(issue.with_message(missing.what(), missing.hint().unwrap_or("try it by itself first")))
}
