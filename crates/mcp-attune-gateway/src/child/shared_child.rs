//! The child that modern callers share: every request has a number of its own there, and hears what names it.
//!
//! 1. What a child says belongs to the request that it names (see [`multiplex`]); what names none is dropped, because it
//!    could be any caller's.
//! 2. A caller that goes away: the child is told so, with the number that it knows.
//! 3. What waits for a slow caller is bounded; beyond that its call is over, and no other call notices.
//! 4. When the child ends, every running call hears of it.
//! 5. The numbers of callers' requests cannot be guessed, so that nobody can make the child speak to another caller by
//!    having it repeat a number.
//!
//! Rules: G2, G4, G5, G9.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_attune_process::lines::BoundedLine;
use mcp_attune_process::process::{Program, ProgramStartError};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::multiplex::{self, CallerRequestIds};
use mcp_attune_wire::reply::answer_status;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::backoff::Backoff;
use super::output_log::ChildOutputLog;
use super::pipe::ChildInput;
use super::running_child::{ChildEnd, ChildOutputHandler, RunningChild};
use crate::upstream::UpstreamError;

/// How many bytes may wait for one caller who reads slowly, beside one message of any size.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// What a waiting message takes beside its bytes.
const MESSAGE_OVERHEAD: usize = 128;
/// How long a subscription that the child ended may take to be answered.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Numbers of requests have so many bits: all digits of such a number survive in programs that write 14 of them.
const NUMBER_BITS: u32 = 46;

/// A child that serves many callers.
#[derive(Debug)]
pub(super) struct SharedChild {
    link: RunningChild,
    table: Arc<SharedCallTable>,
}

/// The running calls.
#[derive(Debug)]
struct SharedCallTable {
    calls: Mutex<SharedCalls>,
    complaints: ChildOutputLog,
    backoff: Arc<Mutex<Backoff>>,
    started: Instant,
}

#[derive(Debug)]
struct SharedCalls {
    over: bool,
    /// Once it is over: what its callers are told, and whether it left unread what it was sent.
    end: Option<(UpstreamError, bool)>,
    /// Whether the child ever answered.
    answered: bool,
    last: u64,
    /// Turns a count into numbers that nobody can guess.
    secret: RandomState,
    running: HashMap<u64, SharedCallEntry>,
    used: Instant,
}

/// Whose request it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestOwner {
    /// A caller's, under a number that nobody can guess.
    Caller,
    /// Our own, before all callers, under a small number: some programs do not know large ones.
    Gateway,
}

impl SharedCalls {
    fn new() -> Self {
        Self {
            over: false,
            end: None,
            answered: false,
            last: 0,
            secret: RandomState::new(),
            running: HashMap::new(),
            used: Instant::now(),
        }
    }

    /// A number that no other request has.
    fn next_number(&mut self, asker: RequestOwner) -> u64 {
        loop {
            self.last += 1;
            let number = match asker {
                RequestOwner::Gateway => self.last,
                RequestOwner::Caller => self.secret.hash_one(self.last) >> (u64::BITS - NUMBER_BITS),
            };
            if !self.running.contains_key(&number) {
                return number;
            }
        }
    }
}

#[derive(Debug)]
struct SharedCallEntry {
    names: CallerRequestIds,
    to: mpsc::UnboundedSender<CallUpdate>,
    waiting: Arc<AtomicUsize>,
    /// Its caller reads too slowly, and will find out.
    given_up: bool,
}

/// What a call hears.
#[derive(Debug)]
pub(super) enum CallUpdate {
    /// A notification that belongs to it.
    Notification(String),
    /// The answer and its HTTP status: nothing comes after it.
    Answer(String, u16),
    /// No answer will come.
    Failed(UpstreamError),
}

impl SharedChild {
    /// Starts one.
    pub(super) fn start(
        program: &Program,
        mount: &str,
        limit: usize,
        all_stop: watch::Receiver<bool>,
        backoff: Arc<Mutex<Backoff>>,
    ) -> Result<Self, ProgramStartError> {
        let table = Arc::new(SharedCallTable {
            calls: Mutex::new(SharedCalls::new()),
            complaints: ChildOutputLog::new(mount),
            backoff,
            started: Instant::now(),
        });
        let link = RunningChild::start(program, limit, all_stop, Arc::clone(&table))?;
        Ok(Self { link, table })
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        self.table.calls().over
    }

    /// Whether it ended without having read what it was sent.
    pub(super) fn left_input_unread(&self) -> bool {
        self.table.calls().end.is_some_and(|(_, unread)| unread)
    }

    /// Whether nobody needed it for so long.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let calls = self.table.calls();
        calls.running.is_empty() && calls.used.elapsed() >= time
    }

    /// Sends a caller's request in, under a number of its own.
    pub(super) async fn ask(&self, message: &Message<'_>) -> Result<SharedCall, UpstreamError> {
        self.send(message, RequestOwner::Caller).await
    }

    /// Sends in a request of the gateway itself.
    pub(super) async fn ask_as_gateway(&self, message: &Message<'_>) -> Result<SharedCall, UpstreamError> {
        self.send(message, RequestOwner::Gateway).await
    }

    async fn send(&self, message: &Message<'_>, asker: RequestOwner) -> Result<SharedCall, UpstreamError> {
        let (to, from) = mpsc::unbounded_channel();
        let waiting = Arc::<AtomicUsize>::default();
        let (number, text) = {
            let mut calls = self.table.calls();
            if calls.over {
                return Err(calls.end.map_or(UpstreamError::Broken, |(error, _)| error));
            }
            let number = calls.next_number(asker);
            let (text, names) = multiplex::number_request(message, number).ok_or(UpstreamError::Broken)?;
            calls.running.insert(
                number,
                SharedCallEntry { names, to, waiting: Arc::clone(&waiting), given_up: false },
            );
            (number, text)
        };
        let (table, pipe) = (Arc::clone(&self.table), self.link.pipe.clone());
        let mut call = SharedCall { number, table, pipe, sent: false, from, waiting };
        let closed = |_| self.table.calls().end.map_or(UpstreamError::Broken, |(error, _)| error);
        call.pipe.send(text.as_bytes()).await.map_err(closed)?;
        call.sent = true;
        Ok(call)
    }

    /// Sends in a notification of a caller.
    pub(super) async fn notify(&self, message: &Message<'_>) -> Result<(), UpstreamError> {
        self.table.calls().used = Instant::now();
        let text = multiplex::strip_correlation_ids(message).ok_or(UpstreamError::Broken)?;
        self.link.pipe.send(text.as_bytes()).await.map_err(|_| UpstreamError::Broken)
    }
}

impl SharedCallTable {
    fn calls(&self) -> MutexGuard<'_, SharedCalls> {
        // Nothing that holds the lock can panic halfway through a change.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn backoff(&self) -> MutexGuard<'_, Backoff> {
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, number: u64) -> Option<SharedCallEntry> {
        let mut calls = self.calls();
        calls.used = Instant::now();
        calls.running.remove(&number)
    }

    fn receive_child_message(self: &Arc<Self>, text: &[u8]) {
        let Ok(message) = Message::parse(text) else {
            return self
                .complaints
                .warn_throttled("the child said what is no message; the line is dropped", text.len());
        };
        let Some(number) = multiplex::request_number(&message) else {
            return self
                .complaints
                .warn_throttled("the child said what belongs to no request; it is dropped", text.len());
        };
        let mut calls = self.calls();
        let Some(entry) = calls.running.get_mut(&number).filter(|entry| !entry.given_up) else {
            tracing::debug!(bytes = text.len(), "the child spoke to a caller who is gone");
            return;
        };
        let Some(text) = multiplex::restore_ids(&message, number, &entry.names) else {
            drop(calls);
            return self
                .complaints
                .warn_throttled("the child reported progress that nobody asked for", text.len());
        };
        if message.kind() == MessageKind::Answer {
            entry.send(CallUpdate::Answer(text, answer_status(&message)));
            calls.running.remove(&number);
            if !std::mem::replace(&mut calls.answered, true) {
                self.backoff().note_answer();
            }
        } else if entry.has_room(text.len()) {
            entry.send(CallUpdate::Notification(text));
        } else {
            // Its caller finds the failure after what waits; the child hears that nobody listens from the call.
            entry.given_up = true;
            entry.send(CallUpdate::Failed(UpstreamError::SlowCaller));
        }
        drop(calls);
        if multiplex::is_cancellation(&message) {
            self.close_subscription(number);
        }
    }

    /// The child ended a subscription: its stream ends too, after the answer where one comes.
    fn close_subscription(self: &Arc<Self>, number: u64) {
        let table = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(LAST_ANSWER_TIMEOUT).await;
            table.remove(number);
        });
    }
}

impl SharedCallEntry {
    fn has_room(&self, bytes: usize) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        waiting == 0 || waiting + bytes + MESSAGE_OVERHEAD <= MAX_WAITING_BYTES
    }

    fn send(&self, heard: CallUpdate) {
        self.waiting.fetch_add(heard.weight(), Ordering::Relaxed);
        // A caller who is gone needs nothing.
        let _ = self.to.send(heard);
    }
}

impl CallUpdate {
    fn weight(&self) -> usize {
        match self {
            Self::Notification(text) | Self::Answer(text, _) => text.len() + MESSAGE_OVERHEAD,
            Self::Failed(_) => MESSAGE_OVERHEAD,
        }
    }
}

impl ChildOutputHandler for SharedCallTable {
    fn on_line(self: &Arc<Self>, line: BoundedLine) {
        match self.complaints.accept_line(line) {
            Ok(text) => self.receive_child_message(&text),
            Err(long) => {
                let number = long.and_then(|long| long.id?.parse().ok());
                if let Some(entry) = number.and_then(|number| self.remove(number)) {
                    entry.send(CallUpdate::Failed(UpstreamError::TooLarge));
                }
            }
        }
    }

    fn on_end(self: &Arc<Self>, end: ChildEnd) {
        let mut calls = self.calls();
        if end.by_itself {
            let mut backoff = self.backoff();
            // One that answered is no program that cannot run: what ended it may be one caller's doing.
            if calls.answered {
                backoff.note_answer();
            }
            backoff.note_end(self.started);
        }
        calls.over = true;
        // One that never answered has nothing to do with what it was asked.
        let error = if calls.answered { UpstreamError::Broken } else { UpstreamError::Ended(end.code) };
        calls.end = Some((error, end.unread && !calls.answered));
        for (_, entry) in calls.running.drain() {
            entry.send(CallUpdate::Failed(error));
        }
    }
}

/// A running call. Dropped before its answer, the child is told that nobody waits any more.
#[derive(Debug)]
pub(super) struct SharedCall {
    number: u64,
    table: Arc<SharedCallTable>,
    pipe: ChildInput,
    sent: bool,
    from: mpsc::UnboundedReceiver<CallUpdate>,
    waiting: Arc<AtomicUsize>,
}

impl SharedCall {
    /// What comes next; none after the last.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<CallUpdate>> {
        self.from.poll_recv(cx).map(|heard| {
            heard.inspect(|heard| {
                self.waiting.fetch_sub(heard.weight(), Ordering::Relaxed);
            })
        })
    }

    /// The same, to be waited for.
    pub(super) async fn next(&mut self) -> Option<CallUpdate> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The answer, whatever comes before it.
    pub(super) async fn answer(&mut self) -> Result<String, UpstreamError> {
        loop {
            match self.next().await {
                Some(CallUpdate::Answer(text, _)) => return Ok(text),
                Some(CallUpdate::Notification(_)) => {}
                Some(CallUpdate::Failed(error)) => return Err(error),
                None => return Err(UpstreamError::Broken),
            }
        }
    }
}

impl Drop for SharedCall {
    fn drop(&mut self) {
        if self.table.remove(self.number).is_some() && self.sent {
            let number = self.number;
            self.pipe.send_short(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":"nobody waits for the answer any more"}}}}"#
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_for_a_slow_caller_is_bounded() {
        let calls = SharedCalls::new();
        let (complaints, backoff) = (ChildOutputLog::new("test"), Arc::default());
        let table = Arc::new(SharedCallTable {
            calls: Mutex::new(calls),
            complaints,
            backoff,
            started: Instant::now(),
        });
        let (to, mut from) = mpsc::unbounded_channel();
        let waiting = Arc::<AtomicUsize>::default();
        let request = br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"_meta":{"progressToken":"t"}}}"#;
        let (_, names) = multiplex::number_request(&Message::parse(request).unwrap(), 1).unwrap();
        let entry = SharedCallEntry { names, to, waiting: Arc::clone(&waiting), given_up: false };
        table.calls().running.insert(1, entry);
        let text = "x".repeat(10_000);
        let progress = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"message":"{text}"}}}}"#
        );
        for _ in 0..2000 {
            table.receive_child_message(progress.as_bytes());
        }
        assert!(waiting.load(Ordering::Relaxed) <= MAX_WAITING_BYTES + MESSAGE_OVERHEAD);
        assert!(table.calls().running.contains_key(&1), "it is still there to be cancelled");
        let mut last = None;
        while let Ok(heard) = from.try_recv() {
            last = Some(heard);
        }
        assert!(matches!(last, Some(CallUpdate::Failed(UpstreamError::SlowCaller))), "{last:?}");
    }

    #[test]
    fn numbers_of_callers_are_not_counted_up_and_fit_into_14_digits() {
        let mut calls = SharedCalls::new();
        let ours: Vec<u64> = (0..2).map(|_| calls.next_number(RequestOwner::Gateway)).collect();
        assert_eq!(ours, [1, 2]);
        let numbers: Vec<u64> = (0..1000).map(|_| calls.next_number(RequestOwner::Caller)).collect();
        assert!(numbers.iter().all(|number| *number < 100_000_000_000_000), "{numbers:?}");
        assert!(numbers.iter().filter(|number| **number < 1 << 32).count() < 10, "{numbers:?}");
        let mut other = SharedCalls::new();
        let others: Vec<u64> = (0..1000).map(|_| other.next_number(RequestOwner::Caller)).collect();
        assert!(!others.iter().any(|number| numbers.contains(number)), "each child has a secret of its own");
    }
}
