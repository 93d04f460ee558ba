//! What each role types: `interop/roles/roles.toml`.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use kit::shell;

/// A person, and the first hour of theirs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Role {
    pub(super) name: String,
    /// Whether the script needs nothing but Attune, so that CI can run it.
    #[serde(default)]
    pub(super) quick: bool,
    #[serde(rename = "step")]
    pub(super) steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    /// A file that the person writes.
    Write {
        write: String,
        text: String,
    },
    /// A server that goes on until the role is over; its address is `{named}` from then on.
    Start {
        start: String,
        named: String,
    },
    Run(Run),
}

/// A command, and what is expected of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    pub(super) run: String,
    #[serde(default)]
    pub(super) exit: i32,
    /// What its output has to contain.
    #[serde(default)]
    pub(super) shows: Vec<String>,
    /// What its output must not contain.
    #[serde(default)]
    pub(super) hides: Vec<String>,
    /// Whether it runs on a terminal of 100 columns.
    #[serde(default)]
    pub(super) terminal: bool,
    /// On a terminal: questions, and the line that is typed when each was shown.
    #[serde(default)]
    pub(super) types: Vec<(String, String)>,
    /// Whether the person got what they came for.
    #[serde(default)]
    pub(super) success: bool,
}

pub(super) fn read() -> Result<Vec<Role>> {
    #[derive(Deserialize)]
    struct Roles {
        role: Vec<Role>,
    }
    let file = shell::root().join("interop/roles/roles.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let Roles { role } = toml::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_succeeds_at_something_and_looks_at_what_it_runs() {
        let roles = read().unwrap();
        assert_eq!(roles.len(), 8);
        for role in roles {
            let runs: Vec<&Run> = role
                .steps
                .iter()
                .filter_map(|step| if let Step::Run(run) = step { Some(run) } else { None })
                .collect();
            assert!(runs.iter().any(|run| run.success), "{} never succeeds", role.name);
            for run in runs {
                let looks = run.exit != 0 || !run.shows.is_empty() || !run.hides.is_empty();
                assert!(looks, "{}: nothing is expected of `{}`", role.name, run.run);
            }
        }
    }
}
