//! Legacy requests: a session has a child of its own.
//!
//! Rules: G2, G5, G9, G11, H14, H15.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use mcp_attune_wire::message::{Id, Kind, Message};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::version;
use mcp_attune_wire::{correlate, handshake, header};
use tokio::time::timeout;

use super::answer::{self, SESSION};
use super::events::{Events, event};
use super::place::Place;
use super::session::{NotSent, Reader, Session};
use super::streams::Event;
use super::supervisor::Supervisor;
use crate::Body;
use crate::caller_keys::CallerKeys;
use crate::slots::Permit;
use crate::upstream::UpstreamError;

/// How long an answer may take before a stream begins without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first version whose clients understand an event without data.
const PRIMES: &str = version::V_2025_11_25;

impl Supervisor {
    pub(super) async fn legacy(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message<'_>,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        if has_long_id(message) {
            return Ok(answer::id_too_long());
        }
        match headers.get(SESSION) {
            None if correlate::begins_session(message) => self.initialize(message, keys).await,
            None => self.homeless(headers, message).await,
            Some(id) => match self.session(id) {
                Some(session) => self.in_session(&session, headers, message).await,
                None if self.known().initializes == Some(false) => self.homeless(headers, message).await,
                None => Ok(answer::no_session(true)),
            },
        }
    }

    fn session(&self, id: &HeaderValue) -> Option<Arc<Session>> {
        let session = self.known().sessions.get(id.to_str().ok()?).cloned();
        session.filter(|session| !session.is_over())
    }

    /// A message without a session that is no beginning of one.
    async fn homeless(
        self: &Arc<Self>,
        headers: &HeaderMap,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        let speaks = self.speaks().await?;
        if !self.is_modern_only(&speaks) {
            return Ok(answer::no_session(false));
        }
        let said = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        Ok(answer::other_version(message, said.unwrap_or(version::ASSUMED), &speaks.versions))
    }

    /// A new session, and its child.
    async fn initialize(
        self: &Arc<Self>,
        message: &Message<'_>,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        let session = timeout(self.options().first_byte, async {
            self.pause().await?;
            let session = self.open_session(keys).await?;
            let sent = session.send(std::slice::from_ref(message)).await;
            let mut reader = match sent {
                Ok(reader) => reader.ok_or(UpstreamError::Broken)?,
                Err(NotSent::Failed(error)) => return Err(error),
                // Nothing else was asked yet.
                Err(NotSent::InUse | NotSent::Over) => return Err(UpstreamError::Broken),
            };
            let heard = reader.next().await.ok_or(UpstreamError::Broken)??;
            reader.forget();
            Ok((session, heard))
        });
        let (session, heard) = session.await.map_err(|_| UpstreamError::FirstByteTimeout)??;
        if heard.is_error {
            session.end();
            return self.refused(message, &heard).await;
        }
        let id = session_id()?;
        let mut answer = answer::json(StatusCode::OK, heard.text.as_bytes().to_vec());
        answer.headers_mut().insert(SESSION, HeaderValue::from_str(&id).map_err(|_| UpstreamError::Broken)?);
        let mut known = self.known();
        known.initializes = Some(true);
        known.sessions.insert(id, Arc::new(session));
        drop(known);
        self.look();
        Ok(answer)
    }

    async fn open_session(&self, keys: CallerKeys) -> Result<Session, UpstreamError> {
        self.end_idle();
        let permit = self.share(keys)?;
        let slot = self.slots.take(|| self.end_longest_idle(|_| true)).await.ok_or(UpstreamError::Full)?;
        let options = self.options();
        let limits = (options.line, options.kept);
        let backoff = Arc::clone(&self.backoff);
        Session::start(&options.program, &options.mount, limits, self.all_stop()?, backoff, (slot, permit))
            .map_err(|why| self.not_started(&why))
    }

    /// A session of the share that one caller has. Where it is used up, its own longest idle session makes room.
    fn share(&self, keys: CallerKeys) -> Result<Permit, UpstreamError> {
        loop {
            match self.callers.try_acquire(keys) {
                Ok(permit) => return Ok(permit),
                Err(_) if self.end_longest_idle(|session| session.is_of(keys)) => {}
                Err(_) => return Err(UpstreamError::CallerFull),
            }
        }
    }

    /// A child that does not initialize: one that is modern only is said to be, else its own words stand.
    async fn refused(
        self: &Arc<Self>,
        message: &Message<'_>,
        heard: &Event,
    ) -> Result<Response<Body>, UpstreamError> {
        match self.speaks().await {
            Ok(speaks) if self.is_modern_only(&speaks) => {
                self.known().initializes = Some(false);
                let version = handshake::requested_version(message);
                Ok(answer::other_version(
                    message,
                    version.as_deref().unwrap_or(version::ASSUMED),
                    &speaks.versions,
                ))
            }
            _ => Ok(answer::json(StatusCode::OK, heard.text.as_bytes().to_vec())),
        }
    }

    async fn in_session(
        &self,
        session: &Session,
        headers: &HeaderMap,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        let batch = message.batch();
        let messages = batch.as_deref().unwrap_or(std::slice::from_ref(message));
        let wrong = |message: &Message<'_>| matches!(message.kind(), Kind::Batch | Kind::Other);
        if messages.is_empty() || messages.iter().any(wrong) {
            return Ok(answer::no_request(message));
        }
        if messages.iter().any(has_long_id) {
            return Ok(answer::id_too_long());
        }
        let sent = timeout(self.options().first_byte, session.send(messages)).await;
        let Ok(sent) = sent else {
            messages.iter().for_each(|message| session.give_up(message));
            return Err(UpstreamError::FirstByteTimeout);
        };
        match sent {
            Ok(Some(reader)) => self.answer_of(reader, headers, messages.len() == 1).await,
            Ok(None) => Ok(answer::taken()),
            Err(NotSent::InUse) => Ok(answer::id_in_use()),
            Err(NotSent::Over) => Ok(answer::no_session(true)),
            Err(NotSent::Failed(error)) => Err(error),
        }
    }

    /// Answers with the first message where it is all that comes, and with a stream otherwise. `alone`: it is one request that is
    /// answered.
    async fn answer_of(
        &self,
        mut reader: Reader,
        headers: &HeaderMap,
        alone: bool,
    ) -> Result<Response<Body>, UpstreamError> {
        let first = match timeout(PATIENCE.min(self.options().first_byte), reader.next()).await {
            Ok(Some(heard)) => Some(heard?),
            Ok(None) | Err(_) => None,
        };
        match first {
            Some(heard) if alone && reader.is_over() && heard.place.event == 1 => {
                reader.forget();
                Ok(answer::json(StatusCode::OK, heard.text.as_bytes().to_vec()))
            }
            first => {
                let begin = Place { event: 0, ..reader.place() };
                Ok(self.stream(reader, headers, begin, first))
            }
        }
    }

    /// A stream, with an event before all others that tells where it is, so that it can be gone on with.
    fn stream(
        &self,
        reader: Reader,
        headers: &HeaderMap,
        begin: Place,
        first: Option<Event>,
    ) -> Response<Body> {
        let said = headers.get(header::PROTOCOL_VERSION).and_then(|version| version.to_str().ok());
        let prime = said.filter(|version| *version >= PRIMES).map(|_| event(Some(begin), ""));
        let first = first.map(|heard| event(Some(heard.place), &heard.text));
        let both = prime.into_iter().chain(first).reduce(|one, two| [one, two].concat().into());
        answer::stream(Events::new(reader, both, self.options().stream_idle))
    }

    /// GET and DELETE.
    pub(super) async fn without_message(
        self: &Arc<Self>,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, UpstreamError> {
        let id = headers.get(SESSION);
        let Some(session) = id.and_then(|id| self.session(id)) else {
            let modern = self.is_modern_only(&*self.speaks().await?);
            return Ok(match *method {
                _ if modern => answer::not_allowed("POST"),
                Method::GET | Method::DELETE => answer::no_session(id.is_some()),
                _ => answer::not_allowed("GET, POST, DELETE"),
            });
        };
        match *method {
            Method::DELETE => {
                self.known().sessions.retain(|_, known| !Arc::ptr_eq(known, &session));
                session.end();
                Ok(answer::empty(StatusCode::NO_CONTENT))
            }
            Method::GET => {
                let reader = match headers.get(lowercase::LAST_EVENT_ID) {
                    None => Some(session.listen()),
                    Some(id) => id
                        .to_str()
                        .ok()
                        .and_then(|id| id.parse().ok())
                        .and_then(|place| session.resume(place)),
                };
                Ok(reader.map_or_else(answer::no_such_event, |reader| {
                    let begin = reader.place();
                    self.stream(reader, headers, begin, None)
                }))
            }
            _ => Ok(answer::not_allowed("GET, POST, DELETE")),
        }
    }
}

/// Whether a request has an id that is too long to be kept.
fn has_long_id(message: &Message<'_>) -> bool {
    message.kind() == Kind::Request && message.id().and_then(Id::read).is_none()
}

/// An id that nobody can guess.
fn session_id() -> Result<String, UpstreamError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        UpstreamError::Refused
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
