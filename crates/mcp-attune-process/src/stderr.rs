//! What a child says on its standard error, in our log: line by line, bounded in every direction.

use tokio::io::AsyncRead;

use crate::lines::{Line, Lines};
use crate::throttle::{Passage, Throttle};

/// How much of a line is logged.
const LONGEST: usize = 1024;
/// How many lines of one child are logged in a second.
const A_SECOND: usize = 50;

/// Logs until the other end is closed. The child never waits for it.
pub(crate) async fn log(from: impl AsyncRead + Unpin, child: String) {
    let mut lines = Lines::new(from, LONGEST);
    let mut throttle = Throttle::new(A_SECOND);
    while let Ok(Some(line)) = lines.next().await {
        let (text, more) = match &line {
            Line::Whole(text) | Line::Unfinished(text) => (text.as_slice(), ""),
            Line::TooLong(long) => (long.start.as_slice(), "…"),
        };
        match throttle.pass() {
            Passage::LeaveOut => {}
            Passage::Log { left_out } => {
                if left_out > 0 {
                    tracing::info!(child, "and {left_out} more lines");
                }
                tracing::info!(child, "{}{more}", shown(text));
            }
        }
    }
    let left_out = throttle.left_out();
    if left_out > 0 {
        tracing::info!(child, "and {left_out} more lines");
    }
}

/// Text that cannot do anything to a terminal.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim_end()
        .chars()
        .map(|char| if char.is_control() && char != '\t' { '\u{fffd}' } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_nothing_that_a_terminal_would_obey() {
        assert_eq!(shown(b"ready \x1b[2J\x07 \xff\tyes \r"), "ready \u{fffd}[2J\u{fffd} \u{fffd}\tyes");
    }
}
