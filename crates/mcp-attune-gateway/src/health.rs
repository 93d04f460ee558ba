//! Whether a server behind can be reached, as far as is known.
//!
//! Every answer says that it can; a connection that is refused, or a program that does not run, says that it cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::upstream_error::UpstreamError;

/// What is known of a server behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum UpstreamState {
    /// Nobody has asked it yet.
    #[default]
    Unknown,
    /// It is being tried for the first time.
    Starting,
    /// It answered.
    Up,
    /// It could not be reached.
    Down(UpstreamError),
}

impl UpstreamState {
    /// None where that is not known.
    pub(crate) fn is_up(self) -> Option<bool> {
        match self {
            Self::Unknown | Self::Starting => None,
            Self::Up => Some(true),
            Self::Down(_) => Some(false),
        }
    }
}

/// The state of one server behind.
#[derive(Debug, Default)]
pub(crate) struct UpstreamHealth {
    state: Mutex<UpstreamState>,
    /// Whether it answered since this was last looked at. Read for every answer, and written for few.
    answered: AtomicBool,
}

impl UpstreamHealth {
    pub(crate) fn state(&self) -> UpstreamState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts it in another state, and says whether it was in one that differs.
    pub(crate) fn set(&self, state: UpstreamState) -> bool {
        if state.is_up() == Some(false) {
            self.answered.store(false, Ordering::Relaxed);
        }
        let before =
            std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state);
        before != state
    }

    /// Notes an answer, and says whether it is the first one in a while.
    pub(crate) fn note_first_answer(&self) -> bool {
        !self.answered.load(Ordering::Relaxed) && !self.answered.swap(true, Ordering::Relaxed)
    }

    /// Whether it answered since this was last asked.
    pub(crate) fn take_answered(&self) -> bool {
        self.answered.swap(false, Ordering::Relaxed)
    }
}
