//! Gives each request to the mount that it is for; what is for none is answered here.
//!
//! Rules: G1, H19.

use std::convert::Infallible;

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::service::Service;
use mcp_attune_tower::full;
use mcp_attune_wire::reply::Reply;

use crate::Body;
use crate::listen::PeerBody;
use crate::metrics::Meter;
use crate::permits::{LimitedMount, MountAnswerFuture, ready_answer};
use crate::refusal;
use crate::route::{MountRoute, NoRoute, RouteDestination, Router};

/// All mounts, by their paths.
#[derive(Debug)]
pub(crate) struct Dispatch {
    router: Router,
    mounts: Vec<LimitedMount>,
    /// Counts what is for no mount.
    meter: Meter,
}

impl Dispatch {
    /// `routes` and `mounts` are in the same order.
    pub(crate) fn new(routes: Vec<MountRoute>, mounts: Vec<LimitedMount>, meter: Meter) -> Self {
        Self { router: Router::new(routes), mounts, meter }
    }

    /// What somebody reads who opens the gateway in a browser.
    #[cold]
    fn greeting(&self) -> Response<Body> {
        let paths: Vec<_> = self.mounts.iter().map(|mount| mount.mount().path.as_str()).collect();
        let mut answer = Response::new(full(format!("MCP is served at {}, not here\n", paths.join(" and "))));
        *answer.status_mut() = StatusCode::NOT_FOUND;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        answer
    }

    #[cold]
    fn no_route(&self, no_route: NoRoute<'_>, headers: &HeaderMap) -> Response<Body> {
        if no_route == NoRoute::NotFound {
            return refusal::failed(404, &no_route, headers);
        }
        self.meter.rule_broken("H19", true);
        let mut answer =
            refusal::render_reply_for(&Reply::not_accepted(no_route.status(), "H19", &no_route), headers);
        if let NoRoute::Method(allowed) = no_route {
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        answer
    }
}

impl Service<Request<PeerBody>> for Dispatch {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = MountAnswerFuture;

    fn call(&self, request: Request<PeerBody>) -> MountAnswerFuture {
        let mount = |number: usize| self.mounts.get(number).ok_or(NoRoute::NotFound);
        let no_route = match self.router.route(request.method(), request.uri()) {
            Ok(RouteDestination::Endpoint(number)) => match mount(number) {
                Ok(mount) => return mount.call(request),
                Err(no_route) => no_route,
            },
            Ok(RouteDestination::OffEndpoint(number)) => match mount(number) {
                Ok(mount) => return mount.call_off_endpoint(request),
                Err(no_route) => no_route,
            },
            Err(NoRoute::NotFound) if request.uri().path() == "/" => return ready_answer(self.greeting()),
            Err(no_route) => no_route,
        };
        ready_answer(self.no_route(no_route, request.headers()))
    }
}
