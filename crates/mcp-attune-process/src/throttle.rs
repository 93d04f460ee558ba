//! A log that cannot be flooded: so many lines a second, then how many more there were.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which lines are counted together.
const WINDOW: Duration = Duration::from_secs(1);

/// Lets so many through in a second and counts the others.
#[derive(Debug)]
pub struct Throttle {
    most: usize,
    began: Option<Instant>,
    passed: usize,
    held_back: usize,
}

/// What to do with one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Log it, and before it that so many were left out since the last one.
    Log {
        /// How many were left out.
        left_out: usize,
    },
    /// Leave it out; it is counted.
    LeaveOut,
}

impl Throttle {
    /// Lets `most` lines through in a second.
    pub fn new(most: usize) -> Self {
        Self { most, began: None, passed: 0, held_back: 0 }
    }

    /// One more line.
    pub fn pass(&mut self) -> Passage {
        let now = Instant::now();
        if self.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (self.began, self.passed) = (Some(now), 0);
        }
        if self.passed >= self.most {
            self.held_back += 1;
            return Passage::LeaveOut;
        }
        self.passed += 1;
        Passage::Log { left_out: self.left_out() }
    }

    /// How many were left out and not told of yet.
    pub fn left_out(&mut self) -> usize {
        std::mem::take(&mut self.held_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn counts_what_it_leaves_out() {
        let mut throttle = Throttle::new(2);
        for expected in [
            Passage::Log { left_out: 0 },
            Passage::Log { left_out: 0 },
            Passage::LeaveOut,
            Passage::LeaveOut,
            Passage::LeaveOut,
        ] {
            assert_eq!(throttle.pass(), expected);
        }
        advance(WINDOW).await;
        assert_eq!(throttle.pass(), Passage::Log { left_out: 3 });
        assert_eq!(throttle.pass(), Passage::Log { left_out: 0 });
        assert_eq!(throttle.pass(), Passage::LeaveOut);
        assert_eq!(throttle.left_out(), 1);
        assert_eq!(throttle.left_out(), 0);
    }
}
