//! How many messages a thread has read, for tests that none is read twice.

extern crate std;

use core::cell::Cell;

std::thread_local! {
    static READ: Cell<usize> = const { Cell::new(0) };
}

/// Counts a message.
pub(crate) fn count() {
    READ.with(|read| read.set(read.get() + 1));
}

/// How many messages this thread has read so far.
#[must_use]
pub fn on_this_thread() -> usize {
    READ.with(Cell::get)
}
