//! What is decided about a request before it goes on: message → agree → caller → plan.
//!
//! Rules: C1, C7, C9, C10, H1–H11, H13, H14, H16, H17, L2, L7, L14.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode, request};
use jiff::Timestamp;
use mcp_attune::bind::{Bindings, Filled};
use mcp_attune::caller::Caller;
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::{Plan, negotiate};
use mcp_attune::session::Features;
use mcp_attune::shape::{self, Content, ListedTool, Schema, Shape};
use mcp_attune_wire::agree::{self, Agree, Agreed, Era, Open};
use mcp_attune_wire::header::Headers;
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::reply::Reply;
use memchr::memmem;
use tower_service::Service;

use crate::account::Account;
use crate::answer::Asked;
use crate::body::{Body, BoxError, Incomplete, collect, full};
use crate::forward::Forward;
use crate::held::HeldBudget;
use crate::layer::{Mount, ready};
use crate::library;
use crate::listing::{self, Interest, Listing, Page, Tool};
use crate::media::Media;
use crate::schemas::{Identity, Known, Listed, MAX_PAGES};
use crate::settings::{Limits, Settings};
use crate::sse::{Piece, Splitter, data};
use crate::tasks::TaskIds;
use crate::told;
use crate::words;

/// What is decided.
pub(crate) struct Decided {
    /// What is known of the request when it is answered, as far as it is known now.
    pub(crate) asked: Asked,
    pub(crate) caller: Caller,
    pub(crate) forward: Forward,
    /// The message as it goes on, where it is not the bytes that came.
    pub(crate) changed: Option<String>,
    /// None where the message could not be read, and passes for being reported only.
    pub(crate) kind: Option<Kind>,
    pub(crate) era: Era,
    /// What it declares, where it begins a legacy session.
    pub(crate) begins: Option<Features>,
    /// The tasks that it names.
    pub(crate) tasks: Option<TaskIds>,
    /// What is asked for, and what the operator wrote, where the answer may have to be shaped.
    pub(crate) shapes: Option<(shape::Request, Arc<Content>)>,
}

/// What is looked for in the answer on its way back.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    mount: Arc<Mount>,
    identity: Identity,
    /// What the answer is of interest for.
    pub(crate) learns: Learns,
}

/// What a server says where its tools are others now.
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Learns whether the server negotiates content itself.
pub(crate) fn greeted(negotiates: &AtomicBool, answer: &Message<'_>) {
    let said = shape::negotiates(answer);
    if let Some(said) = said
        && negotiates.swap(said, Ordering::Relaxed) != said
    {
        let what =
            if said { "so its answers pass as they are" } else { "no more, so its answers are shaped" };
        tracing::info!("the server negotiates content itself, {what}");
    }
}

/// What an answer is of interest for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Learns {
    /// Nothing in particular.
    Nothing,
    /// It is a listing of tools, from its first page on.
    Tools,
    /// It is what the server says of itself.
    Server,
}

impl Watch {
    /// What is looked for on a stream that answers no request of its own.
    pub(crate) fn of(mount: &Arc<Mount>, parts: &request::Parts) -> Self {
        Self::new(mount, mount.schemas.identity(parts), Learns::Nothing)
    }

    fn new(mount: &Arc<Mount>, identity: Identity, learns: Learns) -> Self {
        Self { mount: Arc::clone(mount), identity, learns }
    }

    /// Looks at one message of the answer.
    pub(crate) fn see(&self, message: &Message<'_>) {
        match self.learns {
            Learns::Tools => return self.mount.schemas.learn(self.identity, message),
            Learns::Server => greeted(&self.mount.negotiates, message),
            Learns::Nothing => {}
        }
        if message.kind() == Kind::Notification && message.known_method() == Some(TOOLS_CHANGED) {
            self.mount.schemas.forget(self.identity);
        }
    }

    /// The same for a message that nobody reads for anything else, and only where it may say something.
    pub(crate) fn see_unread(&self, message: &[u8]) {
        // A result may well speak of it: only the notification itself says it.
        let says = || message.len() < 4096 && memmem::find(message, TOOLS_CHANGED.as_bytes()).is_some();
        if (self.learns != Learns::Nothing || says())
            && let Ok(message) = Message::parse(message)
        {
            self.see(&message);
        }
    }
}

/// Decides, or says what to answer instead. In report mode what would be refused passes as it came.
pub(crate) async fn decide<S, R>(
    inner: &mut S,
    mount: &Arc<Mount>,
    parts: &request::Parts,
    body: &Bytes,
    account: &mut Account,
    wish: &mut Option<AcceptLanguage>,
) -> Result<Decided, Reply>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let settings = &mount.settings;
    let bindings = &settings.offer.bindings;
    let identity = mount.schemas.identity(parts);
    let watch = |learns| Watch::new(mount, identity, learns);
    let message = match Message::parse(body) {
        Ok(message) => message,
        Err(unreadable) => {
            // Where it cannot be read is in no header; the log says it all the same. No byte of the body is in it.
            let refused = Reply { faults: unreadable.to_string(), ..Reply::from(&unreadable) };
            return report_or(settings, refused, watch(Learns::Nothing), Era::Legacy, account);
        }
    };
    // The message counts, whatever the header says.
    let stated = words::wish(&message);
    *wish = (!stated.is_empty()).then_some(stated);
    let kind = message.kind();
    account.method = message.known_method();
    account.tool = called(mount, &message);
    let id = message.id().filter(|_| kind == Kind::Request).map(|id| id.raw().to_owned());
    let shows = message.method().is_some_and(|method| method.is("tools/list"));
    let lists = shows && message.param("cursor").is_none();
    let greets =
        message.method().is_some_and(|method| method.is("initialize") || method.is("server/discover"));
    let learns = match (lists, greets && settings.offer.content.is_some()) {
        (true, _) => Learns::Tools,
        (_, true) => Learns::Server,
        _ => Learns::Nothing,
    };
    let headers = Headers::new(parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
    let era = agree::era(&headers, &message);
    let agreed = match agree::begin(&headers, message, &settings.policy) {
        Ok(Agree::Done(agreed)) => Ok((agreed, None)),
        Ok(Agree::NeedsSchema(open)) => with_schema(inner, mount, parts, identity, open, account).await,
        Err(refusal) => Err(Reply::from(&refusal)),
    };
    let (agreed, declared) = match agreed {
        Ok(agreed) => agreed,
        Err(refused) => return report_or(settings, refused, watch(Learns::Nothing), era, account),
    };
    if account.tool.is_none() {
        // The check may have listed it just now.
        account.tool = called(mount, agreed.message());
    }
    let content = mount.content().filter(|_| kind == Kind::Request);
    let begins = (era == Era::Legacy).then(|| begins(agreed.message(), content.as_deref())).flatten();
    let caller = Caller::read(&agreed).with_past(settings.offer.past);
    told::log(&caller);
    library::follow(&settings.offer, &mount.schemas);
    let mut plan = negotiate(&caller, &settings.offer);
    if shows {
        plan = plan.showing(bindings);
    }
    if let Some((language, why)) = plan.chosen() {
        // Collected only where somebody listens.
        let of = || settings.offer.tags().iter().map(ToString::to_string).collect::<Vec<_>>();
        let preference = caller.origin();
        tracing::debug!(%language, %why, %preference, of = ?of(), "language chosen");
    }
    if plan.wants().is_some() && kind == Kind::Request {
        let asked = Plan::asked(agreed.message(), &settings.offer);
        plan = library::translating(plan, asked, &caller, &settings.offer).await;
    }
    let mut filled = Filled::default();
    let mut declared = declared;
    let concerned = bindings.concern(agreed.message());
    if concerned {
        filled = fill(bindings, &agreed, &caller)?;
        if declared.is_none() && era == Era::Modern {
            // A call that has no arguments yet was not checked against a schema; now it may have some.
            declared = own_headers(inner.clone(), mount, parts, identity, agreed.message()).await;
        }
    }
    let tasks = TaskIds::enter(settings.seal.as_ref(), agreed.message());
    let shapes = content.map(|content| {
        let request = shape::Request::of(agreed.message(), era == Era::Modern, &content);
        (request.with_tasks(tasks.as_ref().map(TaskIds::tools).unwrap_or_default()), content)
    });
    let ids = tasks.as_ref().map(|tasks| tasks.onward(agreed.message())).unwrap_or_default();
    let onward = plan.forward_with(agreed.message(), &filled, &ids);
    let own = declared.as_ref().map(|tool| &*tool.own);
    // What was filled or opened stands in headers too, so what goes on is read once more, as whoever gets it will.
    let rewritten = (concerned && own.is_some()) || tasks.is_some();
    let again = rewritten.then(|| Message::parse(onward.as_bytes()).ok()).flatten();
    let sent = again.as_ref().unwrap_or_else(|| agreed.message());
    let forward = Forward::new(&agreed, sent, own, &parts.headers, concerned || tasks.is_some());
    let changed = match onward {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(changed),
    };
    let asked = Asked {
        id,
        bound: !filled.is_empty(),
        wish: wish.clone(),
        ..Asked::new(plan, watch(learns), account.clone())
    };
    Ok(Decided { asked, caller, forward, changed, kind: Some(kind), era, begins, tasks, shapes })
}

/// The tool that a message calls, where it was ever listed.
fn called(mount: &Mount, message: &Message<'_>) -> Option<Arc<str>> {
    if message.known_method() != Some("tools/call") {
        return None;
    }
    let name = message.param("name")?.text()?.decode()?;
    mount.schemas.interest().names.find(&name)
}

/// Fills the arguments that are bound, or says what to answer instead.
fn fill(bindings: &Bindings, agreed: &Agreed<'_>, caller: &Caller) -> Result<Filled, Reply> {
    let message = agreed.message();
    match bindings.fill(message, caller, Timestamp::now()) {
        Ok(filled) => {
            tracing::debug!(?filled, "the context fills arguments");
            Ok(filled)
        }
        Err(unfillable) => {
            tracing::debug!(why = ?unfillable.why, "a call ends for what an argument says");
            let id = message.id().map(mcp_attune_wire::json::Value::raw);
            Err(Reply::tool_failed(id, agreed.era() == Era::Modern, &unfillable))
        }
    }
}

/// The headers of a tool that is called without arguments; none where they are not known. Boxed as a whole, so that other
/// calls carry neither its room nor its code.
#[cold]
fn own_headers<'a, S, R>(
    inner: S,
    mount: &'a Mount,
    parts: &'a request::Parts,
    identity: Identity,
    message: &'a Message<'_>,
) -> Pin<Box<dyn Future<Output = Option<Tool>> + Send + 'a>>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    Box::pin(async move {
        let tool = message.param("name")?.text()?.decode()?;
        let list = move || Lister::new(inner, mount, parts, message).list();
        match mount.schemas.of(identity, &tool, list).await {
            Known::Listed(declared) => declared,
            Known::Never | Known::NotNow => None,
        }
    })
}

/// A shape with what the results of its tool are like. The message is read a second time where nobody knows yet. Boxed as a
/// whole, as above.
#[cold]
pub(crate) fn with_output<'a, S, R>(
    shape: Shape,
    inner: S,
    mount: &'a Mount,
    parts: &'a request::Parts,
    watch: &'a Watch,
    body: &'a Bytes,
) -> Pin<Box<dyn Future<Output = Shape> + Send + 'a>>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let schemas = &mount.schemas;
    Box::pin(async move {
        let Some(tool) = shape.tool() else { return shape.with_schema(Schema::None) };
        let listed = if let Some(listed) = schemas.fresh_tool(watch.identity, tool) {
            listed
        } else if let Ok(message) = Message::parse(body) {
            let message = &message;
            let list = move || Lister::new(inner, mount, parts, message).list();
            schemas.tool(watch.identity, tool, list).await
        } else {
            ListedTool::default()
        };
        shape.with_tool(listed)
    })
}

/// What a message declares, where it is the one that begins a session.
fn begins(message: &Message<'_>, content: Option<&Content>) -> Option<Features> {
    if message.kind() != Kind::Request || !message.method()?.is("initialize") {
        return None;
    }
    let refers = |tag: &str| content.is_some_and(|content| content.refers_to(tag));
    let declared = Features::declared_for(message, refers);
    if declared.left_out > 0 {
        tracing::warn!(
            tags = declared.left_out,
            "declared features that are no text or do not fit are left out"
        );
    }
    Some(declared.features)
}

type WithSchema<'a> = Result<(Agreed<'a>, Option<Tool>), Reply>;

/// Finishes a check that depends on the called tool's schema. A refusal rests on a recent listing only.
async fn with_schema<'a, S, R>(
    inner: &mut S,
    mount: &Mount,
    parts: &request::Parts,
    identity: Identity,
    open: Open<'a, '_>,
    account: &mut Account,
) -> WithSchema<'a>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let schemas = &mount.schemas;
    let tool = open.tool();
    if open.is_refused() {
        // Refused whatever the schema says: what is known completes the list of faults, and nobody is asked.
        let declared = schemas.cached(identity, &tool);
        return finish(open, declared);
    }
    // Boxed, so that every call does not carry the room for a listing, which few need.
    let known = match schemas.fresh(identity, &tool) {
        Some(declared) => Known::Listed(declared),
        None => {
            let (inner, message) = (inner.clone(), open.message());
            let list = move || Lister::new(inner, mount, parts, message).list();
            Box::pin(schemas.of(identity, &tool, list)).await
        }
    };
    let declared = match known {
        Known::Listed(declared) => declared,
        // Its caller may have made the listing slow, so that what is wrong with it is not found.
        Known::NotNow if open.has_params() || schemas.ever_declared(&tool) => return Err(not_now(&open)),
        Known::Never | Known::NotNow if schemas.refuses_unknown() => return Err(not_now(&open)),
        Known::Never | Known::NotNow => {
            account.unchecked = true;
            None
        }
    };
    let (refusal, open) = match open.try_with(declared.as_ref().map(|tool| &**tool.shown())) {
        Ok(agreed) => return Ok((agreed, declared)),
        Err(refused) => *refused,
    };
    let (inner, message) = (inner.clone(), open.message());
    let list = move || Lister::new(inner, mount, parts, message).list();
    match Box::pin(schemas.recheck(identity, &tool, list)).await {
        Known::Listed(declared) => finish(open, declared),
        Known::Never | Known::NotNow => Err(Reply::from(&refusal)),
    }
}

#[cold]
fn not_now(open: &Open<'_, '_>) -> Reply {
    let id = open.message().id().map(mcp_attune_wire::json::Value::raw);
    let what =
        "the tools could not be listed, so the headers of this call cannot be checked; try again later";
    Reply { rules: vec!["H10"], ..Reply::failed(503, id, &what) }
}

fn finish<'a>(open: Open<'a, '_>, declared: Option<Tool>) -> WithSchema<'a> {
    match open.with(declared.as_ref().map(|tool| &**tool.shown())) {
        Ok(agreed) => Ok((agreed, declared)),
        Err(refusal) => Err(Reply::from(&refusal)),
    }
}

#[cold]
fn report_or(
    settings: &Settings,
    refused: Reply,
    watch: Watch,
    era: Era,
    account: &mut Account,
) -> Result<Decided, Reply> {
    tracing::warn!(code = refused.code, faults = refused.faults, enforced = !settings.report_only, "refused");
    if !settings.report_only {
        return Err(refused);
    }
    account.broken.extend(refused.rules);
    let caller = Caller::default();
    let plan = negotiate(&caller, &settings.offer);
    let asked = Asked::new(plan, watch, account.clone());
    let forward = Forward::default();
    let (changed, kind, begins, tasks, shapes) = (None, None, None, None, None);
    Ok(Decided { asked, caller, forward, changed, kind, era, begins, tasks, shapes })
}

/// Lists the tools in the name of a caller, page by page. It owns what it needs, because it may outlive the call that wants
/// the listing.
struct Lister<S> {
    inner: S,
    /// Every page is asked for with these.
    head: request::Parts,
    envelope: listing::Envelope,
    limits: Limits,
    held: HeldBudget,
    interest: Interest,
}

impl<S, R> Lister<S>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    fn new(inner: S, mount: &Mount, parts: &request::Parts, message: &Message<'_>) -> Self {
        let mut head = parts.clone();
        head.headers = listing::headers(&parts.headers);
        let (limits, interest) = (mount.settings.limits, mount.schemas.interest().clone());
        let held = mount.settings.held.clone();
        Self { inner, head, envelope: listing::Envelope::of(message), limits, held, interest }
    }

    async fn list(mut self) -> Listed {
        let mut listing = Listing::default();
        let mut cursors: Vec<String> = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = match self.page(cursors.last().map(String::as_str)).await {
                Ok(page) => page,
                Err(listed) => return listed,
            };
            listing.add(&page);
            match page.next {
                None => return Listed::Whole(Box::new(listing), page.public),
                Some(cursor) if cursors.contains(&cursor) => {
                    tracing::warn!("the server repeats a cursor of its listing");
                    return Listed::Never;
                }
                Some(cursor) => cursors.push(cursor),
            }
        }
        tracing::warn!("the server's listing has more than {MAX_PAGES} pages");
        Listed::Never
    }

    /// Asks for one page, or says what else came of it.
    /// The service may not be shared between threads, so neither is this.
    async fn page(&mut self, cursor: Option<&str>) -> Result<Page, Listed> {
        let body = full(self.envelope.request(cursor));
        let mut inner = self.inner.clone();
        ready(&mut inner).await.map_err(|_| Listed::Failed)?;
        let answered = inner.call(Request::from_parts(self.head.clone(), body)).await;
        let response = answered.map_err(|_| Listed::Failed)?;
        let status = response.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(Listed::Failed);
        }
        let stream = Media::of(response.headers()) == Media::Events;
        let mut held = self.held.hold();
        let body = match collect(response.into_body(), self.limits.answer, &mut held).await {
            Ok(body) => body,
            Err(Incomplete::TooLarge) => return Err(Listed::Never),
            Err(Incomplete::Broken(_) | Incomplete::Full(_)) => return Err(Listed::Failed),
        };
        let page =
            if stream { page_of_stream(&body, &self.interest) } else { Page::of(&body, &self.interest) };
        page.ok_or_else(|| if listing::is_internal_error(&body) { Listed::Failed } else { Listed::Never })
    }
}

fn page_of_stream(body: &[u8], interest: &Interest) -> Option<Page> {
    let pieces = Splitter::new(usize::MAX).push(body).ok()?;
    pieces.iter().find_map(|piece| match piece {
        Piece::Event(event) => Page::of(&data(event)?, interest),
        Piece::Raw(_) => None,
    })
}
