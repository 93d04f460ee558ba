//! Callers who only listen do not hold up the end of the gateway.
//!
//! 1. A legacy GET, and a modern `subscriptions/listen`, are streams that never end by themselves. When the gateway
//!    stops they end at once, in order, so that their callers can listen elsewhere.
//! 2. A GET that takes up a stream where it was lost may have a call's answer on it, and counts as a call.
//!
//! Rules: G5.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body::Frame;
use mcp_attune_tower::{Media, boxed, media};
use mcp_attune_wire::protocol::header::lowercase;
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tower_service::Service;

use crate::{Body, BoxError};

/// The header that names the method, read for every call, so that its name is not.
const METHOD_HEADER: HeaderName = HeaderName::from_static(lowercase::METHOD);

/// A service whose listeners are let go when it stops.
#[derive(Clone, Debug)]
pub(crate) struct Listening<S> {
    inner: S,
    stopped: watch::Receiver<bool>,
}

impl<S> Listening<S> {
    pub(crate) fn new(inner: S, stopped: watch::Receiver<bool>) -> Self {
        Self { inner, stopped }
    }
}

impl<S> Service<Request<Body>> for Listening<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let stopped = only_listens(request.method(), request.headers()).then(|| self.stopped.clone());
        Answering { inner: self.inner.call(request), stopped }
    }
}

/// Whether a request opens a stream that its caller listens on: one that may never end by itself.
pub(crate) fn is_stream(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET || only_listens(method, headers)
}

fn only_listens(method: &Method, headers: &HeaderMap) -> bool {
    match *method {
        Method::GET => !headers.contains_key(lowercase::LAST_EVENT_ID),
        Method::POST => headers.get(METHOD_HEADER).is_some_and(|method| method == "subscriptions/listen"),
        _ => false,
    }
}

pin_project! {
    /// An answer that is to come, and when its stream has to end.
    pub(crate) struct Answering<F> {
        #[pin]
        inner: F,
        stopped: Option<watch::Receiver<bool>>,
    }
}

impl<F, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx));
        Poll::Ready(match (answer, this.stopped.take()) {
            (Ok(answer), Some(mut stopped)) if media(answer.headers()) == Media::Events => {
                Ok(answer.map(|body| {
                    let stops = Box::pin(async move {
                        let _ = stopped.wait_for(|stopped| *stopped).await;
                    });
                    boxed(Until { body, stops })
                }))
            }
            (answer, _) => answer,
        })
    }
}

/// A body that ends when it is told to.
struct Until {
    body: Body,
    stops: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for Until {
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
