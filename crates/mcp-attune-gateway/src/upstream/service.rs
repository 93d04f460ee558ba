//! A server behind, whatever its kind: how the rules ask it, and what is counted of that.
//!
//! 1. Each kind of server implements [`Upstream`]: `HttpUpstream` here, and programs in `child`.
//! 2. [`UpstreamService`] is a server on behalf of one caller, as the layer and the gateway's own questions call it. How long each
//!    answer takes, and what fails, is counted, before the answer and in the middle of it.
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

/// An answer that is to come, as the layer takes it.
pub(crate) type UpstreamFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, HttpFailure>> + Send>>;

/// An answer that is to come, or that a server can be reached.
pub(crate) type UpstreamResult<'u, T> = Pin<Box<dyn Future<Output = Result<T, UpstreamError>> + Send + 'u>>;

/// On whose behalf a server is asked. The default is the gateway itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requester {
    /// Where the caller's connection comes from.
    pub(crate) peer: Option<Peer>,
    /// What tells the caller from others.
    pub(crate) keys: CallerKeys,
}

/// A kind of server behind.
pub(crate) trait Upstream: fmt::Debug + Send + Sync {
    /// Sends a request to the endpoint. An implementation makes a [`MeteredAnswer`] of its own future and boxes both at once, so that
    /// a call costs one box.
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture;

    /// Sends a request to a path beside the endpoint, which no rule applies to.
    fn call_off_endpoint(&self, _: Request<Body>, _: Requester) -> UpstreamResult<'static, Response<Body>> {
        Box::pin(std::future::ready(Err(UpstreamError::NotServed)))
    }

    /// Refuses a request before it is read, because the server cannot say so itself.
    fn refuse(&self, _: &Request<Body>) -> Option<Reply> {
        None
    }

    /// Finds out whether the server can be reached. A program is started for it.
    fn reach(&self) -> UpstreamResult<'_, ()>;

    /// The path of its endpoint on the server, where it has paths at all.
    fn endpoint(&self) -> Option<&str> {
        None
    }

    /// What the log calls it, without anything secret.
    fn name(&self) -> String;

    /// Whether it is a program, which the gateway starts and which need not be probed while it runs.
    fn is_program(&self) -> bool {
        false
    }
}

/// A server behind on behalf of one caller, failing in the way that the layer understands. A clone asks the same server.
#[derive(Clone, Debug)]
pub(crate) struct UpstreamService {
    upstream: Arc<dyn Upstream>,
    meter: Meter,
    requester: Requester,
}

impl UpstreamService {
    /// The server as the gateway itself asks it, counted by `meter`.
    pub(crate) fn new(upstream: Arc<dyn Upstream>, meter: Meter) -> Self {
        Self { upstream, meter, requester: Requester::default() }
    }

    /// The same server on behalf of a caller.
    pub(crate) fn on_behalf_of(&self, requester: Requester) -> Self {
        Self { upstream: Arc::clone(&self.upstream), meter: self.meter.clone(), requester }
    }

    /// The server itself.
    pub(crate) fn upstream(&self) -> &dyn Upstream {
        &*self.upstream
    }

    /// Sends a request to a path beside the endpoint.
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
    /// Waits for an answer, and counts how long that takes and what fails. By hand, because an async function holds what
    /// it waits for twice.
    pub(crate) struct MeteredAnswer<F, B> {
        #[pin]
        answer: F,
        meter: Meter,
        began: Instant,
        body: fn(B, &Meter) -> Body,
    }
}

impl<F, B> MeteredAnswer<F, B> {
    /// `body` counts what fails in the body of the answer.
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

/// A body whose failure is counted.
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

#[cold]
fn count_failure(meter: &Meter, error: UpstreamError) -> HttpFailure {
    meter.upstream_failed(error);
    HttpFailure { status: error.status(), what: error.to_string() }
}
