//! Servers and gateways that others meet: one way to start them, and one to end them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, Result};

use super::install;
use super::running::Running;
use crate::shell;

/// The programs of ours that others meet.
pub(crate) struct Ours {
    pub(crate) attune: PathBuf,
    pub(crate) fixture: PathBuf,
    pub(crate) rmcp: PathBuf,
}

impl Ours {
    /// All in one go, whoever asks: cargo then builds what they share once.
    pub(crate) fn build() -> Result<Self> {
        let packages = "-p mcp-attune-cli -p attune-fixture -p attune-interop-rmcp";
        let [attune, fixture, rmcp] =
            shell::programs(packages, ["attune", "attune-fixture", "interop-rmcp"])?;
        Ok(Self { attune, fixture, rmcp })
    }

    /// The server that the referee judges.
    pub(crate) fn fixture(&self, arguments: &[&str]) -> Result<Server> {
        let mut command = Command::new(&self.fixture);
        Server::start(command.args(arguments).args(["--listen", ANYWHERE]), "fixture")
    }

    /// The gateway, at free ports, in front of what `arguments` say.
    pub(crate) fn gateway(&self, arguments: &[&str], log: &str) -> Result<Server> {
        let mut command = Command::new(&self.attune);
        command.args(["serve", "--listen", ANYWHERE, "--admin", ANYWHERE]).args(arguments);
        Server::start(&mut command, log).context("the gateway")
    }

    /// The gateway in front of a server.
    pub(crate) fn in_front_of(&self, server: &Server, log: &str) -> Result<Server> {
        self.gateway(&["--upstream", &server.url], log)
    }
}

/// A port that is free.
pub(super) const ANYWHERE: &str = "127.0.0.1:0";

/// A program that serves HTTP, until this is dropped.
pub(crate) struct Server {
    pub(crate) url: String,
    running: Running,
    /// Kept open: a program that goes on writing would fail if nobody could read it.
    _out: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a program whose first line says where it is. Its complaints go to the log of that name.
    pub(crate) fn start(command: &mut Command, log: &str) -> Result<Self> {
        let file = install::log(log)?;
        let mut running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file))?;
        let mut out = BufReader::new(running.output().context("a server has no output")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url =
            url.with_context(|| format!("{} did not say where it is; its log is {log}.log", running.name()))?;
        Ok(Self { url: url.to_owned(), running, _out: out })
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.running.id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_says_nothing_is_an_error() {
        assert!(Server::start(&mut Command::new("true"), "nobody").is_err());
    }
}
