//! So many at a time, and nobody waits: who finds no place is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Places that are free.
#[derive(Debug)]
pub(crate) struct Places {
    free: AtomicUsize,
}

/// A place that is taken until it is dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Places>);

impl Places {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        Arc::new(Self { free: AtomicUsize::new(count) })
    }

    /// Takes a place, where one is free.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Place> {
        let taken = self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
        taken.is_ok().then(|| Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_each_place_to_one_at_a_time() {
        let places = Places::new(2);
        let first = places.take();
        let second = places.take();
        assert!(first.is_some() && second.is_some() && places.take().is_none());
        drop(first);
        assert!(places.take().is_some() && places.take().is_some());
        let third = places.take();
        assert!(third.is_some() && places.take().is_none());
        assert!(Places::new(0).take().is_none());
    }
}
