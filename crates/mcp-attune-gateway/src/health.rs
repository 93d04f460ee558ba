//! What is known about whether an upstream can be reached.
//!
//! It is learned from the traffic: every answer shows that the upstream is up, and a connection that is
//! refused or a program that does not run shows that it is down. Where the gateway was told to, `probe` adds
//! to that when there is no traffic. `/readyz` and the gauge `attune_upstream_up` tell it to operators; no
//! request is refused because of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::upstream_error::UpstreamError;

/// What is known of an upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum UpstreamState {
    /// Nobody has asked it yet. The state after the start and after every reload.
    #[default]
    Unknown,
    /// It is being probed for the first time.
    Starting,
    /// The last thing that was heard of it is an answer.
    Up,
    /// It could not be reached, for this reason.
    Down(UpstreamError),
}

impl UpstreamState {
    /// Returns whether the upstream is up, or `None` if that is not known.
    pub(crate) fn is_up(self) -> Option<bool> {
        match self {
            Self::Unknown | Self::Starting => None,
            Self::Up => Some(true),
            Self::Down(_) => Some(false),
        }
    }
}

/// The state of one upstream, shared by all requests to it and its probe.
#[derive(Debug, Default)]
pub(crate) struct UpstreamHealth {
    state: Mutex<UpstreamState>,
    /// Whether it answered since this flag was last cleared, by a failure or by the probe. It is read for
    /// every answer and written for few, so that the mutex above stays out of the way of calls.
    answered: AtomicBool,
}

impl UpstreamHealth {
    /// Returns the state as it was last set.
    pub(crate) fn state(&self) -> UpstreamState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state, and returns whether it differs from the one before. Two different reasons to be down
    /// differ.
    pub(crate) fn set(&self, state: UpstreamState) -> bool {
        if state.is_up() == Some(false) {
            self.answered.store(false, Ordering::Relaxed);
        }
        let before =
            std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state);
        before != state
    }

    /// Notes an answer, and returns whether it is the first one since the flag was cleared: only then the
    /// state has to be set.
    pub(crate) fn note_first_answer(&self) -> bool {
        !self.answered.load(Ordering::Relaxed) && !self.answered.swap(true, Ordering::Relaxed)
    }

    /// Returns whether the upstream answered since this was last asked, and clears the flag.
    pub(crate) fn take_answered(&self) -> bool {
        self.answered.swap(false, Ordering::Relaxed)
    }
}
