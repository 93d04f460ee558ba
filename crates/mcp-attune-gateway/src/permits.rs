//! Bounds how many calls and streams run at a time, and how many of them one caller has.
//!
//! 1. A call holds a permit from before it is looked at until its answer is over; whoever gets none is told at once to come
//!    again. Streams that callers listen on have permits of their own.
//! 2. A body that has not come yet holds up nobody: it is read before the call counts.
//!
//! Rules: G4.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt;
use hyper::service::Service;
use mcp_attune_tower::{HttpFailure, boxed};

use crate::caller_keys::{CallerKeyHasher, CallerKeys};
use crate::config::Config;
use crate::listen::{PeerBody, RequestBodyError};
use crate::metrics::Meter;
use crate::mount::MountedUpstream;
use crate::open_streams;
use crate::refusal;
use crate::slots::{NoPermit, Permit, Slots};
use crate::upstream::Requester;
use crate::{Body, BoxError};

/// An answer that is to come. This is the one box around all that a call does inside.
pub(crate) type MountAnswerFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// The permits of all mounts together.
#[derive(Debug)]
pub(crate) struct Permits {
    calls: Arc<Slots>,
    /// For streams that callers listen on for as long as they like.
    streams: Arc<Slots>,
    callers: CallerKeyHasher,
    /// Counts what is refused.
    meter: Meter,
}

impl Permits {
    pub(crate) fn new(config: &Config, meter: Meter) -> Self {
        let limits = &config.limits;
        Self {
            calls: Slots::with_share(limits.calls, limits.share),
            streams: Slots::with_share(limits.streams, limits.share),
            callers: CallerKeyHasher::new(&config.server.trusted_proxies),
            meter,
        }
    }

    /// Takes a permit for a request, or answers it.
    fn acquire(&self, request: &Request<Body>, keys: CallerKeys) -> Result<Permit, Box<Response<Body>>> {
        let streams = open_streams::opens_stream(request.method(), request.headers());
        let slots = if streams { &self.streams } else { &self.calls };
        slots.try_acquire(keys).map_err(|why| Box::new(self.refuse(why, streams, request.headers())))
    }

    #[cold]
    fn refuse(&self, why: NoPermit, streams: bool, headers: &HeaderMap) -> Response<Body> {
        self.meter.rule_broken("G4", true);
        let (status, what) = match (why, streams) {
            (NoPermit::Full, false) => (503, "too many calls are running; try again in a moment"),
            (NoPermit::Full, true) => (503, "too many streams are open; try again later"),
            (NoPermit::Share, false) => {
                (429, "too many calls of this caller are running; wait for some of them to end")
            }
            (NoPermit::Share, true) => (429, "too many streams of this caller are open; close some of them"),
        };
        refusal::failed(status, &what, headers)
    }
}

/// A mount that is only called with a permit.
#[derive(Clone)]
pub(crate) struct LimitedMount {
    permits: Arc<Permits>,
    mount: Arc<MountedUpstream>,
}

impl LimitedMount {
    pub(crate) fn new(permits: &Arc<Permits>, mount: MountedUpstream) -> Self {
        Self { permits: Arc::clone(permits), mount: Arc::new(mount) }
    }

    pub(crate) fn mount(&self) -> &Arc<MountedUpstream> {
        &self.mount
    }

    /// Who asks.
    fn requester<B>(&self, request: &Request<B>, arrival: &PeerBody) -> Requester {
        let identity = self.mount.rules.caller_hash(request.headers(), request.uri());
        let address = arrival.peer.address.ip();
        let keys = self.permits.callers.keys(identity, request.headers(), address);
        Requester { peer: Some(arrival.peer), keys }
    }

    /// Answers a request for a path beside the endpoint.
    #[cold]
    pub(crate) fn call_off_endpoint(&self, request: Request<PeerBody>) -> MountAnswerFuture {
        let requester = self.requester(&request, request.body());
        let request = request.map(|arrival| arrival.body);
        match self.permits.acquire(&request, requester.keys) {
            Ok(permit) => Box::pin(Arc::clone(&self.mount).answer_off_endpoint(request, permit, requester)),
            Err(refused) => ready_answer(*refused),
        }
    }

    /// Answers a request for the endpoint whose body is still to come.
    async fn call_when_read(self, request: Request<Body>, requester: Requester) -> MountAnswer {
        let Self { permits, mount } = self;
        let request = request.map(|body| boxed(body.map_err(caller_body_error)));
        let request = match mount.rules.read_request_body(request).await {
            Ok(request) => request,
            Err((answer, account)) => return Ok(mount.count_unread(answer, account)),
        };
        match permits.acquire(&request, requester.keys) {
            Ok(permit) => mount.answer(request, permit, requester).await,
            Err(refused) => Ok(*refused),
        }
    }
}

type MountAnswer = Result<Response<Body>, Infallible>;

impl Service<Request<PeerBody>> for LimitedMount {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = MountAnswerFuture;

    fn call(&self, request: Request<PeerBody>) -> MountAnswerFuture {
        let requester = self.requester(&request, request.body());
        let request = request.map(|arrival| arrival.body);
        if request.method() == Method::POST && !request.body().is_whole() {
            return Box::pin(self.clone().call_when_read(request, requester));
        }
        match self.permits.acquire(&request, requester.keys) {
            Ok(permit) => Box::pin(Arc::clone(&self.mount).answer(request, permit, requester)),
            Err(refused) => ready_answer(*refused),
        }
    }
}

impl fmt::Debug for LimitedMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LimitedMount").field(&self.mount).finish()
    }
}

/// An answer that is there.
#[cold]
pub(crate) fn ready_answer(answer: Response<Body>) -> MountAnswerFuture {
    Box::pin(std::future::ready(Ok(answer)))
}

/// A request's body that broke off says why, where that is known.
fn caller_body_error(error: BoxError) -> BoxError {
    match error.downcast_ref::<RequestBodyError>() {
        Some(known) => HttpFailure { status: known.status(), what: known.to_string() }.into(),
        None => error,
    }
}
