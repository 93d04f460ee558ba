//! One request of a modern caller on its way through a legacy session, until it is answered.
//!
//! 1. What the server says comes on the stream of the call, or on the GET stream of the session where the call has it for
//!    itself.
//! 2. A stream that ends before the answer is gone on with, where its events have ids: legacy servers may close it.
//! 3. Where the first message is the answer, the caller gets JSON; otherwise, and where nothing comes for a while, a stream.
//! 4. A call that is dropped before its answer is cancelled at the server.
//!
//! Rules: X3, X5.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use mcp_attune::bridge::{LegacyCall, LegacyCallEvent, Question};
use mcp_attune_tower::HttpFailure;
use mcp_attune_wire::message::Message;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::answers::{self, failure};
use super::leg::Leg;
use super::message_reader::MessageReader;
use super::output::{EventSender, event_stream};
use super::session::UpstreamSession;
use super::session_pool::SessionLease;
use super::{Bridge, PendingCaller, QUIET};
use crate::Body;
use crate::upstream::UpstreamError;

/// How long more questions are waited for after the first, so that all that are asked at once go to the caller at once.
const GATHER: Duration = Duration::from_millis(40);
/// How many questions go to a caller at once.
const MAX_QUESTIONS: usize = 64;
/// How long a caller waits for a first message before its answer becomes a stream.
const STREAM_AFTER: Duration = Duration::from_secs(2);
/// How often a stream is gone on with, and how long after it ended.
const MAX_RESUMPTIONS: usize = 100;
const RESUME_AFTER: Duration = Duration::from_millis(500);

/// A call that runs in a legacy session.
#[derive(Debug)]
pub(super) struct LegacyCallDriver {
    pub(super) call: LegacyCall,
    lease: SessionLease,
    leg: Leg,
    reader: MessageReader,
    limits: (usize, usize),
    /// Questions on the GET stream of the session.
    inbox: Option<mpsc::Receiver<Bytes>>,
    /// Questions that the caller was not asked yet, and until when more are waited for.
    asked: Vec<Question>,
    ask_at: Option<Instant>,
    resumptions: usize,
    is_over: bool,
}

/// What comes of a call next.
pub(super) enum DriverEvent {
    /// The caller gets this notification.
    Notify(String),
    /// The caller gets this answer, with this HTTP status.
    Answer(String, u16),
    /// The caller has to be asked.
    Ask(Vec<Question>),
    /// There is no answer.
    Failed(HttpFailure),
}

impl LegacyCallDriver {
    /// Follows a call whose request was sent and answered with this response. `exclusive`: it has the session for itself.
    pub(super) fn new(
        call: LegacyCall,
        lease: SessionLease,
        leg: Leg,
        answer: Response<Body>,
        limits: (usize, usize),
        exclusive: bool,
    ) -> Self {
        let inbox = exclusive.then(|| lease.session().open_inbox());
        let reader = MessageReader::new(answer, limits.0, limits.1);
        let (asked, ask_at, resumptions, is_over) = (Vec::new(), None, 0, false);
        Self { call, lease, leg, reader, limits, inbox, asked, ask_at, resumptions, is_over }
    }

    /// Waits for what comes next. Nothing is lost where it is given up.
    async fn next(&mut self) -> DriverEvent {
        loop {
            let ask_at = self.ask_at;
            let message = tokio::select! {
                biased;
                message = self.reader.next() => match message {
                    Some(Ok(message)) => message,
                    Some(Err(failed)) => return self.failed(failed),
                    None if ask_at.is_some() => return self.ask_now(),
                    None => match self.resume().await {
                        Ok(()) => continue,
                        Err(failed) => return self.failed(failed),
                    },
                },
                Some(message) = receive(&mut self.inbox) => message,
                () = sleep_until(ask_at.unwrap_or_else(Instant::now)), if ask_at.is_some() => return self.ask_now(),
            };
            let Ok(read) = Message::parse(&message) else { continue };
            match self.call.receive(&read) {
                LegacyCallEvent::Notify(text) => return DriverEvent::Notify(text),
                LegacyCallEvent::Answer(text, status) => {
                    self.is_over = true;
                    return DriverEvent::Answer(text, status);
                }
                // A server that asks without end is answered for its caller.
                LegacyCallEvent::Ask(question) if self.asked.len() >= MAX_QUESTIONS => {
                    self.post_later(question.cancelled_answer());
                }
                LegacyCallEvent::Ask(question) => {
                    self.asked.push(question);
                    self.ask_at.get_or_insert_with(|| Instant::now() + GATHER);
                }
                LegacyCallEvent::Withdraw(id) => {
                    self.asked.retain(|question| !question.is(&id));
                    self.call.withdraw(&id);
                    if self.asked.is_empty() {
                        self.ask_at = None;
                    }
                }
                LegacyCallEvent::Reply(text) => self.post_later(text),
                LegacyCallEvent::AboutSession => self.lease.session().tell_listeners(message),
                LegacyCallEvent::Drop => {}
            }
        }
    }

    fn ask_now(&mut self) -> DriverEvent {
        self.ask_at = None;
        DriverEvent::Ask(std::mem::take(&mut self.asked))
    }

    fn failed(&mut self, failed: HttpFailure) -> DriverEvent {
        self.is_over = true;
        DriverEvent::Failed(failed)
    }

    /// Goes on with a stream that ended before the answer.
    async fn resume(&mut self) -> Result<(), HttpFailure> {
        let broken = || failure(UpstreamError::Broken);
        let last = self.reader.last_event_id().ok_or_else(broken)?;
        self.resumptions += 1;
        if self.resumptions > MAX_RESUMPTIONS {
            return Err(broken());
        }
        sleep(self.reader.retry_after().unwrap_or(RESUME_AFTER)).await;
        let answer = self.lease.session().get(&self.leg, Some(last)).await?;
        if !answer.status().is_success() {
            return Err(broken());
        }
        self.reader = MessageReader::resumed(answer, self.limits.1, &self.reader);
        Ok(())
    }

    fn post_later(&self, text: String) {
        post_in_turn(Arc::clone(self.lease.session()), self.leg.clone(), vec![text]);
    }

    /// Takes a retry of the caller. Returns whether all questions are answered now.
    pub(super) async fn retry(&mut self, retry: &Message<'_>, leg: Leg) -> Result<bool, HttpFailure> {
        self.leg = leg;
        for answer in self.call.retry(retry) {
            let posted = self.lease.session().post(&self.leg, answer).await?;
            if !posted.status().is_success() {
                self.is_over = true;
                return Err(failure(UpstreamError::Broken));
            }
        }
        Ok(!self.call.has_open_questions())
    }

    /// Answers the caller: with JSON where the next thing is the answer, otherwise with a stream.
    pub(super) async fn answer(
        mut self,
        bridge: &Arc<Bridge>,
        caller: PendingCaller,
    ) -> Result<Response<Body>, HttpFailure> {
        let first = if self.reader.is_stream() {
            timeout(STREAM_AFTER, self.next()).await.ok()
        } else {
            Some(self.next().await)
        };
        match first {
            Some(DriverEvent::Answer(text, status)) => Ok(answers::json(status, text)),
            Some(DriverEvent::Ask(questions)) => {
                Ok(answers::json(200, bridge.hold(self, questions, caller)?))
            }
            Some(DriverEvent::Failed(failed)) => Err(failed),
            first @ (Some(DriverEvent::Notify(_)) | None) => {
                let (sender, body) = event_stream();
                let bridge = Arc::clone(bridge);
                tokio::spawn(async move {
                    let closed = sender.clone();
                    tokio::select! {
                        () = self.write_events(&bridge, caller, first, &sender) => {}
                        // Dropping the call cancels it.
                        () = closed.closed() => {}
                    }
                });
                Ok(answers::stream(body))
            }
        }
    }

    async fn write_events(
        mut self,
        bridge: &Arc<Bridge>,
        caller: PendingCaller,
        first: Option<DriverEvent>,
        sender: &EventSender,
    ) {
        let mut event = first;
        loop {
            match event {
                Some(DriverEvent::Notify(text)) => {
                    if !sender.send(&text).await {
                        return;
                    }
                }
                Some(DriverEvent::Answer(text, _)) => {
                    sender.send(&text).await;
                    return;
                }
                Some(DriverEvent::Ask(questions)) => {
                    if let Ok(text) = bridge.hold(self, questions, caller) {
                        sender.send(&text).await;
                    }
                    return;
                }
                Some(DriverEvent::Failed(failed)) => {
                    let reply = mcp_attune_wire::reply::Reply::failed(
                        failed.status,
                        Some(self.call.caller_id()),
                        failed.notice,
                    );
                    sender.send(&reply.body).await;
                    return;
                }
                None => {
                    if !sender.send_comment().await {
                        return;
                    }
                }
            }
            event = timeout(QUIET, self.next()).await.ok();
        }
    }
}

impl Drop for LegacyCallDriver {
    fn drop(&mut self) {
        if !self.is_over {
            post_in_turn(Arc::clone(self.lease.session()), self.leg.clone(), self.call.cancel());
        }
    }
}

/// Posts messages whose answers nobody waits for, one after the other.
fn post_in_turn(session: Arc<UpstreamSession>, leg: Leg, messages: Vec<String>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            for message in messages {
                if let Err(failed) = session.post(&leg, message).await {
                    return tracing::debug!(%failed, "the server could not be told");
                }
            }
        });
    }
}

async fn receive(inbox: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    match inbox {
        Some(inbox) => inbox.recv().await,
        None => std::future::pending().await,
    }
}
