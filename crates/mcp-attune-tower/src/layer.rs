//! The layer: one request in, one answer out, in the order of the rules.
//!
//! 0. A host or an origin that is not allowed is refused, and so are headers that would not all reach the service as
//!    they are checked.
//! 1. What is not a POST is relayed: GET streams, DELETE, whatever else. A stream that is resumed goes on in the
//!    language that it began in.
//! 2. The body is read up to its bound and parsed once; it is forwarded as it came, but for what the plan takes out.
//! 3. Headers and body must agree; a refusal never reaches the service.
//! 4. The caller goes into the request's extensions, where somebody can see it there, and the mirrored headers are
//!    written anew.
//! 5. The server sees its own ids of sessions, events and tasks; the caller sees sealed ones where they carry
//!    something.
//! 6. A JSON answer to a request with a preference is held back, because its header depends on it. Events of a
//!    stream are adapted one by one and never wait for each other.
//!
//! Rules: F1, G1, G2, G4, G5, G6, G8, G10, H15, H20, L7, L13, L15, L17, L21.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use mcp_attune::exchange::mirrored_preference;
use tower_layer::Layer;
use tower_service::Service;

use crate::admit::read_body;
use crate::body::{Body, BoxError, boxed, full, full_reserved};
use crate::drive::drive;
use crate::inner::McpHttpService;
use crate::lines::HeaderMapLines;
use crate::listing_inspector::ListingInspector;
use crate::mount::LayerState;
use crate::own_reply::{self, render_reply};
use crate::request_outcome::RequestOutcome;
use crate::schemas::ToolSchemaCache;
use crate::settings::Settings;

/// A tower layer that puts the rules of Attune around a service that speaks MCP over HTTP.
///
/// One layer is one mount: its clones, and all services that it makes, share caches, settings and what was
/// learned of the server. Do not use one layer around two different servers.
#[derive(Clone, Debug)]
pub struct AttuneLayer {
    mount: Arc<LayerState>,
}

impl Default for AttuneLayer {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl AttuneLayer {
    /// Makes a layer with these settings. If the crate has the data of locales (feature `format`) and the offer
    /// has no formatters, they are added.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let settings = settings.with_formatters();
        let offer = &settings.offer;
        let (bindings, content) = (offer.bindings.clone(), offer.content.clone());
        let interest = ListingInspector { bindings, content, names: Arc::default() };
        let schemas = Arc::new(ToolSchemaCache::new(settings.schemas.clone(), interest));
        Self { mount: Arc::new(LayerState::new(settings, schemas)) }
    }

    /// Checks bindings and templates against all pages of what the server lists, given as the bodies of its
    /// answers, and logs what does not fit. It also learns the names of the tools.
    ///
    /// Only a host that asks the server by itself when it starts, as the gateway does, needs to call this:
    /// otherwise the first listing that passes by serves as well.
    ///
    /// Rules: C9, F6.
    pub fn check_listing(&self, pages: &[Bytes]) {
        self.mount.schemas.check_listing_pages(pages.iter().map(AsRef::as_ref), true);
        for page in pages {
            self.mount.schemas.inspector().learn_names(page);
        }
    }

    /// Checks templates that have changed since against the same listing, and logs what does not fit any more.
    /// Whoever watches the files of templates calls this after reading them again; if nothing changed, it does
    /// nothing.
    ///
    /// Rules: F6.
    pub fn recheck_templates(&self) {
        self.mount.schemas.recheck_changed_templates();
    }

    /// Learns what the server says of itself in an answer to `initialize` or `server/discover`: if it
    /// negotiates content itself, its answers are not shaped. As with [`check_listing`](Self::check_listing),
    /// only a host that asks by itself needs this.
    ///
    /// Rules: F14.
    pub fn learn_introduction(&self, answer: &[u8]) {
        self.mount.learn_from_introduction(answer);
    }

    /// Returns whether it is worth asking the server when a host starts: because bindings or templates can be
    /// checked against what it lists ([`check_listing`](Self::check_listing)), or because answers are shaped
    /// and the server may say that it does so itself ([`learn_introduction`](Self::learn_introduction)).
    #[must_use]
    pub fn needs_probe(&self) -> bool {
        self.mount.schemas.inspector().needs_fit_check() || self.mount.settings.offer.content.is_some()
    }
}

impl AttuneLayer {
    /// Reads the body of a request into memory, as the service would do first, and returns the request with
    /// that body.
    ///
    /// A gateway that bounds the number of concurrent calls does this before it takes a permit, so that callers
    /// whose body has not come yet hold up nobody. The service then does not read the body again.
    ///
    /// # Errors
    ///
    /// The answer and the outcome of the request, if the body is too large, breaks off, or finds no room in the
    /// budget.
    pub async fn read_request_body(
        &self,
        request: Request<Body>,
    ) -> Result<Request<Body>, (Response<Body>, RequestOutcome)> {
        let settings = &self.mount.settings;
        let (parts, body) = request.into_parts();
        match read_body(settings, body).await {
            Ok((body, Some(held))) => Ok(Request::from_parts(parts, full_reserved(body, held))),
            Ok((body, None)) => Ok(Request::from_parts(parts, full(body))),
            Err(reply) => {
                let response = own_reply::reword(
                    render_reply(&reply),
                    &mirrored_preference(HeaderMapLines(&parts.headers)),
                );
                Err((response, RequestOutcome::of_reply(&reply)))
            }
        }
    }

    /// Returns a hash of what tells the caller of a request apart from others: credentials, cookies, and what
    /// [`SchemaCacheSettings`](crate::SchemaCacheSettings) names. `None` if the request states nothing of that.
    /// The value is keyed for this layer and means nothing outside of this process.
    #[must_use]
    pub fn caller_hash(&self, headers: &HeaderMap, uri: &http::Uri) -> Option<u64> {
        self.mount.schemas.identity_number(headers, uri)
    }
}

impl<S> Layer<S> for AttuneLayer {
    type Service = AttuneService<S>;

    fn layer(&self, inner: S) -> AttuneService<S> {
        AttuneService { inner, mount: self.mount.clone() }
    }
}

/// A service with the rules of Attune around it. It never fails: what goes wrong is an answer.
///
/// Cloning it clones the inner service, as each call does.
#[derive(Clone, Debug)]
pub struct AttuneService<S> {
    inner: S,
    mount: Arc<LayerState>,
}

impl<S, B> Service<Request<B>> for AttuneService<S>
where
    S: McpHttpService,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    /// Always ready. The inner service is asked for readiness when its turn comes, so that a refusal does not
    /// wait for it.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.clone().answer(request);
        Box::pin(async move {
            let (mut response, account) = answer.await;
            response.extensions_mut().insert(account);
            Ok(response)
        })
    }
}

impl<S: McpHttpService> AttuneService<S> {
    /// Answers a request, as the `tower` service does, but without boxing the future, and with the outcome
    /// beside the answer instead of in its extensions.
    pub fn answer<B>(
        self,
        request: Request<B>,
    ) -> impl Future<Output = (Response<Body>, RequestOutcome)> + Send + use<S, B>
    where
        B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let Self { inner, mount } = self;
        let request = request.map(boxed);
        async move {
            let mut account = RequestOutcome::default();
            let mut response = match drive(inner, &mount, request, &mut account).await {
                Ok(response) => response,
                Err((reply, wish)) => own_reply::reword(render_reply(&reply), &wish),
            };
            if let Some(inner) = response.extensions_mut().remove() {
                account.merge_inner(inner);
            }
            (response, account)
        }
    }
}
