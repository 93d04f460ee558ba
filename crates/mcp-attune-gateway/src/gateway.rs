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
use crate::admin::Admin;
use crate::config::{Config, HttpImplementation};
use crate::descriptors;
use crate::inspect;
use crate::listen::{Drained, Limits, Phase, Tls, Traffic, serve, serve_on};
use crate::reload::{Current, FileStamp, Follow, ReloadHook, ServeCurrent, certificate_stamps, limits};
use crate::stack::{SharedState, Unservable, stack};
use crate::workers::Workers;

/// How long who asks the admin listener may take at the end.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// What an operator tells a running gateway.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Control {
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
pub enum NotStarted {
    /// The configuration names what cannot be served.
    Unservable(Unservable),
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

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unservable(why) => why.fmt(f),
            Self::Listen { address, why } => write!(f, "cannot listen on {address}: {why}"),
            Self::Tls { file, why } => write!(f, "{}: {why}", file.display()),
            Self::Keys(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotStarted {}

/// A gateway that has its listeners and waits to run.
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    current: Current,
    callers: TcpListener,
    admin: TcpListener,
    tls: Option<Tls>,
    certificate: Option<[FileStamp; 2]>,
    shared: SharedState,
    limits: Limits,
    workers: Workers,
    tries: bool,
    hook: ReloadHook,
}

impl Gateway {
    /// Checks what can be checked, and takes the listeners.
    ///
    /// # Errors
    ///
    /// [`NotStarted`], with what to mend.
    pub async fn bind(config: Config) -> Result<Self, NotStarted> {
        Self::bind_logging(config, AccessLog::default()).await
    }

    /// The same, with calls in a log, which is written once it is started.
    ///
    /// # Errors
    ///
    /// [`NotStarted`], with what to mend.
    pub async fn bind_logging(config: Config, access: AccessLog) -> Result<Self, NotStarted> {
        inspect::warn(&config);
        let shared = SharedState::new(access).map_err(NotStarted::Keys)?;
        let current = Current::new(stack(&config, &shared).map_err(NotStarted::Unservable)?);
        let certificate = certificate_stamps(&config);
        let tls = match &config.server.tls {
            Some(files) => Some(read_tls(&files.cert, &files.key)?),
            None => None,
        };
        let callers = listen(config.server.listen).await?;
        let admin = listen(config.server.admin).await?;
        // The newest descriptor has the highest number.
        let limits =
            possible(limits(&config), config.limits.upstream_connections(), descriptors::number(&admin) + 1);
        shared.metrics.access.follow(&config);
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
    pub fn on(self, workers: Workers) -> Self {
        Self { workers, ..self }
    }

    /// Tries the servers behind when it starts, and goes on to: programs are started at once, what cannot be reached is told
    /// in the log, and `/readyz` says so. Without it they are first asked when a caller asks.
    #[must_use]
    pub fn trying_servers(self) -> Self {
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

    /// Where health and counts are told.
    ///
    /// # Errors
    ///
    /// Where the system does not say.
    pub fn admin_address(&self) -> io::Result<SocketAddr> {
        self.admin.local_addr()
    }

    /// Serves until `shutdown`, then lets running calls finish, without a delay; who only listens is let go at once. `file`
    /// is watched, and followed when it changes.
    pub async fn run(self, file: Option<PathBuf>, shutdown: impl Future<Output = ()>) -> Drained {
        let (tell, told) = mpsc::unbounded_channel();
        let ending = async {
            shutdown.await;
            // The other end is gone when there is nothing left to end.
            let _ = tell.send(Control::Interrupt);
            std::future::pending().await
        };
        tokio::select! {
            drained = self.run_controlled(file, told) => drained,
            drained = ending => drained,
        }
    }

    /// The same, as it is told: see [`Control`].
    pub async fn run_controlled(
        self,
        file: Option<PathBuf>,
        mut control: mpsc::UnboundedReceiver<Control>,
    ) -> Drained {
        let (phase, phases) = watch::channel(Phase::Serve);
        let (end_admin, admin_ends) = oneshot::channel::<()>();
        let admin = Admin::new(self.shared.metrics.clone(), &self.config);
        if self.tries {
            admin.need(self.current.meters());
        }
        let admin_served = serve_admin(self.admin, admin.clone(), self.limits.http, admin_ends);
        let (current, tls) = (self.current.clone(), self.tls.clone());
        let service = move |peer| ServeCurrent { current: current.clone(), peer };
        let traffic = self.shared.metrics.traffic.clone();
        let callers_served = async {
            let drained =
                serve_on(&self.workers, self.callers, service, self.limits, tls, traffic, phases).await;
            // Until here it says that it is not ready.
            let _ = end_admin.send(());
            drained
        };
        let follow = Follow {
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
        let stages = Stages { phase, stopping: &self.shared.stopping, admin: &admin };
        let (drained, _) = tokio::select! {
            ended = async { tokio::join!(callers_served, admin_served) } => ended,
            ended = follow_until_told(follow, stages, &mut control) => ended,
        };
        self.shared.children.end().await;
        drained
    }
}

/// Answers operators until it is told to end.
async fn serve_admin(
    listener: TcpListener,
    admin: Admin,
    http: HttpImplementation,
    ends: oneshot::Receiver<()>,
) -> Drained {
    let limits = Limits { http, drain: ADMIN_DRAIN, ..Limits::default() };
    let ends = async {
        let _ = ends.await;
    };
    serve(listener, move |_| admin.clone(), limits, None, Traffic::default(), ends).await
}

/// Follows the files until the gateway is told to end, and then goes through the stages of the end.
async fn follow_until_told<T>(
    follow: Follow<'_>,
    stages: Stages<'_>,
    control: &mut mpsc::UnboundedReceiver<Control>,
) -> T {
    let reload = Notify::new();
    let delay = tokio::select! {
        last = serve_until_told(control, &reload) => match last {
            Control::Terminate => follow.config.server.shutdown_delay,
            _ => Duration::ZERO,
        },
        delay = follow.run(&reload) => delay,
    };
    stages.end(delay, control).await
}

/// The limits, as far as the system lets this process have as many connections; `in_use` descriptors are open
/// already, and `behind` connections to servers behind may be needed.
fn possible(mut limits: Limits, behind: usize, in_use: u64) -> Limits {
    let wanted = limits.connections;
    let share = descriptors::for_callers(in_use, wanted, behind);
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
struct Stages<'a> {
    phase: watch::Sender<Phase>,
    /// Ends the streams that never end by themselves.
    stopping: &'a watch::Sender<bool>,
    admin: &'a Admin,
}

impl Stages<'_> {
    /// Goes through them, and waits for whoever is served to end.
    async fn end<T>(self, delay: Duration, control: &mut mpsc::UnboundedReceiver<Control>) -> T {
        self.admin.stopping();
        if !delay.is_zero() {
            tracing::info!(?delay, "stopping: not ready any more; each answer closes its connection");
            self.phase.send_replace(Phase::Close);
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = told_to_end(control) => {}
            }
        }
        tracing::info!("stopping: no new connections, running calls may finish");
        self.phase.send_replace(Phase::Finish);
        self.stopping.send_replace(true);
        told_to_end(control).await;
        tracing::warn!("stopping at once: running calls are cut");
        self.phase.send_replace(Phase::Cut);
        std::future::pending().await
    }
}

/// Passes on what is to be looked at, until the gateway is told to end.
async fn serve_until_told(control: &mut mpsc::UnboundedReceiver<Control>, reload: &Notify) -> Control {
    loop {
        match control.recv().await {
            Some(Control::Reload) => reload.notify_one(),
            Some(ends) => return ends,
            None => return Control::Interrupt,
        }
    }
}

/// Waits until the gateway is told to end, once more.
async fn told_to_end(control: &mut mpsc::UnboundedReceiver<Control>) {
    loop {
        match control.recv().await {
            Some(Control::Reload) => {}
            Some(_) => return,
            None => std::future::pending().await,
        }
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, NotStarted> {
    TcpListener::bind(address).await.map_err(|why| NotStarted::Listen { address, why })
}

fn read_tls(cert: &Path, key: &Path) -> Result<Tls, NotStarted> {
    let read = |file: &Path| {
        std::fs::read(file).map_err(|why| NotStarted::Tls { file: file.to_owned(), why: why.to_string() })
    };
    let (cert_pem, key_pem) = (read(cert)?, read(key)?);
    Tls::from_pem(&cert_pem, &key_pem)
        .map_err(|why| NotStarted::Tls { file: cert.to_owned(), why: why.to_string() })
}
