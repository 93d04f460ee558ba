//! When it is time to look at files again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A clock that says when to look: every second, if anybody asks.
#[derive(Debug)]
pub(crate) struct Due {
    begun: Instant,
    /// When it was last time, in milliseconds since the beginning.
    looked: AtomicU64,
}

impl Due {
    /// It was just looked.
    pub(crate) fn later() -> Self {
        Self { begun: Instant::now(), looked: AtomicU64::new(0) }
    }

    /// Whether it is time; only one of those who ask at one time is told so.
    pub(crate) fn is(&self) -> bool {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let looked = self.looked.load(Ordering::Relaxed);
        let due = now.saturating_sub(looked) >= u64::try_from(LOOK.as_millis()).unwrap_or(u64::MAX);
        due && self.looked.compare_exchange(looked, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_time_once_in_a_while_and_for_one_asker() {
        let due = Due::later();
        assert!(!due.is(), "it was just looked");
        let earlier = Due { begun: Instant::now().checked_sub(LOOK * 2).unwrap(), ..due };
        assert!(earlier.is());
        assert!(!earlier.is());
    }
}
