//! What commands that keep running have in common: a runtime, room for connections, and a reason to stop.

use anyhow::Context;

/// A runtime with a thread for each core.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime does not start")
}

/// A runtime with one thread: enough for two pipes, and there sooner than several.
pub(crate) fn one_thread() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("the runtime does not start")
}

/// Makes room for the files that so many connections and calls need at a time, and warns where there is none.
pub(crate) fn make_room(connections: usize, calls: usize) {
    let needed =
        u64::try_from(connections.saturating_add(calls)).unwrap_or(u64::MAX).saturating_add(OWN_FILES);
    match rlimit::increase_nofile_limit(needed) {
        Ok(open) if open >= needed => {}
        Ok(open) => tracing::warn!(
            open,
            needed,
            "not as many files can be open as `connections` and `calls` of [limits] need; \
             allow more (`ulimit -n`, or LimitNOFILE= of systemd), or set the two lower"
        ),
        Err(error) => tracing::warn!(%error, "how many files can be open is not known"),
    }
}

/// Listeners, the log, the runtime's own, name look-ups: what is open beside connections.
const OWN_FILES: u64 = 64;

/// Ctrl-C, or whoever runs us says so.
pub(crate) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
