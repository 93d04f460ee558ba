//! A program as a transport of rmcp: one message a line, and the program ended with the connection.
//!
//! rmcp has such a transport. This one bounds a line, keeps what came as it came, and tells why a program is
//! silent.
//!
//! 1. A program that does not answer `server/discover` is asked with `initialize`. The time for that runs from
//!    when it has read the question, if the system tells: one that still starts is not silent.
//! 2. What answers a question that was given up is dropped.
//! 3. Of a program that ends it is known whether it had read anything.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_attune_process::lines::{BoundedLine, BoundedLineReader, encode_line};
use mcp_attune_process::process::{
    self, Program, ProgramEnvironment, ProgramPipes, RunningProgram, StdinBacklog,
};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::ClientError;
use super::host::WireEvent;
use super::http::unanswered_probe;
use super::options::ConnectionOptions;
use super::profile::CallerProfile;
use super::sent;
use super::wire_recorder::WireRecorder;

/// Maximum number of messages that wait to be written because the program does not read.
const QUEUE_CAPACITY: usize = 16;
/// How long is waited for the exit of a program that closed its output, so that the error can say how it ended,
/// and for the last lines of its standard error.
const PROGRAM_EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often is checked whether a program has read what it was asked.
const READ_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum length of a line of a program's standard error; of a longer one the start is shown.
const MAX_STDERR_LINE_BYTES: usize = 16 << 10;

/// A running program and its pipes.
pub(crate) struct ProgramTransport {
    /// The command, for errors.
    at: String,
    /// The queue of lines to be written, `None` once the transport is closed.
    to: Option<mpsc::Sender<Vec<u8>>>,
    /// The task that writes the queue to the program, so that a send which is cancelled does not leave half a
    /// line behind.
    writer: JoinHandle<()>,
    lines: BoundedLineReader<ChildStdout>,
    process: Option<RunningProgram>,
    /// Until the first answer: tells what the program has not read yet. Dropped then, because it keeps the pipe
    /// open.
    unread: Option<StdinBacklog>,
    /// How many bytes were written to the program.
    written: Arc<AtomicU64>,
    /// The `server/discover` that is not answered yet.
    probe: Option<DiscoverProbe>,
    /// How long the program has to answer it.
    patience: Duration,
    /// The task that passes the program's standard error on to the host, if that is piped.
    errors: Option<JoinHandle<()>>,
    bytes: usize,
    profile: CallerProfile,
    kept: Arc<WireRecorder>,
}

/// A `server/discover`, which a legacy program may not know and not answer.
struct DiscoverProbe {
    id: RequestId,
    /// When the program had read it, or was taken to have, because the system does not tell.
    read: Option<Instant>,
}

impl ProgramTransport {
    /// Starts a program with our environment. Fails if it cannot be started; nothing is sent yet.
    pub(crate) fn open(
        at: String,
        name: &str,
        arguments: &[String],
        options: &ConnectionOptions,
        kept: Arc<WireRecorder>,
    ) -> Result<Self, ClientError> {
        let bytes = options.bytes;
        let program = Program {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            directory: None,
            environment: ProgramEnvironment::Inherited(Vec::new()),
            stderr: options.stderr.clone(),
        };
        let (process, pipes) = process::start(&program)
            .map_err(|error| ClientError::NotStarted { why: error.what(), hint: error.hint() })?;
        let unread = pipes.stdin_backlog();
        let ProgramPipes { stdin, stdout, stderr } = pipes;
        let (to, queue) = mpsc::channel(QUEUE_CAPACITY);
        let written = Arc::default();
        let writer = tokio::spawn(write_lines(stdin, queue, Arc::clone(&written)));
        let errors = stderr.map(|errors| tokio::spawn(forward_stderr(errors, kept.clone())));
        Ok(Self {
            at,
            to: Some(to),
            writer,
            lines: BoundedLineReader::new(stdout, bytes),
            process: Some(process),
            unread,
            written,
            probe: None,
            patience: options.probe_timeout(),
            errors,
            bytes,
            profile: options.profile.clone(),
            kept,
        })
    }

    /// Returns how many bytes the program has not read. `None` if the system does not tell, or if nothing was
    /// written yet.
    fn unread_bytes(&self) -> Option<u64> {
        let written = self.written.load(Ordering::Relaxed);
        self.unread.as_ref().and_then(StdinBacklog::bytes).filter(|_| written > 0)
    }

    /// Returns until when to wait for a line before the probe is looked at again (rule 1): the end of its
    /// patience once the program has read it, else the next check whether it has. `None` if there is no probe.
    fn probe_deadline(&mut self) -> Option<Instant> {
        let (unread, now) = (self.unread_bytes(), Instant::now());
        let knows = self.unread.is_some();
        let probe = self.probe.as_mut()?;
        if probe.read.is_none() && (unread == Some(0) || !knows) {
            probe.read = Some(now);
        }
        Some(probe.read.map_or(now + READ_POLL_INTERVAL, |read| read + self.patience))
    }

    /// Reads the next line. `None` if the probe has run out of patience.
    async fn next_line(&mut self) -> Option<io::Result<Option<BoundedLine>>> {
        loop {
            let Some(until) = self.probe_deadline() else { return Some(self.lines.next_line().await) };
            match timeout_at(until, self.lines.next_line()).await {
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

    /// Parses a line and records it. `None` if it is not a message, which is recorded as stray, or is to be
    /// dropped (rule 2).
    fn parse_line(&mut self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.kept.notify_host(&WireEvent::Came(line));
        match serde_json::from_slice(line) {
            Ok(_) if self.kept.is_answer_to_abandoned(line) => {
                tracing::debug!("an answer to a question that was given up");
                None
            }
            Ok(message) => {
                self.kept.record_received(line, None);
                if matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)) {
                    (self.probe, self.unread) = (None, None);
                }
                Some(message)
            }
            Err(error) => {
                tracing::debug!(%error, "a line that is no message");
                self.kept.record_stray(line);
                None
            }
        }
    }

    /// Records how the program ended, after its output was closed.
    async fn record_exit(&mut self) {
        let status = match &mut self.process {
            Some(process) => {
                timeout(PROGRAM_EXIT_TIMEOUT, process.wait_for_exit()).await.ok().and_then(Result::ok)
            }
            None => None,
        };
        // What it said last is shown before we say that it ended.
        if let Some(errors) = self.errors.take() {
            let _ = timeout(PROGRAM_EXIT_TIMEOUT, errors).await;
        }
        if self.unread.is_some()
            && self.unread_bytes().is_none_or(|unread| unread >= self.written.load(Ordering::Relaxed))
        {
            self.kept.record_ended_unread();
        }
        let status = status.map(describe_exit);
        self.kept.record_failure(&ClientError::Ended {
            at: self.at.clone(),
            status,
            stray: self.kept.first_stray(),
        });
    }
}

/// Writes the queued lines to a program, until the queue is closed or the program's input is.
async fn write_lines(mut to: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>, written: Arc<AtomicU64>) {
    while let Some(line) = queue.recv().await {
        if to.write_all(&line).await.is_err() {
            return;
        }
        written.fetch_add(u64::try_from(line.len()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Tells the host what a program writes to its standard error, line by line.
async fn forward_stderr(errors: ChildStderr, kept: Arc<WireRecorder>) {
    let mut lines = BoundedLineReader::new(errors, MAX_STDERR_LINE_BYTES);
    while let Ok(Some(line)) = lines.next_line().await {
        match &line {
            BoundedLine::Whole(text) | BoundedLine::Unfinished(text) => {
                kept.notify_host(&WireEvent::Said(text));
            }
            BoundedLine::TooLong(long) => kept.notify_host(&WireEvent::Said(&long.start)),
        }
    }
}

/// Describes how a program ended: `with exit code 1`, or `by signal …`.
fn describe_exit(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("with exit code {code}"),
        None => format!("by {}", status.to_string().replace("signal: ", "signal ")),
    }
}

impl Transport<RoleClient> for ProgramTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.kept.record_sent(&message);
        if let ClientJsonRpcMessage::Request(_) = message {
            self.probe = self.kept.discover_request_id(&message).map(|id| DiscoverProbe { id, read: None });
        }
        let text = sent::render_body(&mut message, &self.profile).map(|text| {
            self.kept.notify_host(&WireEvent::Line(&text));
            encode_line(&text)
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
                return self.probe.take().map(|probe| unanswered_probe(probe.id));
            };
            match next {
                Ok(Some(BoundedLine::Whole(line))) => {
                    if let Some(message) = self.parse_line(&line) {
                        return Some(message);
                    }
                }
                Ok(Some(BoundedLine::TooLong(_))) => {
                    let what = format!("a message of more than {} bytes", self.bytes);
                    self.kept.record_failure(&ClientError::TooMuch { at: self.at.clone(), what });
                    return None;
                }
                Ok(Some(BoundedLine::Unfinished(rest))) => self.kept.record_stray(&rest),
                Ok(None) | Err(_) => {
                    self.record_exit().await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        (self.to, self.unread) = (None, None);
        // What is queued may still go; a program that does not read holds nobody up.
        if timeout(PROGRAM_EXIT_TIMEOUT, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
        if let Some(process) = self.process.take() {
            process.terminate().await;
        }
        Ok(())
    }
}
