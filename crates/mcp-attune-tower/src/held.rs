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
const FREE: usize = 16 * 1024;

/// How many bytes may be held back at a time. A clone is the same budget.
///
/// ```
/// use mcp_attune_tower::HeldBudget;
///
/// let budget = HeldBudget::new(1 << 30);
/// assert_eq!(budget.used(), 0);
/// ```
#[derive(Clone, Debug)]
pub struct HeldBudget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: AtomicUsize,
    used: AtomicUsize,
}

impl HeldBudget {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Shared { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0) }))
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

    pub(crate) fn hold(&self) -> Held {
        Held { budget: self.clone(), bytes: 0, counted: 0 }
    }
}

impl Default for HeldBudget {
    /// No bound.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

/// What one body has of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: HeldBudget,
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

impl Held {
    /// Holds so many bytes more.
    pub(crate) fn grow(&mut self, more: usize) -> Result<(), BudgetFull> {
        self.set(self.bytes.saturating_add(more))
    }

    /// Holds so many bytes.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), BudgetFull> {
        let wanted = if bytes <= FREE { 0 } else { bytes };
        if wanted > self.counted {
            let Shared { limit, used } = &*self.budget.0;
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

impl Drop for Held {
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
        let budget = HeldBudget::new(100 * FREE);
        let (mut one, mut two) = (budget.hold(), budget.hold());
        one.grow(FREE).unwrap();
        assert_eq!((budget.used(), one.is_counted()), (0, false));
        one.grow(60 * FREE).unwrap();
        assert_eq!(budget.used(), 61 * FREE);
        assert_eq!(two.grow(40 * FREE), Err(BudgetFull));
        assert_eq!(budget.used(), 61 * FREE);
        two.grow(39 * FREE).unwrap();
        assert_eq!(two.grow(1), Err(BudgetFull));
        one.set(2 * FREE).unwrap();
        two.grow(FREE).unwrap();
        assert_eq!(budget.used(), 42 * FREE);
        drop((one, two));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_limit_that_changes_holds_for_what_comes() {
        let budget = HeldBudget::new(100 * FREE);
        let mut held = budget.hold();
        held.grow(90 * FREE).unwrap();
        budget.set_limit(10 * FREE);
        assert_eq!(held.grow(1), Err(BudgetFull));
        held.set(5 * FREE).unwrap();
        held.grow(FREE).unwrap();
    }
}
