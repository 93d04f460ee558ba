//! A mount: one upstream with the rules around its endpoint. Each request is counted from here until its
//! answer is over.
//!
//! Rules: A2, A7, G1, G12.

use std::convert::Infallible;
use std::sync::Arc;

use http::header::ACCEPT_LANGUAGE;
use http::{HeaderMap, Request, Response};
use mcp_attune::assume::CallerEvidence;
use mcp_attune_tower::{AttuneLayer, RequestOutcome};
use mcp_attune_wire::reply::Reply;
use tower_layer::Layer;

use crate::Body;
use crate::auth::{TokenOutcome, TokenVerifier};
use crate::bridge::CallerIdentity;
use crate::metrics::Meter;
use crate::probe::probe;
use crate::refusal;
use crate::server_check::check_server;
use crate::slots::Permit;
use crate::tally::RequestTally;
use crate::upstream::{Requester, UpstreamService};

/// An upstream, the rules around its endpoint, and the meter that counts for it. One for each mount of a
/// stack, shared by all its requests.
#[derive(Debug)]
pub(crate) struct MountedUpstream {
    /// The public path of the endpoint.
    pub(crate) path: String,
    /// The rules, with the settings of this mount, its schema cache and its listings.
    pub(crate) rules: AttuneLayer,
    /// The upstream as the gateway itself asks it; requests of callers use [`UpstreamService::on_behalf_of`].
    pub(crate) upstream: UpstreamService,
    pub(crate) meter: Meter,
    /// Whether there are headers that count where they come from a trusted proxy.
    pub(crate) trusts_headers: bool,
    /// Verifies the tokens of callers, where the operator names their issuer.
    pub(crate) tokens: Option<TokenVerifier>,
    /// The maximum size of an answer to the gateway's own questions, in bytes.
    pub(crate) max_answer: usize,
}

impl MountedUpstream {
    /// Answers a request for the endpoint, whose body is complete if it is a `POST`. The permit is held until
    /// the answer is over.
    ///
    /// First the upstream itself may refuse the request, because it is of a kind that has no way to answer it
    /// (a method that a program cannot be sent). Everything else goes through the rules, which ask the
    /// upstream on behalf of `requester`.
    pub(crate) async fn answer(
        self: Arc<Self>,
        mut request: Request<Body>,
        permit: Permit,
        requester: Requester,
    ) -> Result<Response<Body>, Infallible> {
        let tally = RequestTally::new(&self.meter, Some(permit), &request);
        if let Some(tokens) = &self.tokens {
            // Boxed, because most mounts have none, and every call would have room for it.
            Box::pin(self.note_claims(tokens, &mut request)).await;
        }
        if self.upstream.upstream().needs_identity()
            && let Some(identity) = self.rules.caller_hash(request.headers(), request.uri())
        {
            request.extensions_mut().insert(CallerIdentity(identity));
        }
        if let Some(reply) = self.upstream.upstream().refuse(&request) {
            return Ok(tally.answered(refusal::render_reply(&reply), RequestOutcome::of_reply(&reply)));
        }
        let (answer, account) = self.rules.layer(self.upstream.on_behalf_of(requester)).answer(request).await;
        Ok(tally.answered(answer, account))
    }

    /// Notes with a request whether it comes from a trusted proxy, where that makes a difference: then its
    /// headers may say something of its caller. Rules: A2.
    pub(crate) fn note_trust(&self, request: &mut Request<Body>, is_trusted: impl FnOnce() -> bool) {
        if self.trusts_headers {
            let evidence = CallerEvidence { trusts_headers: is_trusted(), ..CallerEvidence::default() };
            request.extensions_mut().insert(evidence);
        }
    }

    /// Verifies the token of a request, and notes with the request what it says of its caller. Rules: A7.
    async fn note_claims(&self, tokens: &TokenVerifier, request: &mut Request<Body>) {
        let outcome = tokens.verify(request.headers()).await;
        if let Some(label) = outcome.label() {
            self.meter.token(label);
        }
        if let TokenOutcome::Verified(claims) = outcome {
            let mut evidence = request.extensions_mut().remove::<CallerEvidence>().unwrap_or_default();
            evidence.claims = Some(claims);
            request.extensions_mut().insert(evidence);
        }
    }

    /// Counts a request whose body could not be read, and returns `answer`, which says why. It never had a
    /// permit.
    #[cold]
    pub(crate) fn count_unread(&self, answer: Response<Body>, account: RequestOutcome) -> Response<Body> {
        RequestTally::new(&self.meter, None, &Request::new(())).answered(answer, account)
    }

    /// Answers a request for a path off the endpoint, to which no rule applies. It goes to the upstream as it
    /// came; an error of the upstream is told in the language that the request's `Accept-Language` prefers.
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
                let reply = Reply::failed(error.status(), None, error.notice());
                tally.answered(
                    refusal::render_reply_for(&reply, &preference),
                    RequestOutcome::of_reply(&reply),
                )
            }
        })
    }

    /// Probes the upstream for ever; see [`probe`]. A program is started by it.
    pub(crate) async fn probe(self: Arc<Self>) {
        let upstream = self.upstream.upstream();
        let what = format!("the server behind {}, {}", self.path, upstream.name());
        if upstream.is_program() {
            tracing::info!(mount = &**self.meter.mount(), "starting {}", upstream.name());
        }
        probe(self.meter.clone(), what, !upstream.is_program(), || upstream.reach()).await;
    }

    /// Checks the bindings and templates of the mount against what the upstream lists; see [`check_server`].
    /// Does nothing where the mount has neither.
    pub(crate) async fn check_tools(self: Arc<Self>) {
        if self.rules.needs_probe() {
            check_server(self.upstream.clone(), self.path.clone(), self.max_answer, self.rules.clone()).await;
        }
    }
}
