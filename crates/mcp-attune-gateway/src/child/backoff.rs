//! When a program that ends by itself may be started again.
//!
//! 1. At once, the first time.
//! 2. When it ends again before it was up for a while, after a pause that doubles, up to a bound.
//! 3. A child that was up for that while starts the count anew.
//! 4. A program that answered somebody lately can run: what ended it may be one caller's doing, and must not take it
//!    from all others. The pause then stays as short as the first one.

use std::time::Duration;

use tokio::time::Instant;

/// A child that ran for this long before it ended was healthy, and the count of failures starts anew.
const HEALTHY_UPTIME: Duration = Duration::from_secs(10);
/// A program that answered a request within this time can run, and the pause stays at its minimum.
const RECENT_ANSWER: Duration = Duration::from_secs(60);
/// The pause after the second failure in a row; each further one doubles it.
const MIN_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Counts how often children of one program ended by themselves, and computes when the next one may be
/// started.
///
/// The supervisor, the shared child and all sessions of a program have the same one. It never sleeps: the
/// supervisor asks for [`remaining_pause`](Self::remaining_pause) before each start, and waits or refuses.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    /// How many ends count towards the pause: that of the last healthy child, and all since.
    failures: u32,
    /// When the next child may be started; `None` where that is at once.
    until: Option<Instant>,
    /// When a child was last known to have answered a request.
    answered: Option<Instant>,
}

impl Backoff {
    /// Records that a child answered a request: the program can run.
    pub(super) fn note_answer(&mut self) {
        self.answered = Some(Instant::now());
    }

    /// Records that a child which was started at `started` ended by itself, or that it could not be started,
    /// and sets the pause: none after the first failure, then [`MIN_PAUSE`], doubled up to [`MAX_PAUSE`].
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

    /// Returns how long to wait before the next start, or `None` if a child may be started now.
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
