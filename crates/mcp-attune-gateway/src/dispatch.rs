//! Gives each request to the mount that it is for, and answers those that are for none.
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

/// The layer that finds the mount of a request.
#[derive(Debug)]
pub(crate) struct Dispatch {
    router: Router,
    /// The mounts, in the order of the router's indices.
    mounts: Vec<LimitedMount>,
    /// Counts what is refused here, under no mount.
    meter: Meter,
}

impl Dispatch {
    /// Makes the layer. `routes` and `mounts` are in the same order.
    pub(crate) fn new(routes: Vec<MountRoute>, mounts: Vec<LimitedMount>, meter: Meter) -> Self {
        Self { router: Router::new(routes), mounts, meter }
    }

    /// Answers `/` where nothing is served there: a line of plain text that names the paths of the mounts,
    /// for people who open the gateway in a browser. The status is 404 all the same.
    #[cold]
    fn greeting(&self) -> Response<Body> {
        let paths: Vec<_> = self.mounts.iter().map(|mount| mount.mount().path.as_str()).collect();
        let mut answer = Response::new(full(format!("MCP is served at {}, not here\n", paths.join(" and "))));
        *answer.status_mut() = StatusCode::NOT_FOUND;
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        answer
    }

    /// Makes the answer to a request that goes to no mount. All but a plain 404 break rule H19 and are
    /// counted; a 405 has `Allow`.
    #[cold]
    fn no_route(&self, no_route: NoRoute<'_>, headers: &HeaderMap) -> Response<Body> {
        if no_route == NoRoute::NotFound {
            return refusal::failed(404, no_route.notice(), headers);
        }
        self.meter.rule_broken("H19", true);
        let reply = Reply::not_accepted(no_route.status(), "H19", no_route.notice());
        let mut answer = refusal::render_reply_for(&reply, headers);
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

    /// Routes the request. Only the request's head is looked at, so what is for no mount is answered before
    /// its body is read, and without a permit.
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
