//! Entries of an operator, read from the configuration of a gateway.

use std::path::Path;

use anyhow::Context;
use mcp_attune_gateway::config::{CallersConfig, Config, MountConfig, ProfileSetting};

use super::SourcedAtlas;
use crate::exit::hinted;

/// Reads the entries of a mount, in front of the built-in ones. Without a name, all mounts have to have the same.
pub(super) fn read(file: &Path, mount: Option<&str>) -> anyhow::Result<SourcedAtlas> {
    let named = || format!("could not use {}", file.display());
    let config = Config::load(file).with_context(named)?;
    let callers = callers(&config.mounts, mount).with_context(named)?;
    Ok(SourcedAtlas {
        atlas: callers.clients.clone(),
        file: Some(file.display().to_string()),
        is_off: callers.profile == ProfileSetting::Off,
    })
}

/// Returns the `[callers]` of the mount that is meant.
fn callers<'c>(mounts: &'c [MountConfig], name: Option<&str>) -> anyhow::Result<&'c CallersConfig> {
    let (found, why) = match name {
        Some(name) => (mounts.iter().find(|mount| mount.name == name), "there is no such mount"),
        None => {
            let same = |one: &&MountConfig| {
                let is_same = |other: &MountConfig| {
                    (&other.callers.clients, other.callers.profile)
                        == (&one.callers.clients, one.callers.profile)
                };
                mounts.iter().all(is_same)
            };
            (mounts.first().filter(same), "its mounts have different entries")
        }
    };
    found.map(|mount| &mount.callers).ok_or_else(|| {
        let names: Vec<_> = mounts.iter().map(|mount| format!("--mount {}", mount.name)).collect();
        hinted(why, format!("add {}", names.join(" or ")))
    })
}

/// Says that no entry counts.
pub(super) fn off_sentence(file: &str) -> String {
    format!("Nothing of it counts: `profile` in [callers] of {file} is \"off\".")
}
