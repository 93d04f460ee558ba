//! What is kept of legacy callers in front of a modern server: what their sessions listen for, and the questions that they
//! were asked.
//!
//! Session ids carry everything else, so that any replica serves them. What is kept here is lost with the process, and a
//! session that was not used for long is forgotten when there are many.
//!
//! Rules: X4, X5.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_attune::bridge::{ListeningFilter, QuestionAnswer};
use mcp_attune_wire::message::Id;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// How many sessions something is kept of.
const MAX_SESSIONS: usize = 10_000;

/// How many sessions that are over are remembered.
const MAX_OVER: usize = 1024;

/// What is kept of all legacy callers of a mount.
#[derive(Debug, Default)]
pub(super) struct LegacyCallers(Mutex<CallersState>);

#[derive(Debug, Default)]
struct CallersState {
    sessions: HashMap<Arc<[u8]>, CallerSession>,
    /// Questions that wait for an answer, by the random bytes in their ids.
    questions: HashMap<[u8; 16], oneshot::Sender<QuestionAnswer>>,
    /// Sessions that their clients have ended, the last of them last.
    over: VecDeque<Arc<[u8]>>,
    /// Calls that run, by session and id: dropping the sender cancels one.
    running: HashMap<(Arc<[u8]>, Id), oneshot::Sender<()>>,
}

#[derive(Debug)]
struct CallerSession {
    log_level: Option<String>,
    filter: watch::Sender<ListeningFilter>,
    used: Instant,
}

/// Notes that a call runs, until it is dropped.
#[derive(Debug)]
pub(super) struct RunningNote<'c> {
    callers: &'c LegacyCallers,
    key: (Arc<[u8]>, Id),
}

impl Drop for RunningNote<'_> {
    fn drop(&mut self) {
        self.callers.lock().running.remove(&self.key);
    }
}

impl LegacyCallers {
    fn lock(&self) -> MutexGuard<'_, CallersState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is kept of a session.
    fn with_session<T>(&self, id: &[u8], change: impl FnOnce(&mut CallerSession) -> T) -> T {
        let mut state = self.lock();
        if !state.sessions.contains_key(id) && state.sessions.len() >= MAX_SESSIONS {
            let oldest =
                state.sessions.iter().min_by_key(|(_, session)| session.used).map(|(id, _)| Arc::clone(id));
            oldest.and_then(|id| state.sessions.remove(&id));
        }
        let session = state.sessions.entry(id.into()).or_insert_with(|| CallerSession {
            log_level: None,
            filter: watch::Sender::new(ListeningFilter::default()),
            used: Instant::now(),
        });
        session.used = Instant::now();
        change(session)
    }

    /// Notes the level of log messages that a session wants.
    pub(super) fn set_log_level(&self, session: &[u8], level: String) {
        self.with_session(session, |session| session.log_level = Some(level));
    }

    /// Returns the level of log messages that a session wants.
    pub(super) fn log_level(&self, session: &[u8]) -> Option<String> {
        self.lock().sessions.get(session)?.log_level.clone()
    }

    /// Subscribes a session to a resource, or ends that.
    pub(super) fn change_filter(&self, session: &[u8], change: impl FnOnce(&mut ListeningFilter) -> bool) {
        self.with_session(session, |session| session.filter.send_if_modified(change));
    }

    /// Returns what a session listens for, and when that changes.
    pub(super) fn filter(&self, session: &[u8]) -> watch::Receiver<ListeningFilter> {
        self.with_session(session, |session| session.filter.subscribe())
    }

    /// Whether the client of a session has ended it. Only the replica that was told knows.
    pub(super) fn is_over(&self, session: &[u8]) -> bool {
        self.lock().over.iter().any(|over| **over == *session)
    }

    /// Ends a session with its streams and calls.
    pub(super) fn end(&self, session: &[u8]) {
        let mut state = self.lock();
        if state.over.len() >= MAX_OVER {
            state.over.pop_front();
        }
        state.over.push_back(session.into());
        state.sessions.remove(session);
        state.running.retain(|(running, _), _| **running != *session);
    }

    /// Waits for the answer to a question with this number.
    pub(super) fn expect_answer(&self, question: [u8; 16]) -> oneshot::Receiver<QuestionAnswer> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.questions.retain(|_, waiting| !waiting.is_closed());
        state.questions.insert(question, sender);
        receiver
    }

    /// Hands an answer to the call that waits for it. Returns `false` where none does.
    pub(super) fn answer(&self, question: [u8; 16], answer: QuestionAnswer) -> bool {
        let waiting = self.lock().questions.remove(&question);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Notes that a call runs. The receiver fails when the call is cancelled.
    pub(super) fn note_running(&self, session: &[u8], id: Id) -> (RunningNote<'_>, oneshot::Receiver<()>) {
        let (sender, receiver) = oneshot::channel();
        let key = (Arc::from(session), id);
        self.lock().running.insert(key.clone(), sender);
        (RunningNote { callers: self, key }, receiver)
    }

    /// Cancels a call.
    pub(super) fn cancel(&self, session: &[u8], id: Id) {
        self.lock().running.remove(&(Arc::from(session), id));
    }
}
