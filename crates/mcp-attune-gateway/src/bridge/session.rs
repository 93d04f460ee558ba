//! One session at a legacy server, which modern callers of one identity use.
//!
//! 1. It is opened with the credentials of the caller that needs it first, and ended when it is dropped.
//! 2. Where its callers can be asked, or listen, the session has a GET stream. What the server asks there belongs to the one
//!    call that runs and can be asked; where none runs, it waits for the next one.
//! 3. What the server says about the session reaches all who listen.
//!
//! Rules: X2, X3, X5.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::HeaderValue;
use http::{Method, Response, StatusCode};
use mcp_attune::bridge::{
    CallerProfile, LegacyServer, Subscription, initialized_notification, set_level_request,
};
use mcp_attune_tower::{BodyMediaType, HttpFailure, full, media};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::protocol::header::lowercase;
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;

use super::answers::failure;
use super::leg::{Leg, session_headers};
use super::message_reader::MessageReader;
use crate::Body;
use crate::upstream::UpstreamError;

/// How many notifications wait for a listener that reads slowly.
const MAX_HEARD: usize = 64;
/// How many questions wait for a call.
const MAX_QUESTIONS: usize = 16;
/// How long after a GET stream has ended the next is opened.
const REOPEN_AFTER: Duration = Duration::from_secs(1);
/// More than any level of log messages: none was asked for.
const NO_LEVEL: usize = usize::MAX;

/// A session at a legacy server.
#[derive(Debug)]
pub(super) struct UpstreamSession {
    server: LegacyServer,
    id: Option<HeaderValue>,
    /// Sends what the session itself has to say, with the credentials that opened it.
    leg: Leg,
    limits: (usize, usize),
    next_number: AtomicU64,
    /// The most verbose level of log messages that was asked for.
    level: AtomicUsize,
    heard: broadcast::Sender<Bytes>,
    inbox: Mutex<QuestionInbox>,
    /// The resources that the session subscribed to, and for how many listeners.
    resources: Mutex<HashMap<String, usize>>,
    /// Whether the server has forgotten it.
    is_lost: AtomicBool,
    get_stream: OnceLock<AbortHandle>,
}

/// Questions that came on the GET stream.
#[derive(Debug, Default)]
struct QuestionInbox {
    /// The call that runs.
    current: Option<mpsc::Sender<Bytes>>,
    /// What waits for the next call.
    waiting: VecDeque<Bytes>,
}

/// Why a session could not be opened.
pub(super) enum SessionOpenError {
    /// The server could not be asked.
    Failed(HttpFailure),
    /// It answered otherwise: this is its answer.
    Refused(Box<Response<Body>>),
}

impl From<HttpFailure> for SessionOpenError {
    fn from(failure: HttpFailure) -> Self {
        Self::Failed(failure)
    }
}

impl UpstreamSession {
    /// Opens a session. `limits` are the maximum sizes of an answer and of an event.
    pub(super) async fn open(
        leg: Leg,
        profile: &CallerProfile,
        limits: (usize, usize),
    ) -> Result<Arc<Self>, SessionOpenError> {
        let answer = leg.post(profile.initialize_request(), []).await?;
        let (status, id) = (answer.status(), answer.headers().get(lowercase::SESSION_ID).cloned());
        let content_type = answer.headers().get(http::header::CONTENT_TYPE).cloned();
        let mut reader = MessageReader::new(answer, limits.0, limits.1);
        let mut last = Bytes::new();
        let server = loop {
            let Some(message) = reader.next().await else { break None };
            last = message?;
            let Ok(message) = Message::parse(&last) else { break None };
            if message.kind() == MessageKind::Answer {
                break LegacyServer::read(&message);
            }
        };
        let Some(server) = server.filter(|_| status.is_success()) else {
            let mut refused = Response::new(full(last));
            *refused.status_mut() = status;
            refused.headers_mut().extend(content_type.map(|value| (http::header::CONTENT_TYPE, value)));
            return Err(SessionOpenError::Refused(Box::new(refused)));
        };
        let session = Arc::new(Self {
            server,
            id,
            leg,
            limits,
            next_number: AtomicU64::new(1),
            level: AtomicUsize::new(NO_LEVEL),
            heard: broadcast::Sender::new(MAX_HEARD),
            inbox: Mutex::default(),
            resources: Mutex::default(),
            is_lost: AtomicBool::new(false),
            get_stream: OnceLock::new(),
        });
        session.post(&session.leg, initialized_notification()).await?;
        if profile.can_be_asked() {
            session.ensure_get_stream();
        }
        Ok(session)
    }

    /// Returns what the server said when the session began.
    pub(super) fn server(&self) -> &LegacyServer {
        &self.server
    }

    /// Returns a number that no other request of the session has.
    pub(super) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether the server has forgotten the session.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Posts a message in the session, with the credentials of `leg`. A 404 means that the server has forgotten it.
    pub(super) async fn post(&self, leg: &Leg, text: String) -> Result<Response<Body>, HttpFailure> {
        let answer = leg.post(text, session_headers(self.server.version(), self.id.as_ref())).await?;
        if answer.status() == StatusCode::NOT_FOUND && self.id.is_some() {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        Ok(answer)
    }

    /// Opens a GET stream, or goes on with one after an event.
    pub(super) async fn get(
        &self,
        leg: &Leg,
        after: Option<HeaderValue>,
    ) -> Result<Response<Body>, HttpFailure> {
        let mut headers = session_headers(self.server.version(), self.id.as_ref());
        headers.extend(after.map(|id| (http::HeaderName::from_static(lowercase::LAST_EVENT_ID), id)));
        leg.send(Method::GET, headers).await
    }

    /// Has the server send log messages of this level, where nobody has asked for it or for more before.
    pub(super) async fn ensure_level(&self, leg: &Leg, rank: usize, level: &str) {
        if self.level.fetch_min(rank, Ordering::Relaxed) > rank && self.server.logs() {
            let answer = self.post(leg, set_level_request(level, self.next_number())).await;
            drain(answer, self.limits).await;
        }
    }

    /// Returns where notifications about the session are heard.
    pub(super) fn listen(self: &Arc<Self>) -> broadcast::Receiver<Bytes> {
        self.ensure_get_stream();
        self.heard.subscribe()
    }

    /// Tells all who listen.
    pub(super) fn tell_listeners(&self, message: Bytes) {
        // Nobody may listen.
        let _ = self.heard.send(message);
    }

    /// Subscribes to a resource for one more listener, or ends that.
    pub(super) async fn count_resource(&self, uri: &str, subscribes: bool) {
        let changed = {
            let mut resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
            let count = resources.entry(uri.to_owned()).or_default();
            let changed = if subscribes { *count == 0 } else { *count <= 1 };
            *count = if subscribes { *count + 1 } else { count.saturating_sub(1) };
            if *count == 0 {
                resources.remove(uri);
            }
            changed
        };
        if changed {
            let request = Subscription::resource_request(uri, self.next_number(), subscribes);
            drain(self.post(&self.leg, request).await, self.limits).await;
        }
    }

    /// Hands questions on the GET stream to a call from now on.
    pub(super) fn open_inbox(&self) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(MAX_QUESTIONS);
        let mut inbox = self.inbox();
        for question in inbox.waiting.drain(..) {
            let _ = sender.try_send(question);
        }
        inbox.current = Some(sender);
        receiver
    }

    fn inbox(&self) -> MutexGuard<'_, QuestionInbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, message: Bytes) {
        let is_request = match Message::parse(&message) {
            Ok(read) if read.kind() == MessageKind::Request => true,
            Ok(read) if read.kind() == MessageKind::Notification => false,
            _ => return,
        };
        if !is_request {
            return self.tell_listeners(message);
        }
        let mut inbox = self.inbox();
        let Err(unsent) = inbox.current.as_ref().map_or(Err(message.clone()), |current| {
            current.try_send(message).map_err(mpsc::error::TrySendError::into_inner)
        }) else {
            return;
        };
        if inbox.waiting.len() < MAX_QUESTIONS {
            inbox.waiting.push_back(unsent);
        }
    }

    /// Opens the GET stream, once.
    fn ensure_get_stream(self: &Arc<Self>) {
        self.get_stream.get_or_init(|| tokio::spawn(follow_get_stream(Arc::downgrade(self))).abort_handle());
    }
}

impl Drop for UpstreamSession {
    fn drop(&mut self) {
        if let Some(stream) = self.get_stream.get() {
            stream.abort();
        }
        let ends = self.id.is_some() && !self.is_lost();
        if let Some(runtime) = tokio::runtime::Handle::try_current().ok().filter(|_| ends) {
            let (leg, headers) = (self.leg.clone(), session_headers(self.server.version(), self.id.as_ref()));
            runtime.spawn(async move { leg.send(Method::DELETE, headers).await });
        }
    }
}

/// Reads the GET stream of a session for as long as the session is there. A server that has none is not asked again.
async fn follow_get_stream(session: Weak<UpstreamSession>) {
    loop {
        let Some(open) = session.upgrade() else { return };
        let (leg, limits) = (open.leg.clone(), open.limits);
        let answer = open.get(&leg, None).await;
        drop(open);
        let Ok(answer) = answer else { return };
        if !answer.status().is_success() || media(answer.headers()) != BodyMediaType::Events {
            return;
        }
        let mut reader = MessageReader::new(answer, limits.0, limits.1);
        while let Some(Ok(message)) = reader.next().await {
            let Some(open) = session.upgrade() else { return };
            open.receive(message);
        }
        tokio::time::sleep(REOPEN_AFTER).await;
    }
}

/// Reads an answer to its end, so that its connection can be used again.
async fn drain(answer: Result<Response<Body>, HttpFailure>, limits: (usize, usize)) {
    let Ok(answer) = answer else { return };
    let mut reader = MessageReader::new(answer, limits.0, limits.1);
    while let Some(Ok(message)) = reader.next().await {
        if Message::parse(&message).is_ok_and(|message| message.kind() == MessageKind::Answer) {
            return;
        }
    }
}

/// Returns the failure that there is no room for another session.
pub(super) fn no_room() -> HttpFailure {
    failure(UpstreamError::Full)
}
