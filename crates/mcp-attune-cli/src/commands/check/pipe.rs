//! A program that is asked over its pipes, a line a message.

use mcp_attune_process::lines::{Line, Lines, line};
use mcp_attune_process::process::{self, Environment, Pipes, Process, Program, Stderr};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::traffic::{Came, MAX_ANSWER_BYTES};

/// The two ends of a program.
pub(super) struct Pipe {
    to: Box<dyn AsyncWrite + Send + Unpin>,
    from: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    /// None in tests, where the other end is no program.
    process: Option<Process>,
}

impl Pipe {
    pub(super) fn start(name: &str, arguments: &[String]) -> anyhow::Result<Self> {
        let (process, Pipes { stdin, stdout, .. }) = process::start(&Program {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            directory: None,
            environment: Environment::Inherited(Vec::new()),
            stderr: Stderr::Inherited,
        })?;
        Ok(Self { process: Some(process), ..Self::between(stdin, stdout) })
    }

    /// Any two ends.
    pub(super) fn between(
        to: impl AsyncWrite + Send + Unpin + 'static,
        from: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let from: Box<dyn AsyncRead + Send + Unpin> = Box::new(from);
        Self { to: Box::new(to), from: Lines::new(from, MAX_ANSWER_BYTES), process: None }
    }

    /// Writes a message, and reads up to its answer; what asks nothing gets none.
    pub(super) async fn send(&mut self, body: &[u8], id: Option<u64>) -> Came {
        let mut written = self.to.write_all(&line(body)).await;
        if written.is_ok() {
            written = self.to.flush().await;
        }
        if let Err(error) = written {
            return Came::nothing(format!("the program does not read: {error}"));
        }
        let mut came = Came::default();
        while id.is_some() {
            match self.from.next().await {
                Ok(Some(Line::Whole(line))) => {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if came.read(&text, id) {
                        came.text = text;
                        break;
                    }
                }
                Ok(Some(Line::TooLong(_))) => {
                    return Came::nothing(format!("a line of more than {MAX_ANSWER_BYTES} bytes"));
                }
                Ok(Some(Line::Unfinished(_)) | None) => return Came::nothing("the program ended"),
                Err(error) => return Came::nothing(format!("the program cannot be read: {error}")),
            }
        }
        came
    }

    pub(super) async fn close(self) {
        // Closed input is the first thing that a program is to notice.
        drop((self.to, self.from));
        if let Some(process) = self.process {
            process.end().await;
        }
    }
}
