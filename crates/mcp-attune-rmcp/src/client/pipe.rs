//! A program as rmcp's transport: one message a line, the program ended with the connection.
//!
//! rmcp has such a transport. This one bounds a line, keeps what came as it came, and tells why a program is silent.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcp_attune_process::lines::{Line, Lines, line};
use mcp_attune_process::process::{self, Environment, Pipes, Process, Program};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::Error;
use super::host::Wire;
use super::kept::Kept;
use super::options::Options;
use super::profile::CallerProfile;
use super::sent;

/// Messages that wait for a program to read.
const QUEUE: usize = 16;
/// How long a program that closed its output may take to end, so that we can say how it did.
const FAREWELL: Duration = Duration::from_secs(1);

/// The two pipes of a program, and the program.
pub(crate) struct Pipe {
    at: String,
    /// None once it is closed.
    to: Option<mpsc::Sender<Vec<u8>>>,
    /// Writes what is sent, so that a send which is given up does not leave half a line behind.
    writer: JoinHandle<()>,
    lines: Lines<ChildStdout>,
    process: Option<Process>,
    bytes: usize,
    profile: CallerProfile,
    kept: Arc<Kept>,
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
        let (process, Pipes { stdin, stdout }) =
            process::start(&program).map_err(|error| Error::NotStarted { why: error.to_string() })?;
        let (to, queue) = mpsc::channel(QUEUE);
        let writer = tokio::spawn(write(stdin, queue));
        let lines = Lines::new(stdout, bytes);
        let profile = options.profile.clone();
        Ok(Self { at, to: Some(to), writer, lines, process: Some(process), bytes, profile, kept })
    }

    /// What a line holds, if it is a message.
    fn read(&self, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.kept.wire(&Wire::Came(line));
        match serde_json::from_slice(line) {
            Ok(message) => {
                self.kept.hears(line, None);
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
        let status = status.map(|status| status.to_string());
        self.kept.fails(&Error::Ended { at: self.at.clone(), status, stray: self.kept.stray() });
    }
}

async fn write(mut to: ChildStdin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if to.write_all(&line).await.is_err() {
            return;
        }
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.kept.sends(&message);
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
            match self.lines.next().await {
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
        self.to = None;
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
