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

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header, request};
use jiff::Timestamp;
use mcp_attune::exchange::{Exchange, Facts, Known, Need, Rejection, Resumption, mirrored_preference};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::Spoken;
use mcp_attune::session::Features;
use mcp_attune_wire::hop;
use mcp_attune_wire::reply::Reply;
use tower_layer::Layer;
use tower_service::Service;

use crate::account::Account;
use crate::answer::{self as answers, Asked};
use crate::body::{Body, BoxError, Incomplete, boxed, collect, full, full_held};
use crate::failed::Failed;
use crate::guard::Allowed;
use crate::held::Held;
use crate::interest::Interest;
use crate::library;
use crate::lines::{self, Lines};
use crate::lister::Lister;
use crate::mount::Mount;
use crate::read::ReadMessage;
use crate::ready::ready;
use crate::schemas::{Identity, Schemas};
use crate::settings::Settings;
use crate::told;
use crate::words::{self, answer};

/// Puts the rules of Attune around a service that speaks MCP over HTTP.
#[derive(Clone, Debug)]
pub struct AttuneLayer {
    mount: Arc<Mount>,
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
        let offer = &settings.offer;
        let (bindings, content) = (offer.bindings.clone(), offer.content.clone());
        let interest = Interest { bindings, content, names: Arc::default() };
        let schemas = Arc::new(Schemas::new(settings.schemas.clone(), interest));
        Self { mount: Arc::new(Mount::new(settings, schemas)) }
    }

    /// Holds bindings and templates against all pages of what the server lists, and logs what does not fit. Whoever does not
    /// ask the server by themselves need not call this: the first listing that passes by serves as well.
    ///
    /// Rules: C9, F6.
    pub fn hold(&self, pages: &[Bytes]) {
        self.mount.schemas.hold(pages.iter().map(AsRef::as_ref), true);
        for page in pages {
            self.mount.schemas.interest().learn_names(page);
        }
    }

    /// Learns what the server says of itself in answer to `initialize` or `server/discover`: where it negotiates content, its
    /// answers are not shaped. Whoever does not ask need not call this either.
    ///
    /// Rules: F14.
    pub fn greeted(&self, answer: &[u8]) {
        self.mount.greeted_with(answer);
    }

    /// Whether there is anything that [`hold`](Self::hold) and [`greeted`](Self::greeted) are of use for.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.mount.schemas.interest().checks() || self.mount.settings.offer.content.is_some()
    }
}

impl AttuneLayer {
    /// Reads the body of a request whole, as the service would do first. A gateway that bounds the calls under way reads it
    /// before it counts the call: one whose body has not come yet holds up nobody.
    ///
    /// # Errors
    ///
    /// The answer, where the body is too large, breaks off, or finds no room; and what became of the request.
    pub async fn read(&self, request: Request<Body>) -> Result<Request<Body>, (Response<Body>, Account)> {
        let settings = &self.mount.settings;
        let (parts, body) = request.into_parts();
        match read_body(settings, body).await {
            Ok((body, Some(held))) => Ok(Request::from_parts(parts, full_held(body, held))),
            Ok((body, None)) => Ok(Request::from_parts(parts, full(body))),
            Err(reply) => {
                let response = words::reword(answer(&reply), &mirrored_preference(Lines(&parts.headers)));
                Err((response, Account::of(&reply)))
            }
        }
    }

    /// A hash of what tells the caller of a request apart; None where nothing does. It means nothing outside this process.
    #[must_use]
    pub fn identity(&self, headers: &HeaderMap, uri: &http::Uri) -> Option<u64> {
        self.mount.schemas.identity_of(headers, uri)
    }
}

impl<S> Layer<S> for AttuneLayer {
    type Service = Attune<S>;

    fn layer(&self, inner: S) -> Attune<S> {
        Attune { inner, mount: self.mount.clone() }
    }
}

/// A service with the rules of Attune around it. It never fails: what goes wrong is an answer.
#[derive(Clone, Debug)]
pub struct Attune<S> {
    inner: S,
    mount: Arc<Mount>,
}

impl<S, B, R> Service<Request<B>> for Attune<S>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
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

impl<S> Attune<S> {
    /// Answers a request: what the service does, without a box, and with the account beside the answer instead of in its
    /// extensions.
    pub fn answer<B, R>(
        self,
        request: Request<B>,
    ) -> impl Future<Output = (Response<Body>, Account)> + Send + use<S, B, R>
    where
        S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
        R: http_body::Body<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let Self { inner, mount } = self;
        async move {
            let mut account = Account::default();
            let mut response = match handle(inner, &mount, request, &mut account).await {
                Ok(response) => response,
                Err((reply, wish)) => words::reword(answer(&reply), &wish),
            };
            if let Some(inner) = response.extensions_mut().remove() {
                account.add(inner);
            }
            (response, account)
        }
    }
}

/// An answer of our own, and what its caller prefers to read it in.
type Refused = (Reply, AcceptLanguage);

async fn handle<S, B, R>(
    mut inner: S,
    mount: &Arc<Mount>,
    request: Request<B>,
    account: &mut Account,
) -> Result<Response<Body>, Refused>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    let unread = |reply| (reply, mirrored_preference(Lines(&parts.headers)));
    admit(mount, &parts, account).map_err(unread)?;
    let identity = mount.schemas.identity(&parts);
    if parts.method != Method::POST {
        return resume(inner, mount, identity, parts, boxed(body), account).await;
    }
    let settings = &mount.settings;
    let (body, _held) = read_body(settings, boxed(body)).await.map_err(unread)?;
    let (outgoing, caller, answering) = {
        let begun = Exchange::begin(
            mount.rules(),
            Some(Lines(&parts.headers)),
            &body,
            Features::default(),
            Timestamp::now(),
        );
        let mut exchange = begun.map_err(|rejected| refused(rejected, mount, account))?;
        library::follow(&mount.settings.offer, &mount.schemas);
        needs(&mut exchange, &mut inner, mount, identity, &parts)
            .await
            .map_err(|rejected| refused(rejected, mount, account))?;
        tell(&exchange, mount, account);
        exchange.forward().map_err(|rejected| refused(rejected, mount, account))?
    };
    told::features(&caller);
    let changed = match outgoing.body {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(Bytes::from(changed)),
    };
    let attached = settings.attach_message.then_some(outgoing.message).flatten();
    let attached = attached.and_then(|(message, era)| ReadMessage::new(message, &body, era));
    let changes = outgoing.headers;
    let mut parts = parts;
    lines::change(&mut parts.headers, changes);
    if let Some(changed) = changed.as_ref().filter(|_| parts.headers.contains_key(header::CONTENT_LENGTH)) {
        parts.headers.insert(header::CONTENT_LENGTH, changed.len().into());
    }
    if settings.introduce {
        parts.extensions.insert(caller);
    }
    if let Some(spoken) = answering.plan().spoken() {
        parts.extensions.insert::<Spoken>(spoken.clone());
    }
    if let Some(attached) = attached {
        parts.extensions.insert(attached);
    }
    let asked = Asked::new(answering, mount, identity, account.clone());
    let failed = |failed: Failed| asked.failed(&failed);
    ready(&mut inner).await.map_err(failed)?;
    let response = inner.call(Request::from_parts(parts, full(changed.unwrap_or(body)))).await;
    let response = response.map_err(|error| failed(Failed::of(&error.into())))?;
    answers::carry(response, asked, &mount.settings).await
}

/// Refuses what no rule about messages needs to look at.
fn admit(mount: &Mount, parts: &request::Parts, account: &mut Account) -> Result<(), Reply> {
    if let Some(allowed) = &mount.settings.guard {
        refuse_foreign(allowed, parts)?;
    }
    refuse_unfit(mount, &parts.headers, account)?;
    let encoded = || parts.headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
    if parts.method == Method::POST && encoded() {
        return Err(Reply::not_taken(415, "G10", &"the body is encoded; send it without Content-Encoding"));
    }
    Ok(())
}

/// Gets what only this host can get.
async fn needs<'a, S, R>(
    exchange: &mut Exchange<'a, Lines<'a>>,
    // Not shared: the service may not be used from two threads.
    inner: &mut S,
    mount: &Mount,
    identity: Identity,
    parts: &request::Parts,
) -> Result<(), Box<Rejection>>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let schemas = &mount.schemas;
    while let Some(need) = exchange.need() {
        match need {
            Need::Tool(name, recency) => {
                let known = match schemas.at_hand(identity, recency) {
                    Some(listing) => Known::Listed(listing),
                    None => {
                        let lister = Lister::new(inner.clone(), mount, parts, exchange.envelope());
                        // Boxed, so that every call does not carry the room for a listing, which few need.
                        Box::pin(schemas.known(identity, &name, recency, move || lister.list())).await
                    }
                };
                exchange.tool(known)?;
            }
            Need::Locales(language) => {
                let locales = library::locales(&mount.settings.offer, language).await;
                exchange.locales(locales);
            }
        }
    }
    Ok(())
}

/// Logs and notes what is known of a request that goes on.
fn tell<'a>(exchange: &Exchange<'a, Lines<'a>>, mount: &Mount, account: &mut Account) {
    let facts = exchange.facts();
    told::exchange(facts, exchange.caller(), &mount.settings.offer);
    note(facts, exchange.called(), mount, account);
    if let Some(filled) = exchange.filled() {
        tracing::debug!(?filled, "the context fills arguments");
    }
}

/// Notes it for whoever counts.
fn note(facts: &Facts, called: Option<&str>, mount: &Mount, account: &mut Account) {
    account.broken.extend(facts.reported.iter().flat_map(|reported| reported.rules.iter().copied()));
    account.method = facts.method;
    account.tool = called.and_then(|tool| mount.schemas.interest().names.find(tool));
    account.language = facts.language.as_ref().map(|(language, _)| language.clone());
    account.default_language.clone_from(&facts.default_language);
    account.format = facts.format;
    account.unchecked |= facts.unchecked;
}

/// Logs a request that is refused.
#[cold]
fn refused(rejected: Box<Rejection>, mount: &Mount, account: &mut Account) -> Refused {
    let Rejection { reply, preference, breach, facts, called } = *rejected;
    note(&facts, called.as_deref(), mount, account);
    if breach {
        told::refused(&reply, true);
    } else {
        tracing::debug!(code = reply.code, "a call ends here");
    }
    (reply, preference)
}

/// Refuses a request that names a host or an origin of somewhere else.
///
/// Rules: H15.
fn refuse_foreign(allowed: &Allowed, parts: &request::Parts) -> Result<(), Reply> {
    allowed.check_named(&parts.uri, &parts.headers).map_err(|foreign| {
        tracing::debug!(%foreign, "a request is refused");
        Reply::not_taken(foreign.status().as_u16(), "H15", &foreign)
    })
}

/// Refuses headers of which not all would reach the server as they were checked.
///
/// Rules: H20.
fn refuse_unfit(mount: &Mount, headers: &HeaderMap, account: &mut Account) -> Result<(), Reply> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let Err(unfit) = hop::check(lines, |name| mount.schemas.is_identity(name)) else { return Ok(()) };
    let enforced = !mount.settings.report_only;
    tracing::warn!(rule = "H20", enforced, "refused");
    if enforced {
        return Err(Reply::not_taken(400, "H20", &unfit));
    }
    account.broken.push("H20");
    Ok(())
}

/// Reads the body of a request up to its bound.
async fn read_body(settings: &Settings, body: Body) -> Result<(Bytes, Option<Held>), Reply> {
    let limit = settings.limits.body;
    let body = match body.into_whole() {
        Ok((body, _)) if body.len() > limit => return Err(not_whole(Incomplete::TooLarge, limit)),
        Ok(whole) => return Ok(whole),
        Err(body) => body,
    };
    let mut held = settings.held.hold();
    // Boxed, because most bodies came whole.
    let body = Box::pin(collect(body, limit, &mut held)).await;
    body.map(|body| (body, Some(held))).map_err(|incomplete| not_whole(incomplete, limit))
}

/// What is answered where a body could not be had whole.
#[cold]
fn not_whole(incomplete: Incomplete, limit: usize) -> Reply {
    let error = match incomplete {
        Incomplete::Full(full) => return Reply::failed(503, None, &full),
        Incomplete::TooLarge => {
            let what = format_args!("the body is over {limit} bytes, the limit `body`; send a smaller one");
            return Reply::not_taken(413, "G4", &what);
        }
        Incomplete::Broken(error) => error,
    };
    tracing::debug!(%error, "the caller's body broke off");
    let failed = error.downcast_ref::<Failed>();
    let what = failed.map_or("the body broke off; send it again", |failed| failed.what.as_str());
    Reply::not_taken(failed.map_or(400, |failed| failed.status), "G4", &what)
}

/// What is no POST. Boxed as a whole, so that calls carry neither its room nor its code.
#[cold]
fn resume<'a, S, R>(
    mut inner: S,
    mount: &'a Arc<Mount>,
    identity: Identity,
    mut parts: request::Parts,
    body: Body,
    account: &'a mut Account,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Refused>> + Send + 'a>>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'a,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    Box::pin(async move {
        let streams = parts.method == Method::GET;
        let rules = mount.rules();
        let begun = Resumption::begin(&rules, Lines(&parts.headers), streams, Timestamp::now());
        let mut resumption = begun.map_err(|reply| (reply, mirrored_preference(Lines(&parts.headers))))?;
        if let Some(language) = resumption.need() {
            let locales = library::locales(&mount.settings.offer, language).await;
            resumption = resumption.locales(locales);
        }
        let (changes, caller, answering) = resumption.forward();
        lines::change(&mut parts.headers, changes);
        account.language = answering.plan().chosen().map(|(language, _)| language.clone());
        account.default_language = answering.plan().default_language().cloned();
        if mount.settings.introduce {
            parts.extensions.insert(caller);
        }
        let asked = Asked::new(answering, mount, identity, account.clone());
        let failed = |failed: Failed| asked.failed(&failed);
        ready(&mut inner).await.map_err(failed)?;
        let response = inner.call(Request::from_parts(parts, body)).await;
        let response = response.map_err(|error| failed(Failed::of(&error.into())))?;
        answers::carry(response, asked, &mount.settings).await
    })
}
