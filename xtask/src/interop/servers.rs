//! Servers that run as long as somebody holds them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};

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
}

/// A program that serves HTTP, until this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Kept open: a program that goes on writing would fail if nobody could read it.
    _out: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Server {
    /// Starts a program whose first line says where it is.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut out = BufReader::new(child.stdout.take().context("the server has no output")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        let mut server = Self { child, _out: out, url: String::new() };
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        server.url =
            url.with_context(|| format!("{} did not say where it is", program.display()))?.to_owned();
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One server, by itself and through the gateway.
pub(crate) struct Pair {
    pub(crate) direct: Server,
    pub(crate) through: Server,
}

impl Pair {
    /// Puts the gateway in front of a server.
    pub(crate) fn behind(attune: &Path, direct: Server) -> Result<Self> {
        let upstream = direct.url.as_str();
        let arguments =
            ["serve", "--upstream", upstream, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let through = Server::start(attune, &arguments)?;
        Ok(Self { direct, through })
    }
}
