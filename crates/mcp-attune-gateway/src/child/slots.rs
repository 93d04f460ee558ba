//! A semaphore for the programs of legacy sessions: how many may run at a time.
//!
//! 1. A program has its slot until it is over, not only until its session is: however fast sessions come and
//!    go, no more programs run than there are slots.
//! 2. Whoever finds no free slot may wait for one of a program that is about to end, if nobody else waits for
//!    it.
//!
//! `crate::slots::Slots` counts the sessions of one caller; this counts the processes of all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// The slots of one program. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct SessionSlots {
    /// One permit for each program that may still be started.
    free: Arc<Semaphore>,
    /// How many programs have their slot still and are about to end, so that it will be free soon.
    ending: Arc<AtomicUsize>,
    /// How many callers wait for a slot.
    waiting: Arc<AtomicUsize>,
}

/// The slot of one program, free again when this is dropped. Drop it when the process is over.
#[derive(Debug)]
pub(super) struct SessionSlot {
    // In this order: the slot must not count as ending when it is free.
    ending: SlotEndingMark,
    _permit: OwnedSemaphorePermit,
}

/// Counts a slot among those that will be free soon, from [`SessionSlot::mark_ending`] until it is dropped.
#[derive(Debug)]
struct SlotEndingMark {
    count: Arc<AtomicUsize>,
    /// Whether it is counted, so that marking a slot twice counts it once.
    begun: AtomicBool,
}

impl SessionSlots {
    /// Makes `count` slots, all of them free.
    pub(super) fn new(count: usize) -> Self {
        let free = Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self { free, ending: Arc::default(), waiting: Arc::default() }
    }

    /// Takes a slot: at once where one is free, else as soon as a program that is about to end is over.
    ///
    /// Where more callers wait than programs are about to end, `make_room` is called. It ends a program that
    /// nobody needs, and returns whether there was one. If not, the result is `None`, without waiting.
    /// Dropping the future takes no slot.
    pub(super) async fn acquire_slot(&self, make_room: impl FnOnce() -> bool) -> Option<SessionSlot> {
        if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
            return Some(self.slot(permit));
        }
        let waiting = SlotWaiter::new(&self.waiting);
        if waiting.number > self.ending.load(Ordering::Acquire) && !make_room() {
            return None;
        }
        let permit: Result<_, AcquireError> = Arc::clone(&self.free).acquire_owned().await;
        permit.ok().map(|permit| self.slot(permit))
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> SessionSlot {
        let ending = SlotEndingMark { count: Arc::clone(&self.ending), begun: AtomicBool::new(false) };
        SessionSlot { ending, _permit: permit }
    }
}

impl SessionSlot {
    /// Notes that the program is about to end, so that a caller may wait for its slot.
    pub(super) fn mark_ending(&self) {
        if !self.ending.begun.swap(true, Ordering::AcqRel) {
            self.ending.count.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl Drop for SlotEndingMark {
    fn drop(&mut self) {
        if *self.begun.get_mut() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Counts a caller among those that wait, until it is dropped.
struct SlotWaiter {
    count: Arc<AtomicUsize>,
    /// How many waited when this one came, itself included.
    number: usize,
}

impl SlotWaiter {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        let before = count.fetch_add(1, Ordering::AcqRel);
        Self { count: Arc::clone(count), number: before + 1 }
    }
}

impl Drop for SlotWaiter {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn whoever_finds_no_slot_waits_only_for_one_that_becomes_free() {
        let slots = SessionSlots::new(2);
        let (one, two) =
            (slots.acquire_slot(|| false).await.unwrap(), slots.acquire_slot(|| false).await.unwrap());
        assert!(slots.acquire_slot(|| false).await.is_none(), "nobody goes");
        // One program is about to end: one caller waits for it, and the next would need another.
        one.mark_ending();
        one.mark_ending();
        let waits = tokio::spawn({
            let slots = slots.clone();
            async move { slots.acquire_slot(|| panic!("one is about to be free")).await }
        });
        tokio::task::yield_now().await;
        assert!(slots.acquire_slot(|| false).await.is_none());
        assert!(
            timeout(Duration::from_secs(1), slots.acquire_slot(|| true)).await.is_err(),
            "it is not over yet"
        );
        drop(one);
        let one = waits.await.unwrap().unwrap();
        assert!(slots.acquire_slot(|| false).await.is_none(), "all are taken again");
        two.mark_ending();
        drop((one, two));
        assert!(slots.acquire_slot(|| false).await.is_some() && slots.acquire_slot(|| false).await.is_some());
    }
}
