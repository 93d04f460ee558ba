//! What a child said: which of it are messages, and a log of what is not.

use std::sync::{Mutex, PoisonError};

use mcp_attune_process::lines::{BoundedLine, OverlongLine};
use mcp_attune_process::throttle::{LogThrottle, ThrottleDecision};

/// How many complaints about one child are logged in a second.
const MAX_LINES_PER_SECOND: usize = 5;

/// Logs what is wrong with what a child says, without being flooded and without repeating what it said.
#[derive(Debug)]
pub(super) struct ChildOutputLog {
    mount: String,
    throttle: Mutex<LogThrottle>,
}

impl ChildOutputLog {
    pub(super) fn new(mount: &str) -> Self {
        Self { mount: mount.to_owned(), throttle: Mutex::new(LogThrottle::new(MAX_LINES_PER_SECOND)) }
    }

    pub(super) fn warn_throttled(&self, what: &str, bytes: usize) {
        match self.throttle.lock().unwrap_or_else(PoisonError::into_inner).admit() {
            ThrottleDecision::LeaveOut => {}
            ThrottleDecision::Log { left_out } => {
                tracing::warn!(mount = self.mount, bytes, left_out, "{what}");
            }
        }
    }

    /// The message of a line, where it may be one.
    pub(super) fn accept_line(&self, line: BoundedLine) -> Result<Vec<u8>, Option<OverlongLine>> {
        match line {
            BoundedLine::Whole(text) => Ok(text),
            BoundedLine::TooLong(long) => {
                self.warn_throttled(
                    "the child said more in one line than `limits.answer` allows; the line is dropped",
                    long.length,
                );
                Err(Some(long))
            }
            BoundedLine::Unfinished(text) => {
                self.warn_throttled("the child ended in the middle of a line", text.len());
                Err(None)
            }
        }
    }
}
