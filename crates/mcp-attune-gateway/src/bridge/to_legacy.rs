//! A modern caller in front of a legacy server.
//!
//! Rules: X1, X2, X3, X5.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_attune::bridge::{
    CallerProfile, LegacyCall, PendingCallId, ProbedEra, Question, Subscription, request_digest,
};
use mcp_attune_tower::{CallerBody, HttpFailure, full};
use mcp_attune_wire::agree::{MessageRefusal, MessageRefusalReason};
use mcp_attune_wire::handshake;
use mcp_attune_wire::json::JsonString;
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::protocol::header;
use mcp_attune_wire::protocol::method::{
    PROMPTS_GET, RESOURCES_READ, SERVER_DISCOVER, SUBSCRIPTIONS_LISTEN, TOOLS_CALL,
};
use mcp_attune_wire::protocol::version::MODERN;
use mcp_attune_wire::reply::Reply;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::era_memory::KnownEra;
use super::leg::{Leg, text_headers};
use super::legacy_call_driver::LegacyCallDriver;
use super::message_reader::MessageReader;
use super::output::event_stream;
use super::session::{SessionOpenError, UpstreamSession, no_room};
use super::session_pool::{SessionKey, SessionLease};
use super::{Bridge, BridgeRequest, CallerIdentity, PendingCaller, answers};
use crate::config::AnonymousCallers;
use crate::upstream::UpstreamError;
use crate::{Body, refusal};

/// The methods whose calls a server may ask something in the middle of.
const ASKABLE: [&str; 3] = [TOOLS_CALL, PROMPTS_GET, RESOURCES_READ];
/// The version of the gateway, which servers are told in `clientInfo`.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

impl BridgeRequest {
    pub(super) fn leg(&self, bridge: &Bridge) -> Leg {
        Leg::new(&bridge.upstream, &self.head, self.requester, &self.meter)
    }

    fn identity(&self) -> Option<u64> {
        self.head.extensions.get::<CallerIdentity>().map(|identity| identity.0)
    }

    /// Returns what ties a retry to its request: the digest of what the caller wrote, before the rules filled anything in.
    fn digest(&self, message: &Message<'_>) -> u64 {
        let written = self.head.extensions.get::<CallerBody>();
        let written = written.and_then(|written| Message::parse(&written.0).ok());
        request_digest(written.as_ref().unwrap_or(message))
    }
}

impl Bridge {
    /// Answers a modern request, whatever the server speaks.
    pub(super) async fn answer_modern(
        self: Arc<Self>,
        request: BridgeRequest,
    ) -> Result<Response<Body>, HttpFailure> {
        let era = match self.era.known() {
            Some(era) => Some(era),
            None => self.ask_era(&request).await,
        };
        match era {
            Some(KnownEra::Legacy) => self.answer_in_session(request).await,
            Some(KnownEra::Modern) | None => self.pass(request).await,
        }
    }

    /// Sends a request on as it came.
    pub(super) async fn pass(&self, request: BridgeRequest) -> Result<Response<Body>, HttpFailure> {
        let BridgeRequest { head, body, requester, meter } = request;
        self.upstream.call(http::Request::from_parts(head, full(body)), requester, &meter).await
    }

    /// Finds out which era the server speaks, with the credentials of this request. `None` where it does not say.
    ///
    /// Rules: X1.
    pub(super) async fn ask_era(&self, request: &BridgeRequest) -> Option<KnownEra> {
        let Some(turn) = self.era.begin_asking().await else { return self.era.last_known() };
        let leg = request.leg(self);
        match timeout(self.options.settings.probe, self.probe(&leg)).await {
            Ok(Ok(ProbedEra::Modern)) => {
                turn.found(KnownEra::Modern);
                return Some(KnownEra::Modern);
            }
            Ok(Ok(ProbedEra::Undecided) | Err(_)) => return self.era.last_known(),
            Ok(Ok(ProbedEra::NotModern)) | Err(_) => {}
        }
        let message = Message::parse(&request.body).ok()?;
        let profile = CallerProfile::of_request(&message);
        let opened = timeout(self.options.settings.probe, self.lease(request, profile, false)).await;
        matches!(opened, Ok(Ok(_))).then(|| {
            turn.found(KnownEra::Legacy);
            KnownEra::Legacy
        })
    }

    async fn probe(&self, leg: &Leg) -> Result<ProbedEra, HttpFailure> {
        let headers = vec![
            (header::PROTOCOL_VERSION.to_owned(), MODERN.to_owned()),
            (header::METHOD.to_owned(), SERVER_DISCOVER.to_owned()),
        ];
        let answer = leg.post(handshake::discover_request(Some(OWN_VERSION)), text_headers(headers)).await?;
        let status = answer.status().as_u16();
        let mut reader = MessageReader::new(answer, self.options.max_answer, self.options.max_event);
        while let Some(message) = reader.next().await {
            let message = message?;
            let is_answer = Message::parse(&message).is_ok_and(|read| read.kind() == MessageKind::Answer);
            if is_answer || !reader.is_stream() {
                return Ok(ProbedEra::read(status, &message));
            }
        }
        Ok(ProbedEra::read(status, b""))
    }

    /// Returns a session for a request: one that is open, or a new one.
    ///
    /// Rules: X2.
    async fn lease(
        &self,
        request: &BridgeRequest,
        profile: CallerProfile,
        exclusive: bool,
    ) -> Result<SessionLease, SessionOpenError> {
        let identity = request.identity();
        let key = SessionKey { identity, profile };
        let is_apart = identity.is_none() && self.options.settings.anonymous == AnonymousCallers::Apart;
        let mut _turn = None;
        if !is_apart {
            if let Some(lease) = self.sessions.find(&key, exclusive) {
                return Ok(lease);
            }
            if !exclusive {
                _turn = Some(self.sessions.opening(&key).lock_owned().await);
                if let Some(lease) = self.sessions.find(&key, exclusive) {
                    return Ok(lease);
                }
            }
        }
        let room = self.sessions.reserve(identity).ok_or_else(no_room)?;
        let limits = (self.options.max_answer, self.options.max_event);
        let session = UpstreamSession::open(request.leg(self), &key.profile, limits).await?;
        let kept = self.sessions.keep(key.clone(), room, Arc::clone(&session), exclusive);
        if is_apart {
            self.sessions.forget(&key, &session);
        }
        kept.ok_or_else(|| answers::failure(UpstreamError::Broken).into())
    }

    /// Answers a modern request in a legacy session.
    async fn answer_in_session(
        self: Arc<Self>,
        request: BridgeRequest,
    ) -> Result<Response<Body>, HttpFailure> {
        let body = request.body.clone();
        let Ok(message) = Message::parse(&body) else { return self.pass(request).await };
        let Some(id) = message.id().filter(|_| message.kind() == MessageKind::Request) else {
            // The modern era has no notifications of clients over HTTP that a legacy session could use.
            return Ok(answers::empty(StatusCode::ACCEPTED));
        };
        let version = handshake::request_version(&message).unwrap_or_default();
        if version != MODERN {
            return self.answer_unknown_version(&request, &message, &version).await;
        }
        let name = message.method().and_then(JsonString::decode).unwrap_or_default();
        if LegacyCall::is_legacy_only(&name) {
            return Ok(answers::not_bridged(id.raw(), &name));
        }
        request.meter.bridged("modern", "legacy");
        if let Some(state) = LegacyCall::state_of(&message) {
            return self.answer_retry(&request, &message, &state).await;
        }
        let profile = CallerProfile::of_request(&message);
        let method = message.known_method();
        let exclusive = profile.can_be_asked() && method.is_some_and(|method| ASKABLE.contains(&method));
        let mut has_reopened = false;
        loop {
            let lease = match self.lease(&request, profile.clone(), exclusive).await {
                Ok(lease) => lease,
                Err(SessionOpenError::Failed(failed)) => return Err(failed),
                Err(SessionOpenError::Refused(answer)) => return Ok(*answer),
            };
            match method {
                Some(SERVER_DISCOVER) => {
                    return Ok(answers::json(200, lease.session().server().discover_answer(id.raw())));
                }
                Some(SUBSCRIPTIONS_LISTEN) => return Ok(listen(lease, &message).await),
                _ => {}
            }
            let leg = request.leg(&self);
            let session = Arc::clone(lease.session());
            let number = session.next_number();
            let Some((call, text)) = LegacyCall::begin(&message, number, &profile, session.server()) else {
                return self.pass(request).await;
            };
            if let Some((rank, level)) = call.log_level() {
                session.ensure_level(&leg, rank, level).await;
            }
            let answer = session.post(&leg, text).await?;
            if session.is_lost() && !has_reopened {
                // Nothing was run: the server did not know the session.
                has_reopened = true;
                let key = SessionKey { identity: request.identity(), profile: profile.clone() };
                self.sessions.forget(&key, &session);
                continue;
            }
            if is_not_about_the_message(answer.status()) {
                return Ok(answer);
            }
            let caller = PendingCaller { identity: request.identity(), digest: request.digest(&message) };
            let limits = (self.options.max_answer, self.options.max_event);
            let driver = LegacyCallDriver::new(call, lease, leg, answer, limits, exclusive);
            return driver.answer(&self, caller).await;
        }
    }

    /// Refuses a version that nobody here speaks, and says what can be had: the version that is bridged, and the server's.
    ///
    /// Rules: H14.
    async fn answer_unknown_version(
        &self,
        request: &BridgeRequest,
        message: &Message<'_>,
        requested: &str,
    ) -> Result<Response<Body>, HttpFailure> {
        let lease = match self.lease(request, CallerProfile::of_request(message), false).await {
            Ok(lease) => lease,
            Err(SessionOpenError::Failed(failed)) => return Err(failed),
            Err(SessionOpenError::Refused(answer)) => return Ok(*answer),
        };
        let supported = vec![MODERN.to_owned(), lease.session().server().version().to_owned()];
        let refused = MessageRefusalReason::Version { requested: requested.to_owned(), supported };
        let id = message.id().map(|id| id.raw().to_owned());
        Ok(refusal::render_reply(&Reply::from(&MessageRefusal { id, refused })))
    }

    /// Answers a retry with what its call says next.
    ///
    /// Rules: X3.
    async fn answer_retry(
        self: &Arc<Self>,
        request: &BridgeRequest,
        message: &Message<'_>,
        state: &str,
    ) -> Result<Response<Body>, HttpFailure> {
        let id = message.id().map(mcp_attune_wire::json::SpannedValue::raw);
        let Ok(Some(pending)) = PendingCallId::open(&self.options.seal, state) else {
            return Ok(answers::no_such_call(id));
        };
        let caller = PendingCaller { identity: request.identity(), digest: request.digest(message) };
        let Some(mut driver) = self.pending.take(pending.0, caller.identity, caller.digest) else {
            return Ok(answers::no_such_call(id));
        };
        if driver.retry(message, request.leg(self)).await? {
            return driver.answer(self, caller).await;
        }
        Ok(answers::json(200, self.hold(driver, Vec::new(), caller)?))
    }

    /// Keeps a call until its caller comes back, and returns the answer that asks for input.
    pub(super) fn hold(
        &self,
        mut driver: LegacyCallDriver,
        questions: Vec<Question>,
        caller: PendingCaller,
    ) -> Result<String, HttpFailure> {
        let no_randomness = || answers::failure(UpstreamError::Refused);
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(|_| no_randomness())?;
        let state = PendingCallId(number).seal(&self.options.seal).ok_or_else(no_randomness)?;
        let text = driver.call.ask(questions, &state);
        self.pending.keep(number, driver, caller.identity, caller.digest, self.options.settings.input_wait);
        Ok(text)
    }
}

/// Whether an answer is about credentials, load or the way there, so that the caller gets it as it came.
pub(super) fn is_not_about_the_message(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403 | 407 | 429) || status.is_server_error() || status.is_redirection()
}

/// Answers a `subscriptions/listen` with a stream of what the session hears.
///
/// Rules: X5.
async fn listen(lease: SessionLease, message: &Message<'_>) -> Response<Body> {
    let session = Arc::clone(lease.session());
    let Some(subscription) = Subscription::read(message, session.server()) else {
        return answers::empty(StatusCode::ACCEPTED);
    };
    let mut heard = session.listen();
    for uri in subscription.resources() {
        session.count_resource(uri, true).await;
    }
    let (sender, body) = event_stream();
    tokio::spawn(async move {
        let mut is_open = sender.send(&subscription.acknowledgement()).await;
        while is_open {
            let message: Bytes = tokio::select! {
                () = sender.closed() => break,
                message = heard.recv() => match message {
                    Ok(message) => message,
                    Err(RecvError::Lagged(missed)) => {
                        tracing::debug!(missed, "a listener reads too slowly");
                        continue;
                    }
                    Err(RecvError::Closed) => {
                        sender.send(&subscription.closing_answer()).await;
                        break;
                    }
                },
                () = tokio::time::sleep(super::QUIET) => {
                    is_open = sender.send_comment().await;
                    continue;
                }
            };
            let notification =
                Message::parse(&message).ok().and_then(|read| subscription.notification(&read));
            if let Some(notification) = notification {
                is_open = sender.send(&notification).await;
            }
        }
        for uri in subscription.resources() {
            session.count_resource(uri, false).await;
        }
        drop(lease);
    });
    answers::stream(body)
}
