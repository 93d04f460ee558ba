//! What commands that keep running have in common: a runtime, a log, and a reason to stop.

use anyhow::Context;

/// A runtime with a thread for each core.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime does not start")
}

/// Logs to standard error from this level on.
pub(crate) fn log(level: &str) {
    let level = level.parse().unwrap_or(tracing_subscriber::filter::LevelFilter::INFO);
    // A second log, as in a test, changes nothing.
    let _ = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).try_init();
}

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
