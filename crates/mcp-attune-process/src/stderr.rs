//! What a child says on its standard error, in our log: line by line, bounded in every direction.

use mcp_attune_wire::text::is_disruptive;
use tokio::io::AsyncRead;

use crate::lines::{BoundedLine, BoundedLineReader};
use crate::throttle::{LogThrottle, ThrottleDecision};

/// How much of a line is logged.
const MAX_LOGGED_LINE_BYTES: usize = 1024;
/// How many lines of one child are logged in a second.
const MAX_STDERR_LINES_PER_SECOND: usize = 50;

/// Logs until the other end is closed. The child never waits for it.
pub(crate) async fn log_lines(from: impl AsyncRead + Unpin, child: String) {
    let mut lines = BoundedLineReader::new(from, MAX_LOGGED_LINE_BYTES);
    let mut throttle = LogThrottle::new(MAX_STDERR_LINES_PER_SECOND);
    while let Ok(Some(line)) = lines.next_line().await {
        let (text, more) = match &line {
            BoundedLine::Whole(text) | BoundedLine::Unfinished(text) => (text.as_slice(), ""),
            BoundedLine::TooLong(long) => (long.start.as_slice(), "…"),
        };
        match throttle.admit() {
            ThrottleDecision::LeaveOut => {}
            ThrottleDecision::Log { left_out } => {
                if left_out > 0 {
                    tracing::info!(child, "and {left_out} more lines");
                }
                tracing::info!(child, "{}{more}", sanitize_for_log(text));
            }
        }
    }
    let left_out = throttle.take_left_out();
    if left_out > 0 {
        tracing::info!(child, "and {left_out} more lines");
    }
}

/// Text that cannot do anything to a terminal.
fn sanitize_for_log(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim_end()
        .chars()
        .map(|char| if is_disruptive(char) || char == '\n' { '\u{fffd}' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_nothing_that_a_terminal_would_obey() {
        assert_eq!(
            sanitize_for_log(b"ready \x1b[2J\x07 \xff\tyes \r"),
            "ready \u{fffd}[2J\u{fffd} \u{fffd}\tyes"
        );
    }
}
