//! The stack that serves now, and the loop that follows all files and replaces it.
//!
//! 1. The configuration file is looked at every second, and when an operator says so. A change is checked as
//!    a whole and takes effect for the next request; if it is wrong, that is logged, and the old
//!    configuration keeps serving.
//! 2. Settings of the listeners themselves (some of `[server]` and of `[limits]`) need a restart, and are
//!    named in the log, setting by setting, each time.
//! 3. The certificate is read again when its files have changed, and when an operator says so.
//! 4. Locale files and templates are looked at in the same loop, after the configuration. No request looks at
//!    files.

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

/// Returns the limits of connections and their requests that a configuration sets. They are read once, at the
/// start, which is why [`settings_needing_restart`] names the same settings.
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

/// Returns the names of the settings in which two configurations differ and that only a restart changes. Of
/// `server.tls` that is only whether there is one: other files are followed.
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

/// What an embedding program wants to be called with every configuration that takes effect. The default calls
/// nothing.
#[derive(Clone, Default)]
pub(crate) struct ReloadHook(Option<Arc<Hook>>);

/// The function of a [`ReloadHook`].
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

/// The length and the modification time of a file, which tell one state of it from another; `None` if it is
/// not there.
pub(crate) type FileStamp = Option<(u64, Option<SystemTime>)>;

/// Returns the present state of a file.
fn stamp(file: &Path) -> FileStamp {
    let file = std::fs::metadata(file).ok()?;
    Some((file.len(), file.modified().ok()))
}

/// Returns the present states of the certificate and of its key; `None` where the configuration has no TLS.
pub(crate) fn certificate_stamps(config: &Config) -> Option<[FileStamp; 2]> {
    config.server.tls.as_ref().map(|files| [stamp(&files.cert), stamp(&files.key)])
}

/// The loop that follows all files: the configuration, the certificate, locale files and templates.
pub(crate) struct ReloadLoop<'a> {
    /// The configuration file, if it is followed.
    pub(crate) file: Option<&'a Path>,
    /// The configuration that the gateway was started with, against which settings that need a restart are
    /// compared.
    pub(crate) config: &'a Config,
    /// The stack to replace.
    pub(crate) current: &'a CurrentStack,
    pub(crate) shared: &'a SharedState,
    pub(crate) admin: &'a AdminService,
    /// The TLS of the caller listener, if it was started with any.
    pub(crate) tls: Option<&'a ListenerTls>,
    /// The states that the certificate's files were in when they were read.
    pub(crate) certificate: Option<[FileStamp; 2]>,
    /// Whether upstreams are probed.
    pub(crate) tries: bool,
    /// Called with every configuration that takes effect.
    pub(crate) hook: &'a ReloadHook,
}

impl ReloadLoop<'_> {
    /// Looks at the files every second, and at once when `reload` is notified, and replaces the stack when
    /// the configuration changed. Never returns; dropping the future also aborts the probes and checks of the
    /// current stack.
    ///
    /// A certificate is read when `reload` is notified, or when its two files have changed and then stayed
    /// the same for one interval, because they are written one after the other. Where nothing has to be
    /// followed, the loop only waits for `reload`.
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

    /// Loads the configuration file, and if it differs from `config`, builds a stack for it and puts that in
    /// place. On any error the old stack stays, and the error is logged and counted. `asked` also reports
    /// that nothing changed; `looking` are the tasks that probe and check the upstreams, which are replaced
    /// together with the stack.
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

    /// Logs and counts a configuration that could not be read or is wrong.
    fn log_load_error(&self, file: &Path, wrong: &ConfigLoadError) {
        self.shared.metrics.reloaded(false);
        let wrong = match wrong {
            ConfigLoadError::Unreadable(why) => format!("{}: {why}", file.display()),
            ConfigLoadError::Wrong(findings) => findings.to_string(),
        };
        tracing::error!("the new configuration is wrong, the old one keeps serving\n{wrong}");
    }

    /// Logs which settings of a configuration wait for a restart.
    fn log_pending_restart(&self, next: &Config) {
        let waiting = settings_needing_restart(self.config, next);
        if !waiting.is_empty() {
            tracing::warn!("these settings take effect after a restart: {}", waiting.join(", "));
        }
    }

    /// Reads the certificate again and shows it to new connections. Does nothing if the gateway was started
    /// without TLS; on any error the old certificate stays.
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

/// The stack that serves now, shared by all connections. A request keeps the stack that it began with,
/// because its future holds what it needs of it.
#[derive(Clone, Debug)]
pub(crate) struct CurrentStack(Arc<RwLock<Stack>>);

impl CurrentStack {
    pub(crate) fn new(stack: Stack) -> Self {
        Self(Arc::new(RwLock::new(stack)))
    }

    /// Starts the probes and checks of the current stack; see [`Stack::spawn_server_checks`].
    pub(crate) fn start_server_checks(&self, tries: bool) -> JoinSet<()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).spawn_server_checks(tries)
    }

    /// Returns the path and the meter of each mount.
    pub(crate) fn meters(&self) -> Vec<(String, Meter)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).meters()
    }

    /// Returns the watcher of the current stack's locale files and templates.
    fn watcher(&self) -> FileWatcher {
        self.0.read().unwrap_or_else(PoisonError::into_inner).watcher().clone()
    }

    /// Puts another stack in place, for all requests that begin from now on.
    fn replace(&self, stack: Stack) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = stack;
    }
}

/// The service of one connection: answers each request with the stack that is current when it arrives.
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
