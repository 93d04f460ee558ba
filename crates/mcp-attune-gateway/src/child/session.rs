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

use mcp_attune_process::lines::Line;
use mcp_attune_process::process::{NotStarted, Program};
use mcp_attune_wire::message::{Id, Kind, Message};
use tokio::sync::watch;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::heard::Complaints;
use super::link::{ChildEnd, Link, Listener};
use super::place::Place;
use super::slots::SessionSlot;
use super::streams::{Event, LISTENING, NotOpened, Streams};
use crate::caller_keys::CallerKeys;
use crate::slots::Permit;
use crate::upstream::UpstreamError;

/// A session and its child.
#[derive(Debug)]
pub(super) struct Session {
    link: Link,
    hub: Arc<Hub>,
    /// One of so many sessions that its caller may have.
    permit: Permit,
}

/// Why what a caller sent did not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotSent {
    /// It has the id of a request that runs.
    InUse,
    /// The session is over, and nothing was sent.
    Over,
    /// The child does not take it.
    Failed(UpstreamError),
}

impl From<UpstreamError> for NotSent {
    fn from(error: UpstreamError) -> Self {
        Self::Failed(error)
    }
}

/// What is between a child and the streams of its caller.
#[derive(Debug)]
struct Hub {
    state: Mutex<State>,
    complaints: Complaints,
    backoff: Arc<Mutex<Backoff>>,
    started: Instant,
    /// One of so many programs that may run; none once it is over.
    slot: Mutex<Option<SessionSlot>>,
}

#[derive(Debug)]
struct State {
    streams: Streams,
    over: bool,
    /// Whether the child ever answered.
    answered: bool,
    /// How many requests and streams of the caller are open.
    open: usize,
    used: Instant,
}

impl Session {
    /// Starts one. `kept` is how many bytes of messages are kept to be heard again.
    pub(super) fn start(
        program: &Program,
        mount: &str,
        (limit, kept): (usize, usize),
        all_stop: watch::Receiver<bool>,
        backoff: Arc<Mutex<Backoff>>,
        (slot, permit): (SessionSlot, Permit),
    ) -> Result<Self, NotStarted> {
        let (used, streams) = (Instant::now(), Streams::new(kept));
        let hub = Arc::new(Hub {
            state: Mutex::new(State { streams, over: false, answered: false, open: 0, used }),
            complaints: Complaints::new(mount),
            backoff,
            started: used,
            slot: Mutex::new(Some(slot)),
        });
        let link = Link::start(program, limit, all_stop, Arc::clone(&hub))?;
        Ok(Self { link, hub, permit })
    }

    /// Whether it is the same caller's as one with these keys.
    pub(super) fn is_of(&self, keys: CallerKeys) -> bool {
        self.permit.is_of(keys)
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
        let idle = !state.over && state.open == 0 && !state.streams.any_calls();
        idle.then_some(state.used)
    }

    /// Ends it if it is still idle, and says whether it did.
    pub(super) fn end_idle(&self) -> bool {
        let mut state = self.hub.state();
        if state.over || state.open > 0 || state.streams.any_calls() {
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
    pub(super) async fn send(&self, messages: &[Message<'_>]) -> Result<Option<Reader>, NotSent> {
        let reader = {
            let mut state = self.hub.state();
            state.used = Instant::now();
            if state.over {
                return Err(NotSent::Over);
            }
            let asks = messages.iter().filter(|message| message.kind() == Kind::Request);
            let stream = state.streams.open(asks).map_err(|why| match why {
                NotOpened::TooMany => NotSent::Failed(UpstreamError::Full),
                NotOpened::InUse => NotSent::InUse,
            })?;
            for message in messages {
                state.streams.note_from_caller(message);
            }
            stream.map(|stream| Reader::new(&self.hub, &mut state, stream, 0))
        };
        for message in messages {
            self.link.pipe.send(message.text().as_bytes()).await.map_err(|_| UpstreamError::Broken)?;
        }
        Ok(reader)
    }

    /// Gives up a call that nobody needs any more: the child is told.
    pub(super) fn give_up(&self, message: &Message<'_>) {
        let Some(id) = message.id().filter(|_| message.kind() == Kind::Request) else { return };
        if let Some(id) = Id::read(id) {
            self.hub.state().streams.drop_call(&id);
        }
        let id = id.raw();
        self.link.pipe.send_short(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"it took too long"}}}}"#
        ));
    }

    /// The GET stream, from what was not heard yet.
    pub(super) fn listen(&self) -> Reader {
        let mut state = self.hub.state();
        let from = state.streams.unheard();
        Reader::new(&self.hub, &mut state, LISTENING, from)
    }

    /// The stream that an event id names, after that event; none where it is not known any more.
    pub(super) fn resume(&self, place: Place) -> Option<Reader> {
        let mut state = self.hub.state();
        let known = state.streams.knows(place);
        known.then(|| Reader::new(&self.hub, &mut state, place.stream, place.event))
    }
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        if let Some(slot) = &*self.slot() {
            slot.ends();
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

    fn message(&self, text: &[u8]) {
        let Ok(message) = Message::parse(text) else {
            return self.complaints.log("the child said what is no message; the line is dropped", text.len());
        };
        match message.batch() {
            Some(messages) => messages.iter().for_each(|message| self.place(message)),
            None => self.place(&message),
        }
    }

    fn place(&self, message: &Message<'_>) {
        let mut state = self.state();
        if message.kind() == Kind::Answer && !std::mem::replace(&mut state.answered, true) {
            self.backoff().answered();
        }
        if !state.streams.place(message) {
            drop(state);
            let length = message.text().len();
            self.complaints.log("the child said what belongs to no request; it is dropped", length);
        }
    }
}

impl Listener for Hub {
    fn heard(self: &Arc<Self>, line: Line) {
        match self.complaints.message(line) {
            Ok(text) => self.message(&text),
            Err(long) => {
                let Some(long) = long else { return };
                let mut state = self.state();
                let key = long.id.as_deref().and_then(Id::parse);
                state.streams.fail(key.as_ref(), UpstreamError::TooLarge);
            }
        }
    }

    fn ended(self: &Arc<Self>, end: ChildEnd) {
        // One that answered is no program that cannot run: what ended it may be this caller's own doing.
        let never_answered = !self.state().answered;
        if end.by_itself && never_answered {
            self.backoff().ended(self.started);
            self.state().streams.fail(None, UpstreamError::Ended(end.code));
        }
        self.close();
    }

    fn gone(self: &Arc<Self>) {
        self.slot().take();
    }
}

/// Whoever hears a stream.
#[derive(Debug)]
pub(super) struct Reader {
    hub: Arc<Hub>,
    stream: u64,
    /// The last event that was heard.
    at: u64,
    /// Which of the readers of this stream, one after the other.
    turn: u64,
}

impl Reader {
    fn new(hub: &Arc<Hub>, state: &mut State, stream: u64, at: u64) -> Self {
        let turn = state.streams.take_over(stream);
        state.open += 1;
        Self { hub: Arc::clone(hub), stream, at, turn }
    }

    /// Where it is.
    pub(super) fn place(&self) -> Place {
        Place { stream: self.stream, event: self.at }
    }

    /// Whether the child waits for the caller: then silence is nobody's fault.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.stream == LISTENING || self.hub.state().streams.asks(self.stream)
    }

    /// Whether the stream was over with what was heard so far.
    pub(super) fn is_over(&self) -> bool {
        self.hub.state().streams.is_over(self.stream, self.at)
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, UpstreamError>>> {
        let waker: &Waker = cx.waker();
        let heard = self.hub.state().streams.poll(self.stream, self.at, self.turn, waker);
        if let Poll::Ready(Some(Ok(event))) = &heard {
            self.at = event.place.event;
        }
        heard
    }

    pub(super) async fn next(&mut self) -> Option<Result<Event, UpstreamError>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Forgets the stream: it was answered in one piece.
    pub(super) fn forget(self) {
        self.hub.state().streams.forget(self.stream);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        state.streams.leave(self.stream, self.turn);
        state.open -= 1;
        state.used = Instant::now();
    }
}
