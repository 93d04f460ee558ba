//! Variables for the program that a command starts.

use mcp_attune_gateway::config::{SecretEnv, UpstreamConfig, UpstreamTarget};

use crate::exit::hinted;

/// Variables on a command line.
#[derive(clap::Args)]
pub(crate) struct ChildEnv {
    /// A variable for the program's environment; without a value, the one that it has here. The program gets the whole
    /// environment of this command but what is Attune's own (ATTUNE_…)
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
}

impl ChildEnv {
    /// Whether anything is said.
    pub(crate) fn is_some(&self) -> bool {
        !self.env.is_empty()
    }

    /// Adds them to what the program gets.
    pub(crate) fn apply_env(&self, upstream: Option<&mut UpstreamConfig>) -> anyhow::Result<()> {
        if self.env.is_empty() {
            return Ok(());
        }
        let Some(UpstreamTarget::Stdio(child)) = upstream.map(|upstream| &mut upstream.target) else {
            let hint =
                "name the program after `--`, or leave --env out: a server at a URL has its own environment";
            return Err(hinted("--env is for a program, and there is none", hint));
        };
        let mut all: Vec<_> =
            child.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for given in &self.env {
            all.push(parse_env(given)?);
        }
        child.env = all.into_iter().collect::<SecretEnv>();
        Ok(())
    }
}

fn parse_env(given: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = match given.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => {
            let unset = || hinted(format!("--env {given}: it is not set here"), "write --env NAME=VALUE");
            (given, std::env::var(given).map_err(|_| unset())?)
        }
    };
    if name.is_empty() {
        return Err(hinted("--env has no name", "write --env NAME=VALUE"));
    }
    Ok((name.to_owned(), value))
}
