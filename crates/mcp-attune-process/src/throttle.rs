//! A rate limit for log lines, so that a program that talks without end cannot flood the log.

use std::time::Duration;

use tokio::time::Instant;

/// Length of a window. Windows are fixed, not sliding: the first line after the end of one begins the next.
const WINDOW: Duration = Duration::from_secs(1);

/// Lets a number of lines through in each window of one second, and counts the others, so that the log can say
/// how many are missing.
#[derive(Debug)]
pub struct LogThrottle {
    /// Maximum number of lines in a window.
    most: usize,
    /// When the current window began; `None` before the first line.
    began: Option<Instant>,
    /// Lines let through in the current window.
    passed: usize,
    /// Lines left out that the log does not mention yet. Not reset by a new window.
    held_back: usize,
}

/// What the caller has to do with one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThrottleDecision {
    /// Log it, and before it say that `left_out` lines were left out, if that is not zero.
    Log {
        /// Number of lines that were left out since the last one that was logged.
        left_out: usize,
    },
    /// Do not log it. It was counted, and a later decision reports it.
    LeaveOut,
}

impl LogThrottle {
    /// Makes a throttle that lets `most` lines through in each second.
    pub fn new(most: usize) -> Self {
        Self { most, began: None, passed: 0, held_back: 0 }
    }

    /// Counts one more line and decides whether it is logged.
    pub fn admit(&mut self) -> ThrottleDecision {
        let now = Instant::now();
        if self.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (self.began, self.passed) = (Some(now), 0);
        }
        if self.passed >= self.most {
            self.held_back += 1;
            return ThrottleDecision::LeaveOut;
        }
        self.passed += 1;
        ThrottleDecision::Log { left_out: self.take_left_out() }
    }

    /// Returns how many lines were left out and not reported yet, and resets the count. To be called at the
    /// end, so that the last lines that were left out are reported too.
    pub fn take_left_out(&mut self) -> usize {
        std::mem::take(&mut self.held_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn counts_what_it_leaves_out() {
        let mut throttle = LogThrottle::new(2);
        for expected in [
            ThrottleDecision::Log { left_out: 0 },
            ThrottleDecision::Log { left_out: 0 },
            ThrottleDecision::LeaveOut,
            ThrottleDecision::LeaveOut,
            ThrottleDecision::LeaveOut,
        ] {
            assert_eq!(throttle.admit(), expected);
        }
        advance(WINDOW).await;
        assert_eq!(throttle.admit(), ThrottleDecision::Log { left_out: 3 });
        assert_eq!(throttle.admit(), ThrottleDecision::Log { left_out: 0 });
        assert_eq!(throttle.admit(), ThrottleDecision::LeaveOut);
        assert_eq!(throttle.take_left_out(), 1);
        assert_eq!(throttle.take_left_out(), 0);
    }
}
