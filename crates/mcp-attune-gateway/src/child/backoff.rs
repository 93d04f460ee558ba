//! When a program that ends by itself may be started again.
//!
//! 1. At once, the first time.
//! 2. When it ends again before it was up for a while, after a pause that doubles, up to a bound.
//! 3. A child that was up for that while starts the count anew.
//! 4. A program that answered somebody lately can run: what ended it may be one caller's doing, and must not take it
//!    from all others. The pause then stays as short as the first one.

use std::time::Duration;

use tokio::time::Instant;

/// A child that was up for this long was healthy.
const HEALTHY_UPTIME: Duration = Duration::from_secs(10);
/// A program that answered within this time can run.
const RECENT_ANSWER: Duration = Duration::from_secs(60);
const MIN_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// How often children ended by themselves lately.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    until: Option<Instant>,
    /// When a child was last known to have answered.
    answered: Option<Instant>,
}

impl Backoff {
    /// A child answered, so the program can run.
    pub(super) fn note_answer(&mut self) {
        self.answered = Some(Instant::now());
    }

    /// A child ended by itself that was started then.
    pub(super) fn note_end(&mut self, started: Instant) {
        if started.elapsed() >= HEALTHY_UPTIME {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        if self.answered.is_some_and(|answered| answered.elapsed() < RECENT_ANSWER) {
            self.failures = self.failures.min(2);
        }
        let doublings = self.failures.checked_sub(2);
        let pause = doublings.map(|times| MIN_PAUSE.saturating_mul(1 << times.min(16)).min(MAX_PAUSE));
        self.until = pause.map(|pause| Instant::now() + pause);
    }

    /// How long to wait before the next start; none when it may be now.
    pub(super) fn remaining_pause(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_a_healthy_while_ends_them() {
        let mut backoff = Backoff::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            backoff.note_end(Instant::now());
            pauses.push(backoff.remaining_pause().unwrap_or_default().as_millis());
        }
        assert_eq!(pauses, [0, 250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
        advance(MAX_PAUSE).await;
        assert_eq!(backoff.remaining_pause(), None);
        let started = Instant::now();
        advance(HEALTHY_UPTIME).await;
        backoff.note_end(started);
        assert_eq!(backoff.remaining_pause(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_stay_short_for_a_program_that_answered_lately() {
        let mut backoff = Backoff::default();
        let pauses = |backoff: &mut Backoff| {
            let mut next = || {
                backoff.note_end(Instant::now());
                backoff.remaining_pause().unwrap_or_default().as_millis()
            };
            [next(), next(), next(), next()]
        };
        backoff.note_answer();
        assert_eq!(pauses(&mut backoff), [0, 250, 250, 250]);
        advance(RECENT_ANSWER).await;
        assert_eq!(pauses(&mut backoff), [500, 1000, 2000, 4000], "it has not answered for long");
        backoff.note_answer();
        assert_eq!(pauses(&mut backoff), [250; 4]);
    }
}
