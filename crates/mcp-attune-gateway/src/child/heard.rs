//! What a child said: which of it are messages, and a log of what is not.

use std::sync::{Mutex, PoisonError};

use mcp_attune_process::lines::{Line, TooLong};
use mcp_attune_process::throttle::{Passage, Throttle};

/// How many complaints about one child are logged in a second.
const A_SECOND: usize = 5;

/// Logs what is wrong with what a child says, without being flooded and without repeating what it said.
#[derive(Debug)]
pub(super) struct Complaints {
    mount: String,
    throttle: Mutex<Throttle>,
}

impl Complaints {
    pub(super) fn new(mount: &str) -> Self {
        Self { mount: mount.to_owned(), throttle: Mutex::new(Throttle::new(A_SECOND)) }
    }

    pub(super) fn log(&self, what: &str, bytes: usize) {
        match self.throttle.lock().unwrap_or_else(PoisonError::into_inner).pass() {
            Passage::LeaveOut => {}
            Passage::Log { left_out } => {
                tracing::warn!(mount = self.mount, bytes, left_out, "{what}");
            }
        }
    }

    /// The message of a line, where it may be one.
    pub(super) fn message(&self, line: Line) -> Result<Vec<u8>, Option<TooLong>> {
        match line {
            Line::Whole(text) => Ok(text),
            Line::TooLong(long) => {
                self.log(
                    "the child said more in one line than `limits.answer` allows; the line is dropped",
                    long.length,
                );
                Err(Some(long))
            }
            Line::Unfinished(text) => {
                self.log("the child ended in the middle of a line", text.len());
                Err(None)
            }
        }
    }
}
