//! A program as rmcp's transport: one message a line, the program ended with the connection.
//!
//! rmcp has such a transport. This one bounds a line, keeps what came as it came, and tells why a program is silent.
//!
//! 1. A program that is silent when it is asked what it may not know is asked in the older way. The time for that runs from
//!    when it has read the question, where the system tells: one that still starts is not silent.
//! 2. What answers a question that was given up is dropped.
//! 3. Of a program that ends it is known whether it had read anything.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_attune_process::lines::{Line, Lines, line};
use mcp_attune_process::process::{self, Environment, Pipes, Process, Program, Unread};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::Error;
use super::host::Wire;
use super::http::unanswered;
use super::kept::Kept;
use super::options::Options;
use super::profile::CallerProfile;
use super::sent;

/// Messages that wait for a program to read.
const QUEUE: usize = 16;
/// How long a program that closed its output may take to end, so that we can say how it did.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often is looked whether a program has read what it was asked.
const LOOK: Duration = Duration::from_millis(100);
/// How much of a line on a program's standard error is shown.
const LONGEST_ASIDE: usize = 16 << 10;

/// The two pipes of a program, and the program.
pub(crate) struct Pipe {
    at: String,
    /// None once it is closed.
    to: Option<mpsc::Sender<Vec<u8>>>,
    /// Writes what is sent, so that a send which is given up does not leave half a line behind.
    writer: JoinHandle<()>,
    lines: Lines<ChildStdout>,
    process: Option<Process>,
    /// Until the first answer: what the program has not read yet.
    unread: Option<Unread>,
    /// How many bytes were written to it.
    written: Arc<AtomicU64>,
    probe: Option<Probe>,
    patience: Duration,
    /// Passes on what the program says on its standard error.
    errors: Option<JoinHandle<()>>,
    bytes: usize,
    profile: CallerProfile,
    kept: Arc<Kept>,
}

/// A question that an older program may not know, and may not answer.
struct Probe {
    id: RequestId,
    /// When the program had read it.
    read: Option<Instant>,
}

impl Pipe {
    /// Starts a program with our environment.
    pub(crate) fn open(
        at: String,
        name: &str,
        arguments: &[String],
        options: &Options,
        kept: Arc<Kept>,
    ) -> Result<Self, Error> {
        let bytes = options.bytes;
        let program = Program {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            directory: None,
            environment: Environment::Inherited(Vec::new()),
            stderr: options.stderr.clone(),
        };
        let (process, pipes) =
            process::start(&program).map_err(|error| Error::NotStarted { why: error.to_string() })?;
        let unread = pipes.unread();
        let Pipes { stdin, stdout, stderr } = pipes;
        let (to, queue) = mpsc::channel(QUEUE);
        let written = Arc::default();
        let writer = tokio::spawn(write(stdin, queue, Arc::clone(&written)));
        let errors = stderr.map(|errors| tokio::spawn(pass_on(errors, kept.clone())));
        Ok(Self {
            at,
            to: Some(to),
            writer,
            lines: Lines::new(stdout, bytes),
            process: Some(process),
            unread,
            written,
            probe: None,
            patience: options.probe(),
            errors,
            bytes,
            profile: options.profile.clone(),
            kept,
        })
    }

    /// How many bytes the program has not read; none where the system does not tell, or where nothing was written yet.
    fn unread(&self) -> Option<u64> {
        let written = self.written.load(Ordering::Relaxed);
        self.unread.as_ref().and_then(Unread::bytes).filter(|_| written > 0)
    }

    /// Until when an answer to the probe is waited for, or looked whether it was read. Rule 1.
    fn wait(&mut self) -> Option<Instant> {
        let (unread, now) = (self.unread(), Instant::now());
        let knows = self.unread.is_some();
        let probe = self.probe.as_mut()?;
        if probe.read.is_none() && (unread == Some(0) || !knows) {
            probe.read = Some(now);
        }
        Some(probe.read.map_or(now + LOOK, |read| read + self.patience))
    }

    /// The next line. None where the probe has been waited for long enough.
    async fn next_line(&mut self) -> Option<io::Result<Option<Line>>> {
        loop {
            let Some(until) = self.wait() else { return Some(self.lines.next().await) };
            match timeout_at(until, self.lines.next()).await {
                Ok(line) => return Some(line),
                Err(_)
                    if self.probe.as_ref().is_some_and(|probe| probe.read.is_some())
                        && until <= Instant::now() =>
                {
                    return None;
                }
                Err(_) => {}
            }
        }
    }

    /// What a line holds, if it is a message.
    fn read(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.kept.wire(&Wire::Came(line));
        match serde_json::from_slice(line) {
            Ok(_) if self.kept.is_late(line) => {
                tracing::debug!("an answer to a question that was given up");
                None
            }
            Ok(message) => {
                self.kept.hears(line, None);
                if matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
                    (self.probe, self.unread) = (None, None);
                }
                Some(message)
            }
            Err(error) => {
                tracing::debug!(%error, "a line that is no message");
                self.kept.strays(line);
                None
            }
        }
    }

    /// The output is closed: how did the program end?
    async fn over(&mut self) {
        let status = match &mut self.process {
            Some(process) => timeout(FAREWELL, process.exited()).await.ok().and_then(Result::ok),
            None => None,
        };
        // What it said last is shown before we say that it ended.
        if let Some(errors) = self.errors.take() {
            let _ = timeout(FAREWELL, errors).await;
        }
        if self.unread.is_some()
            && self.unread().is_none_or(|unread| unread >= self.written.load(Ordering::Relaxed))
        {
            self.kept.ends_unread();
        }
        let status = status.map(ended);
        self.kept.fails(&Error::Ended { at: self.at.clone(), status, stray: self.kept.stray() });
    }
}

async fn write(mut to: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>, written: Arc<AtomicU64>) {
    while let Some(line) = queue.recv().await {
        if to.write_all(&line).await.is_err() {
            return;
        }
        written.fetch_add(u64::try_from(line.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Shows the host what a program says on its standard error, line by line.
async fn pass_on(errors: ChildStderr, kept: Arc<Kept>) {
    let mut lines = Lines::new(errors, LONGEST_ASIDE);
    while let Ok(Some(line)) = lines.next().await {
        match &line {
            Line::Whole(text) | Line::Unfinished(text) => kept.wire(&Wire::Said(text)),
            Line::TooLong(long) => kept.wire(&Wire::Said(&long.start)),
        }
    }
}

/// How a program ended.
fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("with exit code {code}"),
        None => format!("by {}", status.to_string().replace("signal: ", "signal ")),
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.kept.sends(&message);
        if let ClientJsonRpcMessage::Request(_) = message {
            self.probe = self.kept.probe(&message).map(|id| Probe { id, read: None });
        }
        let text = sent::body(&mut message, &self.profile).map(|text| {
            self.kept.wire(&Wire::Line(&text));
            line(&text)
        });
        let to = self.to.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            to.ok_or_else(closed)?.send(text?).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Some(next) = self.next_line().await else {
                return self.probe.take().map(|probe| unanswered(probe.id));
            };
            match next {
                Ok(Some(Line::Whole(line))) => {
                    if let Some(message) = self.read(&line) {
                        return Some(message);
                    }
                }
                Ok(Some(Line::TooLong(_))) => {
                    let what = format!("a message of more than {} bytes", self.bytes);
                    self.kept.fails(&Error::TooMuch { at: self.at.clone(), what });
                    return None;
                }
                Ok(Some(Line::Unfinished(rest))) => self.kept.strays(&rest),
                Ok(None) | Err(_) => {
                    self.over().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        (self.to, self.unread) = (None, None);
        // What is queued may still go; a program that does not read holds nobody up.
        if timeout(FAREWELL, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
        if let Some(process) = self.process.take() {
            process.end().await;
        }
        Ok(())
    }
}
