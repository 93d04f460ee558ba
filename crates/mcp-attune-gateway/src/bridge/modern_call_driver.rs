//! One request of a legacy caller on its way to a modern server, until it is answered.
//!
//! 1. Where the answer comes first, the caller gets JSON; otherwise a stream.
//! 2. What the server asks for becomes requests on the stream of the call. When all are answered the server gets a retry.
//! 3. Arguments that a schema wants in headers are known from a listing, which is asked for when the server says that
//!    they are missing: then it has run nothing.
//!
//! Rules: X4, X5.

use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use mcp_attune::bridge::{
    BridgedSession, ModernCall, ModernCallEvent, ModernQuestion, PendingCallId, QuestionAnswer,
};
use mcp_attune_tower::HttpFailure;
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::protocol::code;
use mcp_attune_wire::protocol::method::TOOLS_LIST;
use mcp_attune_wire::reply::Reply;
use mcp_attune_wire::schema::DeclaredHeaders;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::answers::{self, failure};
use super::leg::{Leg, text_headers};
use super::message_reader::MessageReader;
use super::output::{EventSender, event_stream};
use super::to_legacy::is_not_about_the_message;
use super::{Bridge, QUIET};
use crate::Body;
use crate::upstream::UpstreamError;

/// How long a caller waits for a first message before its answer becomes a stream.
const STREAM_AFTER: Duration = Duration::from_secs(2);

/// A call that runs at a modern server.
pub(super) struct ModernCallDriver {
    bridge: Arc<Bridge>,
    call: ModernCall,
    leg: Leg,
    declared: Option<DeclaredHeaders>,
    reader: MessageReader,
    /// What the server has asked for and the caller has not answered yet.
    round: Option<InputRound>,
    is_over: bool,
}

struct InputRound {
    /// The requests that have to be sent to the caller.
    unsent: Vec<String>,
    waiting: Vec<(ModernQuestion, oneshot::Receiver<QuestionAnswer>)>,
    answered: Vec<(ModernQuestion, QuestionAnswer)>,
    state: Option<String>,
}

/// What comes of a call next.
enum DriverEvent {
    /// The caller gets this message, and more comes.
    Message(String),
    /// The caller gets this answer.
    Answer(String),
    /// There is no answer.
    Failed(HttpFailure),
}

/// What came of sending a request.
pub(super) enum SentCall {
    /// It is under way.
    Running(Box<ModernCallDriver>),
    /// The caller gets this answer of the server as it came.
    Refused(Response<Body>),
}

impl ModernCallDriver {
    /// Sends a request to the server.
    pub(super) async fn send(
        bridge: &Arc<Bridge>,
        session: &BridgedSession,
        call: ModernCall,
        tool: Option<&str>,
        leg: Leg,
    ) -> Result<SentCall, HttpFailure> {
        let text = call.request().to_owned();
        let mut declared = None;
        loop {
            let headers = text_headers(ModernCall::headers(&text, declared.as_ref()));
            let answer = leg.post(text.clone(), headers).await?;
            if is_not_about_the_message(answer.status()) {
                return Ok(SentCall::Refused(answer));
            }
            let may_lack_headers =
                answer.status() == StatusCode::BAD_REQUEST && tool.is_some() && declared.is_none();
            let mut reader = MessageReader::new(answer, bridge.options.max_answer, bridge.options.max_event);
            if may_lack_headers {
                let first = reader.next().await;
                let is_mismatch = |text: &[u8]| {
                    Message::parse(text).is_ok_and(|read| read.error_code() == Some(code::HEADER_MISMATCH))
                };
                match first {
                    Some(Ok(first)) if is_mismatch(&first) => {
                        declared = find_declared(bridge, session, tool.unwrap_or_default(), &leg).await;
                        if declared.is_some() {
                            continue;
                        }
                        reader.unread(first);
                    }
                    Some(Ok(first)) => reader.unread(first),
                    Some(Err(failed)) => return Err(failed),
                    None => {}
                }
            }
            let (bridge, round, is_over) = (Arc::clone(bridge), None, false);
            return Ok(SentCall::Running(Box::new(Self {
                bridge,
                call,
                leg,
                declared,
                reader,
                round,
                is_over,
            })));
        }
    }

    async fn next(&mut self) -> DriverEvent {
        loop {
            if let Some(event) = self.next_of_round().await {
                return event;
            }
            let message = match self.reader.next().await {
                Some(Ok(message)) => message,
                Some(Err(failed)) => return DriverEvent::Failed(failed),
                None => return DriverEvent::Failed(failure(UpstreamError::Broken)),
            };
            let Ok(read) = Message::parse(&message) else { continue };
            match self.call.receive(&read) {
                ModernCallEvent::Notify(text) => return DriverEvent::Message(text),
                ModernCallEvent::Answer(text) => {
                    self.is_over = true;
                    return DriverEvent::Answer(text);
                }
                ModernCallEvent::Ask(questions, state) => match self.begin_round(questions, state) {
                    Ok(round) => self.round = Some(round),
                    Err(failed) => return DriverEvent::Failed(failed),
                },
                ModernCallEvent::Drop => {}
            }
        }
    }

    fn begin_round(
        &self,
        questions: Vec<ModernQuestion>,
        state: Option<String>,
    ) -> Result<InputRound, HttpFailure> {
        let no_randomness = || failure(UpstreamError::Refused);
        let mut round = InputRound { unsent: Vec::new(), waiting: Vec::new(), answered: Vec::new(), state };
        for question in questions {
            let mut call = [0; 16];
            getrandom::fill(&mut call).map_err(|_| no_randomness())?;
            let id = PendingCallId(call).seal(&self.bridge.options.seal).ok_or_else(no_randomness)?;
            round.unsent.push(question.request(&id));
            round.waiting.push((question, self.bridge.callers.expect_answer(call)));
        }
        // The first one is sent first.
        round.unsent.reverse();
        Ok(round)
    }

    /// Asks what is to be asked, waits for answers, and sends the retry when all are there. `None` where the answer of the
    /// server is to be read on.
    async fn next_of_round(&mut self) -> Option<DriverEvent> {
        let round = self.round.as_mut()?;
        if let Some(request) = round.unsent.pop() {
            return Some(DriverEvent::Message(request));
        }
        while let Some((_, waiting)) = round.waiting.first_mut() {
            let answer = waiting.await;
            let (question, _) = round.waiting.remove(0);
            match answer {
                Ok(answer) => round.answered.push((question, answer)),
                Err(_) => return Some(DriverEvent::Failed(failure(UpstreamError::Broken))),
            }
        }
        let round = self.round.take()?;
        Some(match self.send_retry(&round).await {
            Ok(()) => return None,
            Err(event) => event,
        })
    }

    async fn send_retry(&mut self, round: &InputRound) -> Result<(), DriverEvent> {
        let text = match self.call.retry(&round.answered, round.state.as_deref()) {
            Ok(text) => text,
            Err(error) => {
                self.is_over = true;
                return Err(DriverEvent::Answer(self.call.error_answer(&error)));
            }
        };
        let headers = text_headers(ModernCall::headers(&text, self.declared.as_ref()));
        let answer = self.leg.post(text, headers).await.map_err(DriverEvent::Failed)?;
        self.reader =
            MessageReader::new(answer, self.bridge.options.max_answer, self.bridge.options.max_event);
        Ok(())
    }

    /// Answers the caller. `cancelled` fails when the caller cancels the call; then there is no answer.
    pub(super) async fn answer(
        mut self: Box<Self>,
        session_id: Vec<u8>,
    ) -> Result<Response<Body>, HttpFailure> {
        let bridge = Arc::clone(&self.bridge);
        let id = mcp_attune_wire::message::Id::parse(self.call.caller_id());
        let (note, mut cancelled) = match id.clone() {
            Some(id) => {
                let (note, cancelled) = bridge.callers.note_running(&session_id, id);
                (Some(note), Some(cancelled))
            }
            None => (None, None),
        };
        let first = tokio::select! {
            first = async {
                if self.reader.is_stream() { timeout(STREAM_AFTER, self.next()).await.ok() } else { Some(self.next().await) }
            } => first,
            () = wait_for_cancel(&mut cancelled) => {
                let (_, body) = event_stream();
                return Ok(answers::stream(body));
            }
        };
        match first {
            Some(DriverEvent::Answer(text)) => Ok(answers::json(200, text)),
            Some(DriverEvent::Failed(failed)) => Err(failed),
            first @ (Some(DriverEvent::Message(_)) | None) => {
                drop(note);
                let (sender, body) = event_stream();
                tokio::spawn(async move {
                    let bridge = Arc::clone(&self.bridge);
                    let (_note, mut cancelled) = match id {
                        Some(id) => {
                            let (note, cancelled) = bridge.callers.note_running(&session_id, id);
                            (Some(note), Some(cancelled))
                        }
                        None => (None, None),
                    };
                    let closed = sender.clone();
                    tokio::select! {
                        () = self.write_events(first, &sender) => {}
                        // Dropping the answer of the server cancels the call there.
                        () = closed.closed() => {}
                        () = wait_for_cancel(&mut cancelled) => {}
                    }
                });
                Ok(answers::stream(body))
            }
        }
    }

    async fn write_events(mut self: Box<Self>, first: Option<DriverEvent>, sender: &EventSender) {
        let wait = self.bridge.options.settings.input_wait;
        let mut asked_since: Option<tokio::time::Instant> = None;
        let mut event = first;
        loop {
            match event {
                Some(DriverEvent::Message(text)) => {
                    if !sender.send(&text).await {
                        return;
                    }
                }
                Some(DriverEvent::Answer(text)) => {
                    sender.send(&text).await;
                    return;
                }
                Some(DriverEvent::Failed(failed)) => {
                    let reply = Reply::failed(failed.status, Some(self.call.caller_id()), failed.notice);
                    sender.send(&reply.body).await;
                    return;
                }
                None => {
                    if !sender.send_comment().await {
                        return;
                    }
                }
            }
            asked_since = self.round.is_some().then(|| asked_since.unwrap_or_else(tokio::time::Instant::now));
            if asked_since.is_some_and(|since| since.elapsed() >= wait) {
                let notice = mcp_attune_wire::notice::Notice::CallNotWaiting;
                let reply = Reply::failed(504, Some(self.call.caller_id()), notice);
                sender.send(&reply.body).await;
                return;
            }
            event = timeout(QUIET.min(wait), self.next()).await.ok();
        }
    }
}

async fn wait_for_cancel(cancelled: &mut Option<oneshot::Receiver<()>>) {
    match cancelled {
        Some(cancelled) => {
            let _ = cancelled.await;
        }
        None => std::future::pending().await,
    }
}

/// Finds out what the schema of a tool declares for headers, from the server's listing.
async fn find_declared(
    bridge: &Bridge,
    session: &BridgedSession,
    tool: &str,
    leg: &Leg,
) -> Option<DeclaredHeaders> {
    let mut pages = Pages::new(TOOLS_LIST);
    loop {
        let cursor =
            pages.cursor().map(|cursor| format!(r#","params":{{"cursor":{cursor}}}"#)).unwrap_or_default();
        let text = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{TOOLS_LIST}"{cursor}}}"#);
        let call = ModernCall::begin(&Message::parse(text.as_bytes()).ok()?, session, None)?;
        let headers = text_headers(ModernCall::headers(call.request(), None));
        let answer = leg.post(call.request().to_owned(), headers).await.ok()?;
        let mut reader = MessageReader::new(answer, bridge.options.max_answer, bridge.options.max_event);
        let page = loop {
            let message = reader.next().await?.ok()?;
            if Message::parse(&message).is_ok_and(|read| read.kind() == MessageKind::Answer) {
                break message;
            }
        };
        let page = Message::parse(&page).ok()?;
        let tools = page.member("result")?.member("tools")?.elements();
        let found = tools.into_iter().find(|listed| {
            listed
                .member("name")
                .and_then(mcp_attune_wire::json::SpannedValue::text)
                .is_some_and(|name| name.is(tool))
        });
        if let Some(found) = found {
            return DeclaredHeaders::read(found.member("inputSchema")?.raw().as_bytes()).ok();
        }
        match pages.take_answer(&page)? {
            ListingStep::Next => {}
            ListingStep::Done | ListingStep::Endless(_) => return None,
        }
    }
}
