//! One budget of bytes for all bodies that are held in memory: requests, answers and events that are read
//! whole.
//!
//! Each of them has a bound of its own ([`BodySizeLimits`](crate::BodySizeLimits)). The budget bounds all of
//! them together, so that many callers with large answers do not use up the memory. A body that finds no room
//! is answered with 503.
//!
//! Bodies of at most 16 KiB are not counted: most calls hold less, and the number of concurrent calls bounds
//! those.
//!
//! Rules: G4.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mcp_attune_wire::notice::Notice;

/// The largest body, in bytes, that is not counted. A body that grows beyond it is counted from its first byte.
const UNCOUNTED_BYTES: usize = 16 * 1024;

/// A budget of bytes that may be held in memory at a time. Clones share the budget, so that several layers can.
///
/// Reserving never waits: it succeeds or fails at once.
///
/// ```
/// use mcp_attune_tower::BufferBudget;
///
/// let budget = BufferBudget::new(1 << 30);
/// assert_eq!(budget.used(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct BufferBudget(Arc<BudgetCounters>);

/// The shared counters of a budget.
#[derive(Debug)]
struct BudgetCounters {
    /// Maximum of `used`; it can be lowered below it.
    limit: AtomicUsize,
    /// Sum of the counted bytes of all reservations.
    used: AtomicUsize,
}

impl BufferBudget {
    /// Makes a budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetCounters { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0) }))
    }

    /// Changes the limit, for all clones. Existing reservations stay, even if they exceed it; they just cannot
    /// grow until enough was released.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Relaxed);
    }

    /// Returns how many bytes are reserved now. Bodies of at most 16 KiB are not among them.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Relaxed)
    }

    /// Begins an empty reservation for one body.
    pub(crate) fn start_reservation(&self) -> BufferReservation {
        BufferReservation { budget: self.clone(), bytes: 0, counted: 0 }
    }
}

impl Default for BufferBudget {
    /// No bound.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

/// The part of the budget that one body has reserved. Dropping it releases the bytes, so it lives as long as
/// the body does.
#[derive(Debug)]
pub(crate) struct BufferReservation {
    budget: BufferBudget,
    /// How many bytes the body holds.
    bytes: usize,
    /// How many of them count: all, or none if there are at most `UNCOUNTED_BYTES`.
    counted: usize,
}

/// The budget has no room. The caller gets 503 with this message, which names the setting `held`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BudgetFull;

impl BudgetFull {
    /// Returns what the caller is told.
    pub(crate) fn notice(&self) -> Notice {
        Notice::HeldFull
    }
}

impl fmt::Display for BudgetFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl std::error::Error for BudgetFull {}

impl BufferReservation {
    /// Reserves `more` bytes in addition. On failure the reservation stays as it was.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), BudgetFull> {
        self.resize(self.bytes.saturating_add(more))
    }

    /// Changes the reservation to `bytes` bytes in total. Shrinking always succeeds; on failure the reservation
    /// stays as it was.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), BudgetFull> {
        let wanted = if bytes <= UNCOUNTED_BYTES { 0 } else { bytes };
        if wanted > self.counted {
            let BudgetCounters { limit, used } = &*self.budget.0;
            let (more, limit) = (wanted - self.counted, limit.load(Relaxed));
            let fits = |used: usize| used.checked_add(more).filter(|used| *used <= limit);
            used.fetch_update(Relaxed, Relaxed, fits).map_err(|_| BudgetFull)?;
        } else if wanted < self.counted {
            self.budget.0.used.fetch_sub(self.counted - wanted, Relaxed);
        }
        self.counted = wanted;
        self.bytes = bytes;
        Ok(())
    }

    /// Returns whether the reservation takes anything of the budget, so that it is worth carrying along with a
    /// body.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted > 0
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.budget.0.used.fetch_sub(self.counted, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_held_has_one_bound() {
        let budget = BufferBudget::new(100 * UNCOUNTED_BYTES);
        let (mut one, mut two) = (budget.start_reservation(), budget.start_reservation());
        one.grow(UNCOUNTED_BYTES).unwrap();
        assert_eq!((budget.used(), one.is_counted()), (0, false));
        one.grow(60 * UNCOUNTED_BYTES).unwrap();
        assert_eq!(budget.used(), 61 * UNCOUNTED_BYTES);
        assert_eq!(two.grow(40 * UNCOUNTED_BYTES), Err(BudgetFull));
        assert_eq!(budget.used(), 61 * UNCOUNTED_BYTES);
        two.grow(39 * UNCOUNTED_BYTES).unwrap();
        assert_eq!(two.grow(1), Err(BudgetFull));
        one.resize(2 * UNCOUNTED_BYTES).unwrap();
        two.grow(UNCOUNTED_BYTES).unwrap();
        assert_eq!(budget.used(), 42 * UNCOUNTED_BYTES);
        drop((one, two));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_limit_that_changes_holds_for_what_comes() {
        let budget = BufferBudget::new(100 * UNCOUNTED_BYTES);
        let mut held = budget.start_reservation();
        held.grow(90 * UNCOUNTED_BYTES).unwrap();
        budget.set_limit(10 * UNCOUNTED_BYTES);
        assert_eq!(held.grow(1), Err(BudgetFull));
        held.resize(5 * UNCOUNTED_BYTES).unwrap();
        held.grow(UNCOUNTED_BYTES).unwrap();
    }
}
