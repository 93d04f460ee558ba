//! One server behind with the rules around its endpoint: each request is counted from here until its answer is over.
//!
//! Rules: G1, G12.

use std::convert::Infallible;
use std::sync::Arc;

use http::header::ACCEPT_LANGUAGE;
use http::{HeaderMap, Request, Response};
use mcp_attune_tower::{AttuneLayer, RequestOutcome};
use mcp_attune_wire::reply::Reply;
use tower_layer::Layer;

use crate::Body;
use crate::metrics::Meter;
use crate::probe::probe;
use crate::refusal;
use crate::server_check::check_server;
use crate::slots::Permit;
use crate::tally::RequestTally;
use crate::upstream::{Requester, UpstreamService};

/// A server behind, the rules around its endpoint, and what counts for it.
#[derive(Debug)]
pub(crate) struct MountedUpstream {
    /// The public path of the endpoint.
    pub(crate) path: String,
    pub(crate) rules: AttuneLayer,
    pub(crate) upstream: UpstreamService,
    pub(crate) meter: Meter,
    /// How large an answer to the gateway's own questions may be.
    pub(crate) max_answer: usize,
}

impl MountedUpstream {
    /// Answers a request for the endpoint. The permit is held until the answer is over.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Body>,
        permit: Permit,
        requester: Requester,
    ) -> Result<Response<Body>, Infallible> {
        let tally = RequestTally::new(&self.meter, Some(permit), &request);
        if let Some(reply) = self.upstream.upstream().refuse(&request) {
            return Ok(tally.answered(refusal::render_reply(&reply), RequestOutcome::of_reply(&reply)));
        }
        let (answer, account) = self.rules.layer(self.upstream.on_behalf_of(requester)).answer(request).await;
        Ok(tally.answered(answer, account))
    }

    /// Counts a request whose body could not be read.
    #[cold]
    pub(crate) fn count_unread(&self, answer: Response<Body>, account: RequestOutcome) -> Response<Body> {
        RequestTally::new(&self.meter, None, &Request::new(())).answered(answer, account)
    }

    /// Answers a request for a path beside the endpoint, which no rule applies to.
    pub(crate) async fn answer_off_endpoint(
        self: Arc<Self>,
        request: Request<Body>,
        permit: Permit,
        requester: Requester,
    ) -> Result<Response<Body>, Infallible> {
        let tally = RequestTally::off_endpoint(&self.meter, permit, &request);
        let mut preference = HeaderMap::new();
        preference
            .extend(request.headers().get(ACCEPT_LANGUAGE).map(|value| (ACCEPT_LANGUAGE, value.clone())));
        let upstream = self.upstream.on_behalf_of(requester);
        Ok(match upstream.call_off_endpoint(request).await {
            Ok(answer) => tally.answered(answer, RequestOutcome::default()),
            Err(error) => {
                let reply = Reply::failed(error.status(), None, &error);
                tally.answered(
                    refusal::render_reply_for(&reply, &preference),
                    RequestOutcome::of_reply(&reply),
                )
            }
        })
    }

    /// Probes the server, again and again.
    pub(crate) async fn probe(self: Arc<Self>) {
        let upstream = self.upstream.upstream();
        let what = format!("the server behind {}, {}", self.path, upstream.name());
        if upstream.is_program() {
            tracing::info!(mount = &**self.meter.mount(), "starting {}", upstream.name());
        }
        probe(self.meter.clone(), what, !upstream.is_program(), || upstream.reach()).await;
    }

    /// Holds what is around the server against it, where there is something to hold.
    pub(crate) async fn check_tools(self: Arc<Self>) {
        if self.rules.needs_probe() {
            check_server(self.upstream.clone(), self.path.clone(), self.max_answer, self.rules.clone()).await;
        }
    }
}
