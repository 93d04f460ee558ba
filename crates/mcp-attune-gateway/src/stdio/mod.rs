//! The rules between two pipes, for clients that start their server themselves: a program that stands where the
//! server stood, starts it, and is otherwise not there.
//!
//! 1. Lines go on in the order in which they came, each as soon as it is whole; [`LineRelay`] says what changes.
//! 2. Only messages reach the client. What else the server says on its standard output is logged.
//! 3. The server has our environment, our standard error, and the signals that we get.
//! 4. When the client closes our input, the server's is closed, and its last answers still come through. When the
//!    server ends, so do we, and as it did; whoever still waits for an answer is told first. A client that reads no more ends
//!    the server.
//!
//! Rules: C10, G4, G5, H13, H14, L3, L20.

use std::fmt;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mcp_attune_files::{FileWatcher, WatcherHandle};
use mcp_attune_process::lines::{BoundedLine, BoundedLineReader, OverlongLine, encode_line};
use mcp_attune_process::process::{
    self, Program, ProgramEnvironment, ProgramPipes, RunningProgram, StderrTarget,
};
use mcp_attune_tower::relay::{LineRelay, ReturnedLine};
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::reply::Reply;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::{ChildConfig, Config, HeaderAgreementSetting};
use crate::upstream::UpstreamError;

pub use mcp_attune_process::process::Signal;

/// How long what a server said last may take to be read.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to ask its first question of a server that is over already.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// How many bytes one look at the server's noise shows.
const MAX_LOGGED_BYTES: usize = 200;

/// Why nothing could be relayed.
#[derive(Debug)]
pub struct StdioStartError(process::ProgramStartError);

impl fmt::Display for StdioStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for StdioStartError {}

/// Starts the program and stands between it and whoever is at `input` and `output`, until it ends. `signals` are
/// passed on to it.
///
/// The status is the program's own; none where it had to be left behind.
///
/// # Errors
///
/// [`StdioStartError`], where there is no such program.
pub async fn run(
    config: &Config,
    server: &ChildConfig,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    mut signals: mpsc::UnboundedReceiver<Signal>,
) -> Result<Option<ExitStatus>, StdioStartError> {
    let program = program(server);
    let (mut process, ProgramPipes { stdin, stdout, .. }) =
        process::start(&program).map_err(StdioStartError)?;
    let mut watcher = FileWatcher::new();
    let between = StdioBridge::new(config, output, &mut watcher);
    let _following = follow_files(watcher);
    let mut inward =
        Box::pin(between.forward_to_server(BoundedLineReader::new(input, config.limits.body), stdin));
    let mut outward = pin!(between.forward_to_client(BoundedLineReader::new(stdout, config.limits.answer)));
    let (status, open) =
        relay_until_exit(&mut process, inward.as_mut(), outward.as_mut(), &mut signals).await;
    let Some(status) = status else {
        // The server's input goes with it.
        drop(inward);
        return Ok(process.terminate().await);
    };
    // What it left behind was ended with it, so nothing keeps its output open for long.
    if open.outward {
        let _ = timeout(LAST_OUTPUT_TIMEOUT, outward).await;
    }
    if open.inward && !between.answered.load(Ordering::Relaxed) {
        // Whoever started us is about to ask, and hears why there is no answer.
        let _ = timeout(FIRST_REQUEST_TIMEOUT, &mut inward).await;
    }
    // One that ends in order when its input is closed has said what it wanted to say.
    if open.inward || !status.success() {
        between.fail_pending_calls(&program.name, process::exit_code(status)).await;
    }
    Ok(Some(status))
}

/// The program to start, as it is configured.
fn program(server: &ChildConfig) -> Program {
    let env = server.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Program {
        name: server.program.clone(),
        arguments: server.arguments.clone(),
        directory: server.directory.clone(),
        environment: if server.inherit_env {
            ProgramEnvironment::Inherited(env.collect())
        } else {
            ProgramEnvironment::Chosen(env.collect())
        },
        stderr: StderrTarget::Inherited,
    }
}

/// The directions in which lines can still come.
struct OpenDirections {
    inward: bool,
    outward: bool,
}

/// Carries lines in both directions until the server ends, and returns its status; `None` where the client reads no more.
async fn relay_until_exit(
    process: &mut RunningProgram,
    mut inward: Pin<&mut impl Future<Output = ()>>,
    mut outward: Pin<&mut impl Future<Output = ServerOutputEnd>>,
    signals: &mut mpsc::UnboundedReceiver<Signal>,
) -> (Option<ExitStatus>, OpenDirections) {
    let mut open = OpenDirections { inward: true, outward: true };
    let status = loop {
        tokio::select! {
            // Its end closes the server's input.
            () = &mut inward, if open.inward => open.inward = false,
            said = &mut outward, if open.outward => {
                if let ServerOutputEnd::ToNobody = said {
                    break None;
                }
                open.outward = false;
            }
            status = process.wait_for_exit() => break status.ok(),
            signal = signals.recv(), if !signals.is_closed() => {
                if let Some(signal) = signal {
                    process.send_signal(signal);
                }
            }
        }
    };
    (status, open)
}

/// Follows the locale files and templates for as long as the returned value lives. Without it they stay as they are.
fn follow_files(watcher: FileWatcher) -> Option<WatcherHandle> {
    let following = (!watcher.is_empty()).then(|| watcher.spawn()).transpose();
    following
        .inspect_err(|why| tracing::warn!("locale files and templates are not followed: {why}"))
        .ok()
        .flatten()
}

/// How the server's output ended.
enum ServerOutputEnd {
    /// The server closed it.
    All,
    /// The client did not read it.
    ToNobody,
}

/// What both directions share.
struct StdioBridge<W> {
    relay: Mutex<LineRelay>,
    output: tokio::sync::Mutex<W>,
    limits: crate::config::LimitsConfig,
    /// Whether the server ever said anything.
    answered: AtomicBool,
}

impl<W: AsyncWrite + Unpin> StdioBridge<W> {
    fn new(config: &Config, output: W, watcher: &mut FileWatcher) -> Self {
        let headers = config.mounts.first().map(|mount| &mount.headers);
        let report_only = headers.is_some_and(|headers| headers.agree == HeaderAgreementSetting::Report);
        let offer = config.offer(config.mounts.first(), watcher);
        let relay = LineRelay::new(offer, HeaderPolicy::default(), report_only, config.limits.calls);
        Self {
            relay: Mutex::new(relay),
            output: tokio::sync::Mutex::new(output),
            limits: config.limits.clone(),
            answered: AtomicBool::new(false),
        }
    }

    fn relay(&self) -> std::sync::MutexGuard<'_, LineRelay> {
        // Nothing that holds the lock can panic halfway through a change.
        self.relay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the client to the server, until one of the two is at its end.
    async fn forward_to_server(
        &self,
        mut lines: BoundedLineReader<impl AsyncRead + Unpin>,
        mut server: ChildStdin,
    ) {
        loop {
            let text = match lines.next_line().await {
                Ok(Some(BoundedLine::Whole(text) | BoundedLine::Unfinished(text))) => text,
                Ok(Some(BoundedLine::TooLong(long))) => {
                    let what = format!(
                        "the message is over {} bytes, the limit `body`; send a smaller one",
                        self.limits.body
                    );
                    self.answer(&Reply::failed(413, long.id.as_deref(), &what)).await;
                    continue;
                }
                Ok(None) => return,
                Err(error) => return tracing::debug!(%error, "the client's output cannot be read"),
            };
            let onward = self.relay().handle_client_line(&text);
            let onward = match onward {
                Ok(sent) => encode_line(&sent.line),
                Err(reply) => {
                    self.answer(&reply).await;
                    continue;
                }
            };
            if let Err(error) = server.write_all(&onward).await {
                return tracing::debug!(%error, "the server reads no more");
            }
        }
    }

    /// From the server to the client.
    async fn forward_to_client(&self, mut lines: BoundedLineReader<ChildStdout>) -> ServerOutputEnd {
        loop {
            let back = match lines.next_line().await {
                Ok(Some(BoundedLine::Whole(text) | BoundedLine::Unfinished(text))) => {
                    match self.relay().handle_server_line(&text) {
                        ReturnedLine::Send(back) => encode_line(&back),
                        ReturnedLine::Drop => {
                            log_noise(&text);
                            continue;
                        }
                    }
                }
                Ok(Some(BoundedLine::TooLong(long))) => match self.too_long(&long) {
                    Some(reply) => encode_line(reply.body.as_bytes()),
                    None => continue,
                },
                Ok(None) => return ServerOutputEnd::All,
                Err(error) => {
                    tracing::debug!(%error, "the server's output cannot be read");
                    return ServerOutputEnd::All;
                }
            };
            self.answered.store(true, Ordering::Relaxed);
            if !self.write(&back).await {
                return ServerOutputEnd::ToNobody;
            }
        }
    }

    /// The server is over: whoever waits is told, and so is the log where it never said anything.
    async fn fail_pending_calls(&self, program: &str, code: Option<i32>) {
        let ended = UpstreamError::Ended(code);
        if !self.answered.load(Ordering::Relaxed) {
            let how = code.map(|code| format!(" with {code}")).unwrap_or_default();
            tracing::error!(
                "`{program}` ended{how} before it answered; try it by itself, and see what it says"
            );
        }
        let replies = self.relay().give_up(&ended);
        for reply in replies {
            self.answer(&reply).await;
        }
    }

    /// A client that waits for an answer gets one, also where the server's is too long.
    fn too_long(&self, long: &OverlongLine) -> Option<Reply> {
        let limit = self.limits.answer;
        tracing::warn!(bytes = long.length, limit, "a message of the server is over the limit `answer`");
        let id = long.id.as_deref()?;
        self.relay().forget(id);
        let what = format!("the answer is over {limit} bytes, the limit `answer`");
        Some(Reply::failed(502, Some(id), &what))
    }

    async fn answer(&self, reply: &Reply) {
        self.write(&encode_line(reply.body.as_bytes())).await;
    }

    /// Whether somebody reads it.
    async fn write(&self, text: &[u8]) -> bool {
        let mut output = self.output.lock().await;
        let written = output.write_all(text).await;
        written.is_ok() && output.flush().await.is_ok()
    }
}

/// Servers print greetings and warnings where only messages belong.
fn log_noise(text: &[u8]) {
    let start = text.get(..MAX_LOGGED_BYTES).unwrap_or(text);
    let shown: String = String::from_utf8_lossy(start).chars().filter(|char| !char.is_control()).collect();
    tracing::warn!("the server said what is no message, and the client does not get it: {shown}");
}
