//! The child that modern callers share: every request has a number of its own there, and gets what names that
//! number.
//!
//! 1. What a child says belongs to the request that it names (see [`multiplex`]); what names none is dropped,
//!    because it could be any caller's.
//! 2. When a caller goes away, the child is told with a `notifications/cancelled` that names the number it
//!    knows.
//! 3. What waits for a slow caller is bounded; beyond that its call is over, and no other call notices.
//! 4. When the child ends, every running call fails.
//! 5. The numbers of callers' requests cannot be guessed, so that nobody can make the child speak to another
//!    caller by having it repeat a number.
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

/// How many bytes of notifications may wait for one caller who reads slowly. A single one may be larger where
/// nothing else waits, and the answer always finds room.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// What a waiting message is taken to cost in bytes beside its text, so that many small ones count, too.
const MESSAGE_OVERHEAD: usize = 128;
/// How long after a `notifications/cancelled` of the child its answer to the same request may still come.
/// Then the stream of the request ends without one.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The bits of the numbers that callers' requests get: below 10^14, so that all digits survive in programs
/// that write numbers with 14 of them, and far too many to be guessed.
const NUMBER_BITS: u32 = 46;

/// A child that serves the requests of many callers at once. When it is dropped, it ends.
#[derive(Debug)]
pub(super) struct SharedChild {
    /// The process and its input.
    link: RunningChild,
    /// The running calls, shared with the task that reads the child and with each [`SharedCall`].
    table: Arc<SharedCallTable>,
}

/// The running calls of one child: where the task that reads the child finds who waits for a message.
#[derive(Debug)]
struct SharedCallTable {
    calls: Mutex<SharedCalls>,
    /// Where output of the child is logged that cannot be passed on.
    complaints: ChildOutputLog,
    /// Told of answers and of the end. All children of the program have the same one.
    backoff: Arc<Mutex<Backoff>>,
    /// When the child was started.
    started: Instant,
}

/// What changes in the table, under one lock.
#[derive(Debug)]
struct SharedCalls {
    /// Whether the child has ended. Requests fail at once from then on.
    over: bool,
    /// Once it is over: the error that its callers get, and whether it ended before it answered anything,
    /// with its input unread.
    end: Option<(UpstreamError, bool)>,
    /// Whether the child ever answered a request, the gateway's own included.
    answered: bool,
    /// How many numbers were given out.
    last: u64,
    /// A secret of this child that turns the count into numbers which nobody can guess.
    secret: RandomState,
    /// The requests that wait for an answer, by their numbers.
    running: HashMap<u64, SharedCallEntry>,
    /// When a call last ended or a notification was sent. With calls running, the child is not idle whatever
    /// this says.
    used: Instant,
}

/// Whose request it is, which decides what number it gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestOwner {
    /// A caller's, under a number that nobody can guess.
    Caller,
    /// The gateway's own, before all callers, under a small number: some programs do not know large ones.
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

    /// Returns a number that no running request has.
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

/// The sending end of a running call, for the task that reads the child.
#[derive(Debug)]
struct SharedCallEntry {
    /// The caller's own id and progress token, which are put back into what the child says.
    names: CallerRequestIds,
    /// Leads to the [`SharedCall`]. It has no bound of its own: `waiting` is checked instead.
    to: mpsc::UnboundedSender<CallUpdate>,
    /// How many bytes were sent and not taken yet, overhead included.
    waiting: Arc<AtomicUsize>,
    /// Whether the call has failed because its caller reads too slowly. The entry stays, so that the child is
    /// told when the caller has found out and drops its call.
    given_up: bool,
}

/// What the child says to one call, with the caller's own id and token in it.
#[derive(Debug)]
pub(super) enum CallUpdate {
    /// A notification that names the request. More follows.
    Notification(String),
    /// The answer, a result or an error, and the HTTP status that it has where it is all that is sent.
    /// Nothing follows.
    Answer(String, u16),
    /// No answer will come. Nothing follows.
    Failed(UpstreamError),
}

impl SharedChild {
    /// Starts a child. `mount` names it in the log, `limit` is the longest line that is read from it, in
    /// bytes, and `all_stop` becomes `true` when all children are to end.
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

    /// Whether it has ended, so that another must be started.
    pub(super) fn is_over(&self) -> bool {
        self.table.calls().over
    }

    /// Whether it ended before it answered anything and without having read what it was sent. Then it did not
    /// end because of what it was asked, and would end again.
    pub(super) fn left_input_unread(&self) -> bool {
        self.table.calls().end.is_some_and(|(_, unread)| unread)
    }

    /// Whether no call runs, and for `time` none has ended and no notification was sent.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        let calls = self.table.calls();
        calls.running.is_empty() && calls.used.elapsed() >= time
    }

    /// Sends a caller's request, under a number that cannot be guessed. Returns when it is queued for the
    /// child; the answer comes through the [`SharedCall`].
    ///
    /// Fails with the error that the child ended with, where it is over.
    pub(super) async fn ask(&self, message: &Message<'_>) -> Result<SharedCall, UpstreamError> {
        self.send(message, RequestOwner::Caller).await
    }

    /// Sends a request of the gateway itself, under a small number. It must come before all requests of
    /// callers, who could have the child repeat a number that is easy to guess.
    pub(super) async fn ask_as_gateway(&self, message: &Message<'_>) -> Result<SharedCall, UpstreamError> {
        self.send(message, RequestOwner::Gateway).await
    }

    /// Registers a request, so that its answer finds it however fast it comes, and then queues it. Where the
    /// future is dropped before the request was queued, the call is removed and the child learns nothing of
    /// it.
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

    /// Sends a caller's notification, without anything in its `_meta` that the child could take for the
    /// number of a request.
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

    /// Removes a call. Returns `None` where it is gone already: it was answered, or the child ended.
    fn remove(&self, number: u64) -> Option<SharedCallEntry> {
        let mut calls = self.calls();
        calls.used = Instant::now();
        calls.running.remove(&number)
    }

    /// Gives a line of the child to the call that it names, with the caller's own id and token put back.
    ///
    /// Dropped, and all but the last of them logged as a warning, are: what is no message; what names no
    /// request; progress for a caller that gave no token; and what names a call that is gone.
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

    /// Ends the stream of a request that the child has cancelled, which is how a server ends a subscription.
    /// An answer that comes within [`LAST_ANSWER_TIMEOUT`] still goes out before.
    fn close_subscription(self: &Arc<Self>, number: u64) {
        let table = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(LAST_ANSWER_TIMEOUT).await;
            table.remove(number);
        });
    }
}

impl SharedCallEntry {
    /// Whether a notification of so many bytes may wait for the caller.
    fn has_room(&self, bytes: usize) -> bool {
        let waiting = self.waiting.load(Ordering::Relaxed);
        waiting == 0 || waiting + bytes + MESSAGE_OVERHEAD <= MAX_WAITING_BYTES
    }

    /// Sends something to the call, whatever waits there. Nothing happens where its caller is gone.
    fn send(&self, heard: CallUpdate) {
        self.waiting.fetch_add(heard.weight(), Ordering::Relaxed);
        // A caller who is gone needs nothing.
        let _ = self.to.send(heard);
    }
}

impl CallUpdate {
    /// Returns how many bytes it counts as while it waits.
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
                let answer = long.filter(|long| long.kind == MessageKind::Answer);
                let number = answer.and_then(|long| multiplex::parse_number(&long.id?));
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

/// The receiving end of a running call. When it is dropped before its answer came, the child gets a
/// `notifications/cancelled` for it.
#[derive(Debug)]
pub(super) struct SharedCall {
    /// The id of the request at the child.
    number: u64,
    table: Arc<SharedCallTable>,
    /// The way into the child, for the cancellation.
    pipe: ChildInput,
    /// Whether the request was queued for the child, so that there is something to cancel.
    sent: bool,
    from: mpsc::UnboundedReceiver<CallUpdate>,
    waiting: Arc<AtomicUsize>,
}

impl SharedCall {
    /// Polls for the next thing that the child says to this call. `None` after the answer, or where the child
    /// has cancelled the request. After a failure there is nothing left to poll for.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<CallUpdate>> {
        self.from.poll_recv(cx).map(|heard| {
            heard.inspect(|heard| {
                self.waiting.fetch_sub(heard.weight(), Ordering::Relaxed);
            })
        })
    }

    /// Waits for what [`poll_next`](Self::poll_next) polls for.
    pub(super) async fn next(&mut self) -> Option<CallUpdate> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Waits for the answer and drops the notifications before it. A call that ends without one is
    /// [`UpstreamError::Broken`].
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
    use mcp_attune_process::lines::OverlongLine;

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
    fn an_overlong_answer_is_known_by_its_number_in_every_spelling_and_other_messages_strike_nobody() {
        let request = br#"{"jsonrpc":"2.0","id":"a","method":"m"}"#;
        let (_, names) = multiplex::number_request(&Message::parse(request).unwrap(), 7).unwrap();
        for (id, kind, fails) in [
            ("7", MessageKind::Answer, true),
            ("7.0", MessageKind::Answer, true),
            ("\"7\"", MessageKind::Answer, true),
            ("8", MessageKind::Answer, false),
            ("7", MessageKind::Request, false),
        ] {
            let table = Arc::new(SharedCallTable {
                calls: Mutex::new(SharedCalls::new()),
                complaints: ChildOutputLog::new("test"),
                backoff: Arc::default(),
                started: Instant::now(),
            });
            let (to, mut from) = mpsc::unbounded_channel();
            let entry =
                SharedCallEntry { names: names.clone(), to, waiting: Arc::default(), given_up: false };
            table.calls().running.insert(7, entry);
            let (start, length, id) = (Vec::new(), 1 << 30, Some(id.to_owned()));
            table.on_line(BoundedLine::TooLong(OverlongLine { start, length, id: id.clone(), kind }));
            let failed = matches!(from.try_recv(), Ok(CallUpdate::Failed(UpstreamError::TooLarge)));
            assert_eq!(failed, fails, "{id:?} {kind:?}");
        }
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
