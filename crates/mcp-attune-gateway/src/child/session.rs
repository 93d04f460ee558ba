//! One legacy session: a child of its own, and the streams on which its caller gets what the child says.
//!
//! 1. Every POST with a request has a stream; stream 0 is the one of GET. A stream ends with its last answer.
//!    Ids of requests that run are unlike each other; one that is not is refused.
//! 2. An answer goes to the stream of its request, progress to that of its token. What a child asks or says
//!    besides goes to the one call that runs; where that is not clear, to the GET stream, or to the newest
//!    call's where nobody reads that. What is about no call at all (lists and resources that changed) always
//!    goes to the GET stream.
//! 3. Every message is kept for a while, up to a bound, under an id that names its stream, so that a caller
//!    who lost its connection can go on where it was. A lost connection cancels nothing.
//! 4. A stream has one reader: whoever opens it anew takes it from whoever had it.
//! 5. When the child ends the session is over, and so is every call.
//!
//! The ids of requests are not rewritten here, because the child has one caller only. Which stream a message
//! belongs to is decided in `streams`; this module adds the child, the locking and the readers.
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

/// A session and its child. It is shared by the requests that use it; when the last reference is dropped, the
/// child ends.
#[derive(Debug)]
pub(super) struct LegacySession {
    /// The process and its input.
    link: RunningChild,
    /// What the child's task and the readers of streams share with the session.
    hub: Arc<SessionHub>,
    /// A permit of the share of sessions that its caller may have. It is given back when the session is
    /// dropped, while the slot of the program is given back when the process is over.
    permit: Permit,
}

/// Why messages of a caller were not passed to the child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SessionSendError {
    /// A request has the id of another one that runs in the session, or of one in the same batch. Nothing was
    /// sent.
    InUse,
    /// The session is over. Nothing was sent.
    Over,
    /// The child reads no more (`UpstreamError::Broken`), or too many calls run (`UpstreamError::Full`).
    Failed(UpstreamError),
}

impl From<UpstreamError> for SessionSendError {
    fn from(error: UpstreamError) -> Self {
        Self::Failed(error)
    }
}

/// The shared part of a session, between the task that reads the child and the readers of its streams.
///
/// The task holds it until the process is over, also when the session is gone. Locks are only held for short,
/// never across an `await`.
#[derive(Debug)]
struct SessionHub {
    /// The streams, and what decides whether the session is idle.
    state: Mutex<LegacySessionState>,
    /// Where output of the child is logged that cannot be passed on.
    complaints: ChildOutputLog,
    /// Told of answers and of early ends. All children of the program have the same one.
    backoff: Arc<Mutex<Backoff>>,
    /// When the child was started.
    started: Instant,
    /// The slot among the programs that may run. `None` once the process is over.
    slot: Mutex<Option<SessionSlot>>,
}

/// What changes in a session, under one lock.
#[derive(Debug)]
struct LegacySessionState {
    streams: LegacyStreams,
    /// Whether the child has ended or is being ended. Nothing is sent to it any more.
    over: bool,
    /// Whether the child ever answered.
    answered: bool,
    /// How many readers of streams there are: requests that wait for an answer, and streams that are open.
    open: usize,
    /// When the caller last sent something or stopped reading a stream.
    used: Instant,
}

impl LegacySession {
    /// Starts the child of a new session.
    ///
    /// `limit` is the longest line that is read from it and `kept` how much of its messages is kept for
    /// callers that resume a stream, both in bytes. `all_stop` becomes `true` when all children are to end.
    /// The session holds `slot` until the process is over and `permit` until it is dropped.
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

    /// Whether the session was opened by a caller with one of these keys.
    pub(super) fn belongs_to(&self, keys: CallerKeys) -> bool {
        self.permit.is_held_by(keys)
    }

    /// Whether its child has ended or is being ended. Such a session is unknown to its caller (404).
    pub(super) fn is_over(&self) -> bool {
        self.hub.state().over
    }

    /// Whether nobody reads a stream of the session, and its caller has sent nothing for `time`. A call that
    /// runs does not count where its caller has gone and has not come back for that long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let state = self.hub.state();
        state.open == 0 && state.used.elapsed() >= time
    }

    /// Returns since when the session is idle, or `None` where a call runs, somebody reads a stream, or it is
    /// over. Other than for [`is_idle`](Self::is_idle), a call counts here even if nobody reads its stream.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.hub.state();
        let idle = !state.over && state.open == 0 && !state.streams.has_running_calls();
        idle.then_some(state.used)
    }

    /// Ends the session if it is still idle in the sense of [`idle_since`](Self::idle_since). Returns whether
    /// it was. Checking and marking are one step under the lock: a message that comes meanwhile either keeps
    /// the session, or finds it over.
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

    /// Ends the session: its child is stopped, running calls fail, and its streams end. Returns at once.
    pub(super) fn end(&self) {
        self.link.stop();
        self.hub.close();
    }

    /// Passes messages of the caller to the child, in their order, and opens the stream on which they are
    /// answered. Returns its reader, or `None` where no message is a request.
    ///
    /// `messages` are those of a batch, or the one that was posted. They are registered before they are sent,
    /// so that an answer finds its stream however fast it comes. Where the future is dropped, some of the
    /// messages may not have been sent, and the calls stay registered: the caller of this function has to use
    /// [`cancel_call`](Self::cancel_call).
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

    /// Gives up the call that a message began: an answer is not expected any more, and the child gets a
    /// `notifications/cancelled`. Does nothing for a message that is no request.
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

    /// Opens the GET stream, after the last event that anybody has read there. Whoever reads it now finds its
    /// end.
    pub(super) fn open_get_stream(&self) -> LegacyStreamReader {
        let mut state = self.hub.state();
        let from = state.streams.last_heard();
        LegacyStreamReader::new(&self.hub, &mut state, GET_STREAM, from)
    }

    /// Opens the stream that an event id names, after that event. Returns `None` where there is no such
    /// stream, or the events that follow are not all kept any more.
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

    /// Marks the session as over: running calls fail, streams end, and the slot counts as one that will be
    /// free soon.
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

    /// Parses a line of the child and routes its message, or each message of its batch. What is no message is
    /// logged and dropped.
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

    /// Puts a message on the stream that it belongs to. The first answer of the child tells the backoff that
    /// the program can run.
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
                let streams = &mut self.state().streams;
                match (long.kind, long.id.as_deref().and_then(Id::parse)) {
                    (MessageKind::Answer, Some(id)) => streams.fail(&id, UpstreamError::TooLarge),
                    // Which calls it answers is not known, and none of them would get another answer.
                    (MessageKind::Batch, _) => streams.fail_all(UpstreamError::TooLarge),
                    // Nobody waits for anything else.
                    _ => {}
                }
            }
        }
    }

    fn on_end(self: &Arc<Self>, end: ChildEnd) {
        // One that answered is no program that cannot run: what ended it may be this caller's own doing.
        let never_answered = !self.state().answered;
        if end.by_itself && never_answered {
            self.backoff().note_end(self.started);
            self.state().streams.fail_all(UpstreamError::Ended(end.code));
        }
        self.close();
    }

    fn on_exit(self: &Arc<Self>) {
        self.slot().take();
    }
}

/// Reads one stream of a session, from some event on.
///
/// A stream has one reader at a time. A newer one takes it over, upon which the older one finds the end.
/// Dropping a reader leaves the stream and the call behind it as they are, so that the stream can be resumed.
#[derive(Debug)]
pub(super) struct LegacyStreamReader {
    hub: Arc<SessionHub>,
    /// The number of the stream.
    stream: u64,
    /// The number of the last event that was read; 0 where that is none.
    at: u64,
    /// Which reader of this stream it is: the stream counts them, and serves the newest.
    turn: u64,
}

impl LegacyStreamReader {
    /// Takes a stream over, to read what comes after event `at`.
    fn new(hub: &Arc<SessionHub>, state: &mut LegacySessionState, stream: u64, at: u64) -> Self {
        let turn = state.streams.take_over(stream);
        state.open += 1;
        Self { hub: Arc::clone(hub), stream, at, turn }
    }

    /// Returns the id of the last event that was read, after which the stream can be resumed.
    pub(super) fn last_event_id(&self) -> LegacyEventId {
        LegacyEventId { stream: self.stream, event: self.at }
    }

    /// Whether silence on the stream is no fault of the child: it is the GET stream, or the child has asked
    /// its caller something there and waits for the answer.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.stream == GET_STREAM || self.hub.state().streams.has_open_question(self.stream)
    }

    /// Whether nothing comes after what was read: the stream ended in order and its last event was read, or
    /// it is not known.
    pub(super) fn is_over(&self) -> bool {
        self.hub.state().streams.is_over(self.stream, self.at)
    }

    /// Polls for the next event. `None` is the end: of the stream, or because another reader has taken it
    /// over. An error means that a call of this stream gets no answer; it is returned once, after the events
    /// before it.
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

    /// Waits for the answer on a stream that has one only, and drops the stream. What the child said before the
    /// answer is put on the GET stream, because the caller gets nothing but the answer here.
    pub(super) async fn answer(mut self) -> Option<Result<LegacyStreamEvent, UpstreamError>> {
        loop {
            match self.next().await? {
                Ok(event) if !event.is_answer => {}
                answer => {
                    self.hub.state().streams.move_to_get(self.stream);
                    return Some(answer);
                }
            }
        }
    }

    /// Drops the stream with all that is kept of it: its caller got the answer in one piece, and has nothing
    /// to resume.
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
