//! The bridge between the eras: an [`Upstream`] around another one, which gives callers of one era a server of the other.
//!
//! 1. What caller and server speak alike passes as it came, and is not even looked at.
//! 2. A modern request to a legacy server goes into a session that the gateway opens for it (`to_legacy`).
//! 3. A legacy session in front of a modern server is made up here, and its id carries what it needs (`to_modern`).
//! 4. Which era a server speaks is asked once, with the credentials of the caller that waits, and again where its
//!    answers are odd (`era_memory`).
//!
//! What messages mean in the other era is decided in [`mcp_attune::bridge`]; here they are carried. The rules around the
//! mount see a caller and a server of the caller's own era.
//!
//! Rules: X1–X6, X8, H14, H15.

mod answers;
mod era_memory;
mod leg;
mod message_reader;
mod output;

mod session;
mod session_pool;
mod legacy_call_driver;
mod pending_calls;
mod to_legacy;

mod legacy_callers;
mod modern_call_driver;
mod to_modern;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, request};
use http_body_util::BodyExt;
use mcp_attune::bridge::BridgedSession;
use mcp_attune_tower::{HttpFailure, IdSeal};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::version;
use mcp_attune_wire::reply::Reply;

use crate::Body;
use crate::config::{BridgeConfig, UpstreamEra};
use crate::metrics::Meter;
use crate::upstream::{Requester, Upstream, UpstreamError, UpstreamFuture, UpstreamResult};
use era_memory::{EraMemory, KnownEra};
use legacy_callers::LegacyCallers;
use pending_calls::PendingCalls;
use session_pool::SessionPool;

/// How long a stream may be quiet before it gives a sign of life.
const QUIET: Duration = Duration::from_secs(15);

/// What tells the caller of a request from others, for sessions that callers do not share: a hash that means nothing outside
/// of this process. Whoever passes a request to the bridge puts it into the request's extensions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallerIdentity(pub(crate) u64);

/// How a mount is bridged.
#[derive(Clone, Debug)]
pub(crate) struct BridgeOptions {
    pub(crate) settings: BridgeConfig,
    pub(crate) era: UpstreamEra,
    /// Seals session ids and states.
    pub(crate) seal: IdSeal,
    /// Maximum size of an answer that is read, and of an event, in bytes.
    pub(crate) max_answer: usize,
    pub(crate) max_event: usize,
    /// The part of all sessions that one caller may have.
    pub(crate) share: f64,
}

/// An upstream for callers of both eras.
#[derive(Debug)]
pub(crate) struct BridgedUpstream(Arc<Bridge>);

/// What all requests of a mount share.
#[derive(Debug)]
struct Bridge {
    upstream: Arc<dyn Upstream>,
    options: BridgeOptions,
    era: EraMemory,
    sessions: SessionPool,
    pending: PendingCalls,
    callers: LegacyCallers,
}

/// A request on its way through the bridge: its head, its body, and on whose behalf it is sent.
struct BridgeRequest {
    head: request::Parts,
    body: Bytes,
    requester: Requester,
    meter: Meter,
}

/// Whose call waits for input, and for which request.
#[derive(Clone, Copy, Debug)]
struct PendingCaller {
    identity: Option<u64>,
    digest: u64,
}

impl BridgedUpstream {
    /// Puts the bridge around an upstream.
    pub(crate) fn new(upstream: Arc<dyn Upstream>, options: BridgeOptions) -> Self {
        let (era, pending) = (EraMemory::new(options.era), PendingCalls::default());
        let sessions = SessionPool::new(&options);
        let callers = LegacyCallers::default();
        Self(Arc::new(Bridge { upstream, options, era, sessions, pending, callers }))
    }
}

/// What a request is for the bridge, from its head alone.
enum RequestRoute {
    /// It passes as it came.
    Pass,
    /// It passes, and an odd answer makes the era doubtful.
    PassAndWatch,
    /// A modern request, and the server is not known to be modern.
    Modern,
    /// A legacy request without a session, which may begin one.
    MayInitialize,
    /// A request of a session that was made up here, or of one that looks so.
    Session,
}

impl Bridge {
    fn route(&self, head: &Method, headers: &HeaderMap) -> RequestRoute {
        let session = headers.get(lowercase::SESSION_ID);
        if session.is_some_and(|id| BridgedSession::is_sealed(id.as_bytes())) {
            return RequestRoute::Session;
        }
        if *head != Method::POST {
            return RequestRoute::Pass;
        }
        let is_modern = headers
            .get(lowercase::PROTOCOL_VERSION)
            .is_some_and(|named| named.as_bytes() >= version::MODERN.as_bytes());
        match (is_modern, self.era.known()) {
            (true, Some(KnownEra::Modern)) => RequestRoute::PassAndWatch,
            (true, _) => RequestRoute::Modern,
            (false, Some(KnownEra::Legacy)) => RequestRoute::Pass,
            (false, _) if session.is_some() => RequestRoute::Pass,
            (false, _) => RequestRoute::MayInitialize,
        }
    }
}

impl Upstream for BridgedUpstream {
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture {
        let bridge = Arc::clone(&self.0);
        let route = bridge.route(request.method(), request.headers());
        match route {
            RequestRoute::Pass => bridge.upstream.call(request, requester, meter),
            RequestRoute::PassAndWatch => {
                let answer = bridge.upstream.call(request, requester, meter);
                if !bridge.era.is_asked() {
                    return answer;
                }
                Box::pin(async move {
                    let answer = answer.await?;
                    bridge.era.note_status(answer.status());
                    Ok(answer)
                })
            }
            RequestRoute::Modern | RequestRoute::MayInitialize | RequestRoute::Session => {
                let meter = meter.clone();
                Box::pin(async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await.map_err(|_| caller_broke_off())?.to_bytes();
                    let request = BridgeRequest { head, body, requester, meter };
                    match route {
                        RequestRoute::Session => bridge.answer_session(request).await,
                        RequestRoute::MayInitialize => bridge.answer_initialize(request).await,
                        _ => bridge.answer_modern(request).await,
                    }
                })
            }
        }
    }

    fn call_off_endpoint(
        &self,
        request: Request<Body>,
        requester: Requester,
    ) -> UpstreamResult<'static, Response<Body>> {
        self.0.upstream.call_off_endpoint(request, requester)
    }

    fn refuse(&self, request: &Request<Body>) -> Option<Reply> {
        self.0.upstream.refuse(request)
    }

    fn reach(&self) -> UpstreamResult<'_, ()> {
        self.0.upstream.reach()
    }

    fn endpoint(&self) -> Option<&str> {
        self.0.upstream.endpoint()
    }

    fn name(&self) -> String {
        self.0.upstream.name()
    }

    fn needs_identity(&self) -> bool {
        self.0.era.known() != Some(KnownEra::Modern)
    }

    fn is_program(&self) -> bool {
        self.0.upstream.is_program()
    }
}

#[cold]
fn caller_broke_off() -> HttpFailure {
    let error = UpstreamError::Caller;
    HttpFailure::new(error.status(), error.notice())
}
