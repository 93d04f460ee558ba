//! Programs that run beside us: servers until they are dropped, clients until they have said everything.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Sdk;
use super::matrix::{Checks, Outcome};
use super::packages::Packages;

/// A client has a dozen checks, and ten seconds for each. Many calls take longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server, until this is dropped.
pub(super) struct Running {
    pub(super) url: String,
    child: Child,
    /// Kept open: a server that writes to nobody may end.
    _out: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a program whose first line says where it listens.
    pub(super) fn start(command: &mut Command, log: &File) -> Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log.try_clone()?).spawn()?;
        let mut out = BufReader::new(child.stdout.take().context("it has no output")?);
        let mut first = String::new();
        out.read_line(&mut first)?;
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.context("it did not say where it is; its log is in target/interop/clients")?.to_owned();
        Ok(Self { url, child, _out: out })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The gateway in front of a server.
pub(super) struct Gateway {
    pub(super) url: String,
    pub(super) behind: Running,
    _running: Running,
}

impl Gateway {
    pub(super) fn start(packages: &Packages, server: Sdk, behind: Running) -> Result<Self> {
        let mut attune = Command::new(&packages.attune);
        attune.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--upstream",
            &behind.url,
        ]);
        let log = packages.log(&format!("{}-gateway", server.name()))?;
        let running = Running::start(&mut attune, &log).context("the gateway")?;
        Ok(Self { url: running.url.clone(), behind, _running: running })
    }
}

/// One line of what a client prints.
#[derive(Deserialize)]
struct Line {
    check: String,
    ok: bool,
    detail: String,
}

/// Runs a client to its end, and reads what it found.
pub(super) fn checks(client: &mut Command) -> Result<Checks> {
    let mut child = client.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let begun = Instant::now();
    // What it prints fits into a pipe, so nobody has to read along.
    while child.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    let checks = read(&String::from_utf8_lossy(&output.stdout));
    if checks.is_empty() {
        bail!("it checked nothing ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(checks)
}

fn read(text: &str) -> Checks {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
    lines.map(|line| (line.check, Outcome { ok: line.ok, detail: line.detail })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_check_a_line_and_nothing_else() {
        let checks = read("a warning\n{\"check\":\"lists\",\"ok\":true,\"detail\":\"9 tools\"}\n{}\n");
        assert_eq!(checks.len(), 1);
        assert!(checks["lists"].ok);
    }

    #[test]
    fn a_client_that_checks_nothing_is_an_error() {
        assert!(checks(&mut Command::new("true")).is_err());
    }

    #[test]
    fn a_server_that_says_nothing_is_an_error() {
        let log = File::create("/dev/null").unwrap();
        assert!(Running::start(&mut Command::new("true"), &log).is_err());
    }
}
