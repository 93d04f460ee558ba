//! One running child: its process, the way into it, and what is heard from it.
//!
//! A task of its own reads the child's output from the start to the end, gives every line to a
//! [`ChildOutputHandler`], and then ends the process. What the lines mean is for the handler to know: the
//! calls of a shared child, or the streams of a legacy session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcp_attune_process::lines::{BoundedLine, BoundedLineReader};
use mcp_attune_process::process::{self, Program, ProgramStartError, RunningProgram};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use super::pipe::ChildInput;

/// How long the output of a child that has exited is still read. Programs that it started may hold the pipe
/// open.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a child that has closed its output may take to exit, so that its exit code is known. After that
/// it is ended.
const EXIT_TIMEOUT: Duration = Duration::from_millis(250);

/// Receives what a child writes, and how it ends. The methods are called from one task, in this order: lines,
/// then the end, then the exit. They must not block.
pub(super) trait ChildOutputHandler: Send + Sync + 'static {
    /// Takes a line of the child's standard output.
    fn on_line(self: &Arc<Self>, line: BoundedLine);

    /// Called once, when no more lines will come. The process may still run; it is ended after this.
    fn on_end(self: &Arc<Self>, end: ChildEnd);

    /// Called last, when the process has exited or had to be left behind.
    fn on_exit(self: &Arc<Self>) {}
}

/// How a child came to its end, as far as is known when its output has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChildEnd {
    /// Whether the child ended or closed its output without having been told to stop. Only such ends count as
    /// failures.
    pub(super) by_itself: bool,
    /// Its exit code, 128 added to the number of a signal. `None` where it has not exited yet, or was told to
    /// stop.
    pub(super) code: Option<i32>,
    /// Whether the child left its input unread: nothing was written to it, or something is still in the pipe.
    /// Then no message of ours can have ended it.
    pub(super) unread: bool,
}

/// A running child. When it is dropped, the child is told to stop as by [`stop`](Self::stop); nobody waits
/// for that.
#[derive(Debug)]
pub(super) struct RunningChild {
    /// The way into the child.
    pub(super) pipe: ChildInput,
    /// Tells the task that reads the child to stop. That the sender is gone means the same.
    stop: watch::Sender<bool>,
}

impl RunningChild {
    /// Starts a child and the task that reads it.
    ///
    /// `limit` is the longest line, in bytes. `all_stop` becomes `true` when all children are to end. The
    /// task holds that receiver until the process is gone, so whoever has the sender can wait for all
    /// children by waiting for their receivers. `listener` is kept until then, too.
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
            let left = unread.as_ref().is_some_and(process::UnreadInput::has_unread_bytes);
            // It holds the input open, too.
            drop(unread);
            let unread = !wrote.load(Ordering::Relaxed) || left;
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

    /// Tells the child to stop and returns at once. Its input is closed; if that does not end it, its process
    /// group is asked to end (`SIGTERM`) and then killed. What it still writes is not read.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Waits until the sender has sent `true`, or is gone.
async fn wait_until_set(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Gives every line of the child to the listener until its output ends, it exits, or `stops` is ready.
/// Returns whether the child ended by itself, and its exit code where that is known.
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

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Mutex;

    use mcp_attune_process::process::{ProgramEnvironment, StderrTarget};
    use tokio::sync::oneshot;

    use super::*;

    /// Tells when the process has exited.
    struct ExitListener(Mutex<Option<oneshot::Sender<()>>>);

    impl ChildOutputHandler for ExitListener {
        fn on_line(self: &Arc<Self>, _: BoundedLine) {}

        fn on_end(self: &Arc<Self>, _: ChildEnd) {}

        fn on_exit(self: &Arc<Self>) {
            let told = self.0.lock().unwrap().take();
            told.unwrap().send(()).unwrap();
        }
    }

    #[tokio::test]
    async fn a_child_that_was_sent_nothing_finds_the_end_of_its_input() {
        let program = Program {
            name: "cat".to_owned(),
            arguments: Vec::new(),
            directory: None,
            environment: ProgramEnvironment::Inherited(Vec::new()),
            stderr: StderrTarget::Inherited,
        };
        let (to, exited) = oneshot::channel();
        let (_all, all_stop) = watch::channel(false);
        let listener = Arc::new(ExitListener(Mutex::new(Some(to))));
        let child = RunningChild::start(&program, 1000, all_stop, listener).unwrap();
        child.stop();
        // It would be sent a signal two seconds later.
        timeout(Duration::from_millis(1500), exited).await.unwrap().unwrap();
    }
}
