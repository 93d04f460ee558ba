//! What operators ask: is it alive, does it want requests, what has it counted.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use http::{HeaderValue, Request, Response, StatusCode, header};
use tower_service::Service;

use crate::Body;
use crate::metrics::{self, Metrics};

const PLAIN: &str = "text/plain; charset=utf-8";

/// `/healthz`: the process runs. `/readyz`: it wants requests. `/metrics`: what it has counted.
#[derive(Clone, Debug)]
pub(crate) struct Admin {
    ready: Arc<AtomicBool>,
    metrics: Metrics,
}

impl Admin {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { ready: Arc::new(AtomicBool::new(true)), metrics }
    }

    /// From now on the gateway wants no requests.
    pub(crate) fn stopping(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }
}

impl Service<Request<Body>> for Admin {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        ready(Ok(match request.uri().path() {
            "/healthz" => answer(StatusCode::OK, PLAIN, "ok\n"),
            "/readyz" if self.ready.load(Ordering::Relaxed) => answer(StatusCode::OK, PLAIN, "ready\n"),
            "/readyz" => answer(StatusCode::SERVICE_UNAVAILABLE, PLAIN, "stopping\n"),
            "/metrics" => answer(StatusCode::OK, metrics::CONTENT_TYPE, self.metrics.text()),
            _ => answer(StatusCode::NOT_FOUND, PLAIN, "there is /healthz, /readyz and /metrics here\n"),
        }))
    }
}

fn answer(status: StatusCode, kind: &'static str, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut answer = Response::new(mcp_attune_tower::full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
