//! The admin listener: whether the process is alive, whether it wants requests, and what it has counted.
//!
//! 1. `Host` is loopback, an IP address or one of `allowed_hosts`, else 403: a web page whose name was made
//!    to point here (DNS rebinding) must not read what is answered. Whoever scrapes by address needs no
//!    entry.
//! 2. `GET` and `HEAD`, else 405.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::service::Service;

use crate::Body;
use crate::config::Config;
use crate::guard::Allowlist;
use crate::health::UpstreamState;
use crate::metrics::{self, Meter, Metrics};

/// The content type of every answer but `/metrics`.
const PLAIN: &str = "text/plain; charset=utf-8";

/// The service of the admin listener. A clone is the same one, so that the gateway can change what
/// connections answer.
///
/// - `/healthz`: 200 as long as the process runs.
/// - `/readyz`: 200 if the gateway wants requests and every upstream that it probes can be reached; else 503,
///   with a line of text for each reason.
/// - `/metrics`: all counters, in the OpenMetrics text format.
///
/// An answer of `/readyz` with two mounts, one of them down:
///
/// ```text
/// HTTP/1.1 503 Service Unavailable
///
/// /weather/mcp: the server behind is not running
/// ```
#[derive(Clone, Debug)]
pub(crate) struct AdminService {
    /// `false` once the gateway is stopping.
    ready: Arc<AtomicBool>,
    metrics: Metrics,
    /// The hosts that are answered. Replaced by a reload.
    allowed: Arc<RwLock<Allowlist>>,
    /// The upstreams that `/readyz` depends on: the path of each mount, and its meter. Empty where upstreams
    /// are not probed.
    servers: Arc<RwLock<Vec<(String, Meter)>>>,
}

impl AdminService {
    /// Makes a service that is ready and depends on no upstream.
    pub(crate) fn new(metrics: Metrics, config: &Config) -> Self {
        let ready = Arc::new(AtomicBool::new(true));
        let admin = Self { ready, metrics, allowed: Arc::default(), servers: Arc::default() };
        admin.set_allowed_hosts(config);
        admin
    }

    /// Answers the `allowed_hosts` of this configuration from now on.
    pub(crate) fn set_allowed_hosts(&self, config: &Config) {
        let hosts = config.server.allowed_hosts.iter().map(http::uri::Authority::as_str);
        // What is no host is found before this is asked.
        let allowed = Allowlist::new(hosts, []).unwrap_or_default().with_ip_addresses();
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = allowed;
    }

    /// Makes `/readyz` depend on these upstreams from now on, and on no others.
    pub(crate) fn require_servers(&self, servers: Vec<(String, Meter)>) {
        *self.servers.write().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// Returns why the gateway is not ready, a line for each upstream that was not reached yet or is down;
    /// empty if it is ready.
    fn unready_reasons(&self) -> String {
        if !self.ready.load(Ordering::Relaxed) {
            return "stopping\n".to_owned();
        }
        let mut lines = String::new();
        for (path, meter) in &*self.servers.read().unwrap_or_else(PoisonError::into_inner) {
            match meter.health().state() {
                UpstreamState::Up => {}
                UpstreamState::Unknown | UpstreamState::Starting => {
                    lines += &format!("{path}: the server behind is starting\n");
                }
                UpstreamState::Down(error) => lines += &format!("{path}: {error}\n"),
            }
        }
        lines
    }

    /// Makes `/readyz` answer 503 until the process ends.
    pub(crate) fn set_stopping(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }
}

impl Service<Request<Body>> for AdminService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn call(&self, request: Request<Body>) -> Self::Future {
        ready(Ok(self.answer(&request)))
    }
}

impl AdminService {
    /// Answers one request. Nothing here waits, so the future of the service is ready at once.
    fn answer(&self, request: &Request<Body>) -> Response<Body> {
        if let Err(foreign) = self.allowed.read().unwrap_or_else(PoisonError::into_inner).check(request) {
            tracing::debug!(%foreign, "a request to the admin listener is refused");
            return answer(foreign.status(), PLAIN, format!("{foreign}\n"));
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let what = "this method is not allowed here; use GET or HEAD\n";
            let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, PLAIN, what);
            answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return answer;
        }
        // Whoever writes the answer leaves the body of one to HEAD out.
        match request.uri().path() {
            "/healthz" => answer(StatusCode::OK, PLAIN, "ok\n"),
            "/readyz" => match self.unready_reasons() {
                why if why.is_empty() => answer(StatusCode::OK, PLAIN, "ready\n"),
                why => answer(StatusCode::SERVICE_UNAVAILABLE, PLAIN, why),
            },
            "/metrics" => answer(StatusCode::OK, metrics::CONTENT_TYPE, self.metrics.text()),
            _ => answer(StatusCode::NOT_FOUND, PLAIN, "there is /healthz, /readyz and /metrics here\n"),
        }
    }
}

fn answer(status: StatusCode, kind: &'static str, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut answer = Response::new(mcp_attune_tower::full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
