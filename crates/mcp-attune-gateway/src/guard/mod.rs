//! Rejects requests that name a foreign `Host` or `Origin` (DNS rebinding, cross-site requests), and answers
//! CORS.
//!
//! 1. Every `Host` that a request names, in its target, in `:authority` or in `Host`, is loopback or listed.
//! 2. Every `Origin` that it names is loopback or listed. A request without one is fine: only browsers send
//!    it. `null` is an origin like any other, and it is not loopback.
//! 3. What is not allowed is 403, for every method and in both eras, before anything else is looked at.
//!    HTTP/1.1 without a `Host` is 400.
//! 4. CORS is on for the listed origins, and only for them; with none listed nothing is added or answered.
//! 5. A preflight of a listed origin is answered here. Any other `OPTIONS` goes on.
//!
//! Loopback is `localhost`, 127.0.0.0/8 and `[::1]`, with any port. A listed host without a port stands for
//! any port. Case does not matter.
//!
//! Caveat: loopback origins are let in, but their pages cannot read the answers unless they are listed too.
//!
//! ```
//! use mcp_attune_gateway::guard::Allowlist;
//!
//! let allowed = Allowlist::new(["mcp.example"], ["https://app.example"])?;
//! assert!(allowed.allows_host(b"MCP.example:8443"));
//! assert!(allowed.allows_origin(b"http://localhost:3000"));
//! assert!(!allowed.allows_host(b"mcp.example.evil.example"));
//! # Ok::<(), mcp_attune_gateway::guard::AllowlistError>(())
//! ```
//!
//! Whether a host or an origin is let in is decided by [`mcp_attune_tower::guard`], which the layer has too.
//! The gateway's guard stands before all mounts, so that nothing is done for a stranger, and therefore turns
//! the layer's off.
//!
//! Rules: H15, G7.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use hyper::service::Service;
use mcp_attune_wire::reply::Reply;
use prometheus_client::metrics::counter::Counter;

mod cors;

pub use mcp_attune_tower::guard::{Allowlist, AllowlistError, GuardError};

use crate::Body;
use crate::refusal;

/// A service that answers requests with a foreign `Host` or `Origin`, and CORS preflights, and passes
/// everything else on.
#[derive(Clone, Debug)]
pub struct Guard<S> {
    /// The hosts and origins that are let in.
    allowed: Arc<Allowlist>,
    /// Counts the requests that are refused.
    refused: Counter,
    inner: S,
}

impl<S> Guard<S> {
    /// Wraps a service. Requests of these hosts and origins, and of loopback, are passed on.
    #[must_use]
    pub fn new(allowed: Allowlist, inner: S) -> Self {
        Self { allowed: Arc::new(allowed), refused: Counter::default(), inner }
    }

    /// Counts refused requests in `refused`.
    #[must_use]
    pub fn counting(self, refused: Counter) -> Self {
        Self { refused, ..self }
    }
}

impl<S, B> Service<Request<B>> for Guard<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = GuardFuture<S::Future>;

    fn call(&self, request: Request<B>) -> GuardFuture<S::Future> {
        if let Err(foreign) = self.allowed.check(&request) {
            tracing::warn!(rule = "H15", "a request is refused: {foreign}");
            self.refused.inc();
            let reply = Reply::not_accepted(foreign.status().as_u16(), "H15", foreign.notice());
            let answer = refusal::render_reply_for(&reply, request.headers());
            return GuardFuture { state: GuardFutureState::Answered { answer: Some(answer) } };
        }
        if let Some(answer) = cors::preflight(&self.allowed, &request) {
            return GuardFuture { state: GuardFutureState::Answered { answer: Some(answer) } };
        }
        let readable = cors::read_access(&self.allowed, request.headers());
        GuardFuture { state: GuardFutureState::Runs { future: self.inner.call(request), readable } }
    }
}

pin_project_lite::pin_project! {
    /// The answer of a [`Guard`] that is to come. An answer of the service inside gets the headers of CORS
    /// when it is ready.
    pub struct GuardFuture<F> {
        #[pin]
        state: GuardFutureState<F>,
    }
}

pin_project_lite::pin_project! {
    #[project = GuardFutureStateProjected]
    enum GuardFutureState<F> {
        Runs { #[pin] future: F, readable: cors::CorsReadAccess },
        Answered { answer: Option<Response<Body>> },
    }
}

impl<F, E> Future for GuardFuture<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = Result<Response<Body>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            GuardFutureStateProjected::Runs { future, readable } => {
                let mut answer = ready!(future.poll(cx))?;
                readable.write_headers(answer.headers_mut());
                Poll::Ready(Ok(answer))
            }
            GuardFutureStateProjected::Answered { answer } => match answer.take() {
                Some(answer) => Poll::Ready(Ok(answer)),
                None => Poll::Pending,
            },
        }
    }
}
