//! What every request meets first.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Request, Response};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::Service;
use mcp_attune_tower::boxed;
use mcp_attune_wire::reply::Reply;

use super::framing::Verdicts;
use super::pulse::{Answer, Pulse, Running};
use super::{Limits, Misframed, RequestError};
use crate::body::{Paced, Timed};
use crate::refusal;
use crate::{Body, BoxError};

/// The service, as a connection calls it.
#[derive(Debug)]
pub(super) struct Entry<S> {
    pub(super) service: S,
    pub(super) limits: Arc<Limits>,
    pub(super) pulse: Arc<Pulse>,
    pub(super) verdicts: Arc<Verdicts>,
}

impl<S> Service<Request<Incoming>> for Entry<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Answer>;
    type Error = S::Error;
    type Future = Entered<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let running = Some(Running::new(&self.pulse));
        let number = self.verdicts.begin();
        if let Some(refusal) = self.refuses(number, request.headers()) {
            return Entered { inner: Inner::Refused { refusal }, running, number, verdicts: None };
        }
        let pause = self.limits.body_pause;
        let request = request.map(|body| {
            let body = Received { body, number, verdicts: Arc::clone(&self.verdicts) };
            let (time, rate) = (self.limits.body, self.limits.body_rate);
            let body = Paced::new(body, time, rate, RequestError::TooSlow);
            boxed(Timed::new(body, pause, RequestError::Stalled, RequestError::Broken))
        });
        let verdicts = Some(Arc::clone(&self.verdicts));
        Entered { inner: Inner::Runs { future: self.service.call(request) }, running, number, verdicts }
    }
}

/// Why a request is refused before it is looked at.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    TooManyHeaders,
    Misframed(Misframed),
}

impl<S> Entry<S> {
    fn refuses(&self, number: usize, headers: &HeaderMap) -> Option<Refusal> {
        if let Some(misframed) = self.verdicts.of(number).filter(|why| *why != Misframed::Trailer) {
            return Some(Refusal::Misframed(misframed));
        }
        // HTTP/1.1 has looked at these already; HTTP/2 counts bytes only.
        let repeated = |name: HeaderName| headers.get_all(name).iter().nth(1).is_some();
        if headers.len() > self.limits.headers {
            Some(Refusal::TooManyHeaders)
        } else if repeated(CONTENT_LENGTH) {
            Some(Refusal::Misframed(Misframed::Length))
        } else if repeated(HOST) {
            Some(Refusal::Misframed(Misframed::Host))
        } else {
            None
        }
    }
}

impl Refusal {
    #[cold]
    fn answer(self) -> Response<Body> {
        let (status, rule, what): (_, _, &dyn Display) = match &self {
            Self::TooManyHeaders => (431, "G4", &"the request has too many headers; send fewer"),
            Self::Misframed(misframed) => (misframed.status(), misframed.rule(), misframed),
        };
        let mut answer = refusal::answer(&Reply::not_taken(status, rule, what));
        if matches!(self, Self::Misframed(_)) {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

/// The body of a request.
struct Received {
    body: Incoming,
    /// Which request of its connection it belongs to,
    number: usize,
    /// and what was found on the connection.
    verdicts: Arc<Verdicts>,
}

impl http_body::Body for Received {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            None if self.verdicts.of(self.number).is_some() => {
                Poll::Ready(Some(Err(RequestError::Misframed.into())))
            }
            piece => Poll::Ready(piece.map(|piece| piece.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.verdicts.of(self.number).is_none()
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
        number: usize,
        // None where the request is refused.
        verdicts: Option<Arc<Verdicts>>,
    }
}

pin_project_lite::pin_project! {
    #[project = InnerProjected]
    enum Inner<F> {
        Runs { #[pin] future: F },
        Refused { refusal: Refusal },
    }
}

impl<F, E> Future for Entered<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = Result<Response<Answer>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = match this.inner.project() {
            InnerProjected::Runs { future } => ready!(future.poll(cx))?,
            InnerProjected::Refused { refusal } => refusal.answer(),
        };
        if this.verdicts.as_ref().is_some_and(|verdicts| verdicts.of(*this.number).is_some()) {
            // Nothing is read after it.
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let Some(running) = this.running.take() else { return Poll::Pending };
        let mut answer = answer;
        if running.is_last() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(answer.map(|body| Answer::new(body, running))))
    }
}

/// Tells everyone that there are too many connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnedAway;

impl Service<Request<Body>> for TurnedAway {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn call(&self, request: Request<Body>) -> Self::Future {
        let reply = Reply::failed(503, None, &"there are too many connections; try again later");
        let mut answer = refusal::answer_to(&reply, request.headers());
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        ready(Ok(answer))
    }
}
