//! One budget of bytes for everything that is held back: bodies of requests, answers and events that are read whole.
//!
//! Each of them has a bound of its own ([`Limits`](crate::Limits)); this bounds all of them together, so that many callers
//! with large answers do not use up the memory. What finds no room is answered with 503.
//!
//! What is small is not counted: most calls hold less, and the number of calls bounds it.
//!
//! Rules: G4.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What is not counted of each body.
const UNCOUNTED_BYTES: usize = 16 * 1024;

/// How many bytes may be held back at a time. A clone is the same budget.
///
/// ```
/// use mcp_attune_tower::BufferBudget;
///
/// let budget = BufferBudget::new(1 << 30);
/// assert_eq!(budget.used(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct BufferBudget(Arc<BudgetCounters>);

#[derive(Debug)]
struct BudgetCounters {
    limit: AtomicUsize,
    used: AtomicUsize,
}

impl BufferBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(BudgetCounters { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0) }))
    }

    /// Changes the limit. What is held already stays.
    pub fn set_limit(&self, limit: usize) {
        self.0.limit.store(limit, Relaxed);
    }

    /// How many bytes are counted now.
    #[must_use]
    pub fn used(&self) -> usize {
        self.0.used.load(Relaxed)
    }

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

/// What one body has of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct BufferReservation {
    budget: BufferBudget,
    bytes: usize,
    counted: usize,
}

/// The budget is used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BudgetFull;

impl fmt::Display for BudgetFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too much is being held back for other calls, the limit `held`; try again in a moment")
    }
}

impl std::error::Error for BudgetFull {}

impl BufferReservation {
    /// Holds so many bytes more.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), BudgetFull> {
        self.resize(self.bytes.saturating_add(more))
    }

    /// Holds so many bytes.
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

    /// Whether anything is counted.
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
