//! Which era the server speaks, as far as it is known.
//!
//! 1. It is asked by one request at a time; whoever comes meanwhile waits for that.
//! 2. What was found out is kept. A modern request that is answered with 400, 404 or 405 makes it doubtful: then it is
//!    asked again, but not within [`RECHECK`] of the last time.
//!
//! Rules: X1.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::config::UpstreamEra;

/// How long after one question the next may be asked.
const RECHECK: Duration = Duration::from_secs(10);

/// The era of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum KnownEra {
    Modern,
    Legacy,
}

/// What is known of the era of a server.
#[derive(Debug)]
pub(super) struct EraMemory {
    /// Whether the server is asked; if not, the operator said it.
    is_asked: bool,
    /// 0: unknown, 1: modern, 2: legacy.
    known: AtomicU8,
    is_doubtful: AtomicBool,
    /// Held while the server is asked; when that was last.
    asking: Mutex<Option<Instant>>,
}

impl EraMemory {
    pub(super) fn new(setting: UpstreamEra) -> Self {
        let known = match setting {
            UpstreamEra::Auto => 0,
            UpstreamEra::Modern => 1,
            UpstreamEra::Legacy => 2,
        };
        Self {
            is_asked: setting == UpstreamEra::Auto,
            known: AtomicU8::new(known),
            is_doubtful: AtomicBool::new(false),
            asking: Mutex::new(None),
        }
    }

    /// Whether the server is asked.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Returns the era; `None` where the server has to be asked.
    pub(super) fn known(&self) -> Option<KnownEra> {
        if self.is_doubtful.load(Ordering::Relaxed) {
            return None;
        }
        self.last_known()
    }

    /// Returns the era that was found out last, also where it is doubtful.
    pub(super) fn last_known(&self) -> Option<KnownEra> {
        match self.known.load(Ordering::Relaxed) {
            1 => Some(KnownEra::Modern),
            2 => Some(KnownEra::Legacy),
            _ => None,
        }
    }

    /// Waits for the turn to ask. `None` where somebody found it out meanwhile.
    pub(super) async fn begin_asking(&self) -> Option<AskingEra<'_>> {
        let mut asked = self.asking.lock().await;
        if self.known().is_some() {
            return None;
        }
        if self.last_known().is_some() && asked.is_some_and(|asked| asked.elapsed() < RECHECK) {
            return None;
        }
        *asked = Some(Instant::now());
        Some(AskingEra { memory: self, _turn: asked })
    }

    /// Notes the status that a modern request was answered with.
    pub(super) fn note_status(&self, status: StatusCode) {
        let is_odd = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        if is_odd && self.is_asked {
            self.is_doubtful.store(true, Ordering::Relaxed);
        }
    }

    /// Notes what a server speaks.
    pub(super) fn set(&self, era: KnownEra) {
        if self.is_asked {
            self.known.store(if era == KnownEra::Modern { 1 } else { 2 }, Ordering::Relaxed);
            self.is_doubtful.store(false, Ordering::Relaxed);
        }
    }
}

/// The turn to ask the server.
pub(super) struct AskingEra<'m> {
    memory: &'m EraMemory,
    _turn: MutexGuard<'m, Option<Instant>>,
}

impl AskingEra<'_> {
    /// Notes the answer.
    pub(super) fn found(self, era: KnownEra) {
        self.memory.set(era);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_found_out_is_kept_until_an_answer_is_odd() {
        let memory = EraMemory::new(UpstreamEra::Auto);
        assert_eq!(memory.known(), None);
        memory.begin_asking().await.unwrap().found(KnownEra::Modern);
        assert_eq!(memory.known(), Some(KnownEra::Modern));
        assert!(memory.begin_asking().await.is_none());
        memory.note_status(StatusCode::OK);
        assert_eq!(memory.known(), Some(KnownEra::Modern));
        memory.note_status(StatusCode::NOT_FOUND);
        assert_eq!((memory.known(), memory.last_known()), (None, Some(KnownEra::Modern)));
        assert!(memory.begin_asking().await.is_none(), "asked again at once");
        tokio::time::advance(RECHECK).await;
        memory.begin_asking().await.unwrap().found(KnownEra::Legacy);
        assert_eq!(memory.known(), Some(KnownEra::Legacy));
    }

    #[test]
    fn what_the_operator_says_stays() {
        for (setting, era) in
            [(UpstreamEra::Modern, KnownEra::Modern), (UpstreamEra::Legacy, KnownEra::Legacy)]
        {
            let memory = EraMemory::new(setting);
            memory.note_status(StatusCode::NOT_FOUND);
            memory.set(KnownEra::Modern);
            assert_eq!(memory.known(), Some(era));
            assert!(!memory.is_asked());
        }
    }
}
