//! The running gateway: its two listeners, the stack that serves requests, and the files that it follows.
//!
//! 1. Callers connect to `listen`. `/healthz`, `/readyz` and `/metrics` are on `admin`, a listener of its own
//!    that callers need not be able to reach.
//! 2. A changed configuration takes effect for the next request: see `reload.rs`.
//! 3. A shutdown has stages. `/readyz` answers 503 from the first stage to the last.
//!    1. For `shutdown_delay`, connections are accepted and requests are answered, and each answer closes its
//!       connection.
//!    2. No new connections are accepted, idle ones are closed, and running calls may finish (`drain`).
//!    3. What still runs is cut, the child programs are ended, and so is the admin listener.
//!
//!    Telling the gateway once more to end skips to the next stage at once.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_attune_tower::NoRandomness;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::access::AccessLog;
use crate::admin::AdminService;
use crate::config::{Config, HttpImplementation};
use crate::descriptors;
use crate::inspect;
use crate::listen::{
    DrainOutcome, ListenerLimits, ListenerMetrics, ListenerPhase, ListenerTls, serve, serve_on_workers,
};
use crate::reload::{
    CurrentStack, CurrentStackService, FileStamp, ReloadHook, ReloadLoop, certificate_stamps, listener_limits,
};
use crate::stack::{SharedState, StackError, build_stack};
use crate::workers::Workers;

/// How long requests to the admin listener may go on once the gateway has finished with its callers.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// A command to a running gateway, sent through the channel of [`Gateway::run_controlled`]. Each variant
/// names the signal that `attune serve` translates into it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GatewayControl {
    /// Looks at the configuration, the locale files and the templates now instead of at the next interval,
    /// and reads the certificate again: `SIGHUP`. Ignored once the gateway is ending.
    Reload,
    /// Ends the gateway after `shutdown_delay`, so that load balancers can notice `/readyz` first: `SIGTERM`.
    /// Sent again, it skips to the next stage of the shutdown.
    Terminate,
    /// Ends the gateway without the delay: Ctrl-C. Sent again, it skips to the next stage of the shutdown.
    Interrupt,
}

/// Why a gateway does not start. `Display` is a sentence for the operator that names the mount, address or
/// file at fault.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayStartError {
    /// The configuration is valid in itself, but describes something that cannot be served: a mount without a
    /// server, a program that does not exist, a URL that cannot be used.
    Unservable(StackError),
    /// The address of the caller listener or of the admin listener cannot be bound, for example because it is
    /// in use.
    Listen {
        /// The address, as the configuration has it.
        address: SocketAddr,
        /// The error of the operating system.
        why: io::Error,
    },
    /// The certificate or the key of `[server.tls]` cannot be read, or the two cannot be used together.
    Tls {
        /// The file that could not be read; the certificate's, if both were read and cannot be used.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system gives no random bytes, so there is no key to seal the ids of legacy sessions
    /// with.
    Keys(NoRandomness),
}

impl fmt::Display for GatewayStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unservable(why) => why.fmt(f),
            Self::Listen { address, why } => write!(f, "cannot listen on {address}: {why}"),
            Self::Tls { file, why } => write!(f, "{}: {why}", file.display()),
            Self::Keys(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for GatewayStartError {}

/// A gateway whose listeners are bound, and that waits to run.
///
/// [`bind`](Self::bind) does everything that can fail; the `with_…` methods and
/// [`on_reload`](Self::on_reload) choose options; [`run`](Self::run) or
/// [`run_controlled`](Self::run_controlled) then serves until the shutdown is over. Between binding and
/// running, connections already queue in the listener's backlog, and the addresses can be asked for, which
/// matters where port 0 is configured.
///
/// ```no_run
/// use mcp_attune_gateway::config::Config;
/// use mcp_attune_gateway::gateway::Gateway;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::parse("[upstream]\nurl = 'http://127.0.0.1:9000/mcp'\n", "attune.toml")?;
/// let gateway = Gateway::bind(config).await?;
/// println!("listening on {}", gateway.address()?);
/// gateway.run(None, std::future::pending()).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    /// The stack that answers requests. It is shared with every connection, and replaced by a reload.
    current: CurrentStack,
    callers: TcpListener,
    admin: TcpListener,
    /// `None` where callers connect over plain HTTP.
    tls: Option<ListenerTls>,
    /// The state of the certificate's two files just before they were read, so that the reload loop notices
    /// any later change.
    certificate: Option<[FileStamp; 2]>,
    /// State that all stacks of this process share.
    shared: SharedState,
    /// The limits of the configuration, with fewer connections where the process may not have as many file
    /// descriptors.
    limits: ListenerLimits,
    workers: Workers,
    /// Whether upstreams are probed, see [`with_probes`](Self::with_probes).
    tries: bool,
    hook: ReloadHook,
}

impl Gateway {
    /// Builds the stack, reads the certificate, and binds both listeners. Nothing is served yet.
    ///
    /// Files that the configuration names and that are missing, but without which the gateway can serve, are
    /// only logged.
    ///
    /// # Errors
    ///
    /// [`GatewayStartError`], with what to mend.
    pub async fn bind(config: Config) -> Result<Self, GatewayStartError> {
        Self::bind_with_access_log(config, AccessLog::default()).await
    }

    /// Does the same as [`bind`](Self::bind), and records every call in `access`. The log writes nothing
    /// until it is started with [`AccessLog::start`], and the caller also finishes it.
    ///
    /// # Errors
    ///
    /// [`GatewayStartError`], with what to mend.
    pub async fn bind_with_access_log(config: Config, access: AccessLog) -> Result<Self, GatewayStartError> {
        inspect::log_issues(&config);
        let shared = SharedState::new(access).map_err(GatewayStartError::Keys)?;
        let current =
            CurrentStack::new(build_stack(&config, &shared).map_err(GatewayStartError::Unservable)?);
        let certificate = certificate_stamps(&config);
        let tls = match &config.server.tls {
            Some(files) => Some(read_tls(&files.cert, &files.key)?),
            None => None,
        };
        let callers = bind_listener(config.server.listen).await?;
        let admin = bind_listener(config.server.admin).await?;
        // The newest descriptor has the highest number.
        let limits = within_descriptor_limit(
            listener_limits(&config),
            config.limits.upstream_connections(),
            descriptors::number(&admin) + 1,
        );
        shared.metrics.access.apply_config(&config);
        let (workers, hook) = (Workers::none(), ReloadHook::default());
        Ok(Self {
            config,
            current,
            callers,
            admin,
            tls,
            certificate,
            shared,
            limits,
            workers,
            tries: false,
            hook,
        })
    }

    /// Serves the connections of callers on these threads. Without it, connections stay on the runtime that
    /// drives [`run`](Self::run).
    #[must_use]
    pub fn with_workers(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// Probes the upstreams at the start and from then on: programs are started at once, upstreams that
    /// cannot be reached are logged, and `/readyz` answers 503 unless every one of them was reached when it
    /// was last tried. Without it, an upstream is first contacted when a caller sends a request for it, and
    /// `/readyz` does not depend on upstreams.
    #[must_use]
    pub fn with_probes(self) -> Self {
        Self { tries: true, ..self }
    }

    /// Calls `hook` with every new configuration that takes effect while the gateway runs, after it is in
    /// place. The hook runs in the reload loop and must not block. Only the last hook that was set is called.
    #[must_use]
    pub fn on_reload(self, hook: impl Fn(&Config) + Send + Sync + 'static) -> Self {
        Self { hook: ReloadHook::new(hook), ..self }
    }

    /// Returns the address that callers connect to, with the real port where the configuration says port 0.
    ///
    /// # Errors
    ///
    /// The error of the operating system, where it does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.callers.local_addr()
    }

    /// Returns the address of the admin listener (`/healthz`, `/readyz`, `/metrics`), with the real port.
    ///
    /// # Errors
    ///
    /// The error of the operating system, where it does not say.
    pub fn admin_address(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown` completes, then lets running calls finish, without a delay before; open
    /// streams on which callers only listen are ended at once.
    ///
    /// `file` is the configuration file to follow: it is looked at every second, and a valid change takes
    /// effect. With `None` the configuration stays as it is. Locale files, templates and the certificate are
    /// followed in both cases.
    ///
    /// Dropping the returned future cuts all connections.
    pub async fn run(self, file: Option<PathBuf>, shutdown: impl Future<Output = ()>) -> DrainOutcome {
        let (tell, told) = mpsc::unbounded_channel();
        let ending = async {
            shutdown.await;
            // The other end is gone when there is nothing left to end.
            let _ = tell.send(GatewayControl::Interrupt);
            std::future::pending().await
        };
        tokio::select! {
            drained = self.run_controlled(file, told) => drained,
            drained = ending => drained,
        }
    }

    /// Does the same as [`run`](Self::run), controlled by commands; see [`GatewayControl`].
    ///
    /// Returns when the shutdown is over and the child programs have ended. If all senders of `control` are
    /// dropped, the gateway ends as if it was told [`GatewayControl::Interrupt`], and nothing can skip a
    /// stage any more.
    pub async fn run_controlled(
        self,
        file: Option<PathBuf>,
        mut control: mpsc::UnboundedReceiver<GatewayControl>,
    ) -> DrainOutcome {
        let (phase, phases) = watch::channel(ListenerPhase::Serve);
        let (end_admin, admin_ends) = oneshot::channel::<()>();
        let admin = AdminService::new(self.shared.metrics.clone(), &self.config);
        if self.tries {
            admin.require_servers(self.current.meters());
        }
        let admin_served = serve_admin(self.admin, admin.clone(), self.limits.http, admin_ends);
        let (current, tls) = (self.current.clone(), self.tls.clone());
        let service = move |peer| CurrentStackService { current: current.clone(), peer };
        let traffic = self.shared.metrics.traffic.clone();
        let callers_served = async {
            let drained =
                serve_on_workers(&self.workers, self.callers, service, self.limits, tls, traffic, phases)
                    .await;
            // Until here it says that it is not ready.
            let _ = end_admin.send(());
            drained
        };
        let follow = ReloadLoop {
            file: file.as_deref(),
            config: &self.config,
            current: &self.current,
            shared: &self.shared,
            admin: &admin,
            tls: self.tls.as_ref(),
            certificate: self.certificate,
            tries: self.tries,
            hook: &self.hook,
        };
        let stages = ShutdownStages { phase, stopping: &self.shared.stopping, admin: &admin };
        let (drained, _) = tokio::select! {
            ended = async { tokio::join!(callers_served, admin_served) } => ended,
            ended = follow_until_shutdown(follow, stages, &mut control) => ended,
        };
        self.shared.children.end_all().await;
        drained
    }
}

/// Serves the admin listener until `ends` resolves or its sender is dropped. It has the default limits, no
/// TLS and no metrics of its own.
async fn serve_admin(
    listener: TcpListener,
    admin: AdminService,
    http: HttpImplementation,
    ends: oneshot::Receiver<()>,
) -> DrainOutcome {
    let limits = ListenerLimits { http, drain: ADMIN_DRAIN, ..ListenerLimits::default() };
    let ends = async {
        let _ = ends.await;
    };
    serve(listener, move |_| admin.clone(), limits, None, ListenerMetrics::default(), ends).await
}

/// Runs the reload loop until the gateway is told to end, and then goes through the stages of the shutdown.
/// It never returns: `run_controlled` drops it when the listeners are done.
async fn follow_until_shutdown<T>(
    follow: ReloadLoop<'_>,
    stages: ShutdownStages<'_>,
    control: &mut mpsc::UnboundedReceiver<GatewayControl>,
) -> T {
    let reload = Notify::new();
    let delay = tokio::select! {
        last = reload_until_shutdown(control, &reload) => match last {
            GatewayControl::Terminate => follow.config.server.shutdown_delay,
            _ => Duration::ZERO,
        },
        delay = follow.run(&reload) => delay,
    };
    stages.end(delay, control).await
}

/// Lowers the connection limit to what the file descriptor limit of the process allows, and logs a warning if
/// that is less than configured. `in_use` is the number of descriptors that are open already, `behind` the
/// number of connections to upstreams that may be needed.
fn within_descriptor_limit(mut limits: ListenerLimits, behind: usize, in_use: u64) -> ListenerLimits {
    let wanted = limits.connections;
    let share = descriptors::share_for_callers(in_use, wanted, behind);
    if share.connections < wanted {
        tracing::warn!(
            connections = wanted,
            possible = share.connections,
            open_files = descriptors::limit(),
            "fewer connections are taken than `connections` of [limits] says, because no more files can be open; \
             allow more (`ulimit -n`, or LimitNOFILE= of systemd), or set it lower"
        );
    }
    (limits.connections, limits.turned_away) = (share.connections, share.turned_away);
    limits
}

/// What has to be told of each stage of a shutdown.
struct ShutdownStages<'a> {
    /// Tells the caller listener and all its connections.
    phase: watch::Sender<ListenerPhase>,
    /// Set to `true`, it ends the streams that never end by themselves.
    stopping: &'a watch::Sender<bool>,
    /// Makes `/readyz` answer 503.
    admin: &'a AdminService,
}

impl ShutdownStages<'_> {
    /// Goes through the stages: `Close` for `delay` (skipped if it is zero), `Finish`, and `Cut` when the
    /// gateway is told to end once more. The caller listener itself goes on from `Finish` when everything has
    /// finished or `drain` is over, so this never returns.
    async fn end<T>(self, delay: Duration, control: &mut mpsc::UnboundedReceiver<GatewayControl>) -> T {
        self.admin.set_stopping();
        if !delay.is_zero() {
            tracing::info!(?delay, "stopping: not ready any more; each answer closes its connection");
            self.phase.send_replace(ListenerPhase::Close);
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = wait_for_next_stage(control) => {}
            }
        }
        tracing::info!("stopping: no new connections, running calls may finish");
        self.phase.send_replace(ListenerPhase::Finish);
        self.stopping.send_replace(true);
        wait_for_next_stage(control).await;
        tracing::warn!("stopping at once: running calls are cut");
        self.phase.send_replace(ListenerPhase::Cut);
        std::future::pending().await
    }
}

/// Passes [`GatewayControl::Reload`] on to the reload loop, and returns the first command that ends the
/// gateway.
async fn reload_until_shutdown(
    control: &mut mpsc::UnboundedReceiver<GatewayControl>,
    reload: &Notify,
) -> GatewayControl {
    loop {
        match control.recv().await {
            Some(GatewayControl::Reload) => reload.notify_one(),
            Some(ends) => return ends,
            None => return GatewayControl::Interrupt,
        }
    }
}

/// Waits for the next command to end. Never returns where nobody is left to send one.
async fn wait_for_next_stage(control: &mut mpsc::UnboundedReceiver<GatewayControl>) {
    loop {
        match control.recv().await {
            Some(GatewayControl::Reload) => {}
            Some(_) => return,
            None => std::future::pending().await,
        }
    }
}

async fn bind_listener(address: SocketAddr) -> Result<TcpListener, GatewayStartError> {
    TcpListener::bind(address).await.map_err(|why| GatewayStartError::Listen { address, why })
}

fn read_tls(cert: &Path, key: &Path) -> Result<ListenerTls, GatewayStartError> {
    let read = |file: &Path| {
        std::fs::read(file)
            .map_err(|why| GatewayStartError::Tls { file: file.to_owned(), why: why.to_string() })
    };
    let (cert_pem, key_pem) = (read(cert)?, read(key)?);
    ListenerTls::from_pem(&cert_pem, &key_pem)
        .map_err(|why| GatewayStartError::Tls { file: cert.to_owned(), why: why.to_string() })
}
