//! Between hyper and the gateway's service: early refusals, the time-outs of bodies, and the tracking of
//! answers.
//!
//! [`HyperService`] does for requests that hyper reads what `plain` does for the others, and adds what plain
//! requests cannot need: their bodies are complete, so they have no time-out, and their framing was never in
//! doubt.

use std::convert::Infallible;
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
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

use super::activity::{ActiveRequest, ConnectionActivity, TrackedAnswerBody};
use super::framing::FramingVerdicts;
use super::request_error::framing_notice;
use super::{FramingError, ListenerLimits, RequestBodyError};
use crate::body::{IdleTimeoutBody, MinRateBody};
use crate::refusal;
use crate::{Body, BoxError};

/// The service of one connection as hyper calls it.
#[derive(Debug)]
pub(super) struct HyperService<S> {
    /// The gateway's service.
    pub(super) service: S,
    pub(super) limits: Arc<ListenerLimits>,
    pub(super) pulse: Arc<ConnectionActivity>,
    /// What the framing check found on this connection.
    pub(super) verdicts: Arc<FramingVerdicts>,
}

impl<S> Service<Request<Incoming>> for HyperService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<TrackedAnswerBody>;
    type Error = S::Error;
    type Future = HyperServiceFuture<S::Future>;

    /// Refuses the request early, or passes it on with its body wrapped three times: by
    /// [`CheckedRequestBody`] against bad trailers, by [`MinRateBody`] against slow senders, and by
    /// [`IdleTimeoutBody`] against pauses, which also makes all errors of the body a [`RequestBodyError`].
    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let running = Some(ActiveRequest::new(&self.pulse));
        let number = self.verdicts.begin_request();
        if let Some(refusal) = self.early_refusal(number, request.headers()) {
            return HyperServiceFuture {
                inner: HyperServiceState::Refused { refusal },
                running,
                number,
                verdicts: None,
            };
        }
        let pause = self.limits.body_pause;
        let request = request.map(|body| {
            let body = CheckedRequestBody { body, number, verdicts: Arc::clone(&self.verdicts) };
            let (time, rate) = (self.limits.body, self.limits.body_rate);
            let body = MinRateBody::new(body, time, rate, RequestBodyError::TooSlow);
            boxed(IdleTimeoutBody::new(body, pause, RequestBodyError::Stalled, RequestBodyError::Broken))
        });
        let verdicts = Some(Arc::clone(&self.verdicts));
        HyperServiceFuture {
            inner: HyperServiceState::Runs { future: self.service.call(request) },
            running,
            number,
            verdicts,
        }
    }
}

/// Why a request is refused before the gateway's service sees it. Such a request has no id, is in no access
/// log, and is not counted as a request of any mount.
#[derive(Clone, Copy, Debug)]
enum EarlyRefusal {
    /// More header lines than [`ListenerLimits::headers`]: 431.
    TooManyHeaders,
    /// Its framing is ambiguous. The connection is closed after the answer, because nobody knows where the
    /// next request begins.
    Misframed(FramingError),
}

impl<S> HyperService<S> {
    /// Returns why the request with this number on the connection is refused, or `None`. Bad trailers are
    /// found only after the body, so they become an error of the body instead.
    fn early_refusal(&self, number: usize, headers: &HeaderMap) -> Option<EarlyRefusal> {
        if let Some(misframed) =
            self.verdicts.refusal_of_request(number).filter(|why| *why != FramingError::Trailer)
        {
            return Some(EarlyRefusal::Misframed(misframed));
        }
        // HTTP/1.1 has looked at these already; HTTP/2 counts bytes only.
        let repeated = |name: HeaderName| headers.get_all(name).iter().nth(1).is_some();
        if headers.len() > self.limits.headers {
            Some(EarlyRefusal::TooManyHeaders)
        } else if repeated(CONTENT_LENGTH) {
            Some(EarlyRefusal::Misframed(FramingError::Length))
        } else if repeated(HOST) {
            Some(EarlyRefusal::Misframed(FramingError::Host))
        } else {
            None
        }
    }
}

impl EarlyRefusal {
    /// Makes the answer of a refusal.
    #[cold]
    fn answer(self) -> Response<Body> {
        let (status, rule, notice) = match self {
            Self::TooManyHeaders => (431, "G4", Notice::HeadersTooMany),
            Self::Misframed(misframed) => (misframed.status(), misframed.rule(), framing_notice(misframed)),
        };
        let mut answer = refusal::render_reply(&Reply::not_accepted(status, rule, notice));
        if matches!(self, Self::Misframed(_)) {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

/// The body of a request. At its end it fails with [`RequestBodyError::Misframed`] if the framing check has
/// refused its trailers, so that no such request is taken for complete.
struct CheckedRequestBody {
    body: Incoming,
    /// Which request of its connection it belongs to, counted from 0.
    number: usize,
    /// What the framing check found.
    verdicts: Arc<FramingVerdicts>,
}

impl http_body::Body for CheckedRequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            None if self.verdicts.refusal_of_request(self.number).is_some() => {
                Poll::Ready(Some(Err(RequestBodyError::Misframed.into())))
            }
            piece => Poll::Ready(piece.map(|piece| piece.map_err(Into::into))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.verdicts.refusal_of_request(self.number).is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pin_project_lite::pin_project! {
    /// The answer of a [`HyperService`] that is to come. It gets `Connection: close` if its request was
    /// refused for its framing, or if the gateway is about to stop.
    pub(super) struct HyperServiceFuture<F> {
        #[pin]
        inner: HyperServiceState<F>,
        running: Option<ActiveRequest>,
        number: usize,
        // None where the request is refused.
        verdicts: Option<Arc<FramingVerdicts>>,
    }
}

pin_project_lite::pin_project! {
    #[project = HyperServiceStateProjected]
    enum HyperServiceState<F> {
        Runs { #[pin] future: F },
        Refused { refusal: EarlyRefusal },
    }
}

impl<F, E> Future for HyperServiceFuture<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = Result<Response<TrackedAnswerBody>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = match this.inner.project() {
            HyperServiceStateProjected::Runs { future } => ready!(future.poll(cx))?,
            HyperServiceStateProjected::Refused { refusal } => refusal.answer(),
        };
        if this.verdicts.as_ref().is_some_and(|verdicts| verdicts.refusal_of_request(*this.number).is_some())
        {
            // Nothing is read after it.
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let Some(running) = this.running.take() else { return Poll::Pending };
        let mut answer = answer;
        if running.closes_connection() {
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(answer.map(|body| TrackedAnswerBody::new(body, running))))
    }
}

/// Answers every request of a connection above the limit: 503 with `Retry-After: 1`, and closes the
/// connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnAwayService;

impl Service<Request<Body>> for TurnAwayService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn call(&self, request: Request<Body>) -> Self::Future {
        let reply = Reply::failed(503, None, Notice::ConnectionsTooMany);
        let mut answer = refusal::render_reply_for(&reply, request.headers());
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        ready(Ok(answer))
    }
}
