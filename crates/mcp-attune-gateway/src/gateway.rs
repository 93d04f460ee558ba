//! The running gateway: its two listeners, its stack, and the file that it watches.
//!
//! 1. Callers connect to `listen`; `/healthz`, `/readyz` and `/metrics` are on `admin`, which callers have no business with.
//! 2. A configuration that changed is checked as a whole and takes effect for the next request; one that is wrong
//!    is told in the log, and the old one keeps serving. What is about the listeners themselves waits for a restart.
//!    [`Control::Reload`] looks at the file at once, and reads the certificate again.
//! 3. The end has stages. `/readyz` is 503 from the first one to the last.
//!    1. For `shutdown_delay` connections are taken and requests answered, and each answer closes its connection.
//!    2. No new connections are taken, idle ones are closed, running calls may finish (`drain`).
//!    3. What still runs is cut, the programs are ended, and so is the admin listener.
//!
//!    Whoever asks again goes to the next stage at once.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use mcp_attune_tower::NoRandomness;
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::Body;
use crate::admin::Admin;
use crate::config::Config;
use crate::descriptors;
use crate::guard::Guarded;
use crate::listen::{BadPem, Drained, Limits, Peer, Phase, Tls, Traffic, serve, serve_on};
use crate::listening::Listening;
use crate::request_id::Naming;
use crate::stack::{Answer, Lasting, Stack, Unservable, stack};
use crate::workers::Workers;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long who asks the admin listener may take at the end.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// What an operator tells a running gateway.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Control {
    /// Look at the configuration file now, and read the certificate again: `SIGHUP`.
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
    lasting: Lasting,
    limits: Limits,
    workers: Workers,
}

impl Gateway {
    /// Checks what can be checked, and takes the listeners.
    ///
    /// # Errors
    ///
    /// [`NotStarted`], with what to mend.
    pub async fn bind(config: Config) -> Result<Self, NotStarted> {
        let lasting = Lasting::new().map_err(NotStarted::Keys)?;
        let current = Current::new(stack(&config, &lasting).map_err(NotStarted::Unservable)?);
        let tls = match &config.server.tls {
            Some(files) => Some(read_tls(&files.cert, &files.key)?),
            None => None,
        };
        let callers = listen(config.server.listen).await?;
        let admin = listen(config.server.admin).await?;
        // The newest descriptor has the highest number.
        let limits = possible(limits(&config), config.limits.calls, descriptors::number(&admin) + 1);
        Ok(Self { config, current, callers, admin, tls, lasting, limits, workers: Workers::none() })
    }

    /// Puts the connections of callers on threads of their own. Without it they stay on the runtime that runs it.
    #[must_use]
    pub fn on(self, workers: Workers) -> Self {
        Self { workers, ..self }
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
        let (stop, stopped) = watch::channel(false);
        let (end_admin, admin_ends) = oneshot::channel::<()>();
        let answers = Admin::new(self.lasting.metrics.clone(), &self.config);
        let admin = answers.clone();
        let admin = move |_| admin.clone();
        let mut admin_limits = Limits::default();
        admin_limits.drain = ADMIN_DRAIN;
        let admin = serve(self.admin, admin, admin_limits, None, Traffic::default(), async {
            let _ = admin_ends.await;
        });
        let current = {
            let current = self.current.clone();
            move |peer| Listening::new(Calling { current: current.clone(), peer }, stopped.clone())
        };
        let traffic = self.lasting.metrics.traffic.clone();
        let tls = self.tls.clone();
        let callers = async {
            let drained =
                serve_on(&self.workers, self.callers, current, self.limits, tls, traffic, phases).await;
            // Until here it says that it is not ready.
            let _ = end_admin.send(());
            drained
        };
        let reload = Notify::new();
        let follow = Follow {
            file: file.as_deref(),
            config: &self.config,
            current: &self.current,
            lasting: &self.lasting,
            admin: &answers,
            tls: self.tls.as_ref(),
        };
        // Dropped, and with it the looking, when there is nothing left to serve.
        let looking = self.current.look();
        let ending = async {
            let delay = tokio::select! {
                last = serve_until_told(&mut control, &reload) => match last {
                    Control::Terminate => self.config.server.shutdown_delay,
                    _ => Duration::ZERO,
                },
                delay = follow.run(&reload) => delay,
            };
            answers.stopping();
            if !delay.is_zero() {
                tracing::info!(?delay, "stopping: not ready any more; each answer closes its connection");
                phase.send_replace(Phase::Close);
                tokio::select! {
                    () = tokio::time::sleep(delay) => {}
                    () = told_to_end(&mut control) => {}
                }
            }
            tracing::info!("stopping: no new connections, running calls may finish");
            phase.send_replace(Phase::Finish);
            let _ = stop.send(true);
            told_to_end(&mut control).await;
            tracing::warn!("stopping at once: running calls are cut");
            phase.send_replace(Phase::Cut);
            std::future::pending().await
        };
        let (drained, _) = tokio::select! {
            ended = async { tokio::join!(callers, admin) } => ended,
            ended = ending => ended,
        };
        drop(looking);
        self.lasting.children.end().await;
        drained
    }
}

/// The limits, as far as the system lets this process have as many connections; `in_use` descriptors are open already.
fn possible(limits: Limits, calls: usize, in_use: u64) -> Limits {
    let wanted = limits.connections;
    let share = descriptors::for_callers(in_use, wanted, calls);
    if share.connections < wanted {
        tracing::warn!(
            connections = wanted,
            possible = share.connections,
            open_files = descriptors::limit(),
            "fewer connections are taken than `connections` of [limits] says, because no more files can be open; \
             allow more (`ulimit -n`, or LimitNOFILE= of systemd), or set it lower"
        );
    }
    Limits { connections: share.connections, turned_away: share.turned_away, ..limits }
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

fn limits(config: &Config) -> Limits {
    let mut limits = Limits::default();
    limits.connections = config.limits.connections;
    limits.headers = config.limits.headers;
    limits.header_bytes = config.limits.header_bytes;
    limits.head = config.limits.request_head;
    limits.body_pause = config.limits.request_pause;
    limits.body = config.limits.request_body;
    limits.body_rate = config.limits.request_rate;
    limits.unread = config.limits.unread;
    limits.drain = config.limits.drain;
    limits
}

async fn listen(address: SocketAddr) -> Result<TcpListener, NotStarted> {
    TcpListener::bind(address).await.map_err(|why| NotStarted::Listen { address, why })
}

/// What a certificate's files hold.
fn pem(cert: &Path, key: &Path) -> Result<(Vec<u8>, Vec<u8>), NotStarted> {
    let read = |file: &Path| {
        std::fs::read(file).map_err(|why| NotStarted::Tls { file: file.to_owned(), why: why.to_string() })
    };
    Ok((read(cert)?, read(key)?))
}

fn read_tls(cert: &Path, key: &Path) -> Result<Tls, NotStarted> {
    let (cert_pem, key_pem) = pem(cert, key)?;
    Tls::from_pem(&cert_pem, &key_pem)
        .map_err(|why| NotStarted::Tls { file: cert.to_owned(), why: why.to_string() })
}

/// What follows the configuration file, and the certificate.
struct Follow<'a> {
    file: Option<&'a Path>,
    config: &'a Config,
    current: &'a Current,
    lasting: &'a Lasting,
    admin: &'a Admin,
    tls: Option<&'a Tls>,
}

impl Follow<'_> {
    /// Looks at the file again and again, and when it is told to, and puts a stack for its newest content in place.
    async fn run<T>(&self, reload: &Notify) -> T {
        let changed = |file: &Path| -> Option<SystemTime> { std::fs::metadata(file).ok()?.modified().ok() };
        let (mut seen, mut config) = (self.file.and_then(changed), self.config.clone());
        let mut looking = JoinSet::new();
        loop {
            let asked = tokio::select! {
                () = tokio::time::sleep(LOOK), if self.file.is_some() => false,
                () = reload.notified() => true,
            };
            if let Some(file) = self.file {
                let now = changed(file);
                if now != seen || asked {
                    seen = now;
                    self.load(file, &mut config, asked, &mut looking);
                }
            } else if self.tls.is_none() {
                tracing::info!(
                    "there is nothing to reload: no configuration file is followed, or the command line is above it"
                );
            }
            if asked {
                self.load_certificate(&config);
            }
        }
    }

    fn load(&self, file: &Path, config: &mut Config, asked: bool, looking: &mut JoinSet<()>) {
        let next = match Config::load(file) {
            Ok(next) => next,
            Err(wrong) => {
                self.lasting.metrics.reloaded(false);
                tracing::error!("the new configuration is wrong, the old one keeps serving\n{wrong}");
                return;
            }
        };
        if next == *config {
            if asked {
                tracing::info!("the configuration has not changed");
            }
            return;
        }
        match stack(&next, self.lasting) {
            Ok(stack) => {
                if next.server != config.server || limits(&next) != limits(config) {
                    tracing::warn!(
                        "changes to [server], and to what [limits] says of connections and their requests, \
                         take effect after a restart"
                    );
                }
                self.current.replace(stack);
                self.admin.allow(&next);
                *looking = self.current.look();
                *config = next;
                self.lasting.metrics.reloaded(true);
                tracing::info!("the new configuration is in place");
            }
            Err(wrong) => {
                self.lasting.metrics.reloaded(false);
                tracing::error!("the new configuration cannot be served, the old one keeps serving: {wrong}");
            }
        }
    }

    /// Reads the certificate again, where there was one at the start.
    fn load_certificate(&self, config: &Config) {
        let (Some(tls), Some(files)) = (self.tls, &config.server.tls) else { return };
        let replaced = pem(&files.cert, &files.key).and_then(|(cert, key)| {
            let wrong = |why: BadPem| NotStarted::Tls { file: files.cert.clone(), why: why.to_string() };
            tls.replace(&cert, &key).map_err(wrong)
        });
        match replaced {
            Ok(()) => tracing::info!("the certificate was read again"),
            Err(wrong) => tracing::error!("the old certificate stays in place: {wrong}"),
        }
    }
}

/// The stack that serves now. A request keeps the one that it began with.
#[derive(Clone, Debug)]
struct Current(Arc<RwLock<Stack>>);

impl Current {
    fn new(stack: Stack) -> Self {
        Self(Arc::new(RwLock::new(stack)))
    }

    fn look(&self) -> JoinSet<()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).look()
    }

    fn replace(&self, stack: Stack) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = stack;
    }
}

/// The stack that serves now, for one caller.
#[derive(Clone, Debug)]
struct Calling {
    current: Current,
    peer: Peer,
}

impl Service<Request<Body>> for Calling {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Naming<Guarded<Answer>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The stack is always ready: it answers instead of waiting.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.current.0.read().unwrap_or_else(PoisonError::into_inner).answer(request, self.peer)
    }
}
