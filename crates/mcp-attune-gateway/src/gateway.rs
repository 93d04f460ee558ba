//! The running gateway: its two listeners, its stack, and the file that it watches.
//!
//! 1. Callers connect to `listen`; `/healthz`, `/readyz` and `/metrics` are on `admin`, which callers have no business with.
//! 2. A configuration that changed takes effect for the next request: see `reload.rs`.
//! 3. The end has stages. `/readyz` is 503 from the first one to the last.
//!    1. For `shutdown_delay` connections are taken and requests answered, and each answer closes its connection.
//!    2. No new connections are taken, idle ones are closed, running calls may finish (`drain`).
//!    3. What still runs is cut, the programs are ended, and so is the admin listener.
//!
//!    Whoever asks again goes to the next stage at once.

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

/// How long who asks the admin listener may take at the end.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// What an operator tells a running gateway.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum GatewayControl {
    /// Look at the configuration, locale files and templates now, and read the certificate again: `SIGHUP`.
    Reload,
    /// End, after `shutdown_delay`: `SIGTERM`. Told again, go to the next stage of the end at once.
    Terminate,
    /// End, without the delay: Ctrl-C. Told again, go to the next stage of the end at once.
    Interrupt,
}

/// Why a gateway does not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum GatewayStartError {
    /// The configuration names what cannot be served.
    Unservable(StackError),
    /// An address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        why: io::Error,
    },
    /// A certificate or key cannot be read.
    Tls {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// No key can be made for the ids of sessions.
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

/// A gateway that has its listeners and waits to run.
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    current: CurrentStack,
    callers: TcpListener,
    admin: TcpListener,
    tls: Option<ListenerTls>,
    certificate: Option<[FileStamp; 2]>,
    shared: SharedState,
    limits: ListenerLimits,
    workers: Workers,
    tries: bool,
    hook: ReloadHook,
}

impl Gateway {
    /// Checks what can be checked, and takes the listeners.
    ///
    /// # Errors
    ///
    /// [`GatewayStartError`], with what to mend.
    pub async fn bind(config: Config) -> Result<Self, GatewayStartError> {
        Self::bind_with_access_log(config, AccessLog::default()).await
    }

    /// The same, with calls in a log, which is written once it is started.
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

    /// Puts the connections of callers on threads of their own. Without it they stay on the runtime that runs it.
    #[must_use]
    pub fn with_workers(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// Tries the servers behind when it starts, and goes on to: programs are started at once, what cannot be reached is told
    /// in the log, and `/readyz` says so. Without it they are first asked when a caller asks.
    #[must_use]
    pub fn with_probes(self) -> Self {
        Self { tries: true, ..self }
    }

    /// Calls this with every configuration that takes effect while the gateway runs.
    #[must_use]
    pub fn on_reload(self, hook: impl Fn(&Config) + Send + Sync + 'static) -> Self {
        Self { hook: ReloadHook::new(hook), ..self }
    }

    /// Where callers connect.
    ///
    /// # Errors
    ///
    /// Where the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.callers.local_addr()
    }

    /// The address of the admin listener: health and metrics.
    ///
    /// # Errors
    ///
    /// Where the system does not say.
    pub fn admin_address(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown`, then lets running calls finish, without a delay; who only listens is let go at once. `file`
    /// is watched, and followed when it changes.
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

    /// The same, as it is told: see [`GatewayControl`].
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

/// Answers operators until it is told to end.
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

/// Follows the files until the gateway is told to end, and then goes through the stages of the end.
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

/// The limits, as far as the system lets this process have as many connections; `in_use` descriptors are open
/// already, and `behind` connections to servers behind may be needed.
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

/// Who is told of the stages of the end.
struct ShutdownStages<'a> {
    phase: watch::Sender<ListenerPhase>,
    /// Ends the streams that never end by themselves.
    stopping: &'a watch::Sender<bool>,
    admin: &'a AdminService,
}

impl ShutdownStages<'_> {
    /// Goes through them, and waits for whoever is served to end.
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

/// Passes on what is to be looked at, until the gateway is told to end.
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

/// Waits until the gateway is told to end, once more.
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
