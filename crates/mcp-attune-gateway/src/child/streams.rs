//! The streams of one legacy session: which message belongs on which, and what is kept of them.
//!
//! A stream holds the events that its caller has not got or may want again, and knows how many answers it
//! still owes. It ends when that is none. All of it is bookkeeping without I/O, under the lock of the
//! session; the rules are those of `session`.
//!
//! 1. Bounds are on calls that run, on questions of the child that are open, on streams that have ended, and
//!    on the bytes of all events together. Beyond the last one, old events are dropped.
//! 2. An event is read by its number, and stays where it is. Resuming a stream is reading it again from an
//!    earlier number.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::{Poll, Waker};

use mcp_attune_wire::correlate::{NotificationSubject, notification_subject, progress_token};
use mcp_attune_wire::message::{Id, Message, MessageKind};

use super::event_id::LegacyEventId;
use crate::upstream::UpstreamError;

/// The number of the stream that a caller opens with GET. It is there from the start, and ends with the
/// session only.
pub(super) const GET_STREAM: u64 = 0;
/// How many calls of one session may run at a time, whether anybody reads their streams or not. One more is
/// refused.
const MAX_CALLS: usize = 1024;
/// How many open questions of the child (`elicitation/create` and the like) are remembered. One more is
/// passed on, but does not excuse silence.
const MAX_OPEN_QUESTIONS: usize = 1024;
/// How many streams that have ended and that nobody reads are kept, for callers that lost their connection.
/// Beyond it the oldest one is forgotten.
const MAX_FINISHED_STREAMS: usize = 32;
/// What an event is taken to cost in bytes beside its text.
const EVENT_OVERHEAD: usize = 128;

/// One message on a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LegacyStreamEvent {
    /// Its event id.
    pub(super) place: LegacyEventId,
    /// The message, as the child wrote it.
    pub(super) text: Arc<str>,
    /// Whether it is the answer to a call, a result or an error.
    pub(super) is_answer: bool,
    /// Whether it is an answer with an `error`.
    pub(super) is_error: bool,
}

/// Why no stream was opened for requests. Nothing has changed then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StreamOpenError {
    /// More than [`MAX_CALLS`] calls would run.
    TooMany,
    /// A running call, or another request of the same batch, has the same id: nobody could tell their answers
    /// apart.
    InUse,
}

/// The streams of a session, and whose messages go on which.
#[derive(Debug)]
pub(super) struct LegacyStreams {
    /// The streams by their numbers, so that the oldest comes first.
    streams: BTreeMap<u64, LegacyStream>,
    /// The number of the newest stream. Numbers are not used again.
    last: u64,
    /// The calls that run, by the caller's ids, and the streams that they are answered on.
    calls: HashMap<Id, u64>,
    /// The progress tokens of calls that run, and the streams of these.
    tokens: HashMap<Id, u64>,
    /// The questions that the child has asked and that are not answered, by the child's ids, and the streams
    /// that they were put on.
    asked: HashMap<Id, u64>,
    /// How many bytes all events take now, overhead included.
    kept: usize,
    /// How many bytes all events may take.
    most: usize,
}

/// One stream: that of GET, or the one on which the requests of a POST are answered.
#[derive(Debug, Default)]
struct LegacyStream {
    /// The events that are kept, the oldest first.
    events: VecDeque<LegacyStreamEvent>,
    /// The number of the newest event; 0 where there was none yet.
    last: u64,
    /// The number of the newest event that a reader has taken.
    heard: u64,
    /// How many answers are still to come. Nothing comes after the last; GET's stream expects none and does
    /// not end by that.
    expects: usize,
    /// Whether no more events will come.
    over: bool,
    /// Why a call of this stream gets no answer, until a reader was told.
    failed: Option<UpstreamError>,
    /// How many readers the stream has had. The last one is served, and all others find the end.
    turn: u64,
    /// Whether the last reader is still there.
    is_heard: bool,
    /// Wakes the reader, where it waits.
    waker: Option<Waker>,
}

impl LegacyStreams {
    /// Makes the streams of a new session: the one of GET, without events. `most` is how many bytes of events
    /// are kept.
    pub(super) fn new(most: usize) -> Self {
        let streams = BTreeMap::from([(GET_STREAM, LegacyStream::default())]);
        let (calls, tokens, asked) = Default::default();
        Self { streams, last: GET_STREAM, calls, tokens, asked, kept: 0, most }
    }

    /// Opens the stream on which these requests are answered, and registers them as running. Returns its
    /// number, or `None` where there is no request among them.
    pub(super) fn open<'m>(
        &mut self,
        asks: impl Iterator<Item = &'m Message<'m>>,
    ) -> Result<Option<u64>, StreamOpenError> {
        let stream = self.last + 1;
        let (mut ids, mut tokens) = (HashMap::new(), Vec::new());
        for ask in asks {
            let Some(id) = ask.id().and_then(Id::read) else { continue };
            if self.calls.contains_key(&id) || ids.insert(id, stream).is_some() {
                return Err(StreamOpenError::InUse);
            }
            if self.calls.len() + ids.len() > MAX_CALLS {
                return Err(StreamOpenError::TooMany);
            }
            tokens.extend(progress_token(ask).and_then(Id::read));
        }
        let expects = ids.len();
        if expects == 0 {
            return Ok(None);
        }
        self.calls.extend(ids);
        self.tokens.extend(tokens.into_iter().map(|token| (token, stream)));
        self.last = stream;
        self.streams.insert(stream, LegacyStream { expects, ..LegacyStream::default() });
        Ok(Some(stream))
    }

    /// Notes what a message of the caller settles before it goes to the child: an answer closes a question of
    /// the child, and a `notifications/cancelled` ends a call, which then gets no answer.
    pub(super) fn note_from_caller(&mut self, message: &Message<'_>) {
        match message.kind() {
            MessageKind::Answer => {
                if let Some(id) = message.id().and_then(Id::read) {
                    self.asked.remove(&id);
                }
            }
            MessageKind::Notification => {
                if let NotificationSubject::Cancelled(Some(id)) = notification_subject(message)
                    && let Some(id) = Id::read(id)
                {
                    self.drop_call(&id);
                }
            }
            _ => {}
        }
    }

    /// Ends a call without an answer, because nobody waits for it any more. A late answer of the child
    /// belongs nowhere.
    pub(super) fn drop_call(&mut self, id: &Id) {
        if let Some(stream) = self.calls.remove(id) {
            self.expect_one_less(stream);
        }
    }

    /// Puts a message of the child on the stream that it belongs to. Returns `false` where there is none: an
    /// answer that no running call expects, or what is no single message.
    pub(super) fn push_to_stream(&mut self, message: &Message<'_>) -> bool {
        let stream = match message.kind() {
            MessageKind::Answer => message.id().and_then(Id::read).and_then(|id| self.calls.remove(&id)),
            MessageKind::Notification => Some(self.stream_of_notification(message)),
            MessageKind::Request => {
                let stream = self.default_stream();
                if let Some(id) =
                    message.id().and_then(Id::read).filter(|_| self.asked.len() < MAX_OPEN_QUESTIONS)
                {
                    self.asked.insert(id, stream);
                }
                Some(stream)
            }
            MessageKind::Batch | MessageKind::Other => None,
        };
        let Some(stream) = stream else { return false };
        self.push(stream, message);
        if message.kind() == MessageKind::Answer {
            self.expect_one_less(stream);
        }
        true
    }

    /// Returns the stream for a notification: of the call whose progress it reports, of the question that it
    /// takes back, of GET where it is about the server as a whole; and the default where that stream is over
    /// or not known.
    fn stream_of_notification(&mut self, message: &Message<'_>) -> u64 {
        let named = match notification_subject(message) {
            NotificationSubject::Progress(token) => {
                token.and_then(Id::read).and_then(|token| self.tokens.get(&token).copied())
            }
            NotificationSubject::Cancelled(id) => id.and_then(Id::read).and_then(|id| self.asked.remove(&id)),
            NotificationSubject::Server => Some(GET_STREAM),
            NotificationSubject::Other => None,
        };
        let alive = |stream: &u64| self.streams.get(stream).is_some_and(|stream| !stream.over);
        named.filter(alive).unwrap_or_else(|| self.default_stream())
    }

    /// Returns the stream for what names no call: that of the calls that run, where it is one. Otherwise
    /// GET's, unless calls run and nobody reads GET's: then the newest call's.
    fn default_stream(&self) -> u64 {
        let running = || self.calls.values().copied();
        let listens = self.streams.get(&GET_STREAM).is_some_and(|stream| stream.is_heard);
        match (running().min(), running().max()) {
            (Some(only), Some(same)) if only == same => only,
            (Some(_), Some(newest)) if !listens => newest,
            _ => GET_STREAM,
        }
    }

    /// Appends an event to a stream, wakes its reader, and drops what is too much.
    fn push(&mut self, number: u64, message: &Message<'_>) {
        let text = message.text();
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.last += 1;
        let place = LegacyEventId { stream: number, event: stream.last };
        stream.events.push_back(LegacyStreamEvent {
            place,
            text: Arc::from(text),
            is_answer: message.kind() == MessageKind::Answer,
            is_error: message.is_error(),
        });
        self.kept += text.len() + EVENT_OVERHEAD;
        stream.wake();
        self.shrink();
    }

    /// Notes that a stream got an answer, or will not get one. With the last one it is over, and what was
    /// known of its tokens and questions is dropped. Old streams that are over are forgotten.
    fn expect_one_less(&mut self, number: u64) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.expects = stream.expects.saturating_sub(1);
        if stream.expects == 0 {
            stream.over = true;
            stream.wake();
            self.tokens.retain(|_, stream| *stream != number);
            self.asked.retain(|_, stream| *stream != number);
        }
        let over: Vec<_> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.over && !stream.is_heard)
            .map(|(number, _)| *number)
            .collect();
        for number in over.iter().take(over.len().saturating_sub(MAX_FINISHED_STREAMS)) {
            self.forget(*number);
        }
    }

    /// Drops events until what is kept is within the bound: the oldest that a reader has taken, from the
    /// oldest stream that has one, else the oldest that is no answer and not the last of its stream.
    ///
    /// An answer stays until a reader has taken it, and so does the last event of a stream: a call is
    /// answered once. A slow reader can find earlier events gone; it goes on with the next one that is there.
    fn shrink(&mut self) {
        while self.kept > self.most {
            let heard = |stream: &LegacyStream| {
                stream.events.front().is_some_and(|event| event.place.event <= stream.heard).then_some(0)
            };
            let missable = |stream: &LegacyStream| {
                let earlier = stream.events.len().saturating_sub(1);
                stream.events.iter().take(earlier).position(|event| !event.is_answer)
            };
            let Some(event) = self.remove_first(heard).or_else(|| self.remove_first(missable)) else {
                return;
            };
            self.kept -= event.text.len() + EVENT_OVERHEAD;
        }
    }

    /// Removes an event from the first stream in which `find` finds one. It returns the position.
    fn remove_first(&mut self, find: impl Fn(&LegacyStream) -> Option<usize>) -> Option<LegacyStreamEvent> {
        self.streams.values_mut().find_map(|stream| find(stream).and_then(|at| stream.events.remove(at)))
    }

    /// Ends the call with this id with an error instead of an answer. Does nothing where no such call runs.
    pub(super) fn fail(&mut self, id: &Id, error: UpstreamError) {
        if let Some(stream) = self.calls.remove(id) {
            self.fail_stream(stream, error);
        }
    }

    /// Ends all running calls with an error.
    pub(super) fn fail_all(&mut self, error: UpstreamError) {
        let running: Vec<u64> = self.calls.drain().map(|(_, stream)| stream).collect();
        running.into_iter().for_each(|stream| self.fail_stream(stream, error));
    }

    fn fail_stream(&mut self, number: u64, error: UpstreamError) {
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.failed = Some(error);
        }
        self.expect_one_less(number);
    }

    /// Moves what is not the answer from a stream to the one of GET, and drops the stream: its caller got the
    /// answer in one piece, and nothing else of it.
    pub(super) fn move_to_get(&mut self, number: u64) {
        let Some(stream) = self.streams.remove(&number) else { return };
        let (Some(get), mut kept) = (self.streams.get_mut(&GET_STREAM), self.kept) else { return };
        for mut event in stream.events {
            if event.is_answer {
                kept -= event.text.len() + EVENT_OVERHEAD;
                continue;
            }
            get.last += 1;
            event.place = LegacyEventId { stream: GET_STREAM, event: get.last };
            get.events.push_back(event);
        }
        get.wake();
        self.kept = kept;
    }

    /// Ends everything with the session: running calls fail with [`UpstreamError::Broken`], and the GET
    /// stream ends.
    pub(super) fn close(&mut self) {
        self.fail_all(UpstreamError::Broken);
        if let Some(stream) = self.streams.get_mut(&GET_STREAM) {
            stream.over = true;
            stream.wake();
        }
    }

    /// Returns the number of the last event of the GET stream that a reader has taken.
    pub(super) fn last_heard(&self) -> u64 {
        self.streams.get(&GET_STREAM).map_or(0, |stream| stream.heard)
    }

    /// Whether a call runs, whether anybody reads its stream or not.
    pub(super) fn has_running_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Whether the stream is known and all events after this one are kept, so that a reader would miss
    /// nothing.
    pub(super) fn can_resume_after(&self, place: LegacyEventId) -> bool {
        let here = |stream: &LegacyStream| {
            let kept = stream.events.iter().filter(|event| event.place.event > place.event).count();
            stream.last.checked_sub(place.event) == u64::try_from(kept).ok()
        };
        self.streams.get(&place.stream).is_some_and(here)
    }

    /// Whether the child waits for the answer to a question that it put on this stream.
    pub(super) fn has_open_question(&self, number: u64) -> bool {
        self.asked.values().any(|stream| *stream == number)
    }

    /// Whether a reader that has read event `at` has read everything: the stream ended, and not with an
    /// error. A stream that is not known is over.
    pub(super) fn is_over(&self, number: u64, at: u64) -> bool {
        self.streams
            .get(&number)
            .is_none_or(|stream| stream.over && stream.failed.is_none() && stream.last <= at)
    }

    /// Registers a new reader of a stream and returns its turn. The reader before it is woken, to find that
    /// it has been replaced.
    pub(super) fn take_over(&mut self, number: u64) -> u64 {
        let Some(stream) = self.streams.get_mut(&number) else { return 0 };
        stream.turn += 1;
        stream.is_heard = true;
        stream.wake();
        stream.turn
    }

    /// Unregisters the reader with this turn. Does nothing where another one has replaced it.
    pub(super) fn leave(&mut self, number: u64, turn: u64) {
        if let Some(stream) = self.streams.get_mut(&number).filter(|stream| stream.turn == turn) {
            stream.is_heard = false;
            stream.waker = None;
        }
    }

    /// Drops a stream and its events.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(stream) = self.streams.remove(&number) {
            self.kept -= stream.events.iter().map(|event| event.text.len() + EVENT_OVERHEAD).sum::<usize>();
        }
    }

    /// Returns the first event after `at`, for the reader with this turn.
    ///
    /// The end is `None`: the stream is over, unknown, or has another reader now. An error is returned once,
    /// when all events were read. While there is nothing yet, `waker` is kept and woken by the next event.
    pub(super) fn poll(
        &mut self,
        number: u64,
        at: u64,
        turn: u64,
        waker: &Waker,
    ) -> Poll<Option<Result<LegacyStreamEvent, UpstreamError>>> {
        let Some(stream) = self.streams.get_mut(&number).filter(|stream| stream.turn == turn) else {
            return Poll::Ready(None);
        };
        if let Some(event) = stream.events.iter().find(|event| event.place.event > at) {
            stream.heard = stream.heard.max(event.place.event);
            return Poll::Ready(Some(Ok(event.clone())));
        }
        if let Some(error) = stream.failed.take() {
            return Poll::Ready(Some(Err(error)));
        }
        if stream.over {
            return Poll::Ready(None);
        }
        stream.waker = Some(waker.clone());
        Poll::Pending
    }
}

impl LegacyStream {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> LegacyStreams {
        LegacyStreams::new(10_000)
    }

    fn ask(streams: &mut LegacyStreams, text: &str) -> u64 {
        let message = Message::parse(text.as_bytes()).unwrap();
        streams.open([message].iter()).unwrap().unwrap()
    }

    /// On which stream a message of the child is heard.
    fn put(streams: &mut LegacyStreams, text: &str) -> Option<u64> {
        let before: BTreeMap<_, _> =
            streams.streams.iter().map(|(number, stream)| (*number, stream.last)).collect();
        streams.push_to_stream(&Message::parse(text.as_bytes()).unwrap()).then_some(())?;
        streams
            .streams
            .iter()
            .find(|(number, stream)| before.get(number) != Some(&stream.last))
            .map(|(number, _)| *number)
    }

    const ELICIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"elicitation/create"}"#;
    const LOG: &str = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

    #[test]
    fn each_message_goes_where_it_belongs() {
        let mut streams = streams();
        assert_eq!(put(&mut streams, ELICIT), Some(GET_STREAM));
        let one = ask(
            &mut streams,
            r#"{"jsonrpc":"2.0","id":"\u0061","method":"m","params":{"_meta":{"progressToken":7}}}"#,
        );
        assert_eq!(put(&mut streams, ELICIT), Some(one));
        assert!(streams.has_open_question(one));
        assert_eq!(put(&mut streams, LOG), Some(one));
        assert_eq!(put(&mut streams, CHANGED), Some(GET_STREAM));
        let two = ask(&mut streams, r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
        assert_eq!(put(&mut streams, LOG), Some(two), "nobody hears GET, so the newest call does");
        let turn = streams.take_over(GET_STREAM);
        assert_eq!(put(&mut streams, LOG), Some(GET_STREAM));
        streams.leave(GET_STREAM, turn);
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7}}"#;
        assert_eq!(put(&mut streams, progress), Some(one));
        assert_eq!(put(&mut streams, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#), None, "another id");
        assert_eq!(put(&mut streams, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#), Some(one), "the same id");
        assert!(streams.is_over(one, 5) && !streams.has_open_question(one));
        assert_eq!(put(&mut streams, r#"{"jsonrpc":"2.0","id":"a","result":{}}"#), None, "answered already");
        assert_eq!(put(&mut streams, progress), Some(two), "its stream is over");
    }

    #[test]
    fn an_answer_is_known_by_what_its_id_says_however_it_is_written() {
        for (asked, answered) in
            [("7", "7.0"), ("7.0", "7"), ("7e0", "7"), ("-0", "0"), (r#""\u00e9""#, "\"é\"")]
        {
            let mut streams = streams();
            let one = ask(&mut streams, &format!(r#"{{"jsonrpc":"2.0","id":{asked},"method":"m"}}"#));
            let other = format!(r#"{{"jsonrpc":"2.0","id":"{}","result":{{}}}}"#, asked.trim_matches('"'));
            if !asked.starts_with('"') {
                assert_eq!(put(&mut streams, &other), None, "{other}");
            }
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{answered},"result":{{}}}}"#);
            assert_eq!(put(&mut streams, &answer), Some(one), "{asked} {answered}");
        }
    }

    #[test]
    fn a_call_that_its_caller_cancelled_ends_without_an_answer() {
        let mut streams = streams();
        let one = ask(&mut streams, r#"{"jsonrpc":"2.0","id":5,"method":"m"}"#);
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
        streams.note_from_caller(&Message::parse(cancel.as_bytes()).unwrap());
        assert!(streams.is_over(one, 0));
        assert_eq!(put(&mut streams, r#"{"jsonrpc":"2.0","id":5,"result":{}}"#), None);
    }

    #[test]
    fn keeps_up_to_its_bound_and_never_loses_the_last() {
        let mut streams = streams();
        let one = ask(&mut streams, r#"{"jsonrpc":"2.0","id":5,"method":"m"}"#);
        for _ in 0..1000 {
            put(&mut streams, LOG);
        }
        assert!(streams.kept <= 10_000);
        let large = format!(r#"{{"jsonrpc":"2.0","id":5,"result":"{}"}}"#, "x".repeat(20_000));
        assert_eq!(put(&mut streams, &large), Some(one));
        assert_eq!(streams.streams[&one].events.len(), 1);
        assert!(
            streams.can_resume_after(LegacyEventId { stream: one, event: 1000 })
                && !streams.can_resume_after(LegacyEventId { stream: one, event: 1 })
        );
        assert!(
            !streams.can_resume_after(LegacyEventId { stream: one, event: 1002 })
                && !streams.can_resume_after(LegacyEventId { stream: 9, event: 0 })
        );
        streams.forget(one);
        assert_eq!(streams.kept, 0);
    }

    #[test]
    fn no_answer_of_a_batch_is_dropped_before_it_is_read() {
        let mut streams = streams();
        let batch: Vec<_> = [1, 2, 3]
            .map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
            .into_iter()
            .collect();
        let batch: Vec<_> = batch.iter().map(|text| Message::parse(text.as_bytes()).unwrap()).collect();
        let stream = streams.open(batch.iter()).unwrap().unwrap();
        let large = "x".repeat(8_000);
        for id in [1, 2, 3] {
            put(&mut streams, LOG);
            put(&mut streams, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{large}"}}"#));
        }
        let kept: Vec<_> = streams.streams[&stream].events.iter().map(|event| event.is_answer).collect();
        assert_eq!(kept, [true, true, true], "what is no answer makes room");
        let from = |event| streams.can_resume_after(LegacyEventId { stream, event });
        assert!(!from(0) && !from(2) && !from(4), "a log line is gone in between");
        assert!(from(5) && from(6) && !from(7));
    }

    #[test]
    fn an_error_for_a_call_that_does_not_run_strikes_no_other() {
        let mut streams = streams();
        let one = ask(&mut streams, r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
        streams.fail(&Id::parse("2").unwrap(), UpstreamError::TooLarge);
        assert!(!streams.is_over(one, 0) && streams.has_running_calls());
        streams.fail(&Id::parse("1").unwrap(), UpstreamError::TooLarge);
        assert_eq!(streams.streams[&one].failed, Some(UpstreamError::TooLarge));
    }

    #[test]
    fn keeps_few_streams_that_are_over() {
        let mut streams = streams();
        for id in 0..500 {
            ask(&mut streams, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#));
            put(&mut streams, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        }
        assert!(streams.streams.len() <= MAX_FINISHED_STREAMS + 1);
        assert_eq!((streams.calls.len(), streams.tokens.len()), (0, 0));
    }
}
