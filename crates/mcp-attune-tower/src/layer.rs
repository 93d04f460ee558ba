//! The layer: one request in, one answer out, in the order of the rules.
//!
//! 0. A host or an origin that is not let in is refused, and so are headers that would not all reach the service as they are
//!    checked.
//! 1. What is no POST is relayed: GET streams, DELETE, whatever else. A stream that is resumed goes on in the language
//!    that it began in.
//! 2. The body is read up to its bound and parsed once; it is forwarded as it came, but for what the plan takes out.
//! 3. Headers and body must agree; a refusal never reaches the service.
//! 4. The caller goes into the request's extensions, where somebody can see it there, and the mirrored headers are written
//!    anew.
//! 5. The server sees its own ids of sessions, events and tasks; the caller sees sealed ones where they carry something.
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

/// Puts the rules of Attune around a service that speaks MCP over HTTP.
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
    /// A layer with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let settings = settings.with_formatters();
        let offer = &settings.offer;
        let (bindings, content) = (offer.bindings.clone(), offer.content.clone());
        let interest = ListingInspector { bindings, content, names: Arc::default() };
        let schemas = Arc::new(ToolSchemaCache::new(settings.schemas.clone(), interest));
        Self { mount: Arc::new(LayerState::new(settings, schemas)) }
    }

    /// Holds bindings and templates against all pages of what the server lists, and logs what does not fit. Whoever does not
    /// ask the server by themselves need not call this: the first listing that passes by serves as well.
    ///
    /// Rules: C9, F6.
    pub fn check_listing(&self, pages: &[Bytes]) {
        self.mount.schemas.check_listing_pages(pages.iter().map(AsRef::as_ref), true);
        for page in pages {
            self.mount.schemas.inspector().learn_names(page);
        }
    }

    /// Holds templates that have changed since against the same listing, and logs what does not fit any more. Whoever follows
    /// templates calls this after looking at their files; where nothing changed it does nothing.
    ///
    /// Rules: F6.
    pub fn recheck_templates(&self) {
        self.mount.schemas.recheck_changed_templates();
    }

    /// Learns what the server says of itself in answer to `initialize` or `server/discover`: where it negotiates content, its
    /// answers are not shaped. Whoever does not ask need not call this either.
    ///
    /// Rules: F14.
    pub fn learn_introduction(&self, answer: &[u8]) {
        self.mount.learn_from_introduction(answer);
    }

    /// Whether bindings or templates must be checked against what the server lists ([`check_listing`](Self::check_listing)) and says of
    /// itself ([`learn_introduction`](Self::learn_introduction)).
    #[must_use]
    pub fn needs_probe(&self) -> bool {
        self.mount.schemas.inspector().needs_fit_check() || self.mount.settings.offer.content.is_some()
    }
}

impl AttuneLayer {
    /// Reads the body of a request whole, as the service would do first. A gateway that bounds the calls under way reads it
    /// before it counts the call: one whose body has not come yet holds up nobody.
    ///
    /// # Errors
    ///
    /// The answer, where the body is too large, breaks off, or finds no room; and what became of the request.
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

    /// A hash of what tells the caller of a request apart; None where nothing does. It means nothing outside this process.
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

    /// Always: the service inside is asked when its turn comes, so that a refusal needs none of its room.
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
    /// Answers a request: what the service does, without a box, and with the account beside the answer instead of in its
    /// extensions.
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
