//! A log that cannot be flooded: so many lines a second, then how many more there were.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which lines are counted together.
const WINDOW: Duration = Duration::from_secs(1);

/// Lets so many through in a second and counts the others.
#[derive(Debug)]
pub struct LogThrottle {
    most: usize,
    began: Option<Instant>,
    passed: usize,
    held_back: usize,
}

/// What to do with one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThrottleDecision {
    /// Log it, and before it that so many were left out since the last one.
    Log {
        /// How many were left out.
        left_out: usize,
    },
    /// Leave it out; it is counted.
    LeaveOut,
}

impl LogThrottle {
    /// Lets `most` lines through in a second.
    pub fn new(most: usize) -> Self {
        Self { most, began: None, passed: 0, held_back: 0 }
    }

    /// One more line.
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

    /// How many were left out and not told of yet.
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
