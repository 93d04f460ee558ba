//! The rules between two pipes, for clients that start their server themselves: `attune stdio` stands where
//! the server stood, starts it, and is otherwise not there.
//!
//! 1. Lines go on in the order in which they came, each as soon as it is whole; [`LineRelay`] says what
//!    changes.
//! 2. Only messages reach the client. What else the server says on its standard output is logged.
//! 3. The server has our environment (where `inherit_env` is not switched off), our standard error, and the
//!    signals that we get.
//! 4. When the client closes our input, the server's is closed, and its last answers still come through. When
//!    the server ends, so do we, and as it did; whoever still waits for an answer is told first. A client
//!    that reads no more ends the server.
//!
//! Both directions run in one task. "Inward" is from the client to the server, "outward" the way back.
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
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;
use mcp_attune_wire::text::one_line;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::config::{ChildConfig, Config, HeaderAgreementSetting};
use crate::upstream::UpstreamError;

pub use mcp_attune_process::process::Signal;
pub use mcp_attune_tower::relay::SystemCaller;

/// How long the output of a server that has exited is still read and passed on.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a client may take to send its first request to a server that exited without having said anything,
/// so that the client gets an error for it and not only a closed pipe.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);
/// How many bytes of a line that is no message are logged.
const MAX_LOGGED_BYTES: usize = 200;

/// The server could not be started: there is no such program, it may not be run, or the system refuses. Its
/// text names the program and what to do.
#[derive(Debug)]
pub struct StdioStartError(process::ProgramStartError);

impl fmt::Display for StdioStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for StdioStartError {}

/// Starts the server and relays lines between it and the client at `input` and `output` until the server
/// exits.
///
/// The rules are those of the first mount of `config`, and `limits.body` and `limits.answer` are the longest
/// lines of client and server. `server` is the program to start. `signals` are passed on to it and to all
/// that it started; the sender may be dropped. Locale files and templates are followed while it runs.
///
/// Returns the exit status of the server. `None` where that is not known, because the server did not end even
/// when it was killed.
///
/// # Errors
///
/// [`StdioStartError`], where the server cannot be started.
pub async fn run(
    config: &Config,
    server: &ChildConfig,
    system: Option<SystemCaller>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    mut signals: mpsc::UnboundedReceiver<Signal>,
) -> Result<Option<ExitStatus>, StdioStartError> {
    let program = program(server);
    let (mut process, ProgramPipes { stdin, stdout, .. }) =
        process::start(&program).map_err(StdioStartError)?;
    let mut watcher = FileWatcher::new();
    let between = StdioBridge::new(config, system, output, &mut watcher);
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

/// Returns the program to start, as it is configured. Other than behind the gateway, its standard error is
/// ours.
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

/// The directions in which lines can still come. One that has ended is not polled again.
struct OpenDirections {
    /// The client has not closed our input, and the server reads its own.
    inward: bool,
    /// The server has not closed its output.
    outward: bool,
}

/// Carries lines in both directions, and signals to the server, until the server exits. Returns its status,
/// or `None` where the client reads no more and the server is still to be ended.
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

/// Follows the locale files and templates on a thread, for as long as the returned value lives. `None` where
/// there is nothing to follow, or no thread for it: then they stay as they were read.
fn follow_files(watcher: FileWatcher) -> Option<WatcherHandle> {
    let following = (!watcher.is_empty()).then(|| watcher.spawn()).transpose();
    following
        .inspect_err(|why| tracing::warn!("locale files and templates are not followed: {why}"))
        .ok()
        .flatten()
}

/// Why no more lines go from the server to the client.
enum ServerOutputEnd {
    /// The server closed its output, or it cannot be read.
    All,
    /// The client reads no more. What the server says has no use now.
    ToNobody,
}

/// What both directions share: the rules, which have to know of requests to adapt their answers, and the
/// client's end, which both write to.
struct StdioBridge<W> {
    /// The rules. Locked for one line at a time, never across an `await`.
    relay: Mutex<LineRelay>,
    /// Where the client reads. The lock keeps lines whole: answers of the server, and refusals of our own.
    output: tokio::sync::Mutex<W>,
    limits: crate::config::LimitsConfig,
    /// Whether the server ever sent a message.
    answered: AtomicBool,
}

impl<W: AsyncWrite + Unpin> StdioBridge<W> {
    /// Sets the rules of the first mount up, or the default ones where there is no mount. `watcher` gets the
    /// files that are to be followed.
    fn new(config: &Config, system: Option<SystemCaller>, output: W, watcher: &mut FileWatcher) -> Self {
        let headers = config.mounts.first().map(|mount| &mount.headers);
        let report_only = headers.is_some_and(|headers| headers.agree == HeaderAgreementSetting::Report);
        let offer = config.offer(config.mounts.first(), watcher);
        let relay = LineRelay::new(offer, HeaderPolicy::default(), report_only, config.limits.calls)
            .with_system(system);
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

    /// Carries lines from the client to the server until the client closes our input or the server reads no
    /// more. Returning closes the server's input.
    ///
    /// A line that the rules refuse, and one that is longer than `limits.body`, is answered here and does not
    /// reach the server.
    async fn forward_to_server(
        &self,
        mut lines: BoundedLineReader<impl AsyncRead + Unpin>,
        mut server: ChildStdin,
    ) {
        loop {
            let text = match lines.next_line().await {
                Ok(Some(BoundedLine::Whole(text) | BoundedLine::Unfinished(text))) => text,
                Ok(Some(BoundedLine::TooLong(long))) => {
                    let notice = Notice::MessageTooLarge { limit: self.limits.body };
                    self.answer(&Reply::failed(413, long.id.as_deref(), notice)).await;
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

    /// Carries lines from the server to the client. What is no message is logged instead; for an answer that
    /// is too long the client gets an error.
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

    /// Answers all requests that still wait with an error, because the server is over. Where it never sent a
    /// message, that is logged, too, with its exit code.
    async fn fail_pending_calls(&self, program: &str, code: Option<i32>) {
        let ended = UpstreamError::Ended(code);
        if !self.answered.load(Ordering::Relaxed) {
            let how = code.map(|code| format!(" with {code}")).unwrap_or_default();
            tracing::error!(
                "`{program}` ended{how} before it answered; try it by itself, and see what it says"
            );
        }
        let replies = self.relay().give_up(&ended.notice());
        for reply in replies {
            self.answer(&reply).await;
        }
    }

    /// Logs a line of the server that is over `limits.answer`. Returns the error for the client that waits
    /// for it, or `None` where no id was found in it, so that nobody can be told.
    fn too_long(&self, long: &OverlongLine) -> Option<Reply> {
        let limit = self.limits.answer;
        tracing::warn!(bytes = long.length, limit, "a message of the server is over the limit `answer`");
        let id = long.id.as_deref()?;
        self.relay().forget(id);
        Some(Reply::failed(502, Some(id), Notice::AnswerTooLarge { limit }))
    }

    /// Sends a reply of our own to the client. Whether it arrives does not matter here: a client that reads
    /// no more is noticed by the other direction.
    async fn answer(&self, reply: &Reply) {
        self.write(&encode_line(reply.body.as_bytes())).await;
    }

    /// Writes a line to the client and flushes it. Returns `false` where nobody reads it.
    async fn write(&self, text: &[u8]) -> bool {
        let mut output = self.output.lock().await;
        let written = output.write_all(text).await;
        written.is_ok() && output.flush().await.is_ok()
    }
}

/// Logs the start of a line that is no message: servers print greetings and warnings where only messages
/// belong.
fn log_noise(text: &[u8]) {
    let start = text.get(..MAX_LOGGED_BYTES).unwrap_or(text);
    let shown = one_line(&String::from_utf8_lossy(start), MAX_LOGGED_BYTES);
    tracing::warn!("the server said what is no message, and the client does not get it: {shown}");
}
