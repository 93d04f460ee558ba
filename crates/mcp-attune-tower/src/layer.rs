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
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header, request};
use jiff::Timestamp;
use mcp_attune::caller::{Caller, Origin};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::localize;
use mcp_attune::plan::{Offer, negotiate};
use mcp_attune::session::Event;
use mcp_attune::shape::{self, Content};
use mcp_attune_wire::agree::Era;
use mcp_attune_wire::hop;
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::reply::Reply;
use tower_layer::Layer;
use tower_service::Service;

use crate::account::Account;
use crate::answer::{self as answers, Asked};
use crate::body::{Body, BoxError, Incomplete, boxed, collect, full, full_held};
use crate::decide::{self, Decided, Learns, Watch};
use crate::edited::forget_old_bytes;
use crate::failed::Failed;
use crate::forward::ask_identity;
use crate::guard::Allowed;
use crate::held::Held;
use crate::library;
use crate::listing::Interest;
use crate::schemas::Schemas;
use crate::session::Visit;
use crate::settings::Settings;
use crate::tasks::TaskIds;
use crate::told;
use crate::words;

/// Puts the rules of Attune around a service that speaks MCP over HTTP.
#[derive(Clone, Debug)]
pub struct AttuneLayer {
    mount: Arc<Mount>,
}

/// What all requests of one mount share.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) settings: Settings,
    pub(crate) schemas: Arc<Schemas>,
    /// Whether the server negotiates content itself, as far as it has said.
    pub(crate) negotiates: AtomicBool,
}

impl Mount {
    /// How answers are shaped, if they are.
    ///
    /// Rules: F14.
    pub(crate) fn content(&self) -> Option<Arc<Content>> {
        let supply = self.settings.offer.content.as_ref()?;
        (!self.negotiates.load(Ordering::Relaxed)).then(|| supply.content())
    }
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
        Self { mount: Arc::new(Mount { settings, schemas, negotiates: AtomicBool::default() }) }
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
        if let Ok(answer) = Message::parse(answer) {
            decide::greeted(&self.mount.negotiates, &answer);
        }
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
                let response = words::reword(answer(&reply), &words::mirrored(&parts.headers));
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
            let mut wish = None;
            let mut response = match handle(inner, &mount, request, &mut account, &mut wish).await {
                Ok(response) => response,
                Err(reply) => answer(&reply),
            };
            response = words::reword(response, &wish.unwrap_or_default());
            if let Some(inner) = response.extensions_mut().remove() {
                account.add(inner);
            }
            (response, account)
        }
    }
}

async fn handle<S, B, R>(
    mut inner: S,
    mount: &Arc<Mount>,
    request: Request<B>,
    account: &mut Account,
    wish: &mut Option<AcceptLanguage>,
) -> Result<Response<Body>, Reply>
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
    if parts.headers.contains_key(header::ACCEPT_LANGUAGE) {
        *wish = Some(words::mirrored(&parts.headers));
    }
    if let Some(allowed) = &mount.settings.guard {
        refuse_foreign(allowed, &parts)?;
    }
    refuse_unfit(mount, &parts.headers, account)?;
    if parts.method != Method::POST {
        return relay(inner, mount, parts, boxed(body), account).await;
    }
    if parts.headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity") {
        return Err(Reply::not_taken(415, "G10", &"the body is encoded; send it without Content-Encoding"));
    }
    let settings = &mount.settings;
    let (body, _held) = read_body(settings, boxed(body)).await?;
    let decided = decide::decide(&mut inner, mount, &parts, &body, account, wish).await?;
    let Decided { mut asked, caller, forward, changed, kind, era, begins, mut tasks, shapes } = decided;
    account.language = asked.plan.chosen().map(|(language, _)| language.clone());
    account.default_language = asked.plan.default_language().cloned();
    let mut parts = parts;
    let seal = settings.seal.as_ref().filter(|_| era == Era::Legacy);
    let visit = Visit::enter(seal, &mut parts.headers, begins)
        .map_err(|_| Reply::unknown_session(asked.id.as_deref()))?;
    let caller = caller.in_session(visit.features());
    told::features(&caller);
    if let (Some((request, content)), Some(seal)) = (&shapes, &settings.seal)
        && let Some(tool) = request.names_its_tasks(content, caller.features())
    {
        tasks = Some(TaskIds::created_by(seal, tool));
    }
    asked.tasks = tasks.map(Arc::new);
    if let Some((request, content)) = shapes
        && let Some(shape) = asked.plan.shape(request, content, &caller, &settings.offer, Timestamp::now())
    {
        account.format = shape.wanted().format();
        let shape = decide::with_output(shape, inner.clone(), mount, &parts, &asked.watch, &body).await;
        asked.plan = asked.plan.shaping(shape);
    }
    let changes = asked.plan.changes();
    asked.events = visit.events(caller.preference().filter(|_| changes).map(AcceptLanguage::as_str));
    asked.preferred = caller.preference().is_some();
    // A preference that is the locale of the context stands in no header that a cache sees.
    asked.told = parts.headers.contains_key(header::ACCEPT_LANGUAGE) && caller.origin() == Origin::Stated;
    asked.reads = asked.preferred
        || asked.watch.learns != Learns::Nothing
        || asked.plan.reads()
        || asked.tasks.is_some();
    forward.apply(&mut parts.headers, asked.reads);
    if settings.introduce {
        parts.extensions.insert(caller);
    }
    if let Some(spoken) = asked.plan.spoken() {
        parts.extensions.insert(spoken.clone());
    }
    let body = match changed {
        None => body,
        Some(changed) => {
            if parts.headers.contains_key(header::CONTENT_LENGTH) {
                parts.headers.insert(header::CONTENT_LENGTH, changed.len().into());
            }
            forget_old_bytes(&mut parts.headers);
            changed.into()
        }
    };

    let failed = |failed: Failed| Reply::failed(failed.status, asked.id.as_deref(), &failed);
    ready(&mut inner).await.map_err(failed)?;
    let response = inner.call(Request::from_parts(parts, full(body))).await;
    let mut response = response.map_err(|error| failed(Failed::of(&error.into())))?;
    visit.leave(&mut response);
    if kind != Some(Kind::Request) {
        return Ok(response.map(boxed));
    }
    answers::adapt(response, asked, settings).await
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

/// What is no POST: a stream of a legacy session, opened or resumed, the end of one, or nothing that we know. Boxed as a
/// whole, so that calls carry neither its room nor its code.
#[cold]
fn relay<'a, S, R>(
    mut inner: S,
    mount: &'a Arc<Mount>,
    mut parts: request::Parts,
    body: Body,
    account: &'a mut Account,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Reply>> + Send + 'a>>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'a,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    Box::pin(async move {
        let settings = &mount.settings;
        let visit = Visit::enter(settings.seal.as_ref(), &mut parts.headers, None)
            .map_err(|_| Reply::unknown_session(None))?;
        let streams = parts.method == Method::GET;
        let resumed = if streams { visit.resume(&mut parts.headers) } else { Ok(None) };
        let resumed = resumed.map_err(|_| Reply::unknown_event())?;
        let preference = resumed.as_ref().and_then(Event::preference);
        // Without a preference a stream is tied to no request whose language it could have.
        // What the server said its languages were is gone with the request that it said them to.
        let offer = settings.offer.clone();
        let offer = preference.filter(|_| !offer.speaks).map_or_else(Offer::default, |_| offer);
        let caller = Caller::resumed(preference).in_session(visit.features());
        // A stream that goes on may bring the listing that was asked for when it began.
        let plan = negotiate(&caller, &offer).showing(&settings.offer.bindings);
        let mut plan = library::translating(plan, localize::Asked::new(""), &caller, &offer).await;
        if let Some(content) = mount.content().filter(|_| streams)
            && let Some(shape) =
                plan.shape(shape::Request::resumed(), content, &caller, &settings.offer, Timestamp::now())
        {
            // Whoever goes on with a stream was shown a schema before, which nobody here knows.
            plan = plan.shaping(shape);
        }
        account.language = plan.chosen().map(|(language, _)| language.clone());
        account.default_language = plan.default_language().cloned();
        let preferred = preference.is_some() && plan.changes();
        let reads = plan.changes();
        let told = parts.headers.contains_key(header::ACCEPT_LANGUAGE);
        if reads {
            ask_identity(&mut parts.headers);
        }
        let watch = Watch::of(mount, &parts);
        if settings.introduce {
            parts.extensions.insert(caller);
        }

        let failed = |failed: Failed| Reply::failed(failed.status, None, &failed);
        ready(&mut inner).await.map_err(failed)?;
        let response = inner.call(Request::from_parts(parts, body)).await;
        let mut response = response.map_err(|error| failed(Failed::of(&error.into())))?;
        visit.leave(&mut response);
        let events = visit.events(preference);
        if !streams || (events.is_none() && !plan.reads()) {
            return Ok(response.map(boxed));
        }
        let asked = Asked { events, preferred, reads, told, ..Asked::new(plan, watch, account.clone()) };
        answers::adapt(response, asked, settings).await
    })
}

/// Waits until the service inside can be called. Apart from the call, so that what waits does not hold the request twice.
pub(crate) async fn ready<S>(inner: &mut S) -> Result<(), Failed>
where
    S: Service<Request<Body>>,
    S::Error: Into<BoxError>,
{
    poll_fn(|cx| inner.poll_ready(cx)).await.map_err(|error| Failed::of(&error.into()))
}

/// An answer of our own, as HTTP, with its [`Account`] in its extensions. What is unavailable (503) is so for a moment,
/// and says when to try again.
#[must_use]
#[cold]
pub fn answer(reply: &Reply) -> Response<Body> {
    let mut response = Response::new(full(reply.body.clone()));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let content_type = header::HeaderValue::from_static(reply.content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&response.status()) {
        response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response.extensions_mut().insert(Account::of(reply));
    response.extensions_mut().insert(words::Own(reply.clone()));
    response
}
