//! Legacy requests (MCP 2025-11-25 and before): every session has a child of its own, found by
//! `Mcp-Session-Id`.
//!
//! 1. `initialize` without a session id opens a session, and a child is started for it.
//! 2. A POST with the id of an open session goes to its child. It is answered with JSON where the answer is
//!    the first and only message and comes within two seconds, otherwise with a stream that can be resumed.
//! 3. GET opens the stream of the session that belongs to no call, or resumes a stream after `Last-Event-ID`.
//!    DELETE ends the session.
//! 4. A session that is not open is 404, none at all 400; where the program is modern only, the refusal names
//!    its versions instead.
//!
//! Rules: G2, G5, G9, G11, H14, H15.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use mcp_attune_wire::message::{Id, Message, MessageKind};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::version;
use mcp_attune_wire::{correlate, handshake, header};
use tokio::time::timeout;

use super::answer::{self, SESSION_ID};
use super::event_id::LegacyEventId;
use super::events::{ChildEventBody, encode_event};
use super::session::{LegacySession, LegacyStreamReader, SessionSendError};
use super::streams::LegacyStreamEvent;
use super::supervisor::Supervisor;
use crate::Body;
use crate::caller_keys::CallerKeys;
use crate::slots::Permit;
use crate::upstream::UpstreamError;

/// How long a call waits for its first message. After that a stream begins without it, so that the caller has
/// an event id to resume from should its connection be lost.
const STREAM_AFTER: Duration = Duration::from_secs(2);
/// The first version whose clients understand an event with an id and no data. Versions are dates, and
/// compare as texts.
const FIRST_WITH_EMPTY_EVENTS: &str = version::V_2025_11_25;

impl Supervisor {
    /// Answers a legacy POST. `keys` tell whose share a new session takes from.
    pub(super) async fn handle_legacy(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message<'_>,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        if has_long_id(message) {
            return Ok(answer::id_too_long());
        }
        match headers.get(SESSION_ID) {
            None if correlate::begins_session(message) => self.handle_initialize(message, keys).await,
            None => self.handle_without_session(headers, message).await,
            Some(id) => match self.find_session(id) {
                Some(session) => self.handle_in_session(&session, headers, message).await,
                None if self.lock_state().initializes == Some(false) => {
                    self.handle_without_session(headers, message).await
                }
                None => Ok(answer::no_session(true)),
            },
        }
    }

    /// Returns the session with this id, or `None` where there is none or its child has ended.
    fn find_session(&self, id: &HeaderValue) -> Option<Arc<LegacySession>> {
        let session = self.lock_state().sessions.get(id.to_str().ok()?).cloned();
        session.filter(|session| !session.is_over())
    }

    /// Refuses a message that is outside of any session and does not begin one: with the versions of the
    /// program where it speaks no legacy one, else with 400. The program is asked what it speaks if that is
    /// not known yet.
    async fn handle_without_session(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        let speaks = self.protocol().await?;
        if !self.is_modern_only(&speaks) {
            return Ok(answer::no_session(false));
        }
        let said = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        Ok(answer::unsupported_version(message, said.unwrap_or(version::ASSUMED), &speaks.versions))
    }

    /// Opens a session: starts a child, passes `initialize` to it, and answers with the child's answer and a new
    /// session id. What the child says before its answer waits on the GET stream.
    ///
    /// The whole of it, with a pause before the start and the wait for a free slot, is limited by
    /// `first_byte`; after that the child is ended and the caller gets `UpstreamError::FirstByteTimeout`. The
    /// session is known to others only when the child has answered, so no other request can reach it before.
    /// Where the child answers with an error, no session is opened.
    async fn handle_initialize(
        self: &Arc<Self>,
        message: &Message<'_>,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        let session = timeout(self.options().first_byte, async {
            self.wait_for_backoff().await?;
            let session = self.open_session(keys).await?;
            let sent = session.send(std::slice::from_ref(message)).await;
            let reader = match sent {
                Ok(reader) => reader.ok_or(UpstreamError::Broken)?,
                Err(SessionSendError::Failed(error)) => return Err(error),
                // Nothing else was asked yet.
                Err(SessionSendError::InUse | SessionSendError::Over) => return Err(UpstreamError::Broken),
            };
            let heard = reader.answer().await.ok_or(UpstreamError::Broken)??;
            Ok((session, heard))
        });
        let (session, heard) = session.await.map_err(|_| UpstreamError::FirstByteTimeout)??;
        if heard.is_error {
            session.end();
            return self.answer_failed_initialize(message, &heard).await;
        }
        let id = random_session_id()?;
        let mut answer = answer::json(StatusCode::OK, heard.text.as_bytes().to_vec());
        answer
            .headers_mut()
            .insert(SESSION_ID, HeaderValue::from_str(&id).map_err(|_| UpstreamError::Broken)?);
        let mut known = self.lock_state();
        known.initializes = Some(true);
        known.sessions.insert(id, Arc::new(session));
        drop(known);
        self.start_idle_checks();
        Ok(answer)
    }

    /// Takes what a session needs, a permit of its caller's share and a slot for its program, and starts the
    /// child. An idle session may be ended to make room for either.
    ///
    /// Fails with [`UpstreamError::CallerFull`] where this caller has its share, with [`UpstreamError::Full`]
    /// where all slots are taken and no session is idle, with `UpstreamError::NotStarted` where the program
    /// does not start, and with `UpstreamError::Refused` where the gateway is about to end.
    async fn open_session(&self, keys: CallerKeys) -> Result<LegacySession, UpstreamError> {
        self.end_idle();
        let permit = self.acquire_session_permit(keys)?;
        let slot =
            self.slots.acquire_slot(|| self.end_longest_idle(|_| true)).await.ok_or(UpstreamError::Full)?;
        let options = self.options();
        let limits = (options.line, options.kept);
        let backoff = Arc::clone(&self.backoff);
        LegacySession::start(
            &options.program,
            &options.mount,
            limits,
            self.all_stop()?,
            backoff,
            (slot, permit),
        )
        .map_err(|why| self.note_failed_start(&why))
    }

    /// Takes a permit of the share of sessions that one caller has. Where the share is used up, the longest
    /// idle session that was opened under one of the same keys makes room, never that of another caller.
    fn acquire_session_permit(&self, keys: CallerKeys) -> Result<Permit, UpstreamError> {
        loop {
            match self.callers.try_acquire(keys) {
                Ok(permit) => return Ok(permit),
                Err(_) if self.end_longest_idle(|session| session.belongs_to(keys)) => {}
                Err(_) => return Err(UpstreamError::CallerFull),
            }
        }
    }

    /// Answers an `initialize` that the child refused. Where the program turns out to be modern only, that is
    /// remembered and the caller is told its versions; otherwise the child's own error is passed on.
    async fn answer_failed_initialize(
        self: &Arc<Self>,
        message: &Message<'_>,
        heard: &LegacyStreamEvent,
    ) -> Result<Response<Body>, UpstreamError> {
        match self.protocol().await {
            Ok(speaks) if self.is_modern_only(&speaks) => {
                self.lock_state().initializes = Some(false);
                let version = handshake::initialize_version(message);
                Ok(answer::unsupported_version(
                    message,
                    version.as_deref().unwrap_or(version::ASSUMED),
                    &speaks.versions,
                ))
            }
            _ => Ok(answer::json(StatusCode::OK, heard.text.as_bytes().to_vec())),
        }
    }

    /// Passes a POST to the child of its session and answers it.
    ///
    /// A POST may be a batch, whose answers all come on one stream. Without a request in it, it is answered
    /// with 202 as soon as it is queued for the child. Where there is no room in the queue within
    /// `first_byte`, because the child does not read its input, the requests are given up and cancelled at
    /// the child.
    async fn handle_in_session(
        &self,
        session: &LegacySession,
        headers: &HeaderMap,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        let batch = message.batch();
        let messages = batch.as_deref().unwrap_or(std::slice::from_ref(message));
        let wrong = |message: &Message<'_>| matches!(message.kind(), MessageKind::Batch | MessageKind::Other);
        if messages.is_empty() || messages.iter().any(wrong) {
            return Ok(answer::not_a_request(message));
        }
        if messages.iter().any(has_long_id) {
            return Ok(answer::id_too_long());
        }
        let sent = timeout(self.options().first_byte, session.send(messages)).await;
        let Ok(sent) = sent else {
            messages.iter().for_each(|message| session.cancel_call(message));
            return Err(UpstreamError::FirstByteTimeout);
        };
        match sent {
            Ok(Some(reader)) => self.answer_or_stream(reader, headers, messages.len() == 1).await,
            Ok(None) => Ok(answer::accepted()),
            Err(SessionSendError::InUse) => Ok(answer::id_in_use()),
            Err(SessionSendError::Over) => Ok(answer::no_session(true)),
            Err(SessionSendError::Failed(error)) => Err(error),
        }
    }

    /// Answers with JSON where the first message of the stream is the answer and nothing else comes, and with
    /// a stream otherwise. `alone`: the POST was a single message and no batch, whose answers could be
    /// several.
    async fn answer_or_stream(
        &self,
        mut reader: LegacyStreamReader,
        headers: &HeaderMap,
        alone: bool,
    ) -> Result<Response<Body>, UpstreamError> {
        let first = match timeout(STREAM_AFTER.min(self.options().first_byte), reader.next()).await {
            Ok(Some(heard)) => Some(heard?),
            Ok(None) | Err(_) => None,
        };
        match first {
            Some(heard) if alone && reader.is_over() && heard.place.event == 1 => {
                reader.forget();
                Ok(answer::json(StatusCode::OK, heard.text.as_bytes().to_vec()))
            }
            first => {
                let begin = LegacyEventId { event: 0, ..reader.last_event_id() };
                Ok(self.resumable_stream(reader, headers, begin, first))
            }
        }
    }

    /// Answers with a stream that its caller can resume.
    ///
    /// `begin` is the event that the stream goes on after. Clients that understand it get an event with that
    /// id and no data first, so that they can resume even if the connection is lost before the first message.
    /// `first` is a message that was taken from `reader` already.
    fn resumable_stream(
        &self,
        reader: LegacyStreamReader,
        headers: &HeaderMap,
        begin: LegacyEventId,
        first: Option<LegacyStreamEvent>,
    ) -> Response<Body> {
        let said = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        let prime =
            said.filter(|version| *version >= FIRST_WITH_EMPTY_EVENTS).map(|_| encode_event(Some(begin), ""));
        let first = first.map(|heard| encode_event(Some(heard.place), &heard.text));
        let both = prime.into_iter().chain(first).reduce(|one, two| [one, two].concat().into());
        answer::stream(ChildEventBody::new(reader, both, self.options().stream_idle))
    }

    /// Answers a request that is no POST: GET opens or resumes a stream, DELETE ends the session (204) and
    /// fails its running calls. Any other method is 405, and so are all of them where the program is modern
    /// only.
    pub(super) async fn handle_get_or_delete(
        self: &Arc<Self>,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, UpstreamError> {
        let id = headers.get(SESSION_ID);
        let Some(session) = id.and_then(|id| self.find_session(id)) else {
            let modern = self.is_modern_only(&*self.protocol().await?);
            return Ok(match *method {
                _ if modern => answer::method_not_allowed("POST"),
                Method::GET | Method::DELETE => answer::no_session(id.is_some()),
                _ => answer::method_not_allowed("GET, POST, DELETE"),
            });
        };
        match *method {
            Method::DELETE => {
                self.lock_state().sessions.retain(|_, known| !Arc::ptr_eq(known, &session));
                session.end();
                Ok(answer::empty(StatusCode::NO_CONTENT))
            }
            Method::GET => {
                let reader = match headers.get(lowercase::LAST_EVENT_ID) {
                    None => Some(session.open_get_stream()),
                    Some(id) => id
                        .to_str()
                        .ok()
                        .and_then(|id| id.parse().ok())
                        .and_then(|place| session.resume(place)),
                };
                Ok(reader.map_or_else(answer::no_such_event, |reader| {
                    let begin = reader.last_event_id();
                    self.resumable_stream(reader, headers, begin, None)
                }))
            }
            _ => Ok(answer::method_not_allowed("GET, POST, DELETE")),
        }
    }
}

/// Whether a request has an id of more than [`MAX_ID_BYTES`](mcp_attune_wire::message::MAX_ID_BYTES) bytes.
fn has_long_id(message: &Message<'_>) -> bool {
    message.kind() == MessageKind::Request && message.id().and_then(Id::read).is_none()
}

/// Makes a session id of 128 random bits, in hexadecimal. Whoever knows the id of a session can use it, so it
/// must not be guessable. Fails where the system has no randomness.
fn random_session_id() -> Result<String, UpstreamError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        UpstreamError::Refused
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
