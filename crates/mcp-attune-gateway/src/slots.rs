//! A non-blocking semaphore whose permits are shared out fairly: one caller gets at most a part of them.
//!
//! 1. [`Slots::try_acquire`] fails at the limit. Nobody waits in a queue: whoever gets no permit is answered
//!    at once and can try again.
//! 2. Each key of a caller ([`CallerKeys`]) has a limit of its own, a share of all permits. Where nothing
//!    tells callers apart, there is no such limit.
//!
//! Used for calls and streams (`permits`), for connections (`listen`) and for the legacy sessions of programs
//! (`child`).
//!
//! Rules: G4.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::caller_keys::CallerKeys;

/// How many mutexes the keys are distributed over. A power of two.
const SHARDS: usize = 16;

/// A semaphore. The total is one atomic counter; only callers with keys also take a mutex, for a moment.
#[derive(Debug)]
pub(crate) struct Slots {
    /// How many permits are free.
    free: AtomicUsize,
    /// How many permits one key may have at a time; at least 1.
    max_share: usize,
    /// How many permits each key has. A key that has none is removed, so the maps are bounded by the permits
    /// that are taken.
    taken: [Mutex<Taken>; SHARDS],
}

/// The number of permits by key.
type Taken = HashMap<u64, usize>;

/// One permit. Dropping it gives it back, to the total and to each key that it was counted for.
#[derive(Debug)]
pub(crate) struct Permit {
    slots: Arc<Slots>,
    /// The keys that it was counted for.
    keys: CallerKeys,
}

/// Why there is no permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoPermit {
    /// All permits are taken. Over HTTP this is 503.
    Full,
    /// One of the caller's keys has its share. Over HTTP this is 429.
    Share,
}

impl Slots {
    /// Makes a semaphore with `limit` permits, all of which one caller may have.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Self::with_share(limit, 1.0)
    }

    /// Makes a semaphore with `limit` permits, of which one caller gets at most `share` (above 0, at most 1),
    /// rounded down, and at least one.
    pub(crate) fn with_share(limit: usize, share: f64) -> Arc<Self> {
        Arc::new(Self::with(limit, max_share(limit, share)))
    }

    /// Makes a semaphore without a total limit, of which one caller gets at most `share` of `limit`. For
    /// things whose total is bounded elsewhere.
    pub(crate) fn per_caller_only(limit: usize, share: f64) -> Arc<Self> {
        Arc::new(Self::with(usize::MAX, max_share(limit, share)))
    }

    /// Makes a semaphore with exact numbers.
    fn with(free: usize, max_share: usize) -> Self {
        Self { free: AtomicUsize::new(free), max_share, taken: Default::default() }
    }

    /// Takes a permit that is counted for no caller. `None` at the limit.
    pub(crate) fn try_acquire_any(self: &Arc<Self>) -> Option<Permit> {
        self.try_acquire(CallerKeys::default()).ok()
    }

    /// Takes a permit for a caller, or says why there is none. Never blocks for longer than a map operation.
    pub(crate) fn try_acquire(self: &Arc<Self>, keys: CallerKeys) -> Result<Permit, NoPermit> {
        let taken = self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
        if taken.is_err() {
            return Err(NoPermit::Full);
        }
        let mut permit = Permit { slots: Arc::clone(self), keys: CallerKeys::default() };
        for (place, key) in keys.iter() {
            if !self.count(key) {
                // What was counted is given back with the permit.
                return Err(NoPermit::Share);
            }
            permit.keys.set(place, key);
        }
        Ok(permit)
    }

    /// Counts a permit for a key. Returns `false`, and counts nothing, if the key has its share.
    fn count(&self, key: u64) -> bool {
        let Some(mut taken) = self.shard(key) else { return true };
        let count = taken.entry(key).or_default();
        let free = *count < self.max_share;
        *count += usize::from(free);
        free
    }

    /// Undoes [`count`](Self::count).
    fn uncount(&self, key: u64) {
        let Some(mut taken) = self.shard(key) else { return };
        if let Entry::Occupied(mut count) = taken.entry(key) {
            *count.get_mut() = count.get().saturating_sub(1);
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Locks the map that a key is in.
    fn shard(&self, key: u64) -> Option<MutexGuard<'_, Taken>> {
        // Nothing that holds the lock can panic halfway through a change.
        let place = usize::try_from(key % SHARDS as u64).unwrap_or_default();
        self.taken.get(place).map(|taken| taken.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Permit {
    /// Returns whether the permit was counted for any of these keys.
    pub(crate) fn is_held_by(&self, keys: CallerKeys) -> bool {
        keys.iter().any(|key| self.keys.iter().any(|own| own == key))
    }
}

/// Converts a share of `limit` into a number of permits, at least one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn max_share(limit: usize, share: f64) -> usize {
    ((limit as f64 * share).floor() as usize).clamp(1, limit.max(1))
}

impl Drop for Permit {
    fn drop(&mut self) {
        for (_, key) in self.keys.iter() {
            self.slots.uncount(key);
        }
        self.slots.free.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(identity: u64, peer: u64) -> CallerKeys {
        let mut keys = CallerKeys::default();
        for (place, key) in [identity, peer].into_iter().enumerate().filter(|(_, key)| *key > 0) {
            keys.set(place, key);
        }
        keys
    }

    #[test]
    fn gives_each_permit_to_one_at_a_time() {
        let slots = Slots::new(2);
        let first = slots.try_acquire_any();
        let second = slots.try_acquire_any();
        assert!(first.is_some() && second.is_some() && slots.try_acquire_any().is_none());
        drop(first);
        assert!(slots.try_acquire_any().is_some() && slots.try_acquire_any().is_some());
        let third = slots.try_acquire_any();
        assert!(third.is_some() && slots.try_acquire_any().is_none());
        assert!(Slots::new(0).try_acquire_any().is_none());
    }

    #[test]
    fn one_caller_gets_its_share_and_leaves_the_rest_to_others() {
        let slots = Slots::with_share(8, 0.25);
        let mut held: Vec<_> = (0..2).map(|_| slots.try_acquire(caller(7, 0)).unwrap()).collect();
        assert_eq!(slots.try_acquire(caller(7, 0)).unwrap_err(), NoPermit::Share);
        held.extend((0..2).map(|_| slots.try_acquire(caller(0, 9)).unwrap()));
        // Another identity from the same place, and the same identity from another place.
        assert_eq!(slots.try_acquire(caller(1, 9)).unwrap_err(), NoPermit::Share);
        assert_eq!(slots.try_acquire(caller(7, 11)).unwrap_err(), NoPermit::Share);
        held.extend((0..2).map(|_| slots.try_acquire(caller(1, 11)).unwrap()));
        held.extend((0..2).map(|_| slots.try_acquire_any().unwrap()));
        assert_eq!(slots.try_acquire(caller(2, 12)).unwrap_err(), NoPermit::Full);
        drop(held);
        assert!(slots.taken.iter().all(|taken| taken.lock().unwrap().is_empty()));
        assert_eq!(slots.free.load(Relaxed), 8);
    }

    #[test]
    fn a_share_is_one_permit_at_least() {
        let slots = Slots::with_share(2, 0.01);
        let held = slots.try_acquire(caller(7, 0)).unwrap();
        assert_eq!(slots.try_acquire(caller(7, 0)).unwrap_err(), NoPermit::Share);
        drop(held);
        assert!(slots.try_acquire(caller(7, 0)).is_ok());
    }
}
