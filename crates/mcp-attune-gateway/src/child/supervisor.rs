//! The children of one program: started when they are needed, not too often, and ended when nobody needs them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_attune_process::process;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::backoff::Backoff;
use super::era::{self, ChildProtocol};
use super::options::ChildOptions;
use super::session::LegacySession;
use super::shared_child::SharedChild;
use super::slots::SessionSlots;
use crate::slots::Slots;
use crate::upstream::UpstreamError;

/// Children without work are looked for this often, or more often where they may be idle for less.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// A start that has to wait longer than this is refused instead.
const MAX_START_WAIT: Duration = Duration::from_secs(1);
/// A program that ended before it answered is not started again for so long: one caller's call can ask it more than once.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// A program behind: what it speaks, and its children, which are started when they are needed and end when they are not.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) options: ChildOptions,
    /// Says when all is over; let go of at the end, which waits for it.
    all_stop: Mutex<Option<watch::Receiver<bool>>>,
    pub(super) backoff: Arc<Mutex<Backoff>>,
    known: Mutex<SupervisorState>,
    /// Held while a shared child is being started.
    starting: tokio::sync::Mutex<()>,
    /// How many starts of a shared child have failed.
    failed: AtomicU64,
    pub(super) slots: SessionSlots,
    /// Counts the sessions of each caller.
    pub(super) callers: Arc<Slots>,
}

#[derive(Debug, Default)]
pub(super) struct SupervisorState {
    speaks: Option<Arc<ChildProtocol>>,
    /// Whether it initializes, once a caller has asked it to: not all who do list the versions that begin so.
    pub(super) initializes: Option<bool>,
    shared: Option<Arc<SharedChild>>,
    pub(super) sessions: HashMap<String, Arc<LegacySession>>,
    last_failure: Option<(UpstreamError, Instant)>,
    /// Whether somebody looks for children without work.
    looks: bool,
}

impl Supervisor {
    pub(super) fn new(options: ChildOptions, all_stop: watch::Receiver<bool>) -> Self {
        let slots = SessionSlots::new(options.sessions);
        let callers = Slots::per_caller_only(options.sessions, options.share);
        Self {
            options,
            all_stop: Mutex::new(Some(all_stop)),
            backoff: Arc::default(),
            known: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            failed: AtomicU64::new(0),
            slots,
            callers,
        }
    }

    pub(super) fn options(&self) -> &ChildOptions {
        &self.options
    }

    /// No child is started from now on.
    pub(super) fn refuse_new_children(&self) {
        self.all_stop.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) fn all_stop(&self) -> Result<watch::Receiver<bool>, UpstreamError> {
        let all_stop = self.all_stop.lock().unwrap_or_else(PoisonError::into_inner);
        all_stop.clone().ok_or(UpstreamError::Refused)
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, SupervisorState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a child may be started again, if that is soon.
    pub(super) async fn wait_for_backoff(&self) -> Result<(), UpstreamError> {
        let last = self.lock_state().last_failure;
        if let Some((ended @ UpstreamError::Ended(_), at)) = last
            && at.elapsed() < RESTART_DELAY
        {
            return Err(ended);
        }
        let pause = self.backoff.lock().unwrap_or_else(PoisonError::into_inner).remaining_pause();
        match pause {
            None => Ok(()),
            Some(pause) if pause <= MAX_START_WAIT => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            Some(_) => Err(UpstreamError::Refused),
        }
    }

    pub(super) fn note_failed_start(&self, why: &process::ProgramStartError) -> UpstreamError {
        tracing::error!(mount = self.options.mount, "{why}");
        let now = Instant::now();
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner).note_end(now);
        UpstreamError::NotStarted
    }

    /// What the child speaks, found out where it is not known yet.
    pub(super) async fn protocol(self: &Arc<Self>) -> Result<Arc<ChildProtocol>, UpstreamError> {
        if let Some(speaks) = self.lock_state().speaks.clone() {
            return Ok(speaks);
        }
        self.ensure_ready().await.map(|(speaks, _)| speaks)
    }

    /// Whether this is a child that no legacy caller can speak to, as far as is known.
    pub(super) fn is_modern_only(&self, speaks: &ChildProtocol) -> bool {
        speaks.is_modern_only() && self.lock_state().initializes != Some(true)
    }

    /// What the child speaks, and where it is modern, one that runs. The work goes on when its caller goes away.
    pub(super) async fn ensure_ready(
        self: &Arc<Self>,
    ) -> Result<(Arc<ChildProtocol>, Option<Arc<SharedChild>>), UpstreamError> {
        if let Some(ready) = self.ready_child() {
            return Ok(ready);
        }
        let before = self.failed.load(Ordering::Acquire);
        let this = Arc::clone(self);
        let work = tokio::spawn(async move {
            let _held = this.starting.lock().await;
            if let Some(ready) = this.ready_child() {
                return Ok(ready);
            }
            // Whoever held it before has just failed, for all who waited.
            if this.failed.load(Ordering::Acquire) != before
                && let Some((error, _)) = this.lock_state().last_failure
            {
                return Err(error);
            }
            this.start().await.inspect_err(|error| {
                this.lock_state().last_failure = Some((*error, Instant::now()));
                this.failed.fetch_add(1, Ordering::AcqRel);
            })
        });
        let ready =
            timeout(self.options.first_byte, work).await.map_err(|_| UpstreamError::FirstByteTimeout)?;
        ready.unwrap_or(Err(UpstreamError::Broken))
    }

    fn ready_child(&self) -> Option<(Arc<ChildProtocol>, Option<Arc<SharedChild>>)> {
        let known = self.lock_state();
        let speaks = known.speaks.clone()?;
        if !speaks.modern {
            return Some((speaks, None));
        }
        let shared = known.shared.clone().filter(|shared| !shared.is_over())?;
        Some((speaks, Some(shared)))
    }

    async fn start(
        self: &Arc<Self>,
    ) -> Result<(Arc<ChildProtocol>, Option<Arc<SharedChild>>), UpstreamError> {
        self.wait_for_backoff().await?;
        let start = || {
            let ChildOptions { program, mount, line, .. } = &self.options;
            let started =
                SharedChild::start(program, mount, *line, self.all_stop()?, Arc::clone(&self.backoff));
            started.map(Arc::new).map_err(|why| self.note_failed_start(&why))
        };
        let speaks = self.lock_state().speaks.clone();
        let (speaks, shared) = match speaks {
            Some(speaks) => {
                let shared = start()?;
                era::wait_until_answering(&shared, self.options.first_byte / 6).await?;
                (speaks, Some(shared))
            }
            None => {
                let at_most = self.options.first_byte;
                let (speaks, shared) = era::probe_protocol(start, at_most / 6, at_most).await?;
                tracing::info!(mount = self.options.mount, versions = ?speaks.versions, "the child was asked what it speaks");
                let shared = match shared {
                    None if speaks.modern => Some(start()?),
                    shared => shared,
                };
                (Arc::new(speaks), shared)
            }
        };
        let mut known = self.lock_state();
        known.speaks = Some(Arc::clone(&speaks));
        known.shared.clone_from(&shared);
        drop(known);
        self.start_idle_checks();
        Ok((speaks, shared))
    }

    /// Looks for children without work from now on, if nobody does yet.
    pub(super) fn start_idle_checks(self: &Arc<Self>) {
        if std::mem::replace(&mut self.lock_state().looks, true) {
            return;
        }
        let pause = IDLE_CHECK_INTERVAL.min(self.options.idle / 2).max(Duration::from_millis(10));
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(this) = this.upgrade() else { return };
                this.end_idle();
            }
        });
    }

    pub(super) fn end_idle(&self) {
        let idle = self.options.idle;
        let mut known = self.lock_state();
        let ended: Vec<_> = known
            .sessions
            .extract_if(|_, session| session.is_over() || session.is_idle(idle))
            .map(|(_, session)| session)
            .collect();
        let shared = known.shared.take_if(|shared| shared.is_over() || shared.is_idle(idle));
        drop(known);
        for session in &ended {
            session.end();
        }
        drop(shared);
    }

    /// Ends the session that was idle for longest among those that `may_end`, and says whether there was one.
    pub(super) fn end_longest_idle(&self, may_end: impl Fn(&LegacySession) -> bool) -> bool {
        let mut known = self.lock_state();
        loop {
            let sessions = known.sessions.iter().filter(|(_, session)| may_end(session));
            let idle = sessions.filter_map(|(id, session)| Some((session.idle_since()?, id)));
            let Some(id) = idle.min().map(|(_, id)| id.clone()) else { return false };
            // Its caller may have been quicker.
            if known.sessions.get(&id).is_some_and(|session| session.end_idle()) {
                known.sessions.remove(&id);
                tracing::debug!(mount = self.options.mount, "an idle session makes room for a new one");
                return true;
            }
        }
    }
}
