//! The running gateway: its two listeners, its stack, and the file that it watches.
//!
//! 1. Callers connect to `listen`; `/healthz`, `/readyz` and `/metrics` are on `admin`, which callers have no business with.
//! 2. A configuration that changed is checked as a whole and takes effect for the next request; one that is wrong
//!    is told in the log, and the old one keeps serving. What is about the listeners themselves waits for a restart.
//! 3. At the end the gateway is no longer ready, takes no new connections, lets running calls finish, and ends the
//!    programs that it started.

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
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower_service::Service;

use crate::Body;
use crate::admin::Admin;
use crate::config::Config;
use crate::guard::Guarded;
use crate::listen::{Drained, Limits, Peer, Tls, Traffic, serve, serve_on};
use crate::listening::Listening;
use crate::request_id::Naming;
use crate::stack::{Answer, Lasting, Stack, Unservable, stack};
use crate::workers::Workers;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

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
        Ok(Self { config, current, callers, admin, tls, lasting, workers: Workers::none() })
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

    /// Serves until `shutdown`, then lets running calls finish; who only listens is let go at once. `file` is watched, and followed when it changes.
    pub async fn run(self, file: Option<PathBuf>, shutdown: impl Future<Output = ()>) -> Drained {
        let limits = limits(&self.config);
        let (stop, stopped) = watch::channel(false);
        let wait = |mut stopped: watch::Receiver<bool>| async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let answers = Admin::new(self.lasting.metrics.clone(), &self.config);
        let admin = answers.clone();
        let admin = move |_| admin.clone();
        let admin =
            serve(self.admin, admin, Limits::default(), None, Traffic::default(), wait(stopped.clone()));
        let current = {
            let (current, stopped) = (self.current.clone(), stopped.clone());
            move |peer| Listening::new(Calling { current: current.clone(), peer }, stopped.clone())
        };
        let traffic = self.lasting.metrics.traffic.clone();
        let wait = wait(stopped);
        let callers = serve_on(&self.workers, self.callers, current, limits, self.tls, traffic, wait);
        let follow = async {
            match file {
                Some(file) => follow(&self.config, &file, &self.current, &self.lasting).await,
                None => std::future::pending().await,
            }
        };
        // Dropped, and with it the looking, when there is nothing left to serve.
        let looking = self.current.look();
        let ending = async {
            tokio::select! {
                () = shutdown => {}
                () = follow => {}
            }
            tracing::info!("stopping: no new connections, running calls may finish");
            answers.stopping();
            let _ = stop.send(true);
        };
        let (drained, _, ()) = tokio::join!(callers, admin, ending);
        drop(looking);
        self.lasting.children.end().await;
        drained
    }
}

fn limits(config: &Config) -> Limits {
    let mut limits = Limits::default();
    limits.connections = config.limits.connections;
    limits.headers = config.limits.headers;
    limits.header_bytes = config.limits.header_bytes;
    limits.head = config.limits.request_head;
    limits.body_pause = config.limits.request_pause;
    limits.unread = config.limits.unread;
    limits.drain = config.limits.drain;
    limits
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

/// Looks at the file again and again, and puts a stack for its newest content in place.
async fn follow(config: &Config, file: &Path, current: &Current, lasting: &Lasting) {
    let changed = |file: &Path| -> Option<SystemTime> { std::fs::metadata(file).ok()?.modified().ok() };
    let (mut seen, mut config) = (changed(file), config.clone());
    let mut _looking = JoinSet::new();
    loop {
        tokio::time::sleep(LOOK).await;
        let now = changed(file);
        if now == seen {
            continue;
        }
        seen = now;
        let next = match Config::load(file) {
            Ok(next) => next,
            Err(wrong) => {
                lasting.metrics.reloaded(false);
                tracing::error!("the new configuration is wrong, the old one keeps serving\n{wrong}");
                continue;
            }
        };
        if next == config {
            continue;
        }
        match stack(&next, lasting) {
            Ok(stack) => {
                if next.server != config.server || limits(&next) != limits(&config) {
                    tracing::warn!(
                        "changes to [server], and to what [limits] says of connections and their requests, \
                         take effect after a restart"
                    );
                }
                current.replace(stack);
                _looking = current.look();
                config = next;
                lasting.metrics.reloaded(true);
                tracing::info!("the new configuration is in place");
            }
            Err(wrong) => {
                lasting.metrics.reloaded(false);
                tracing::error!("the new configuration cannot be served, the old one keeps serving: {wrong}");
            }
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
