//! The one stack, in order: what happens to a request between the door and the server behind.
//!
//! ```text
//! request id   a name for logs, answers and refusals   first, because everything after it may refuse
//! guard        who may knock: Host, Origin, CORS       so that nothing else is done for a stranger
//! route        which server is meant                   by path and method
//! permits      how many run at a time, and of whom      when the body is there, before anything that costs
//! attune       the rules                               around the endpoint only
//! upstream     the server behind                       paths beside the endpoint come straight here
//! ```
//!
//! Rules: G1, G4, G5, G12.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use http::header::{ACCEPT_LANGUAGE, ALLOW};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use mcp_attune_tower::{
    Account, Attune, AttuneLayer, Failed, HeldBudget, Keys, NoRandomness, Settings, boxed, full, random_keys,
    seal,
};
use mcp_attune_wire::reply::Reply;
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

use crate::access::AccessLog;
use crate::caller_keys::{CallerKeys, Callers};
use crate::child::{self, ChildUpstream, Children};
use crate::config::{self, Agreement, Config, OnUnknown, Target};
use crate::guard::{Allowed, BadEntry, GuardLayer, Guarded};
use crate::health::watch;
use crate::listen::{Peer, RequestError};
use crate::listening;
use crate::look::look;
use crate::metrics::{Meter, Metrics};
use crate::refusal;
use crate::request_id::{Names, Naming};
use crate::route::{Destination, MountRoute, NoRoute, Router};
use crate::slots::{NoPermit, Permit, Slots};
use crate::tally::Tally;
use crate::upstream::{self, Coming, HttpUpstream, Options, Setup, UpstreamError};
use crate::{Body, BoxError};

/// Why a configuration cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unservable {
    /// A mount names no server.
    NoUpstream {
        /// The mount.
        mount: String,
    },
    /// A mount's server is a program that is not there.
    Program {
        /// The mount.
        mount: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A mount's server cannot be reached as it is named.
    Upstream {
        /// The mount.
        mount: String,
        /// What is wrong.
        why: Setup,
    },
    /// An entry of `allowed_hosts` or `allowed_origins` is none.
    Allowed(BadEntry),
}

impl fmt::Display for Unservable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUpstream { mount } => write!(f, "{}no server is named", of_mount(mount)),
            Self::Program { mount, why } => write!(f, "{}{why}", of_mount(mount)),
            Self::Upstream { mount, why } => write!(f, "{}{why}", of_mount(mount)),
            Self::Allowed(entry) => entry.fmt(f),
        }
    }
}

/// What stands before an error where there are several servers; whoever has one knows no mount.
fn of_mount(name: &str) -> String {
    if name == config::Mount::ALONE { String::new() } else { format!("[mounts.{name}]: ") }
}

impl std::error::Error for Unservable {}

/// What outlives a change of the configuration.
#[derive(Debug)]
pub(crate) struct Lasting {
    pub(crate) metrics: Metrics,
    pub(crate) children: Children,
    /// Keys made at the start: what they sealed opens until the end, whatever the file says of keys.
    made: Keys,
    /// How much may be held back for all calls together.
    held: HeldBudget,
}

impl Lasting {
    /// # Errors
    ///
    /// Where the system has no randomness to make keys of.
    pub(crate) fn new(access: AccessLog) -> Result<Self, NoRandomness> {
        Ok(Self {
            metrics: Metrics::new(access),
            children: Children::new(),
            made: random_keys()?,
            held: HeldBudget::default(),
        })
    }
}

/// The whole stack: see the module's page for its order. `made` are the keys of this process alone.
///
/// # Errors
///
/// [`Unservable`], where the configuration names what cannot be served.
pub(crate) fn stack(config: &Config, lasting: &Lasting) -> Result<Stack, Unservable> {
    let metrics = &lasting.metrics;
    let keys = keys(config, &lasting.made);
    let mounted = |mount| Mounted::new(config, mount, lasting, &keys).map(Arc::new);
    let mounts: Arc<[_]> = config.mounts.iter().map(mounted).collect::<Result<_, _>>()?;
    let router = Router::new(config.mounts.iter().map(mount_route).collect());
    let door = metrics.meter("");
    lasting.held.set_limit(config.limits.held);
    let (callers, permits) = (Callers::new(&config.server.trusted_proxies), Permits::new(&config.limits));
    let hosts = config.server.allowed_hosts.iter().map(http::uri::Authority::as_str);
    let origins = config.server.allowed_origins.iter().map(config::Origin::as_str);
    let allowed = Allowed::new(hosts, origins).map_err(Unservable::Allowed)?;
    let guard = GuardLayer::new(allowed).counting(door.refusals("H15"));
    Ok(Stack { names: Names::default(), guard, calls: Calls { router, mounts, callers, permits, door } })
}

/// A stack that is ready to serve.
#[derive(Debug)]
pub(crate) struct Stack {
    names: Names,
    guard: GuardLayer,
    calls: Calls,
}

impl Stack {
    /// Begins to look at the servers that something is said of, and where `tries`, to try all of them; it ends with what is
    /// returned.
    #[must_use]
    pub(crate) fn look(&self, tries: bool) -> JoinSet<()> {
        let asking = self.calls.mounts.iter().filter(|mount| mount.layer.asks());
        let mut looking: JoinSet<()> = asking.map(|mount| Arc::clone(mount).look()).collect();
        for mount in self.calls.mounts.iter().filter(|_| tries) {
            looking.spawn(Arc::clone(mount).watch());
        }
        looking
    }

    /// What counts for each mount, and the mount's path.
    pub(crate) fn meters(&self) -> Vec<(String, Meter)> {
        self.calls.mounts.iter().map(|mount| (mount.path.clone(), mount.meter.clone())).collect()
    }

    /// Answers a request: the module's page has the order.
    pub(crate) fn answer(&self, request: Request<Body>, peer: Peer) -> Naming<Guarded<Answer>> {
        let call = |request| self.calls.begin(request, peer);
        self.names.begin(request, |request| self.guard.admit(request, call))
    }
}

pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Finds the server that a call is meant for, and bounds the calls and streams that run at a time.
#[derive(Debug)]
struct Calls {
    router: Router,
    mounts: Arc<[Arc<Mounted>]>,
    callers: Callers,
    permits: Permits,
    /// Counts what no mount does.
    door: Meter,
}

/// What may run at a time.
#[derive(Clone, Debug)]
struct Permits {
    calls: Arc<Slots>,
    /// Streams that callers listen on for as long as they like.
    streams: Arc<Slots>,
}

impl Permits {
    fn new(limits: &config::Limits) -> Self {
        let calls = Slots::shared(limits.calls, limits.share);
        Self { calls, streams: Slots::shared(limits.streams, limits.share) }
    }

    /// Takes a permit for a request, or says why there is none.
    fn acquire(
        &self,
        request: &Request<Body>,
        keys: CallerKeys,
        door: &Meter,
    ) -> Result<Permit, Box<Response<Body>>> {
        let streams = listening::is_stream(request.method(), request.headers());
        let slots = if streams { &self.streams } else { &self.calls };
        slots.try_acquire(keys).map_err(|why| Box::new(no_permit(why, streams, request.headers(), door)))
    }
}

#[cold]
fn no_permit(why: NoPermit, streams: bool, headers: &HeaderMap, door: &Meter) -> Response<Body> {
    door.broke("G4", true);
    let (status, what) = match (why, streams) {
        (NoPermit::Full, false) => (503, "too many calls are running; try again in a moment"),
        (NoPermit::Full, true) => (503, "too many streams are open; try again later"),
        (NoPermit::Share, false) => {
            (429, "too many calls of this caller are running; wait for some of them to end")
        }
        (NoPermit::Share, true) => (429, "too many streams of this caller are open; close some of them"),
    };
    failed(status, &what, headers)
}

impl Calls {
    fn begin(&self, request: Request<Body>, peer: Peer) -> Answer {
        let (number, endpoint) = match self.router.route(request.method(), request.uri()) {
            Ok(Destination::Endpoint(number)) => (number, true),
            Ok(Destination::OffEndpoint(number)) => (number, false),
            Err(NoRoute::NotFound) if request.uri().path() == "/" => return ready(self.greeting()),
            Err(no_route) => return ready(self.no_route(no_route, request.headers())),
        };
        let Some(mount) = self.mounts.get(number).map(Arc::clone) else {
            return ready(self.no_route(NoRoute::NotFound, request.headers()));
        };
        let keys = self.callers.keys(
            mount.layer.identity(request.headers(), request.uri()),
            request.headers(),
            peer.address.ip(),
        );
        // A body that has not come yet holds up nobody: it is read before the call counts.
        if endpoint && request.method() == Method::POST && !request.body().is_whole() {
            let (permits, door) = (self.permits.clone(), self.door.clone());
            return Box::pin(async move {
                let request = request.map(|body| boxed(body.map_err(from_caller)));
                match mount.layer.read(request).await {
                    Ok(request) => match permits.acquire(&request, keys, &door) {
                        Ok(permit) => mount.call(request, permit, keys, peer).await,
                        Err(refused) => Ok(*refused),
                    },
                    Err((answer, account)) => Ok(mount.unread(answer, account)),
                }
            });
        }
        match self.permits.acquire(&request, keys, &self.door) {
            Ok(permit) if endpoint => mount.call(request, permit, keys, peer),
            Ok(permit) => mount.beside(request, permit, peer),
            Err(refused) => ready(*refused),
        }
    }

    /// What somebody reads who opens the gateway in a browser.
    #[cold]
    fn greeting(&self) -> Response<Body> {
        let paths: Vec<_> = self.mounts.iter().map(|mount| mount.path.as_str()).collect();
        let mut answer = Response::new(full(format!("MCP is served at {}, not here\n", paths.join(" and "))));
        *answer.status_mut() = http::StatusCode::NOT_FOUND;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(http::header::CONTENT_TYPE, plain);
        answer
    }

    #[cold]
    fn no_route(&self, no_route: NoRoute<'_>, headers: &HeaderMap) -> Response<Body> {
        if no_route == NoRoute::NotFound {
            return failed(404, &no_route, headers);
        }
        self.door.broke("H19", true);
        let mut answer = refusal::answer_to(&Reply::not_taken(no_route.status(), "H19", &no_route), headers);
        if let NoRoute::Method(allowed) = no_route {
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        answer
    }
}

#[cold]
fn ready(answer: Response<Body>) -> Answer {
    Box::pin(std::future::ready(Ok(answer)))
}

/// One server behind, and the rules around its endpoint.
#[derive(Clone, Debug)]
struct Mounted {
    path: String,
    meter: Meter,
    behind: Behind,
    layer: AttuneLayer,
    most: usize,
}

impl Mounted {
    fn new(
        config: &Config,
        mount: &config::Mount,
        lasting: &Lasting,
        keys: &Keys,
    ) -> Result<Self, Unservable> {
        let name = || mount.name.clone();
        let Some(upstream) = &mount.upstream else { return Err(Unservable::NoUpstream { mount: name() }) };
        let server = match &upstream.target {
            Target::Http(url) => {
                let options = http_options(config, mount, url);
                let upstream = HttpUpstream::new(&options);
                Server::Http(upstream.map_err(|why| Unservable::Upstream { mount: name(), why })?)
            }
            Target::Stdio(program) => {
                let options = child::Options::new(&mount.name, program, &config.limits);
                options.find().map_err(|why| Unservable::Program { mount: name(), why: why.to_string() })?;
                Server::Child(lasting.children.upstream(options))
            }
        };
        let mut settings = settings(config, mount);
        settings.held = lasting.held.clone();
        settings.seal = Some(seal(keys.clone(), &mount.name));
        let layer = AttuneLayer::new(settings);
        let meter = lasting.metrics.meter(&mount.name);
        let behind = Behind { server, meter: meter.clone(), peer: None, keys: CallerKeys::default() };
        let path = mount.path.as_str().to_owned();
        Ok(Self { path, layer, meter, behind, most: config.limits.answer })
    }

    /// The server behind as it is for one caller, with the rules around it.
    fn attuned(&self, peer: Peer, keys: CallerKeys) -> Attune<Behind> {
        self.layer.layer(Behind { peer: Some(peer), keys, ..self.behind.clone() })
    }

    /// Answers a request for the endpoint.
    fn call(self: Arc<Self>, request: Request<Body>, permit: Permit, keys: CallerKeys, peer: Peer) -> Answer {
        let mut tally = Tally::new(self.meter.clone(), Some(permit), &request, true);
        Box::pin(async move {
            if let Some(refused) = self.behind.refuses(&request) {
                return Ok(tally.answered(refused));
            }
            let (answer, account) = self.attuned(peer, keys).answer(request).await;
            tally.account(account);
            Ok(tally.answered(answer))
        })
    }

    /// Answers a request whose body could not be read.
    #[cold]
    fn unread(&self, answer: Response<Body>, account: Account) -> Response<Body> {
        let mut tally = Tally::new(self.meter.clone(), None, &Request::new(()), true);
        tally.account(account);
        tally.answered(answer)
    }

    /// Answers a request for a path beside the endpoint.
    #[cold]
    fn beside(self: Arc<Self>, request: Request<Body>, permit: Permit, peer: Peer) -> Answer {
        let mut tally = Tally::new(self.meter.clone(), Some(permit), &request, false);
        let mut heard = HeaderMap::new();
        heard.extend(request.headers().get(ACCEPT_LANGUAGE).map(|value| (ACCEPT_LANGUAGE, value.clone())));
        Box::pin(async move {
            let answer = self.behind.beside(request, peer).await.unwrap_or_else(|error| {
                tally.fail();
                failed(error.status(), &error, &heard)
            });
            Ok(tally.answered(answer))
        })
    }

    /// Tries the server, again and again.
    async fn watch(self: Arc<Self>) {
        match &self.behind.server {
            Server::Http(upstream) => {
                let what = format!("the server behind {}, {}", self.path, upstream.url());
                watch(self.meter.clone(), what, true, || upstream.reach()).await;
            }
            Server::Child(child) => {
                let what = format!("the server behind {}, `{}`", self.path, child.program());
                tracing::info!(mount = &**self.meter.mount(), "starting `{}`", child.program());
                watch(self.meter.clone(), what, false, || child.reach()).await;
            }
        }
    }

    /// Holds what is around the server against it, where there is something to hold.
    async fn look(self: Arc<Self>) {
        if self.layer.asks() {
            look(self.behind.clone(), self.path.clone(), self.most, self.layer.clone()).await;
        }
    }
}

/// What the router knows of a mount.
fn mount_route(mount: &config::Mount) -> MountRoute {
    let upstream = mount.upstream.as_ref();
    let endpoint = upstream.and_then(|upstream| match &upstream.target {
        Target::Http(url) => Some(url.path().to_owned()),
        Target::Stdio(_) => None,
    });
    let unknown_paths = upstream.map_or_else(Default::default, |upstream| upstream.unknown_paths);
    MountRoute { path: mount.path.as_str().to_owned(), endpoint, unknown_paths }
}

fn http_options(config: &Config, mount: &config::Mount, url: &http::Uri) -> Options {
    let mut options = Options::new(url.clone(), mount.path.as_str());
    options.first_byte = config.limits.upstream_first_byte;
    options.stream_idle = config.limits.stream_idle;
    options
}

/// The keys that the operator gave. Those made at the start open too, so that giving keys ends no session, and seal
/// where none were given.
fn keys(config: &Config, made: &Keys) -> Keys {
    let mut given = config.session.keys.iter().map(config::Key::expose);
    given.next().map_or_else(|| made.clone(), |first| Keys::new(first, given).opening(made))
}

/// What the operator chose, as the layer wants it.
fn settings(config: &Config, mount: &config::Mount) -> Settings {
    let mut settings = Settings::default();
    // The guard of the whole gateway stands before its mounts.
    settings.guard = None;
    settings.policy = mount.headers.policy();
    settings.introduce = false;
    settings.report_only = mount.headers.agree == Agreement::Report;
    settings.offer = config.offer(Some(mount));
    settings.limits.body = config.limits.body;
    settings.limits.answer = config.limits.answer;
    settings.limits.event = config.limits.event;
    settings.schemas.ttl = mount.headers.schema_ttl;
    settings.schemas.recheck = mount.headers.schema_recheck;
    settings.schemas.budget = mount.headers.schema_budget;
    settings.schemas.identity_headers.clone_from(&mount.headers.identity_headers);
    settings.schemas.identity_query = mount.headers.identity_query;
    settings.schemas.refuse_unknown = mount.headers.on_unknown == OnUnknown::Refuse;
    settings
}

/// The server behind, failing in the way that the layer understands.
#[derive(Clone, Debug)]
struct Behind {
    server: Server,
    meter: Meter,
    /// Who asks; none where we do.
    peer: Option<Peer>,
    /// What tells them from others.
    keys: CallerKeys,
}

/// How the server behind is reached.
#[derive(Clone, Debug)]
enum Server {
    Http(HttpUpstream),
    Child(ChildUpstream),
}

impl Behind {
    /// What is refused before it is read, because the server behind cannot say so itself.
    fn refuses(&self, request: &Request<Body>) -> Option<Response<Body>> {
        let posts = request.method() == Method::POST;
        matches!(self.server, Server::Child(_))
            .then(|| child::not_json(request.headers()).filter(|_| posts))?
    }

    /// A path beside the endpoint: no rule applies to it.
    async fn beside(&self, request: Request<Body>, peer: Peer) -> Result<Response<Body>, UpstreamError> {
        let answer = match &self.server {
            Server::Http(upstream) => {
                upstream.answer(request, Some(peer)).await.map(|answer| answer.map(upstream::Answer::body))
            }
            // A program has one door.
            Server::Child(_) => Err(UpstreamError::NotServed),
        };
        answer.inspect_err(|error| self.meter.upstream_failed(*error))
    }
}

impl Service<Request<Body>> for Behind {
    type Response = Response<Body>;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failed>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let meter = self.meter.clone();
        match &mut self.server {
            Server::Http(upstream) => {
                let answer = upstream.answer(request, self.peer);
                Box::pin(Metered { answer, meter, began: Instant::now(), body: coming })
            }
            Server::Child(child) => {
                let answer = child.call(request, self.keys);
                Box::pin(Metered { answer, meter, began: Instant::now(), body: counted })
            }
        }
    }
}

pin_project_lite::pin_project! {
    /// Waits for an answer, and counts how long that takes and what fails. By hand, because an async function holds what
    /// it waits for twice.
    struct Metered<F, B> {
        #[pin]
        answer: F,
        meter: Meter,
        began: Instant,
        // Counts what fails in a body, too.
        body: fn(B, &Meter) -> Body,
    }
}

impl<F, B> Future for Metered<F, B>
where
    F: Future<Output = Result<Response<B>, UpstreamError>>,
{
    type Output = Result<Response<Body>, Failed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(cx));
        this.meter.upstream_took(this.began.elapsed(), answer.is_ok());
        Poll::Ready(match answer {
            Ok(answer) => Ok(answer.map(|body| (this.body)(body, this.meter))),
            Err(error) => Err(failure(this.meter, error)),
        })
    }
}

/// A body that has come cannot fail any more.
fn coming(body: upstream::Answer, meter: &Meter) -> Body {
    match body {
        Coming::Whole(bytes) => full(bytes),
        Coming::Driven(driven) => counted(driven, meter),
    }
}

fn counted<B>(body: B, meter: &Meter) -> Body
where
    B: http_body::Body<Data = bytes::Bytes, Error = BoxError> + Send + 'static,
{
    let meter = meter.clone();
    boxed(body.map_err(move |error| in_stream(&meter, error)))
}

#[cold]
fn failure(meter: &Meter, error: UpstreamError) -> Failed {
    meter.upstream_failed(error);
    Failed { status: error.status(), what: error.to_string() }
}

fn in_stream(meter: &Meter, error: BoxError) -> BoxError {
    match error.downcast_ref::<UpstreamError>() {
        Some(known) => failure(meter, *known).into(),
        None => error,
    }
}

/// A request's body that broke off says why, where that is known.
fn from_caller(error: BoxError) -> BoxError {
    match error.downcast_ref::<RequestError>() {
        Some(known) => Failed { status: known.status(), what: known.to_string() }.into(),
        None => error,
    }
}

/// An answer of the gateway's own, to a request whose id is not known.
#[cold]
fn failed(status: u16, what: &dyn fmt::Display, headers: &HeaderMap) -> Response<Body> {
    refusal::answer_to(&Reply::failed(status, None, what), headers)
}
