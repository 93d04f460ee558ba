//! Tells lines of a child that may be messages from those that cannot be, and logs what is wrong.

use std::sync::{Mutex, PoisonError};

use mcp_attune_process::lines::{BoundedLine, OverlongLine};
use mcp_attune_process::throttle::{LogThrottle, ThrottleDecision};

/// How many warnings about one child are logged in a second. The next one that is logged says how many were
/// left out.
const MAX_LINES_PER_SECOND: usize = 5;

/// Logs what is wrong with the output of one child: so many lines a second, and never what the child said,
/// which may be some caller's data.
#[derive(Debug)]
pub(super) struct ChildOutputLog {
    /// The mount that the warnings name.
    mount: String,
    throttle: Mutex<LogThrottle>,
}

impl ChildOutputLog {
    pub(super) fn new(mount: &str) -> Self {
        Self { mount: mount.to_owned(), throttle: Mutex::new(LogThrottle::new(MAX_LINES_PER_SECOND)) }
    }

    /// Logs a warning about a line of so many bytes, unless there were too many of late.
    pub(super) fn warn_throttled(&self, what: &str, bytes: usize) {
        match self.throttle.lock().unwrap_or_else(PoisonError::into_inner).admit() {
            ThrottleDecision::LeaveOut => {}
            ThrottleDecision::Log { left_out } => {
                tracing::warn!(mount = self.mount, bytes, left_out, "{what}");
            }
        }
    }

    /// Returns a line that is whole, whatever is in it.
    ///
    /// # Errors
    ///
    /// The line is logged and dropped. Of one that is too long, what is known of it is returned, so that the
    /// call that it would have answered can be failed by its id. `None` is the unfinished line of a child
    /// that ended.
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
