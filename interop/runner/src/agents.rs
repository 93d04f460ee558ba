//! Agents of other people, which are measured anew: whatever the atlas of clients says of one must still be so.
//!
//! `interop/agents/measure.py` installs an agent, lets it talk to a server and to a model endpoint of ours without any
//! network, and compares what reaches the model with `spec/clients.toml`. Each takes a minute or so and a few hundred megabytes, so that
//! none is part of the quick half.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::cell::Cell;
use super::install::Unavailable;
use kit::shell;

/// The part of `interop/agents/agents.toml` that is of interest here.
#[derive(Deserialize)]
struct AgentFile {
    agent: Vec<Agent>,
}

#[derive(Deserialize)]
struct Agent {
    name: String,
}

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    if quick {
        return Ok(Vec::new());
    }
    let folder = shell::root().join("interop/agents");
    let file = fs::read_to_string(folder.join("agents.toml")).context("interop/agents/agents.toml")?;
    let AgentFile { agent } = toml::from_str(&file).context("interop/agents/agents.toml")?;
    let cells = agent.into_iter().map(|Agent { name }| {
        let script = folder.join("measure.py");
        Cell::new(name.clone(), move || {
            let mut command = Command::new("python3");
            let output = command.arg(script).arg(&name).output().context("python3").context(Unavailable)?;
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            print!("{said}");
            let last = said.lines().next_back().unwrap_or_default();
            Ok(if output.status.success() { Vec::new() } else { vec![format!("agents: {name}: {last}")] })
        })
    });
    Ok(cells.collect())
}
