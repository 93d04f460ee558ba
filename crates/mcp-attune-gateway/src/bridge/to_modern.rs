//! A legacy caller in front of a modern server.
//!
//! Rules: X1, X4, X5, X6.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Response, StatusCode};
use mcp_attune::bridge::{
    BridgedSession, ListenEvent, ListenStream, ModernCall, ModernQuestion, PendingCallId,
};
use mcp_attune_tower::{BodyMediaType, HttpFailure, full, media};
use mcp_attune_wire::correlate;
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Id, Message, MessageKind};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::method::{
    CANCELLED, INITIALIZE, LOGGING_SET_LEVEL, PING, RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE,
    SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN, TOOLS_CALL,
};
use tokio::time::sleep;

use super::era_memory::KnownEra;
use super::leg::{Leg, text_headers};
use super::message_reader::MessageReader;
use super::modern_call_driver::{ModernCallDriver, SentCall};
use super::output::{EventSender, event_stream};
use super::to_legacy::is_not_about_the_message;
use super::{Bridge, BridgeRequest, QUIET, answers};
use crate::Body;

const SESSION_ID: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);

impl Bridge {
    /// Answers a legacy request without a session. Only one that begins a session is looked at, and it is sent on first,
    /// because many servers speak both eras.
    pub(super) async fn answer_initialize(
        self: Arc<Self>,
        request: BridgeRequest,
    ) -> Result<Response<Body>, HttpFailure> {
        let body = request.body.clone();
        let message = Message::parse(&body).ok().filter(correlate::begins_session);
        let Some(message) = message else { return self.pass(request).await };
        let (head, requester, meter) = (request.head.clone(), request.requester, request.meter.clone());
        let again = BridgeRequest { head, body: body.clone(), requester, meter };
        let answer = self.pass(request).await?;
        if is_not_about_the_message(answer.status()) || media(answer.headers()) == BodyMediaType::Events {
            return Ok(answer);
        }
        let (parts, text) = answer.into_parts();
        let Ok(text) = collect(text, self.options.max_answer).await else {
            return Err(answers::failure(crate::upstream::UpstreamError::Broken));
        };
        let began = parts.status.is_success()
            && Message::parse(&text)
                .is_ok_and(|read| mcp_attune_wire::handshake::session_version(&read).is_some());
        if !began {
            let era = match self.era.known() {
                Some(era) => Some(era),
                None => self.ask_era(&again).await,
            };
            if era == Some(KnownEra::Modern)
                && let Some(answer) = self.begin_session(&again, &message).await?
            {
                return Ok(answer);
            }
        }
        Ok(Response::from_parts(parts, full(text)))
    }

    /// Answers `initialize` from `server/discover`. `None` where the server does not answer that.
    async fn begin_session(
        self: &Arc<Self>,
        request: &BridgeRequest,
        initialize: &Message<'_>,
    ) -> Result<Option<Response<Body>>, HttpFailure> {
        let session = BridgedSession::read(initialize);
        let Some(id) = initialize.id() else { return Ok(None) };
        let discover = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{SERVER_DISCOVER}"}}"#);
        let discover = Message::parse(discover.as_bytes())
            .ok()
            .and_then(|read| ModernCall::begin(&read, &session, None));
        let Some(discover) = discover else { return Ok(None) };
        let headers = text_headers(ModernCall::headers(discover.request(), None));
        let answer = request.leg(self).post(discover.request().to_owned(), headers).await?;
        if is_not_about_the_message(answer.status()) {
            return Ok(Some(answer));
        }
        let mut reader = MessageReader::new(answer, self.options.max_answer, self.options.max_event);
        while let Some(message) = reader.next().await {
            let message = message?;
            let Ok(read) = Message::parse(&message) else { return Ok(None) };
            if read.kind() != MessageKind::Answer {
                continue;
            }
            let (Some(text), Some(sealed)) =
                (session.initialize_answer(id.raw(), &read), session.seal(&self.options.seal))
            else {
                return Ok(None);
            };
            request.meter.bridged("legacy", "modern");
            let mut answer = answers::json(200, text);
            answer
                .headers_mut()
                .extend(HeaderValue::from_str(&sealed).ok().map(|sealed| (SESSION_ID, sealed)));
            return Ok(Some(answer));
        }
        Ok(None)
    }

    /// Answers a request of a session that was made up here.
    pub(super) async fn answer_session(
        self: Arc<Self>,
        request: BridgeRequest,
    ) -> Result<Response<Body>, HttpFailure> {
        let id = request.head.headers.get(SESSION_ID).map(|id| id.as_bytes().to_vec()).unwrap_or_default();
        let body = request.body.clone();
        let Ok(Some(session)) = BridgedSession::open(&self.options.seal, &id) else {
            let message = Message::parse(&body).ok();
            let asked = message.as_ref().and_then(Message::id).map(SpannedValue::raw);
            return Ok(answers::no_session(asked));
        };
        if self.callers.is_over(&id) {
            let message = Message::parse(&body).ok();
            return Ok(answers::no_session(message.as_ref().and_then(Message::id).map(SpannedValue::raw)));
        }
        match request.head.method {
            Method::POST => {}
            Method::GET => return Ok(self.open_get_stream(session, id, request.leg(&self))),
            Method::DELETE => {
                self.callers.end(&id);
                return Ok(answers::empty(StatusCode::NO_CONTENT));
            }
            _ => return Ok(answers::empty(StatusCode::METHOD_NOT_ALLOWED)),
        }
        let Ok(message) = Message::parse(&body) else { return self.pass(request).await };
        match message.kind() {
            MessageKind::Request => self.answer_legacy_request(&request, &message, session, id).await,
            MessageKind::Notification => {
                let cancelled =
                    message.param("requestId").filter(|_| message.known_method() == Some(CANCELLED));
                if let Some(cancelled) = cancelled.and_then(Id::read) {
                    self.callers.cancel(&id, cancelled);
                }
                Ok(answers::empty(StatusCode::ACCEPTED))
            }
            MessageKind::Answer => Ok(self.take_answer(&message)),
            MessageKind::Batch | MessageKind::Other => Ok(answers::not_a_request()),
        }
    }

    async fn answer_legacy_request(
        self: &Arc<Self>,
        request: &BridgeRequest,
        message: &Message<'_>,
        session: BridgedSession,
        session_id: Vec<u8>,
    ) -> Result<Response<Body>, HttpFailure> {
        let id = message.id().map_or("null", SpannedValue::raw);
        let text_param = |name| message.param(name).and_then(SpannedValue::text).and_then(JsonString::decode);
        let method = message.method().and_then(JsonString::decode).unwrap_or_default();
        match &*method {
            PING => return Ok(answers::empty_result(id)),
            LOGGING_SET_LEVEL => {
                if let Some(level) = text_param("level") {
                    self.callers.set_log_level(&session_id, level.into_owned());
                }
                return Ok(answers::empty_result(id));
            }
            RESOURCES_SUBSCRIBE | RESOURCES_UNSUBSCRIBE => {
                if let Some(uri) = text_param("uri") {
                    self.callers.change_filter(&session_id, |filter| {
                        if method == RESOURCES_SUBSCRIBE {
                            filter.subscribe(&uri)
                        } else {
                            filter.unsubscribe(&uri)
                        }
                    });
                }
                return Ok(answers::empty_result(id));
            }
            INITIALIZE => {
                return Ok(self
                    .begin_session(request, message)
                    .await?
                    .unwrap_or_else(|| answers::no_session(Some(id))));
            }
            SERVER_DISCOVER | SUBSCRIPTIONS_LISTEN => return Ok(answers::not_bridged(id, &method)),
            _ if method.starts_with("tasks/") => return Ok(answers::not_bridged(id, &method)),
            _ => {}
        }
        request.meter.bridged("legacy", "modern");
        let level = self.callers.log_level(&session_id);
        let Some(call) = ModernCall::begin(message, &session, level.as_deref()) else {
            return Ok(answers::not_a_request());
        };
        let tool = text_param("name").filter(|_| method == TOOLS_CALL);
        match ModernCallDriver::send(self, &session, call, tool.as_deref(), request.leg(self)).await? {
            SentCall::Running(driver) => driver.answer(session_id).await,
            SentCall::Refused(answer) => Ok(answer),
        }
    }

    /// Takes the answer of a caller to a question of ours.
    fn take_answer(&self, message: &Message<'_>) -> Response<Body> {
        let id = message.id().and_then(SpannedValue::text).and_then(JsonString::decode);
        let pending = id.and_then(|id| PendingCallId::open(&self.options.seal, &id).ok().flatten());
        let answer = ModernQuestion::read_answer(message);
        let is_taken =
            pending.zip(answer).is_some_and(|(pending, answer)| self.callers.answer(pending.0, answer));
        if is_taken { answers::empty(StatusCode::ACCEPTED) } else { answers::no_such_call(None) }
    }

    /// Answers a GET with a stream of what the server says on a `subscriptions/listen`.
    fn open_get_stream(self: &Arc<Self>, session: BridgedSession, id: Vec<u8>, leg: Leg) -> Response<Body> {
        let (sender, body) = event_stream();
        let bridge = Arc::clone(self);
        tokio::spawn(async move {
            let closed = sender.clone();
            tokio::select! {
                () = bridge.follow_listen_stream(&session, &id, &leg, &sender) => {}
                () = closed.closed() => {}
            }
        });
        answers::stream(body)
    }

    async fn follow_listen_stream(
        &self,
        session: &BridgedSession,
        id: &[u8],
        leg: &Leg,
        sender: &EventSender,
    ) {
        let mut filter = self.callers.filter(id);
        loop {
            let wanted = filter.borrow_and_update().clone();
            let text = ListenStream::request(session, &wanted);
            let headers = text_headers(ModernCall::headers(&text, None));
            let answer = leg.post(text, headers).await;
            let mut reader = answer
                .ok()
                .filter(|answer| answer.status().is_success())
                .map(|answer| MessageReader::new(answer, self.options.max_answer, self.options.max_event));
            loop {
                let message: Option<Bytes> = tokio::select! {
                    changed = filter.changed() => match changed {
                        Ok(()) => break,
                        // The session was ended.
                        Err(_) => return,
                    },
                    message = next_message(&mut reader) => message,
                    () = sleep(QUIET) => {
                        if !sender.send_comment().await {
                            return;
                        }
                        continue;
                    }
                };
                let event = message
                    .as_ref()
                    .and_then(|message| Message::parse(message).ok())
                    .map(|read| ListenStream::receive(&read));
                match event {
                    Some(ListenEvent::Notify(text)) => {
                        if !sender.send(&text).await {
                            return;
                        }
                    }
                    Some(ListenEvent::Drop) => {}
                    // A server that has no such stream, or has ended it, is asked again when the filter changes.
                    Some(ListenEvent::End) | None => reader = None,
                }
            }
        }
    }
}

/// Returns the next message of a stream; waits for ever where there is none.
async fn next_message(reader: &mut Option<MessageReader>) -> Option<Bytes> {
    match reader {
        Some(reader) => reader.next().await.and_then(Result::ok),
        None => std::future::pending().await,
    }
}

async fn collect(body: Body, most: usize) -> Result<Bytes, HttpFailure> {
    let mut answer = Response::new(body);
    *answer.headers_mut() =
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    MessageReader::new(answer, most, most).next().await.unwrap_or_else(|| Ok(Bytes::new()))
}
