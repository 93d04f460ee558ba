//! Bounds how many calls and streams run at a time, and how many of them one caller has.
//!
//! 1. A call holds a permit from before it is looked at until its answer is over. Whoever gets none is
//!    answered at once: 503 if all are taken, 429 if the caller has its share. Streams that callers listen on
//!    have permits of their own.
//! 2. A body that has not arrived yet takes no permit: it is read first.
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
use mcp_attune_wire::notice::Notice;

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

/// The permits of all mounts together. A reload makes new ones; requests that still run hold those of the
/// stack before.
#[derive(Debug)]
pub(crate) struct Permits {
    /// For calls (`calls` of `[limits]`).
    calls: Arc<Slots>,
    /// For streams that callers listen on for as long as they like (`streams` of `[limits]`).
    streams: Arc<Slots>,
    /// Tells callers apart.
    callers: CallerKeyHasher,
    /// Counts what is refused, under no mount.
    meter: Meter,
}

impl Permits {
    /// Makes the permits that a configuration allows.
    pub(crate) fn new(config: &Config, meter: Meter) -> Self {
        let limits = &config.limits;
        Self {
            calls: Slots::with_share(limits.calls, limits.share),
            streams: Slots::with_share(limits.streams, limits.share),
            callers: CallerKeyHasher::new(&config.server.trusted_proxies),
            meter,
        }
    }

    /// Takes a permit for a request, or returns the answer that there is none.
    fn acquire(&self, request: &Request<Body>, keys: CallerKeys) -> Result<Permit, Box<Response<Body>>> {
        let streams = open_streams::opens_stream(request.method(), request.headers());
        let slots = if streams { &self.streams } else { &self.calls };
        slots.try_acquire(keys).map_err(|why| Box::new(self.refuse(why, streams, request.headers())))
    }

    /// Makes that answer, and counts it as a refusal by rule G4. The request is not counted otherwise and not
    /// in the access log.
    #[cold]
    fn refuse(&self, why: NoPermit, streams: bool, headers: &HeaderMap) -> Response<Body> {
        self.meter.rule_broken("G4", true);
        let (status, notice) = match (why, streams) {
            (NoPermit::Full, false) => (503, Notice::CallsRunning),
            (NoPermit::Full, true) => (503, Notice::StreamsOpen),
            (NoPermit::Share, false) => (429, Notice::CallerCalls),
            (NoPermit::Share, true) => (429, Notice::CallerStreams),
        };
        refusal::failed(status, notice, headers)
    }
}

/// The layer around a mount that lets a request in only with a permit. A clone shares everything.
#[derive(Clone)]
pub(crate) struct LimitedMount {
    permits: Arc<Permits>,
    mount: Arc<MountedUpstream>,
}

impl LimitedMount {
    pub(crate) fn new(permits: &Arc<Permits>, mount: MountedUpstream) -> Self {
        Self { permits: Arc::clone(permits), mount: Arc::new(mount) }
    }

    /// Returns the mount inside.
    pub(crate) fn mount(&self) -> &Arc<MountedUpstream> {
        &self.mount
    }

    /// Collects on whose behalf the upstream is asked: the connection, and the keys of the caller.
    fn requester<B>(&self, request: &Request<B>, arrival: &PeerBody) -> Requester {
        let identity = self.mount.rules.caller_hash(request.headers(), request.uri());
        let address = arrival.peer.address.ip();
        let keys = self.permits.callers.keys(identity, request.headers(), address);
        Requester { peer: Some(arrival.peer), keys }
    }

    /// Answers a request for a path off the endpoint. Its body is not read first: it goes to the upstream as
    /// it comes.
    #[cold]
    pub(crate) fn call_off_endpoint(&self, request: Request<PeerBody>) -> MountAnswerFuture {
        let requester = self.requester(&request, request.body());
        let request = request.map(|arrival| arrival.body);
        match self.permits.acquire(&request, requester.keys) {
            Ok(permit) => Box::pin(Arc::clone(&self.mount).answer_off_endpoint(request, permit, requester)),
            Err(refused) => ready_answer(*refused),
        }
    }

    /// Answers a `POST` to the endpoint whose body is still to come: reads it, and takes a permit only then.
    /// A body that is too large, too slow or broken is answered without a permit.
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

/// An answer; the error is impossible, because whatever goes wrong is an answer.
type MountAnswer = Result<Response<Body>, Infallible>;

impl Service<Request<PeerBody>> for LimitedMount {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = MountAnswerFuture;

    /// Answers a request for the endpoint. A `POST` whose body has not completely come is read before it
    /// takes a permit; everything else takes its permit at once.
    fn call(&self, request: Request<PeerBody>) -> MountAnswerFuture {
        let requester = self.requester(&request, request.body());
        let mut request = request.map(|arrival| arrival.body);
        self.mount.note_trust(&mut request, || {
            requester.peer.is_some_and(|peer| self.permits.callers.is_trusted(peer.address.ip()))
        });
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

/// Boxes an answer that is there already.
#[cold]
pub(crate) fn ready_answer(answer: Response<Body>) -> MountAnswerFuture {
    Box::pin(std::future::ready(Ok(answer)))
}

/// Translates an error of the caller's body into one that the rules answer with its own status (408 or 400)
/// and sentence. Other errors are passed on.
fn caller_body_error(error: BoxError) -> BoxError {
    match error.downcast_ref::<RequestBodyError>() {
        Some(known) => HttpFailure::new(known.status(), known.notice()).into(),
        None => error,
    }
}
