//! The stack that serves now, and what puts another in its place.
//!
//! 1. The configuration file is looked at every second, and when an operator says so. What changed is checked as a whole
//!    and takes effect for the next request; what is wrong is told in the log, and the old one keeps serving.
//! 2. What is about the listeners themselves (some of `[server]` and of `[limits]`) waits for a restart, and is named, setting
//!    by setting, each time.
//! 3. The certificate is read again when its files have changed, and when an operator says so.
//! 4. Locale files and templates are looked at in the same loop, after the configuration. No request does.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use http::{Request, Response};
use hyper::service::Service;
use mcp_attune_files::FileWatcher;
use tokio::sync::Notify;
use tokio::task::{JoinSet, spawn_blocking};

use crate::Body;
use crate::admin::AdminService;
use crate::config::{Config, ConfigLoadError};
use crate::inspect;
use crate::listen::{ListenerLimits, ListenerTls, Peer};
use crate::metrics::Meter;
use crate::stack::{SharedState, Stack, StackFuture, build_stack};

/// What a configuration says of connections and their requests.
pub(crate) fn listener_limits(config: &Config) -> ListenerLimits {
    let mut limits = ListenerLimits::default();
    limits.http = config.server.http;
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

/// The settings in which two configurations differ, of those that only a restart changes.
fn settings_needing_restart(running: &Config, next: &Config) -> Vec<&'static str> {
    let (server, other) = (&running.server, &next.server);
    let (limits, others) = (&running.limits, &next.limits);
    let all = [
        ("server.listen", server.listen != other.listen),
        ("server.admin", server.admin != other.admin),
        ("server.http", server.http != other.http),
        ("server.shutdown_delay", server.shutdown_delay != other.shutdown_delay),
        ("server.tls", server.tls.is_some() != other.tls.is_some()),
        ("limits.connections", limits.connections != others.connections),
        ("limits.headers", limits.headers != others.headers),
        ("limits.header_bytes", limits.header_bytes != others.header_bytes),
        ("limits.request_head", limits.request_head != others.request_head),
        ("limits.request_pause", limits.request_pause != others.request_pause),
        ("limits.request_body", limits.request_body != others.request_body),
        ("limits.request_rate", limits.request_rate != others.request_rate),
        ("limits.unread", limits.unread != others.unread),
        ("limits.drain", limits.drain != others.drain),
    ];
    all.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

/// Is told of every configuration that takes effect.
#[derive(Clone, Default)]
pub(crate) struct ReloadHook(Option<Arc<Hook>>);

type Hook = dyn Fn(&Config) + Send + Sync;

impl ReloadHook {
    pub(crate) fn new(hook: impl Fn(&Config) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    fn call_hook(&self, config: &Config) {
        if let Some(hook) = &self.0 {
            hook(config);
        }
    }
}

impl fmt::Debug for ReloadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReloadHook").field(&self.0.is_some()).finish()
    }
}

/// What tells one state of a file from another; None where it is not there.
pub(crate) type FileStamp = Option<(u64, Option<SystemTime>)>;

fn stamp(file: &Path) -> FileStamp {
    let file = std::fs::metadata(file).ok()?;
    Some((file.len(), file.modified().ok()))
}

/// The states of the certificate and of its key.
pub(crate) fn certificate_stamps(config: &Config) -> Option<[FileStamp; 2]> {
    config.server.tls.as_ref().map(|files| [stamp(&files.cert), stamp(&files.key)])
}

/// What follows all files: the configuration, the certificate, locale files and templates.
pub(crate) struct ReloadLoop<'a> {
    pub(crate) file: Option<&'a Path>,
    /// The configuration at the start.
    pub(crate) config: &'a Config,
    pub(crate) current: &'a CurrentStack,
    pub(crate) shared: &'a SharedState,
    pub(crate) admin: &'a AdminService,
    pub(crate) tls: Option<&'a ListenerTls>,
    /// The state that its files were in when they were read.
    pub(crate) certificate: Option<[FileStamp; 2]>,
    /// Whether servers behind are tried before they are needed.
    pub(crate) tries: bool,
    pub(crate) hook: &'a ReloadHook,
}

impl ReloadLoop<'_> {
    /// Looks at the files again and again, and when it is told to, and puts a stack for the newest content in place.
    pub(crate) async fn run<T>(&self, reload: &Notify) -> T {
        // It may have changed since it was read.
        let (mut seen, mut config) = (None, self.config.clone());
        let mut certificate = self.certificate;
        // A certificate and its key are two files: they are read when neither has changed since the last look.
        let mut before = certificate;
        // Dropped, and with it the looking, when the gateway ends.
        let mut looking = self.current.start_server_checks(self.tries);
        loop {
            let follows = self.file.is_some() || self.tls.is_some() || !self.current.watcher().is_empty();
            let asked = tokio::select! {
                () = tokio::time::sleep(FileWatcher::INTERVAL), if follows => false,
                () = reload.notified() => true,
            };
            if let Some(file) = self.file {
                let now = stamp(file);
                if seen != Some(now) || asked {
                    seen = Some(now);
                    self.load(file, &mut config, asked, &mut looking);
                }
            } else if asked && self.tls.is_none() {
                tracing::info!(
                    "there is nothing to reload: no configuration file is followed, or the command line is above it"
                );
            }
            let now = certificate_stamps(&config);
            let settled = now != certificate && now == before;
            before = now;
            if asked || settled {
                certificate = now;
                self.load_certificate(&config);
            }
            let watcher = self.current.watcher();
            if !watcher.is_empty() {
                // Where a disk is slow, only this loop waits for it. Should it fail, it is tried again.
                let _ = spawn_blocking(move || watcher.refresh()).await;
            }
        }
    }

    fn load(&self, file: &Path, config: &mut Config, asked: bool, looking: &mut JoinSet<()>) {
        let next = match Config::load(file) {
            Ok(next) => next,
            Err(wrong) => {
                self.log_load_error(file, &wrong);
                return;
            }
        };
        if next == *config {
            if asked {
                tracing::info!("the configuration has not changed");
                self.log_pending_restart(&next);
            }
            return;
        }
        match build_stack(&next, self.shared) {
            Ok(stack) => {
                inspect::log_issues(&next);
                self.current.replace(stack);
                self.admin.set_allowed_hosts(&next);
                if self.tries {
                    self.admin.require_servers(self.current.meters());
                }
                *looking = self.current.start_server_checks(self.tries);
                self.shared.metrics.access.apply_config(&next);
                self.hook.call_hook(&next);
                self.shared.metrics.reloaded(true);
                tracing::info!("the new configuration is in place");
                self.log_pending_restart(&next);
                *config = next;
            }
            Err(wrong) => {
                self.shared.metrics.reloaded(false);
                tracing::error!("the new configuration cannot be served, the old one keeps serving: {wrong}");
            }
        }
    }

    fn log_load_error(&self, file: &Path, wrong: &ConfigLoadError) {
        self.shared.metrics.reloaded(false);
        let wrong = match wrong {
            ConfigLoadError::Unreadable(why) => format!("{}: {why}", file.display()),
            ConfigLoadError::Wrong(findings) => findings.to_string(),
        };
        tracing::error!("the new configuration is wrong, the old one keeps serving\n{wrong}");
    }

    /// Tells what of a configuration waits for a restart.
    fn log_pending_restart(&self, next: &Config) {
        let waiting = settings_needing_restart(self.config, next);
        if !waiting.is_empty() {
            tracing::warn!("these settings take effect after a restart: {}", waiting.join(", "));
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
pub(crate) struct CurrentStack(Arc<RwLock<Stack>>);

impl CurrentStack {
    pub(crate) fn new(stack: Stack) -> Self {
        Self(Arc::new(RwLock::new(stack)))
    }

    pub(crate) fn start_server_checks(&self, tries: bool) -> JoinSet<()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).spawn_server_checks(tries)
    }

    /// What counts for each mount, and the mount's path.
    pub(crate) fn meters(&self) -> Vec<(String, Meter)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).meters()
    }

    /// Returns what follows the locale files and templates of that stack.
    fn watcher(&self) -> FileWatcher {
        self.0.read().unwrap_or_else(PoisonError::into_inner).watcher().clone()
    }

    fn replace(&self, stack: Stack) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = stack;
    }
}

/// The stack that serves now, for one connection.
#[derive(Clone, Debug)]
pub(crate) struct CurrentStackService {
    pub(crate) current: CurrentStack,
    pub(crate) peer: Peer,
}

impl Service<Request<Body>> for CurrentStackService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = StackFuture;

    fn call(&self, request: Request<Body>) -> StackFuture {
        self.current.0.read().unwrap_or_else(PoisonError::into_inner).answer(request, self.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_restart_changes_is_named() {
        let config = |text: &str| Config::parse(text, "attune.toml").unwrap();
        let running = config("");
        assert_eq!(
            settings_needing_restart(&running, &config("log = 'debug'\nserver.access_log = false")),
            [""; 0]
        );
        let next = config("server.http = 'hyper'\nserver.shutdown_delay = '9 s'\nlimits.headers = 7");
        assert_eq!(
            settings_needing_restart(&running, &next),
            ["server.http", "server.shutdown_delay", "limits.headers"]
        );
        assert_eq!(listener_limits(&next).http, crate::config::HttpImplementation::Hyper);
    }
}
