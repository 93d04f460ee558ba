//! A server behind, whatever its kind: how the rules ask it, and what is counted of that.
//!
//! 1. Each kind of server implements [`Upstream`]: `HttpUpstream` here, and programs in `child`.
//! 2. [`UpstreamService`] is a server on behalf of one caller, as the layer and the gateway's own questions
//!    call it. How long each answer takes, and what fails, is counted, before the answer and in the middle of
//!    it.
//!
//! Rules: G5, G12.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune_tower::{HttpFailure, boxed};
use mcp_attune_wire::reply::Reply;
use tower_service::Service;

use crate::caller_keys::CallerKeys;
use crate::listen::Peer;
use crate::metrics::Meter;
use crate::upstream_error::UpstreamError;
use crate::{Body, BoxError};

/// The answer of a server to a call, with failures as the layer reports them to callers: a status and a text.
pub(crate) type UpstreamFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, HttpFailure>> + Send>>;

/// The outcome of anything else that is asked of a server, with failures by their kind.
pub(crate) type UpstreamResult<'u, T> = Pin<Box<dyn Future<Output = Result<T, UpstreamError>> + Send + 'u>>;

/// On whose behalf a server is asked. The default is the gateway itself, which has no address and no keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requester {
    /// Where the caller's connection comes from, for the `X-Forwarded-…` headers.
    pub(crate) peer: Option<Peer>,
    /// What tells the caller from others where things are shared out, such as the sessions of a program.
    pub(crate) keys: CallerKeys,
}

/// A server behind a mount, of whatever kind. One value serves all requests of the mount, from all threads.
pub(crate) trait Upstream: fmt::Debug + Send + Sync {
    /// Sends a request to the endpoint, and has time and failures counted by `meter`.
    ///
    /// An implementation makes a [`MeteredAnswer`] of its own future and boxes both at once, so that a call
    /// costs one box. Dropping the future gives the request up.
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture;

    /// Sends a request to a path beside the endpoint, which no rule applies to. [`UpstreamError::NotServed`]
    /// where the server has no other paths, as programs have none.
    fn call_off_endpoint(&self, _: Request<Body>, _: Requester) -> UpstreamResult<'static, Response<Body>> {
        Box::pin(std::future::ready(Err(UpstreamError::NotServed)))
    }

    /// Returns the refusal of a request that is not to be read at all, for servers that cannot refuse it
    /// themselves. `None` lets it pass.
    fn refuse(&self, _: &Request<Body>) -> Option<Reply> {
        None
    }

    /// Finds out whether the server can be reached: a connection is opened, or a program is started. The
    /// prober calls it now and then.
    fn reach(&self) -> UpstreamResult<'_, ()>;

    /// Returns the path of the endpoint on the server, or `None` where the server has no paths.
    fn endpoint(&self) -> Option<&str> {
        None
    }

    /// Returns what the log calls the server, without anything secret.
    fn name(&self) -> String;

    /// Whether requests have to say which caller they are of, as a `CallerIdentity` in their extensions.
    fn needs_identity(&self) -> bool {
        false
    }

    /// Whether it is a program that the gateway starts. One that runs is not probed again, and gets messages
    /// as the layer has read them.
    fn is_program(&self) -> bool {
        false
    }
}

/// A server on behalf of one caller, as the [`Service`] that the layer calls. It is always ready: limits are
/// kept outside (`permits`). Clones ask the same server.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamService {
    upstream: Arc<dyn Upstream>,
    meter: Meter,
    /// On whose behalf.
    requester: Requester,
}

impl UpstreamService {
    /// Wraps a server as the gateway itself asks it. `meter` counts what becomes of it.
    pub(crate) fn new(upstream: Arc<dyn Upstream>, meter: Meter) -> Self {
        Self { upstream, meter, requester: Requester::default() }
    }

    /// Returns the same server on behalf of a caller.
    pub(crate) fn on_behalf_of(&self, requester: Requester) -> Self {
        Self { upstream: Arc::clone(&self.upstream), meter: self.meter.clone(), requester }
    }

    /// Returns the server itself, for questions that are no requests.
    pub(crate) fn upstream(&self) -> &dyn Upstream {
        &*self.upstream
    }

    /// Sends a request to a path beside the endpoint. A failure before the answer is counted; the time is
    /// not, and neither is a failure in the body.
    pub(crate) async fn call_off_endpoint(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Body>, UpstreamError> {
        let answer = self.upstream.call_off_endpoint(request, self.requester).await;
        answer.inspect_err(|error| self.meter.upstream_failed(*error))
    }
}

impl Service<Request<Body>> for UpstreamService {
    type Response = Response<Body>;
    type Error = HttpFailure;
    type Future = UpstreamFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> UpstreamFuture {
        self.upstream.call(request, self.requester, &self.meter)
    }
}

pin_project_lite::pin_project! {
    /// Waits for the head of an answer, counts how long that takes and whether it fails, and has failures in
    /// the body counted.
    ///
    /// Written by hand, because an async function holds what it waits for twice.
    pub(crate) struct MeteredAnswer<F, B> {
        #[pin]
        answer: F,
        meter: Meter,
        began: Instant,
        body: fn(B, &Meter) -> Body,
    }
}

impl<F, B> MeteredAnswer<F, B> {
    /// Starts the clock. `body` makes a body of the gateway of the answer's, in which failures are counted.
    pub(crate) fn new(answer: F, meter: &Meter, body: fn(B, &Meter) -> Body) -> Self {
        Self { answer, meter: meter.clone(), began: Instant::now(), body }
    }
}

impl<F, B> Future for MeteredAnswer<F, B>
where
    F: Future<Output = Result<Response<B>, UpstreamError>>,
{
    type Output = Result<Response<Body>, HttpFailure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(cx));
        this.meter.upstream_took(this.began.elapsed(), answer.is_ok());
        Poll::Ready(match answer {
            Ok(answer) => Ok(answer.map(|body| (this.body)(body, this.meter))),
            Err(error) => Err(count_failure(this.meter, error)),
        })
    }
}

/// Returns a body whose failure is counted where it is an [`UpstreamError`], and becomes the [`HttpFailure`]
/// that the layer tells the caller of. Other errors pass as they are.
pub(crate) fn metered_body<B>(body: B, meter: &Meter) -> Body
where
    B: http_body::Body<Data = Bytes, Error = BoxError> + Send + 'static,
{
    let meter = meter.clone();
    boxed(body.map_err(move |error| match error.downcast_ref::<UpstreamError>() {
        Some(known) => count_failure(&meter, *known).into(),
        None => error,
    }))
}

/// Counts a failure and returns it as the layer reports it.
#[cold]
fn count_failure(meter: &Meter, error: UpstreamError) -> HttpFailure {
    meter.upstream_failed(error);
    HttpFailure::new(error.status(), error.notice())
}
