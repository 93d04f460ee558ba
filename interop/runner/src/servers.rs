//! Servers and gateways that others meet: one way to start them, and one to end them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use kit::server::Server;
use kit::shell;

use super::cell::Shared;

/// The programs of ours that others meet.
pub(crate) struct Ours {
    pub(crate) attune: PathBuf,
    pub(crate) fixture: PathBuf,
    pub(crate) rmcp: PathBuf,
}

impl Ours {
    /// All of them, built when somebody first asks.
    pub(crate) fn get() -> Result<&'static Self> {
        static OURS: LazyLock<Shared<Ours>> = LazyLock::new(|| Shared::new(Ours::build));
        OURS.get()
    }

    /// All in one go, whoever asks: cargo then builds what they share once.
    fn build() -> Result<Self> {
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
pub(crate) const ANYWHERE: &str = "127.0.0.1:0";
