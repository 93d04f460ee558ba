//! A program that is asked over its pipes, a line a message.

use mcp_attune_process::lines::{BoundedLine, BoundedLineReader, encode_line};
use mcp_attune_process::process::{
    self, Program, ProgramEnvironment, ProgramPipes, RunningProgram, StderrTarget,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::traffic::{CheckWireAnswer, MAX_ANSWER_BYTES};

/// The two ends of a program.
pub(super) struct CheckPipeConnection {
    to: Box<dyn AsyncWrite + Send + Unpin>,
    from: BoundedLineReader<Box<dyn AsyncRead + Send + Unpin>>,
    /// None in tests, where the other end is no program.
    process: Option<RunningProgram>,
}

impl CheckPipeConnection {
    pub(super) fn start(name: &str, arguments: &[String]) -> anyhow::Result<Self> {
        let (process, ProgramPipes { stdin, stdout, .. }) = process::start(&Program {
            name: name.to_owned(),
            arguments: arguments.to_vec(),
            directory: None,
            environment: ProgramEnvironment::Inherited(Vec::new()),
            stderr: StderrTarget::Inherited,
        })?;
        Ok(Self { process: Some(process), ..Self::from_ends(stdin, stdout) })
    }

    /// Any two ends.
    pub(super) fn from_ends(
        to: impl AsyncWrite + Send + Unpin + 'static,
        from: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let from: Box<dyn AsyncRead + Send + Unpin> = Box::new(from);
        Self { to: Box::new(to), from: BoundedLineReader::new(from, MAX_ANSWER_BYTES), process: None }
    }

    /// Writes a message, and reads up to its answer; what asks nothing gets none.
    pub(super) async fn send(&mut self, body: &[u8], id: Option<u64>) -> CheckWireAnswer {
        let mut written = self.to.write_all(&encode_line(body)).await;
        if written.is_ok() {
            written = self.to.flush().await;
        }
        if let Err(error) = written {
            return CheckWireAnswer::no_answer(format!("the program does not read: {error}"));
        }
        let mut came = CheckWireAnswer::default();
        while id.is_some() {
            match self.from.next_line().await {
                Ok(Some(BoundedLine::Whole(line))) => {
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if came.take_answer(&text, id) {
                        came.text = text;
                        break;
                    }
                }
                Ok(Some(BoundedLine::TooLong(_))) => {
                    return CheckWireAnswer::no_answer(format!(
                        "a line of more than {MAX_ANSWER_BYTES} bytes"
                    ));
                }
                Ok(Some(BoundedLine::Unfinished(_)) | None) => {
                    return CheckWireAnswer::no_answer("the program ended");
                }
                Err(error) => {
                    return CheckWireAnswer::no_answer(format!("the program cannot be read: {error}"));
                }
            }
        }
        came
    }

    pub(super) async fn close(self) {
        // Closed input is the first thing that a program is to notice.
        drop((self.to, self.from));
        if let Some(process) = self.process {
            process.terminate().await;
        }
    }
}
