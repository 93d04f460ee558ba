//! The children of one program: started when they are needed, not too often, and ended when nobody needs
//! them.
//!
//! 1. One start of a shared child runs at a time. Whoever needs it meanwhile waits for that start and gets
//!    its outcome.
//! 2. A start is not cancelled with the request that caused it: the next one finds the child ready.
//! 3. After a child that ended by itself, starts are delayed (see `backoff`). A request waits for a second at
//!    most; where the delay is longer it is refused at once.
//! 4. Once a child has been started, idle children are looked for periodically, for as long as the supervisor
//!    is there.

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

/// How often idle children are looked for. Where half of `child_idle` is shorter, that counts instead.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The longest delay that a request waits for. A start that has to be delayed for longer is refused instead.
const MAX_START_WAIT: Duration = Duration::from_secs(1);
/// For this long after a shared child ended before it answered, the program is not started again and callers
/// get the same error: one call can cause several requests, and each would start the program again.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// A program behind: what it speaks, its shared child, and the children of its legacy sessions.
///
/// There is one for each set of options (see `ChildRegistry`), used by all requests of the mount. When it is
/// dropped, its children end. How requests are answered is in `modern` and `legacy`, as further methods.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// How the program is run, and its limits.
    pub(super) options: ChildOptions,
    /// Tells children that all of them are to end. `None` once the gateway ends: no child is started any
    /// more, and the gateway, which waits until all receivers are gone, need not wait for this one.
    all_stop: Mutex<Option<watch::Receiver<bool>>>,
    /// When the next child may be started. All children of the program report to it.
    pub(super) backoff: Arc<Mutex<Backoff>>,
    /// What changes. Only locked for short, never across an `await`.
    known: Mutex<SupervisorState>,
    /// Held while a shared child is being started, so that one is.
    starting: tokio::sync::Mutex<()>,
    /// How many starts of a shared child have failed. A request that waited for a start sees by it that the
    /// start failed.
    failed: AtomicU64,
    /// Limits how many children of sessions run at a time.
    pub(super) slots: SessionSlots,
    /// Limits how many sessions one caller has.
    pub(super) callers: Arc<Slots>,
}

/// What is known of a program, and the children that it has now.
#[derive(Debug, Default)]
pub(super) struct SupervisorState {
    /// What the program speaks; `None` until it was asked.
    speaks: Option<Arc<ChildProtocol>>,
    /// Whether the program answers `initialize`; `None` until a caller has asked it to. Some do that list no
    /// legacy version, so this decides where it is known.
    pub(super) initializes: Option<bool>,
    /// The child that modern callers share. It may be over already.
    shared: Option<Arc<SharedChild>>,
    /// The open sessions by their ids. Those whose child has ended stay until the next look for idle ones.
    pub(super) sessions: HashMap<String, Arc<LegacySession>>,
    /// Why and when the last start of a shared child failed.
    last_failure: Option<(UpstreamError, Instant)>,
    /// Whether the task runs that ends idle children.
    looks: bool,
}

impl Supervisor {
    /// Makes a supervisor without children. `all_stop` becomes `true` when all children are to end.
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

    /// Lets no child be started from now on. Part of the end of the gateway.
    pub(super) fn refuse_new_children(&self) {
        self.all_stop.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns a receiver for a child that is about to be started. Fails with [`UpstreamError::Refused`]
    /// where the gateway is about to end.
    pub(super) fn all_stop(&self) -> Result<watch::Receiver<bool>, UpstreamError> {
        let all_stop = self.all_stop.lock().unwrap_or_else(PoisonError::into_inner);
        all_stop.clone().ok_or(UpstreamError::Refused)
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, SupervisorState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a child may be started, for [`MAX_START_WAIT`] at most.
    ///
    /// Fails at once with [`UpstreamError::Ended`] where a shared child ended before it answered less than
    /// [`RESTART_DELAY`] ago, and with [`UpstreamError::Refused`] where the delay is too long to wait for.
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

    /// Logs that the program could not be started, and counts it as a failure that delays the next start.
    /// Returns the error for the caller, who is not told the reason.
    pub(super) fn note_failed_start(&self, why: &process::ProgramStartError) -> UpstreamError {
        tracing::error!(mount = self.options.mount, "{why}");
        let now = Instant::now();
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner).note_end(now);
        UpstreamError::NotStarted
    }

    /// Returns what the program speaks. It is started and asked where that is not known yet.
    pub(super) async fn protocol(self: &Arc<Self>) -> Result<Arc<ChildProtocol>, UpstreamError> {
        if let Some(speaks) = self.lock_state().speaks.clone() {
            return Ok(speaks);
        }
        self.ensure_ready().await.map(|(speaks, _)| speaks)
    }

    /// Whether no legacy caller can speak to the program, as far as is known: it lists no legacy version, and
    /// has not been seen to answer `initialize` all the same.
    pub(super) fn is_modern_only(&self, speaks: &ChildProtocol) -> bool {
        speaks.is_modern_only() && self.lock_state().initializes != Some(true)
    }

    /// Returns what the program speaks, and where it is modern, a shared child that runs. Starts and asks one
    /// where there is none.
    ///
    /// The work is done in a task of its own and goes on when the caller goes away or has waited for
    /// `first_byte` ([`UpstreamError::FirstByteTimeout`]). All who wait while one start fails get the error
    /// of that start, so that a broken program is started once and not once for each of them.
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

    /// Returns what [`ensure_ready`](Self::ensure_ready) does where nothing has to be started for it, else
    /// `None`.
    fn ready_child(&self) -> Option<(Arc<ChildProtocol>, Option<Arc<SharedChild>>)> {
        let known = self.lock_state();
        let speaks = known.speaks.clone()?;
        if !speaks.modern {
            return Some((speaks, None));
        }
        let shared = known.shared.clone().filter(|shared| !shared.is_over())?;
        Some((speaks, Some(shared)))
    }

    /// Starts a shared child, and where it is not known yet finds out what the program speaks. To be called
    /// with `starting` held.
    ///
    /// A sixth of `first_byte` is how long the child may take to answer `server/discover` before it is taken
    /// for slow, or for one that does not know the question.
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

    /// Starts the task that ends idle children, unless it runs. It holds the supervisor weakly, and ends with
    /// it.
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

    /// Ends the sessions, and the shared child, that are over or were idle for `child_idle`. Dropping the
    /// shared child ends it once no request has it any more.
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

    /// Ends the session that was idle for longest among those that `may_end` accepts, however short that was,
    /// to make room for another. Returns `false` where none of them is idle.
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
