//! Checks whether the entries for clients that an operator wrote can count.

use super::{ConfigIssue, IssueSeverity, MountSettingKeys};
use crate::config::{Config, MountConfig, ProfileSetting, SettingPositions};

/// Checks the entries of a mount: without `profile = "auto"` none counts, which is a warning. Entries at the top may be
/// for some of the mounts only, so they are fine if they count in one.
pub(super) fn inspect(
    config: &Config,
    mount: &MountConfig,
    keys: MountSettingKeys<'_>,
    positions: Option<&SettingPositions<'_>>,
) -> Option<ConfigIssue> {
    const CLIENTS: [&str; 2] = ["callers", "clients"];
    let counts = |mount: &MountConfig| mount.callers.profile == ProfileSetting::Auto;
    if counts(mount) || mount.callers.clients.added().is_empty() {
        return None;
    }
    let is_own = positions.is_some_and(|positions| positions.find(&keys.key(&CLIENTS)).is_some());
    if !is_own && config.mounts.iter().any(counts) {
        return None;
    }
    let key = if is_own { keys.key(&CLIENTS) } else { CLIENTS.map(str::to_owned).to_vec() };
    let says = "there are entries for clients, and no profile counts";
    let hint = "set `profile = \"auto\"` in [callers], or take the entries out";
    Some(ConfigIssue::new("clients", IssueSeverity::Warning, key).with_message(says, hint))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::super::{InspectionDepth, inspect};
    use super::*;

    /// The keys of all issues about clients.
    fn keys(text: &str) -> Vec<String> {
        let config = Config::parse(text, "attune.toml").unwrap_or_else(|findings| panic!("{findings}"));
        let positions = SettingPositions::new(text);
        let issues = inspect(&config, Some(&positions), InspectionDepth::Names, SystemTime::now());
        let issues = issues.into_iter().filter(|issue| issue.what == "clients");
        issues.map(|issue| issue.key.join(".")).collect()
    }

    #[test]
    fn entries_that_cannot_count_are_a_warning() {
        let entry = "[callers.clients.acme]\nreads = 'both'\n";
        assert_eq!(keys(entry), ["callers.clients"]);
        assert_eq!(keys(&format!("[callers]\nprofile = 'auto'\n{entry}")), [""; 0]);
        assert_eq!(keys("[callers]\nprofile = 'off'\n"), [""; 0]);
    }

    #[test]
    fn entries_at_the_top_count_where_a_mount_lets_them() {
        let mount = |name: &str, profile: &str, more: &str| {
            format!(
                "[mounts.{name}]\npath = '/{name}'\nupstream.url = 'http://127.0.0.1:1/'\ncallers.profile = '{profile}'\n{more}"
            )
        };
        let top = "[callers.clients.acme]\nreads = 'both'\n";
        assert_eq!(keys(&[top, &mount("a", "off", ""), &mount("b", "auto", "")].concat()), [""; 0]);
        assert_eq!(
            keys(&[top, &mount("a", "off", ""), &mount("b", "off", "")].concat()),
            ["callers.clients"]
        );
        let own = "callers.clients.here.features = []\n";
        let file = [top, &mount("a", "off", own), &mount("b", "auto", own)].concat();
        assert_eq!(keys(&file), ["mounts.a.callers.clients"]);
    }
}
