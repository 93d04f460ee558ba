//! Servers that are started for a while, and where what they complain of is kept.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, Result};

use crate::running::Running;
use crate::shell;

/// The folder of everything that comes of other people's software; what was seen is in `seen`.
#[must_use]
pub fn folder() -> PathBuf {
    shell::root().join("target/interop")
}

/// Where a program's complaints go.
pub fn log(name: &str) -> Result<fs::File> {
    let folder = folder().join("seen/logs");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.log", name.replace(' ', "-")));
    fs::File::create(&path).with_context(|| format!("could not write {}", path.display()))
}

/// A program that serves HTTP, until this is dropped.
pub struct Server {
    /// Where it is, by its own words.
    pub url: String,
    running: Running,
    /// Kept open: a program that goes on writing would fail if nobody could read it.
    _out: BufReader<ChildStdout>,
}

impl Server {
    /// Starts a program whose first line says where it is. Its complaints go to the log of that name.
    pub fn start(command: &mut Command, log: &str) -> Result<Self> {
        let file = self::log(log)?;
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
    pub fn id(&self) -> u32 {
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
