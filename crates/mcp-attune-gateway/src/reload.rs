//! The stack that serves now, and what puts another in its place.
//!
//! 1. The configuration file is looked at every second, and when an operator says so. What changed is checked as a whole
//!    and takes effect for the next request; what is wrong is told in the log, and the old one keeps serving.
//! 2. What is about the listeners themselves (`[server]` but `allowed_hosts` and `allowed_origins`, and some of
//!    `[limits]`) waits for a restart.
//! 3. The certificate is read again when an operator says so, whether or not the file changed.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tower_service::Service;

use crate::Body;
use crate::admin::Admin;
use crate::config::Config;
use crate::guard::Guarded;
use crate::listen::{Limits, Peer, Tls};
use crate::request_id::Naming;
use crate::stack::{Answer, Lasting, Stack, stack};

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What a configuration says of connections and their requests.
pub(crate) fn limits(config: &Config) -> Limits {
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

/// What follows the configuration file, and the certificate.
pub(crate) struct Follow<'a> {
    pub(crate) file: Option<&'a Path>,
    pub(crate) config: &'a Config,
    pub(crate) current: &'a Current,
    pub(crate) lasting: &'a Lasting,
    pub(crate) admin: &'a Admin,
    pub(crate) tls: Option<&'a Tls>,
}

impl Follow<'_> {
    /// Looks at the file again and again, and when it is told to, and puts a stack for its newest content in place.
    pub(crate) async fn run<T>(&self, reload: &Notify) -> T {
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
        let read = |file: &Path| {
            let wrong = |why: &std::io::Error| {
                tracing::error!("the old certificate stays: {}: {why}", file.display());
            };
            std::fs::read(file).inspect_err(wrong).ok()
        };
        let (Some(cert), Some(key)) = (read(&files.cert), read(&files.key)) else { return };
        match tls.replace(&cert, &key) {
            Ok(()) => tracing::info!("the certificate was read again"),
            Err(why) => tracing::error!("the old certificate stays: {}: {why}", files.cert.display()),
        }
    }
}

/// The stack that serves now. A request keeps the one that it began with.
#[derive(Clone, Debug)]
pub(crate) struct Current(Arc<RwLock<Stack>>);

impl Current {
    pub(crate) fn new(stack: Stack) -> Self {
        Self(Arc::new(RwLock::new(stack)))
    }

    pub(crate) fn look(&self) -> JoinSet<()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).look()
    }

    fn replace(&self, stack: Stack) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = stack;
    }
}

/// The stack that serves now, for one caller.
#[derive(Clone, Debug)]
pub(crate) struct Calling {
    pub(crate) current: Current,
    pub(crate) peer: Peer,
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
