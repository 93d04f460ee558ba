//! What every request meets first.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{CONNECTION, HeaderValue, RETRY_AFTER};
use http::{Request, Response, Version};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::service::TowerToHyperService;
use mcp_attune_tower::boxed;
use mcp_attune_wire::reply::Reply;
use tower_service::Service;

use super::pulse::{Answer, Pulse, Running};
use super::{Limits, RequestError};
use crate::Body;
use crate::body::Timed;
use crate::refusal;
use crate::wake::next_piece;

/// The service, as a connection calls it.
#[derive(Debug)]
pub(super) struct Entry<S> {
    pub(super) service: TowerToHyperService<S>,
    pub(super) limits: Arc<Limits>,
    pub(super) pulse: Arc<Pulse>,
}

impl<S> hyper::service::Service<Request<Incoming>> for Entry<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone,
{
    type Response = Response<Answer>;
    type Error = S::Error;
    type Future = Entered<<TowerToHyperService<S> as hyper::service::Service<Request<Body>>>::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let running = Some(Running::new(&self.pulse));
        // HTTP/1.1 has counted already; HTTP/2 counts bytes only.
        if request.headers().len() > self.limits.headers {
            return Entered { inner: Inner::Refused, running };
        }
        let pause = self.limits.body_pause;
        let streams = request.version() == Version::HTTP_2;
        let request = request.map(|body| {
            boxed(Timed::new(Received { body, streams }, pause, RequestError::Stalled, RequestError::Broken))
        });
        Entered { inner: Inner::Runs { future: self.service.call(request) }, running }
    }
}

/// The body of a request.
struct Received {
    body: Incoming,
    /// Whether it is one of several streams of its connection, which is woken for more than one of them.
    streams: bool,
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.streams {
            return Pin::new(&mut self.body).poll_frame(cx);
        }
        next_piece(&mut self.body, cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pin_project_lite::pin_project! {
    /// A request that is being answered.
    pub(super) struct Entered<F> {
        #[pin]
        inner: Inner<F>,
        running: Option<Running>,
    }
}

pin_project_lite::pin_project! {
    #[project = InnerProjected]
    enum Inner<F> {
        Runs { #[pin] future: F },
        Refused,
    }
}

impl<F, E> Future for Entered<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = Result<Response<Answer>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = match this.inner.project() {
            InnerProjected::Runs { future } => ready!(future.poll(cx))?,
            InnerProjected::Refused => too_many_headers(),
        };
        let Some(running) = this.running.take() else { return Poll::Pending };
        Poll::Ready(Ok(answer.map(|body| Answer::new(body, running))))
    }
}

fn too_many_headers() -> Response<Body> {
    refusal::answer(&Reply::not_taken(431, "G4", &"the request has too many headers; send fewer"))
}

/// Tells everyone that there are too many connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnedAway;

impl Service<Request<Body>> for TurnedAway {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let reply = Reply::failed(503, None, &"there are too many connections; try again later");
        let mut answer = refusal::answer_to(&reply, request.headers());
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        ready(Ok(answer))
    }
}
