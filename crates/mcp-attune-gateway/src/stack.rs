//! The one stack, in order: what happens to a request between the door and the server behind.
//!
//! ```text
//! guard        who may knock: Host, Origin, CORS       first, so that nothing else is done for a stranger
//! request id   a name for logs and refusals            before anything that logs
//! calls        how many run at a time                  before anything that costs
//! mount        which server is meant                   by path
//! attune       the rules                               around the endpoint only
//! upstream     the server behind                       paths beside the endpoint come straight here
//! ```
//!
//! Rules: G1, G4, G5, G12.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use mcp_attune::language::Languages;
use mcp_attune_tower::{Attune, AttuneLayer, Failed, Settings};
use mcp_attune_wire::reply::Reply;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower_layer::Layer;
use tower_service::Service;

use crate::config::{self, Agreement, Config, OnUnknown, Target};
use crate::guard::{Allowed, BadEntry, Guard, GuardLayer, Guarded};
use crate::listen::RequestError;
use crate::refusal;
use crate::request_id::Named;
use crate::upstream::{HttpUpstream, Options, Setup, UnknownPaths, UpstreamError};
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
    /// A mount's server is a program; only servers over HTTP are built yet.
    NotBuilt {
        /// The mount.
        mount: String,
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
            Self::NoUpstream { mount } => write!(f, "the mount {mount} names no server behind"),
            Self::NotBuilt { mount } => {
                write!(f, "the mount {mount} starts a program, and only servers over HTTP are served yet")
            }
            Self::Upstream { mount, why } => write!(f, "the mount {mount}: {why}"),
            Self::Allowed(entry) => entry.fmt(f),
        }
    }
}

impl std::error::Error for Unservable {}

/// The whole stack: see the module's page for its order.
///
/// # Errors
///
/// [`Unservable`], where the configuration names what cannot be served.
pub fn stack(config: &Config) -> Result<Stack, Unservable> {
    let mounts = config.mounts.iter().map(|mount| Mounted::new(config, mount)).collect::<Result<_, _>>()?;
    let calls = Arc::new(Semaphore::new(config.limits.calls.min(Semaphore::MAX_PERMITS)));
    let hosts = config.server.allowed_hosts.iter().map(http::uri::Authority::as_str);
    let origins = config.server.allowed_origins.iter().map(config::Origin::as_str);
    let allowed = Allowed::new(hosts, origins).map_err(Unservable::Allowed)?;
    Ok(Stack(GuardLayer::new(allowed).layer(Named::new(Calls { mounts, calls }))))
}

/// A stack that is ready to serve. A clone is the same stack.
#[derive(Clone, Debug)]
pub struct Stack(Guard<Named<Calls>>);

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl Service<Request<Body>> for Stack {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Guarded<Answer>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.0.call(request)
    }
}

/// Bounds the calls that run at a time, streams included, and finds the server that a call is meant for.
#[derive(Clone, Debug)]
struct Calls {
    mounts: Arc<[Mounted]>,
    calls: Arc<Semaphore>,
}

impl Service<Request<Body>> for Calls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        let Ok(place) = Arc::clone(&self.calls).try_acquire_owned() else {
            return ready(failed(503, &"too many calls are running; try again in a moment"));
        };
        let path = request.uri().path();
        let Some(mount) = mount_of(&self.mounts, path) else {
            return ready(failed(404, &"nothing is served at this path"));
        };
        let mut mount = mount.clone();
        let endpoint = path == mount.path;
        Box::pin(async move {
            if endpoint {
                let request = request.map(|body| body.map_err(from_caller).boxed_unsync());
                mount.attuned.call(request).await.map(|answer| answer.map(|body| held(body, place)))
            } else {
                mount.beside(request).await.map(|answer| answer.map(|body| held(body, place)))
            }
        })
    }
}

fn ready(answer: Response<Body>) -> Answer {
    Box::pin(std::future::ready(Ok(answer)))
}

/// The mount whose path it is, or that a path beside it speaks of: `/.well-known/…` with the mount's path at its
/// end (RFC 9728). Where there is one mount only, every path is beside it.
fn mount_of<'m>(mounts: &'m [Mounted], path: &str) -> Option<&'m Mounted> {
    let beside = |mount: &&Mounted| {
        path.strip_suffix(mount.path.as_str()).is_some_and(|start| start.starts_with("/.well-known/"))
            || path.strip_prefix(mount.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let only = || mounts.first().filter(|_| mounts.len() == 1);
    mounts.iter().find(|mount| mount.path == path).or_else(|| mounts.iter().find(beside)).or_else(only)
}

/// One server behind, and the rules around its endpoint.
#[derive(Clone, Debug)]
struct Mounted {
    path: String,
    upstream: HttpUpstream,
    attuned: Attune<Behind>,
}

impl Mounted {
    fn new(config: &Config, mount: &config::Mount) -> Result<Self, Unservable> {
        let name = || mount.name.clone();
        let Some(upstream) = &mount.upstream else { return Err(Unservable::NoUpstream { mount: name() }) };
        let Target::Http(url) = &upstream.target else { return Err(Unservable::NotBuilt { mount: name() }) };
        let mut options = Options::new(url.clone(), mount.path.as_str());
        options.first_byte = config.limits.upstream_first_byte;
        options.stream_idle = config.limits.stream_idle;
        options.unknown_paths = match upstream.unknown_paths {
            config::UnknownPaths::Pass => UnknownPaths::Pass,
            config::UnknownPaths::Refuse => UnknownPaths::Refuse,
        };
        let upstream =
            HttpUpstream::new(&options).map_err(|why| Unservable::Upstream { mount: name(), why })?;
        let layer = AttuneLayer::new(settings(config, mount));
        Ok(Self { path: options.mount, attuned: layer.layer(Behind(upstream.clone())), upstream })
    }

    /// A path beside the endpoint: no rule applies to it.
    async fn beside(&mut self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        Ok(self.upstream.call(request).await.unwrap_or_else(|error| failed(error.status(), &error)))
    }
}

/// What the operator chose, as the layer wants it.
fn settings(config: &Config, mount: &config::Mount) -> Settings {
    let mut settings = Settings::default();
    settings.policy = mount.headers.policy();
    settings.report_only = mount.headers.agree == Agreement::Report;
    settings.offer.languages =
        config.default_language.as_ref().and_then(|tag| Languages::new(tag.clone(), []).ok());
    settings.limits.body = config.limits.body;
    settings.limits.answer = config.limits.answer;
    settings.limits.event = config.limits.event;
    settings.schemas.ttl = mount.headers.schema_ttl;
    settings.schemas.recheck = mount.headers.schema_recheck;
    settings.schemas.budget = mount.headers.schema_budget;
    settings.schemas.identity_headers.clone_from(&mount.headers.identity_headers);
    settings.schemas.refuse_unknown = mount.headers.on_unknown == OnUnknown::Refuse;
    settings
}

/// The server behind, failing in the way that the layer understands.
#[derive(Clone, Debug)]
struct Behind(HttpUpstream);

impl Service<Request<mcp_attune_tower::Body>> for Behind {
    type Response = Response<mcp_attune_tower::Body>;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failed>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<mcp_attune_tower::Body>) -> Self::Future {
        let answer = self.0.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(|error| failure(&error))?;
            Ok(answer.map(|body| mcp_attune_tower::boxed(body.map_err(in_stream))))
        })
    }
}

fn failure(error: &UpstreamError) -> Failed {
    Failed { status: error.status(), what: error.to_string() }
}

fn in_stream(error: BoxError) -> BoxError {
    match error.downcast_ref::<UpstreamError>() {
        Some(known) => failure(known).into(),
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
fn failed(status: u16, what: &dyn fmt::Display) -> Response<Body> {
    refusal::answer(&Reply::failed(status, None, what))
}

/// A body that keeps its call's place until it is over.
fn held<B>(body: B, place: OwnedSemaphorePermit) -> Body
where
    B: http_body::Body<Data = Bytes, Error = BoxError> + Send + 'static,
{
    Held { body, _place: place }.boxed_unsync()
}

pin_project_lite::pin_project! {
    struct Held<B> {
        #[pin]
        body: B,
        _place: OwnedSemaphorePermit,
    }
}

impl<B: http_body::Body> http_body::Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
