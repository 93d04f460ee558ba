//! The one stack: everything that happens to a request between the listener and the upstream, in order, in
//! `build_stack`.
//!
//! A layer is a service of hyper's kind: it takes `&self`, is shared by all connections, and is always ready.
//! What it has to remember of one request is in the future that it returns. These futures are plain types
//! nested in each other; only what `LimitedMount` does inside is boxed, once.
//!
//! Rules: G1, G4, G5, G12.

use std::fmt;
use std::sync::Arc;

use http::{Request, uri};
use hyper::service::Service;
use mcp_attune_files::FileWatcher;
use mcp_attune_tower::{AttuneLayer, BufferBudget, NoRandomness, SealKeys, Settings, random_keys, seal};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Body;
use crate::access::AccessLog;
use crate::auth::TokenVerifier;
use crate::bridge::{BridgeOptions, BridgedUpstream};
use crate::child::{self, ChildRegistry};
use crate::config::{self, Config, HeaderAgreementSetting, UnknownSchemaSetting, UpstreamTarget};
use crate::dispatch::Dispatch;
use crate::guard::{Allowlist, AllowlistError, Guard};
use crate::listen::{Peer, PeerBody};
use crate::metrics::{Meter, Metrics};
use crate::mount::MountedUpstream;
use crate::open_streams::EndOpenStreams;
use crate::permits::{LimitedMount, Permits};
use crate::request_id::RequestIds;
use crate::route::MountRoute;
use crate::upstream::{self, HttpUpstream, Upstream, UpstreamService, UpstreamSetupError};

/// The layers of the gateway, from the outermost to the one that finds the mount.
type Layers = EndOpenStreams<RequestIds<Guard<Dispatch>>>;

/// Builds the stack for a configuration, from the upstreams outwards. Called at the start and for every
/// reload.
///
/// Programs that run already are taken over from `shared` where their options did not change. Schemas,
/// adapted listings and permits begin anew with each stack; requests that still run keep the stack that they
/// began with.
///
/// # Errors
///
/// [`StackError`], if the configuration describes something that cannot be served. The stack that serves now
/// is not touched by that, except that the buffer limit (`held`) has already been set.
pub(crate) fn build_stack(config: &Config, shared: &SharedState) -> Result<Stack, StackError> {
    shared.held.set_limit(config.limits.held);
    // Counts requests that belong to no mount.
    let unmounted = shared.metrics.meter("");
    let permits = Arc::new(Permits::new(config, unmounted.clone()));
    let (mut routes, mut mounts, mut watcher) = (Vec::new(), Vec::new(), FileWatcher::new());
    for mount in &config.mounts {
        let meter = shared.metrics.meter(&mount.name);
        // The upstream: a server over HTTP, or a program that the gateway starts.
        let upstream = upstream(config, mount, shared)?;
        // Gives callers of one era of MCP a server of the other. It is next to the upstream, so that the rules see both
        // alike.
        let upstream: Arc<dyn Upstream> =
            Arc::new(BridgedUpstream::new(upstream, bridge_options(config, mount, shared)));
        routes.push(route(mount, &*upstream));
        // Counts how long the upstream takes and how it fails. It is next to the upstream, so that requests of the
        // rules' own, such as listings, are counted too.
        let upstream = UpstreamService::new(upstream, meter.clone());
        // The rules. They are around the endpoint only: requests off the endpoint go past them, as they came.
        let rules = AttuneLayer::new(settings(config, mount, shared, upstream.upstream(), &mut watcher));
        // Changed templates are checked against the same listing that the old ones were checked against.
        let held = rules.clone();
        watcher = watcher.on_refresh(move || held.recheck_templates());
        // Counts and logs every request that is for the mount, also what the rules refuse, until its answer is over.
        let (path, max_answer) = (mount.path.as_str().to_owned(), config.limits.answer);
        let trusts_headers = mount.callers.headers != config::CallerHeadersConfig::default();
        // Verifies tokens before the rules, which only get what they say.
        let tokens = tokens(mount)?;
        let mount = MountedUpstream { path, rules, upstream, meter, trusts_headers, tokens, max_answer };
        // Bounds how many calls run at a time, and of whom: after the body was read, so that one that has not come
        // holds up nobody, and before anything that costs.
        mounts.push(LimitedMount::new(&permits, mount));
    }
    let servers = mounts.iter().map(|mount| Arc::clone(mount.mount())).collect();
    // Finds the mount by path and method. What is for none takes no permit.
    let layers = Dispatch::new(routes, mounts, unmounted.clone());
    // Rejects a foreign Host or Origin, so that nothing else is done for a stranger, and answers browsers' preflights.
    let layers = Guard::new(allowed(config)?, layers).counting(unmounted.refusals("H15"));
    // Names the request for logs and answers, before anything that may refuse it.
    let layers = RequestIds::new(layers);
    // Ends streams that never end by themselves when the gateway stops. It is outermost, because it cuts what all
    // others made of the answer.
    let layers = EndOpenStreams::new(shared.stopping.subscribe(), layers);
    Ok(Stack { layers, servers, watcher })
}

/// A stack that is ready to serve.
#[derive(Debug)]
pub(crate) struct Stack {
    layers: Layers,
    /// The mounts that `layers` serves, for what is done beside requests: probes, checks, metrics.
    servers: Vec<Arc<MountedUpstream>>,
    /// Follows the locale files and templates of all mounts. It looks at them only when the reload loop tells
    /// it to.
    watcher: FileWatcher,
}

/// The answer of a [`Stack`] that is to come.
pub(crate) type StackFuture = <Layers as Service<Request<PeerBody>>>::Future;

impl Stack {
    /// Answers a request that came over the connection of `peer`. Never fails: whatever goes wrong is an
    /// answer.
    pub(crate) fn answer(&self, request: Request<Body>, peer: Peer) -> StackFuture {
        self.layers.call(request.map(|body| PeerBody { body, peer }))
    }

    /// Starts to check the configured bindings and templates against what the upstreams list (where a mount
    /// has any), and with `probes` also to probe all upstreams. The tasks end when the returned set is
    /// dropped.
    #[must_use]
    pub(crate) fn spawn_server_checks(&self, probes: bool) -> JoinSet<()> {
        let asking = self.servers.iter().filter(|mount| mount.rules.needs_probe());
        let mut looking: JoinSet<()> = asking.map(|mount| Arc::clone(mount).check_tools()).collect();
        for mount in self.servers.iter().filter(|_| probes) {
            looking.spawn(Arc::clone(mount).probe());
        }
        looking
    }

    /// Returns the watcher of the locale files and templates of all mounts.
    pub(crate) fn watcher(&self) -> &FileWatcher {
        &self.watcher
    }

    /// Returns the path and the meter of each mount.
    pub(crate) fn meters(&self) -> Vec<(String, Meter)> {
        self.servers.iter().map(|mount| (mount.path.clone(), mount.meter.clone())).collect()
    }
}

/// State that outlives a reload: one per process, passed to every [`build_stack`].
#[derive(Debug)]
pub(crate) struct SharedState {
    /// All counters, with the access log. Counters go on counting across reloads.
    pub(crate) metrics: Metrics,
    /// The programs that run as upstreams. A reload finds a program here again if its options did not change.
    pub(crate) children: ChildRegistry,
    /// Becomes `true` when the gateway stops, which ends open streams.
    pub(crate) stopping: watch::Sender<bool>,
    /// A key that was made at the start. Ids that it sealed can be opened until the process ends, whatever
    /// keys the configuration names.
    keys: SealKeys,
    /// How many bytes of requests and answers may be buffered for all calls together.
    held: BufferBudget,
}

impl SharedState {
    /// Makes the state of a new process, with a random key.
    ///
    /// # Errors
    ///
    /// [`NoRandomness`], where the operating system has none to make the key of.
    pub(crate) fn new(access: AccessLog) -> Result<Self, NoRandomness> {
        Ok(Self {
            metrics: Metrics::new(access),
            children: ChildRegistry::new(),
            stopping: watch::Sender::new(false),
            keys: random_keys()?,
            held: BufferBudget::default(),
        })
    }
}

/// Why a configuration, valid in itself, cannot be served.
#[derive(Debug)]
#[non_exhaustive]
pub enum StackError {
    /// A mount names no server. Possible only in a file without `[mounts]`, where the command line may name
    /// it.
    NoUpstream {
        /// The name of the mount.
        mount: String,
    },
    /// A mount's server is a program that cannot be found.
    Program {
        /// The name of the mount.
        mount: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A mount's server cannot be reached in the way that it is described.
    Upstream {
        /// The name of the mount.
        mount: String,
        /// What is wrong.
        why: UpstreamSetupError,
    },
    /// The keys of a mount's `[auth]` cannot be fetched in the way that it is described.
    Auth {
        /// The name of the mount.
        mount: String,
        /// What is wrong.
        why: UpstreamSetupError,
    },
    /// An entry of `allowed_hosts` or `allowed_origins` is not a host or an origin.
    Allowed(AllowlistError),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUpstream { mount } => write!(f, "{}no server is named", mount_prefix(mount)),
            Self::Program { mount, why } => write!(f, "{}{why}", mount_prefix(mount)),
            Self::Upstream { mount, why } => write!(f, "{}{why}", mount_prefix(mount)),
            Self::Auth { mount, why } => write!(f, "{}`auth.jwks`: {why}", mount_prefix(mount)),
            Self::Allowed(entry) => entry.fmt(f),
        }
    }
}

/// Returns `[mounts.NAME]: ` to put before an error. Empty for the only server of a file without `[mounts]`,
/// whose operator has never heard of mounts.
fn mount_prefix(name: &str) -> String {
    if name == config::MountConfig::DEFAULT_NAME { String::new() } else { format!("[mounts.{name}]: ") }
}

impl std::error::Error for StackError {}

/// Makes the upstream of a mount: a connection pool to a URL, or a program of the registry. Nothing is
/// connected or started yet.
fn upstream(
    config: &Config,
    mount: &config::MountConfig,
    shared: &SharedState,
) -> Result<Arc<dyn Upstream>, StackError> {
    let name = || mount.name.clone();
    let Some(upstream) = &mount.upstream else { return Err(StackError::NoUpstream { mount: name() }) };
    match &upstream.target {
        UpstreamTarget::Http(url) => {
            let mut options = upstream::HttpUpstreamOptions::new(url.clone(), mount.path.as_str());
            options.first_byte = config.limits.upstream_first_byte;
            options.stream_idle = config.limits.stream_idle;
            let upstream = HttpUpstream::new(&options);
            Ok(Arc::new(upstream.map_err(|why| StackError::Upstream { mount: name(), why })?))
        }
        UpstreamTarget::Stdio(program) => {
            let options = child::ChildOptions::new(&mount.name, program, &config.limits);
            options
                .check_program_exists()
                .map_err(|why| StackError::Program { mount: name(), why: why.to_string() })?;
            Ok(Arc::new(shared.children.upstream(options)))
        }
    }
}

/// Makes what verifies the tokens of a mount's callers, where `[auth]` names their issuer.
fn tokens(mount: &config::MountConfig) -> Result<Option<TokenVerifier>, StackError> {
    let verifier = mount.auth.as_ref().map(TokenVerifier::new).transpose();
    verifier.map_err(|why| StackError::Auth { mount: mount.name.clone(), why })
}

/// Collects how a mount is bridged.
fn bridge_options(config: &Config, mount: &config::MountConfig, shared: &SharedState) -> BridgeOptions {
    BridgeOptions {
        settings: config.bridge.clone(),
        era: mount.upstream.as_ref().map_or_else(Default::default, |upstream| upstream.era),
        seal: seal(session_keys(config, &shared.keys), &mount.name),
        max_answer: config.limits.answer,
        max_event: config.limits.event,
        share: config.limits.share,
    }
}

/// Collects what the router has to know of a mount.
fn route(mount: &config::MountConfig, upstream: &dyn Upstream) -> MountRoute {
    let endpoint = upstream.endpoint().map(str::to_owned);
    let unknown_paths =
        mount.upstream.as_ref().map_or_else(Default::default, |upstream| upstream.unknown_paths);
    MountRoute { path: mount.path.as_str().to_owned(), endpoint, unknown_paths }
}

/// Compiles `allowed_hosts` and `allowed_origins`.
fn allowed(config: &Config) -> Result<Allowlist, StackError> {
    let hosts = config.server.allowed_hosts.iter().map(uri::Authority::as_str);
    let origins = config.server.allowed_origins.iter().map(config::AllowedOrigin::as_str);
    Allowlist::new(hosts, origins).map_err(StackError::Allowed)
}

/// Returns the keys that the operator configured, or the one made at the start. Where keys are configured,
/// the first of them seals and the one made at the start only opens, so that adding keys to the configuration
/// ends no session.
fn session_keys(config: &Config, made: &SealKeys) -> SealKeys {
    let mut given = config.session.keys.iter().map(config::SessionSealKey::expose);
    given.next().map_or_else(|| made.clone(), |first| SealKeys::new(first, given).also_opening(made))
}

/// Translates the configuration of a mount into the settings of its [`AttuneLayer`]. The locale files and
/// templates that it names are added to `watcher`.
fn settings(
    config: &Config,
    mount: &config::MountConfig,
    shared: &SharedState,
    upstream: &dyn Upstream,
    watcher: &mut FileWatcher,
) -> Settings {
    let mut settings = Settings::default();
    settings.seal = Some(seal(session_keys(config, &shared.keys), &mount.name));
    settings.held = shared.held.clone();
    // The guard of the whole gateway stands before its mounts.
    settings.guard = None;
    settings.policy = mount.headers.policy();
    settings.introduce = false;
    settings.attach_message = upstream.is_program();
    settings.attach_caller_body = true;
    settings.report_only = mount.headers.agree == HeaderAgreementSetting::Report;
    settings.offer = config.offer(Some(mount), watcher);
    settings.limits.body = config.limits.body;
    settings.limits.answer = config.limits.answer;
    settings.limits.event = config.limits.event;
    settings.schemas.ttl = mount.headers.schema_ttl;
    settings.schemas.recheck = mount.headers.schema_recheck;
    settings.schemas.budget = mount.headers.schema_budget;
    settings.schemas.identity_headers.clone_from(&mount.headers.identity_headers);
    settings.schemas.identity_query = mount.headers.identity_query;
    settings.schemas.refuse_unknown = mount.headers.on_unknown == UnknownSchemaSetting::Refuse;
    settings
}
