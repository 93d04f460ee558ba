//! One running child: its process, the way into it, and what is heard from it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcp_attune_process::lines::{BoundedLine, BoundedLineReader};
use mcp_attune_process::process::{self, Program, ProgramStartError, RunningProgram};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use super::pipe::ChildInput;

/// How long a child that is over may take to have said everything.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a child that has closed its output may take to end.
const EXIT_TIMEOUT: Duration = Duration::from_millis(250);

/// Whoever hears what a child says.
pub(super) trait ChildOutputHandler: Send + Sync + 'static {
    /// A line came.
    fn on_line(self: &Arc<Self>, line: BoundedLine);

    /// Nothing more will come.
    fn on_end(self: &Arc<Self>, end: ChildEnd);

    /// The program is over.
    fn on_exit(self: &Arc<Self>) {}
}

/// How a child came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChildEnd {
    /// Whether nobody asked it to.
    pub(super) by_itself: bool,
    /// Its exit code, where that is known by now.
    pub(super) code: Option<i32>,
    /// Whether it left unread what it was sent, so that nothing of that can have ended it.
    pub(super) unread: bool,
}

/// A running child. Dropped, the child is ended in order, in its own time.
#[derive(Debug)]
pub(super) struct RunningChild {
    pub(super) pipe: ChildInput,
    stop: watch::Sender<bool>,
}

impl RunningChild {
    /// Starts a child. `all_stop` says when all children are to end; whoever said so can wait for them.
    pub(super) fn start(
        program: &Program,
        limit: usize,
        all_stop: watch::Receiver<bool>,
        listener: Arc<impl ChildOutputHandler>,
    ) -> Result<Self, ProgramStartError> {
        let (mut process, pipes) = process::start(program)?;
        tracing::debug!(program = program.name, id = process.pid(), "a child was started");
        let unread = process::UnreadInput::from_stdin(&pipes.stdin);
        let (pipe, carry) = ChildInput::new(pipes.stdin);
        let wrote = pipe.wrote_flag();
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(async move {
            let carrying = tokio::spawn(carry);
            let stops = async {
                tokio::select! {
                    () = wait_until_set(stopped) => {}
                    () = wait_until_set(all_stop.clone()) => {}
                }
            };
            let lines = BoundedLineReader::new(pipes.stdout, limit);
            let (by_itself, code) = read_until_end(lines, &mut process, stops, &listener).await;
            // Before the other end is closed: what is left in a pipe is gone with it.
            let unread =
                !wrote.load(Ordering::Relaxed) || unread.is_some_and(|input| input.has_unread_bytes());
            listener.on_end(ChildEnd { by_itself, code, unread });
            // This closes its input.
            carrying.abort();
            let _ = carrying.await;
            let status = process.terminate().await;
            tracing::debug!(?status, by_itself, "a child is over");
            listener.on_exit();
            drop(all_stop);
        });
        Ok(Self { pipe, stop })
    }

    /// Ends the child.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Ready when the other end said so, or is gone.
async fn wait_until_set(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Hears the child until it says nothing more; whether that came about by itself, and the code that it ended with.
async fn read_until_end(
    mut lines: BoundedLineReader<ChildStdout>,
    process: &mut RunningProgram,
    stops: impl Future<Output = ()>,
    listener: &Arc<impl ChildOutputHandler>,
) -> (bool, Option<i32>) {
    tokio::pin!(stops);
    let over = loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => listener.on_line(line),
                // What closes its output usually ends.
                Ok(None) | Err(_) => match timeout(EXIT_TIMEOUT, process.wait_for_exit()).await {
                    Ok(status) => break status,
                    Err(_) => return (true, None),
                },
            },
            status = process.wait_for_exit() => break status,
            () = &mut stops => return (false, None),
        }
    };
    if let Ok(status) = &over {
        tracing::info!("a child ended by itself: {status}");
    }
    // Others may hold the pipe open that it left.
    let _ = timeout(LAST_LINES_TIMEOUT, async {
        while let Ok(Some(line)) = lines.next_line().await {
            listener.on_line(line);
        }
    })
    .await;
    (true, over.ok().and_then(process::exit_code))
}
