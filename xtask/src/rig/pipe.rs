//! Programs that are spoken to over their pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use super::http::Call;
use super::process;
use super::servers::Bench;
use super::spread::Spread;

/// A program, spoken to over its pipes.
pub(crate) struct Pipe {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Pipe {
    /// To the demo.
    pub(crate) fn direct(bench: &Bench) -> Result<Self> {
        Self::open(&bench.plain, &["demo", "--bare", "--stdio"])
    }

    /// To the demo, with Attune in between.
    pub(crate) fn through(bench: &Bench) -> Result<Self> {
        let program = bench.plain.to_str().context("the path of the build is not UTF-8")?;
        Self::open(&bench.attune, &["stdio", "--", program, "demo", "--bare", "--stdio"])
    }

    fn open(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("a program does not start")?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().context("a program has no output")?);
        let mut pipe = Self { child, to, from };
        let said = pipe.ask(&Call::modern("server/discover", ""))?;
        if !said.contains("supportedVersions") {
            bail!("a program does not introduce itself: {said}");
        }
        Ok(pipe)
    }

    pub(crate) fn ask(&mut self, call: &Call) -> Result<String> {
        let mut to = self.to.as_ref().context("a program has no input")?;
        to.write_all(format!("{}\n", call.body).as_bytes())?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        Ok(line)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe, with which the program ends, and well.
    pub(crate) fn end(mut self) -> Result<()> {
        drop(self.to.take());
        match process::ended(&mut self.child)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("a program ended with its pipe, but not well ({status})"),
            None => bail!("a program does not end with its pipe"),
        }
    }

    /// Microseconds from calls to their answers.
    pub(crate) fn times(&mut self, calls: usize, call: &Call) -> Result<Spread> {
        let mut times = Vec::with_capacity(calls);
        for _ in 0..calls {
            let began = Instant::now();
            let said = self.ask(call)?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
            if !said.contains("\"result\"") {
                bail!("a call over a pipe failed: {said}");
            }
        }
        Ok(Spread::of(times))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
