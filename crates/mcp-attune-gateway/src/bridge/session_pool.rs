//! The sessions that are open at a legacy server.
//!
//! 1. A session belongs to one identity and one profile (client and capabilities). Two identities never share one.
//! 2. Calls that may be asked for input have a session for themselves while they run; all others share.
//! 3. There are at most `sessions`, and of one identity no more than its share. At the limit the session that was idle for
//!    longest ends and makes room; where none is idle, there is no room.
//! 4. A session without a call ends after `session_idle`.
//!
//! Rules: X2.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use mcp_attune::bridge::CallerProfile;
use tokio::time::Instant;

use super::BridgeOptions;
use super::session::UpstreamSession;

/// Whom a session belongs to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SessionKey {
    /// `None` for all callers without credentials.
    pub(super) identity: Option<u64>,
    pub(super) profile: CallerProfile,
}

/// All open sessions of a mount.
#[derive(Debug)]
pub(super) struct SessionPool {
    state: Arc<Mutex<PoolState>>,
    limit: usize,
    /// How many sessions one identity may have.
    share: usize,
    idle: Duration,
}

#[derive(Debug, Default)]
struct PoolState {
    open: HashMap<SessionKey, Vec<Arc<PooledSession>>>,
    /// How many sessions there are or are being opened, of all and of each identity.
    count: usize,
    of_identity: HashMap<Option<u64>, usize>,
    /// Who opens a session that others can share.
    opening: HashMap<SessionKey, Weak<tokio::sync::Mutex<()>>>,
    /// Whether the task that ends idle sessions runs.
    is_swept: bool,
}

#[derive(Debug)]
struct PooledSession {
    session: Arc<UpstreamSession>,
    /// Gives the room back when the session is over.
    _room: SessionRoom,
    /// How many calls use it.
    calls: AtomicUsize,
    /// Whether a call has it for itself.
    is_exclusive: AtomicBool,
    used: Mutex<Instant>,
}

/// Room for one session.
#[derive(Debug)]
pub(super) struct SessionRoom {
    state: Weak<Mutex<PoolState>>,
    identity: Option<u64>,
}

impl Drop for SessionRoom {
    fn drop(&mut self) {
        let Some(state) = self.state.upgrade() else { return };
        let mut state = lock(&state);
        state.count = state.count.saturating_sub(1);
        if let Some(count) = state.of_identity.get_mut(&self.identity) {
            *count -= 1;
            if *count == 0 {
                state.of_identity.remove(&self.identity);
            }
        }
    }
}

/// A session while a call uses it.
#[derive(Debug)]
pub(super) struct SessionLease {
    pooled: Arc<PooledSession>,
    is_exclusive: bool,
}

impl SessionLease {
    pub(super) fn session(&self) -> &Arc<UpstreamSession> {
        &self.pooled.session
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        *self.pooled.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if self.is_exclusive {
            self.pooled.is_exclusive.store(false, Ordering::Release);
        }
        self.pooled.calls.fetch_sub(1, Ordering::Release);
    }
}

impl PooledSession {
    fn lease(self: &Arc<Self>, exclusive: bool) -> Option<SessionLease> {
        if self.session.is_lost() {
            return None;
        }
        if exclusive && self.is_exclusive.swap(true, Ordering::Acquire) {
            return None;
        }
        self.calls.fetch_add(1, Ordering::Acquire);
        Some(SessionLease { pooled: Arc::clone(self), is_exclusive: exclusive })
    }

    fn idle_since(&self) -> Option<Instant> {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        (self.calls.load(Ordering::Acquire) == 0).then_some(used)
    }
}

fn lock(state: &Mutex<PoolState>) -> MutexGuard<'_, PoolState> {
    // Nothing that holds the lock can panic halfway through a change.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionPool {
    pub(super) fn new(options: &BridgeOptions) -> Self {
        let limit = options.settings.sessions;
        // At most the limit, which fits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let share = ((limit as f64 * options.share) as usize).clamp(1, limit);
        Self { state: Arc::default(), limit, share, idle: options.settings.session_idle }
    }

    /// Returns a session that is open already.
    pub(super) fn find(&self, key: &SessionKey, exclusive: bool) -> Option<SessionLease> {
        let mut state = lock(&self.state);
        let open = state.open.get_mut(key)?;
        open.retain(|pooled| !pooled.session.is_lost());
        open.iter().find_map(|pooled| pooled.lease(exclusive))
    }

    /// Returns what whoever opens a session that others can share has to hold, so that one is opened and not many.
    pub(super) fn opening(&self, key: &SessionKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut state = lock(&self.state);
        if let Some(turn) = state.opening.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        state.opening.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        state.opening.insert(key.clone(), Arc::downgrade(&turn));
        turn
    }

    /// Makes room for another session. `None` where there is none.
    pub(super) fn reserve(&self, identity: Option<u64>) -> Option<SessionRoom> {
        let of_identity = |state: &PoolState| state.of_identity.get(&identity).copied().unwrap_or(0);
        let is_over_share = of_identity(&lock(&self.state)) >= self.share;
        let is_full = lock(&self.state).count >= self.limit;
        // What makes room is dropped without the lock, because giving the room back takes it.
        if is_over_share {
            drop(self.take_idle(|key| key.identity == identity)?);
        } else if is_full {
            drop(self.take_idle(|_| true)?);
        }
        let mut state = lock(&self.state);
        if state.count >= self.limit || of_identity(&state) >= self.share {
            return None;
        }
        state.count += 1;
        *state.of_identity.entry(identity).or_default() += 1;
        Some(SessionRoom { state: Arc::downgrade(&self.state), identity })
    }

    /// Takes out the session that was idle for longest.
    fn take_idle(&self, may_go: impl Fn(&SessionKey) -> bool) -> Option<Arc<PooledSession>> {
        let mut state = lock(&self.state);
        let open = state.open.iter().filter(|(key, _)| may_go(key));
        let all = open.flat_map(|(key, open)| open.iter().map(move |pooled| (key, pooled)));
        let idle = all.filter_map(|(key, pooled)| Some((pooled.idle_since()?, key, pooled)));
        let (_, key, pooled) = idle.min_by_key(|(since, ..)| *since)?;
        let (key, pooled) = (key.clone(), Arc::clone(pooled));
        state.remove(&key, &pooled);
        Some(pooled)
    }

    /// Keeps a session that was opened, and returns it for a call.
    pub(super) fn keep(
        &self,
        key: SessionKey,
        room: SessionRoom,
        session: Arc<UpstreamSession>,
        exclusive: bool,
    ) -> Option<SessionLease> {
        let pooled = Arc::new(PooledSession {
            session,
            _room: room,
            calls: AtomicUsize::new(0),
            is_exclusive: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
        });
        let lease = pooled.lease(exclusive);
        let mut state = lock(&self.state);
        state.open.entry(key).or_default().push(pooled);
        if !std::mem::replace(&mut state.is_swept, true) {
            tokio::spawn(end_idle_sessions(Arc::downgrade(&self.state), self.idle));
        }
        lease
    }

    /// Takes a session out: no other call gets it, and it ends with the last one that has it.
    pub(super) fn forget(&self, key: &SessionKey, session: &Arc<UpstreamSession>) {
        let gone = {
            let mut state = lock(&self.state);
            let pooled = state
                .open
                .get(key)
                .and_then(|open| open.iter().find(|pooled| Arc::ptr_eq(&pooled.session, session)));
            let pooled = pooled.cloned();
            if let Some(pooled) = &pooled {
                state.remove(key, pooled);
            }
            pooled
        };
        drop(gone);
    }
}

impl PoolState {
    fn remove(&mut self, key: &SessionKey, gone: &Arc<PooledSession>) {
        let Some(open) = self.open.get_mut(key) else { return };
        open.retain(|pooled| !Arc::ptr_eq(pooled, gone));
        if open.is_empty() {
            self.open.remove(key);
        }
    }
}

/// Ends sessions that were idle for too long, for as long as there is a pool.
async fn end_idle_sessions(state: Weak<Mutex<PoolState>>, idle: Duration) {
    loop {
        tokio::time::sleep((idle / 4).max(Duration::from_millis(100))).await;
        let Some(state) = state.upgrade() else { return };
        let mut gone = Vec::new();
        {
            let mut state = lock(&state);
            for open in state.open.values_mut() {
                let is_over = |pooled: &Arc<PooledSession>| {
                    pooled.session.is_lost()
                        || pooled.idle_since().is_some_and(|since| since.elapsed() >= idle)
                };
                let (over, stays) = std::mem::take(open).into_iter().partition(is_over);
                gone.extend::<Vec<_>>(over);
                *open = stays;
            }
            state.open.retain(|_, open| !open.is_empty());
        }
        drop(gone);
    }
}
