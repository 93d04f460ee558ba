//! Ends streams that would never end by themselves when the gateway stops, so that callers who only listen do
//! not delay it.
//!
//! 1. A legacy `GET`, and a modern `subscriptions/listen`, open a stream that never ends by itself. When the
//!    gateway stops, such streams end at once and in order, so that their callers can listen elsewhere.
//! 2. A `GET` that resumes a stream (`Last-Event-ID`) may carry the answer to a call, and is left to finish
//!    like a call.
//!
//! Rules: G5.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body::Frame;
use hyper::service::Service;
use mcp_attune_tower::{BodyMediaType, boxed, media};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::method;
use pin_project_lite::pin_project;
use tokio::sync::watch;

use crate::{Body, BoxError};

/// The header `Mcp-Method`, as a constant because it is looked up for every call.
const METHOD_HEADER: HeaderName = HeaderName::from_static(lowercase::METHOD);

/// The layer that ends open streams when the gateway stops. It touches only answers that are event streams,
/// to requests that [only listen](only_listens); all others pass through unchanged.
#[derive(Debug)]
pub(crate) struct EndOpenStreams<S> {
    /// Becomes `true` when the gateway stops.
    stopping: watch::Receiver<bool>,
    inner: S,
}

impl<S> EndOpenStreams<S> {
    /// Wraps a service. `stopping` becomes `true` when the streams have to end.
    pub(crate) fn new(stopping: watch::Receiver<bool>, inner: S) -> Self {
        Self { stopping, inner }
    }
}

impl<S, B> Service<Request<B>> for EndOpenStreams<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = EndOpenStreamsFuture<S::Future>;

    fn call(&self, request: Request<B>) -> EndOpenStreamsFuture<S::Future> {
        let stopping = only_listens(request.method(), request.headers()).then(|| self.stopping.clone());
        EndOpenStreamsFuture { inner: self.inner.call(request), stopping }
    }
}

/// Returns whether a request opens a stream that may never end by itself, so that it takes a permit for
/// streams and none for calls. That is every `GET`, also one that resumes a stream, and
/// `subscriptions/listen`.
pub(crate) fn opens_stream(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET || only_listens(method, headers)
}

/// Returns whether nothing is lost when the answer to a request is ended: its caller only listens, and waits
/// for no answer to a call.
fn only_listens(method: &Method, headers: &HeaderMap) -> bool {
    match *method {
        Method::GET => !headers.contains_key(lowercase::LAST_EVENT_ID),
        Method::POST => {
            headers.get(METHOD_HEADER).is_some_and(|method| method == method::SUBSCRIPTIONS_LISTEN)
        }
        _ => false,
    }
}

pin_project! {
    /// The answer of [`EndOpenStreams`] that is to come. `stopping` is `None` for requests that are left to
    /// finish.
    pub(crate) struct EndOpenStreamsFuture<F> {
        #[pin]
        inner: F,
        stopping: Option<watch::Receiver<bool>>,
    }
}

impl<F, E> Future for EndOpenStreamsFuture<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx));
        Poll::Ready(match (answer, this.stopping.take()) {
            (Ok(answer), Some(mut stopping)) if media(answer.headers()) == BodyMediaType::Events => {
                Ok(answer.map(|body| {
                    let stops = Box::pin(async move {
                        let _ = stopping.wait_for(|stopping| *stopping).await;
                    });
                    boxed(StoppableBody { body, stops })
                }))
            }
            (answer, _) => answer,
        })
    }
}

/// An event stream that ends when `stops` resolves. What is ready by then is still sent.
struct StoppableBody {
    body: Body,
    stops: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for StoppableBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        // What is there already goes out before the end.
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.stops.as_mut().poll(cx).map(|()| None),
            ready => ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_who_only_listens() {
        let listens = |method: Method, name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            only_listens(&method, &headers)
        };
        assert!(listens(Method::GET, "mcp-session-id", "a"));
        assert!(!listens(Method::GET, "last-event-id", "1-2"));
        assert!(listens(Method::POST, "mcp-method", "subscriptions/listen"));
        assert!(!listens(Method::POST, "mcp-method", "tools/call"));
        assert!(!listens(Method::DELETE, "mcp-session-id", "a"));
    }
}
