//! One legacy session: a child of its own, and the streams on which its caller hears it.
//!
//! 1. Every POST with a request has a stream; stream 0 is the one of GET. A stream ends with its last answer. Ids of
//!    requests that run are unlike each other; one that is not is refused.
//! 2. An answer goes to the stream of its request, progress to that of its token. What a child asks or says besides
//!    goes to the one call that runs; where that is not clear, to the GET stream, or the newest call's where there
//!    is none. What is about no call at all (lists and resources that changed) always goes to the GET stream.
//! 3. Every message is kept for a while, up to a bound, under an id that names its stream, so that a caller who lost
//!    its connection can go on where it was. A lost connection cancels nothing.
//! 4. Nobody is heard twice: whoever opens a stream anew takes it from whoever had it.
//! 5. When the child ends the session is over, and so is every call.
//!
//! Rules: G2, G4, G5, G9.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_attune_process::lines::BoundedLine;
use mcp_attune_process::process::{Program, ProgramStartError};
use mcp_attune_wire::message::{Id, Message, MessageKind};
use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::event_id::LegacyEventId;
use super::output_log::ChildOutputLog;
use super::running_child::{ChildEnd, ChildOutputHandler, RunningChild};
use super::slots::SessionSlot;
use super::streams::{GET_STREAM, LegacyStreamEvent, LegacyStreams, StreamOpenError};
use crate::caller_keys::CallerKeys;
use crate::slots::Permit;
use crate::upstream::UpstreamError;

/// A session and its child.
#[derive(Debug)]
pub(super) struct LegacySession {
    link: RunningChild,
    hub: Arc<SessionHub>,
    /// One of so many sessions that its caller may have.
    permit: Permit,
}

/// Why what a caller sent did not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SessionSendError {
    /// It has the id of a request that runs.
    InUse,
    /// The session is over, and nothing was sent.
    Over,
    /// The child does not take it.
    Failed(UpstreamError),
}

impl From<UpstreamError> for SessionSendError {
    fn from(error: UpstreamError) -> Self {
        Self::Failed(error)
    }
}

/// What is between a child and the streams of its caller.
#[derive(Debug)]
struct SessionHub {
    state: Mutex<LegacySessionState>,
    complaints: ChildOutputLog,
    backoff: Arc<Mutex<Backoff>>,
    started: Instant,
    /// One of so many programs that may run; none once it is over.
    slot: Mutex<Option<SessionSlot>>,
}

#[derive(Debug)]
struct LegacySessionState {
    streams: LegacyStreams,
    over: bool,
    /// Whether the child ever answered.
    answered: bool,
    /// How many requests and streams of the caller are open.
    open: usize,
    used: Instant,
}

impl LegacySession {
    /// Starts one. `kept` is how many bytes of messages are kept to be heard again.
    pub(super) fn start(
        program: &Program,
        mount: &str,
        (limit, kept): (usize, usize),
        all_stop: watch::Receiver<bool>,
        backoff: Arc<Mutex<Backoff>>,
        (slot, permit): (SessionSlot, Permit),
    ) -> Result<Self, ProgramStartError> {
        let (used, streams) = (Instant::now(), LegacyStreams::new(kept));
        let hub = Arc::new(SessionHub {
            state: Mutex::new(LegacySessionState { streams, over: false, answered: false, open: 0, used }),
            complaints: ChildOutputLog::new(mount),
            backoff,
            started: used,
            slot: Mutex::new(Some(slot)),
        });
        let link = RunningChild::start(program, limit, all_stop, Arc::clone(&hub))?;
        Ok(Self { link, hub, permit })
    }

    /// Whether it is the same caller's as one with these keys.
    pub(super) fn belongs_to(&self, keys: CallerKeys) -> bool {
        self.permit.is_held_by(keys)
    }

    /// Whether its child has ended, or is about to.
    pub(super) fn is_over(&self) -> bool {
        self.hub.state().over
    }

    /// Whether its caller did nothing for so long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let state = self.hub.state();
        state.open == 0 && state.used.elapsed() >= time
    }

    /// Since when it is idle; none where a call runs, somebody hears a stream of it, or it is over.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.hub.state();
        let idle = !state.over && state.open == 0 && !state.streams.has_running_calls();
        idle.then_some(state.used)
    }

    /// Ends it if it is still idle, and says whether it did.
    pub(super) fn end_idle(&self) -> bool {
        let mut state = self.hub.state();
        if state.over || state.open > 0 || state.streams.has_running_calls() {
            return false;
        }
        // Nothing is sent to it any more, so that no caller can be under way.
        state.over = true;
        drop(state);
        self.end();
        true
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.link.stop();
        self.hub.close();
    }

    /// Passes on what the caller sent, and opens the stream on which it is answered; none where nothing in it wants
    /// an answer. `messages` are those of a batch, or the one.
    pub(super) async fn send(
        &self,
        messages: &[Message<'_>],
    ) -> Result<Option<LegacyStreamReader>, SessionSendError> {
        let reader = {
            let mut state = self.hub.state();
            state.used = Instant::now();
            if state.over {
                return Err(SessionSendError::Over);
            }
            let asks = messages.iter().filter(|message| message.kind() == MessageKind::Request);
            let stream = state.streams.open(asks).map_err(|why| match why {
                StreamOpenError::TooMany => SessionSendError::Failed(UpstreamError::Full),
                StreamOpenError::InUse => SessionSendError::InUse,
            })?;
            for message in messages {
                state.streams.note_from_caller(message);
            }
            stream.map(|stream| LegacyStreamReader::new(&self.hub, &mut state, stream, 0))
        };
        for message in messages {
            self.link.pipe.send(message.text().as_bytes()).await.map_err(|_| UpstreamError::Broken)?;
        }
        Ok(reader)
    }

    /// Gives up a call that nobody needs any more: the child is told.
    pub(super) fn cancel_call(&self, message: &Message<'_>) {
        let Some(id) = message.id().filter(|_| message.kind() == MessageKind::Request) else { return };
        if let Some(id) = Id::read(id) {
            self.hub.state().streams.drop_call(&id);
        }
        let id = id.raw();
        self.link.pipe.send_short(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"it took too long"}}}}"#
        ));
    }

    /// The GET stream, from what was not heard yet.
    pub(super) fn open_get_stream(&self) -> LegacyStreamReader {
        let mut state = self.hub.state();
        let from = state.streams.last_heard();
        LegacyStreamReader::new(&self.hub, &mut state, GET_STREAM, from)
    }

    /// The stream that an event id names, after that event; none where it is not known any more.
    pub(super) fn resume(&self, place: LegacyEventId) -> Option<LegacyStreamReader> {
        let mut state = self.hub.state();
        let known = state.streams.can_resume_after(place);
        known.then(|| LegacyStreamReader::new(&self.hub, &mut state, place.stream, place.event))
    }
}

impl SessionHub {
    fn state(&self) -> MutexGuard<'_, LegacySessionState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        if let Some(slot) = &*self.slot() {
            slot.mark_ending();
        }
        let mut state = self.state();
        state.over = true;
        state.streams.close();
    }

    fn slot(&self) -> MutexGuard<'_, Option<SessionSlot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backoff(&self) -> MutexGuard<'_, Backoff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive_message(&self, text: &[u8]) {
        let Ok(message) = Message::parse(text) else {
            return self
                .complaints
                .warn_throttled("the child said what is no message; the line is dropped", text.len());
        };
        match message.batch() {
            Some(messages) => messages.iter().for_each(|message| self.route_message(message)),
            None => self.route_message(&message),
        }
    }

    fn route_message(&self, message: &Message<'_>) {
        let mut state = self.state();
        if message.kind() == MessageKind::Answer && !std::mem::replace(&mut state.answered, true) {
            self.backoff().note_answer();
        }
        if !state.streams.push_to_stream(message) {
            drop(state);
            let length = message.text().len();
            self.complaints
                .warn_throttled("the child said what belongs to no request; it is dropped", length);
        }
    }
}

impl ChildOutputHandler for SessionHub {
    fn on_line(self: &Arc<Self>, line: BoundedLine) {
        match self.complaints.accept_line(line) {
            Ok(text) => self.receive_message(&text),
            Err(long) => {
                let Some(long) = long else { return };
                let mut state = self.state();
                let key = long.id.as_deref().and_then(Id::parse);
                state.streams.fail(key.as_ref(), UpstreamError::TooLarge);
            }
        }
    }

    fn on_end(self: &Arc<Self>, end: ChildEnd) {
        // One that answered is no program that cannot run: what ended it may be this caller's own doing.
        let never_answered = !self.state().answered;
        if end.by_itself && never_answered {
            self.backoff().note_end(self.started);
            self.state().streams.fail(None, UpstreamError::Ended(end.code));
        }
        self.close();
    }

    fn on_exit(self: &Arc<Self>) {
        self.slot().take();
    }
}

/// Whoever hears a stream.
#[derive(Debug)]
pub(super) struct LegacyStreamReader {
    hub: Arc<SessionHub>,
    stream: u64,
    /// The last event that was heard.
    at: u64,
    /// Which of the readers of this stream, one after the other.
    turn: u64,
}

impl LegacyStreamReader {
    fn new(hub: &Arc<SessionHub>, state: &mut LegacySessionState, stream: u64, at: u64) -> Self {
        let turn = state.streams.take_over(stream);
        state.open += 1;
        Self { hub: Arc::clone(hub), stream, at, turn }
    }

    /// Where it is.
    pub(super) fn last_event_id(&self) -> LegacyEventId {
        LegacyEventId { stream: self.stream, event: self.at }
    }

    /// Whether the child waits for the caller: then silence is nobody's fault.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.stream == GET_STREAM || self.hub.state().streams.has_open_question(self.stream)
    }

    /// Whether the stream was over with what was heard so far.
    pub(super) fn is_over(&self) -> bool {
        self.hub.state().streams.is_over(self.stream, self.at)
    }

    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<LegacyStreamEvent, UpstreamError>>> {
        let waker: &Waker = cx.waker();
        let heard = self.hub.state().streams.poll(self.stream, self.at, self.turn, waker);
        if let Poll::Ready(Some(Ok(event))) = &heard {
            self.at = event.place.event;
        }
        heard
    }

    pub(super) async fn next(&mut self) -> Option<Result<LegacyStreamEvent, UpstreamError>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Forgets the stream: it was answered in one piece.
    pub(super) fn forget(self) {
        self.hub.state().streams.forget(self.stream);
    }
}

impl Drop for LegacyStreamReader {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.streams.leave(self.stream, self.turn);
        state.open -= 1;
        state.used = Instant::now();
    }
}
