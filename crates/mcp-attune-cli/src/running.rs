//! What commands that keep running have in common: a runtime, room for connections, and a reason to stop.

use std::io::IsTerminal;
use std::thread::available_parallelism;

use anyhow::Context;
use mcp_attune_gateway::gateway::GatewayControl;
use tokio::sync::mpsc;

/// A runtime with a thread for each core.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("the runtime does not start")
}

/// A runtime with one thread: enough for two pipes, and there sooner than several.
pub(crate) fn single_thread_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("the runtime does not start")
}

/// Makes room for the files that so many connections of callers, and to servers behind, need at a time; warns where there is
/// none.
pub(crate) fn raise_file_limit(connections: usize, behind: usize) {
    let cores = available_parallelism().map_or(1, usize::from);
    let own = OWN_FILES + FILES_PER_CORE * cores.saturating_sub(BASE_CORES);
    let needed = u64::try_from(connections.saturating_add(behind).saturating_add(own)).unwrap_or(u64::MAX);
    match rlimit::increase_nofile_limit(needed) {
        Ok(open) if open >= needed => {}
        Ok(open) => tracing::warn!(
            open,
            needed,
            "not as many files can be open as `connections`, `calls` and `streams` of [limits] need; \
             allow more (`ulimit -n`, or LimitNOFILE= of systemd), or set them lower"
        ),
        Err(error) => tracing::warn!(%error, "how many files can be open is not known"),
    }
}

/// Listeners, the log, the runtime's own, name look-ups, a reserve: what is open beside connections.
const OWN_FILES: usize = 64;
/// That is enough for so many cores. Each has a thread with files of its own.
const BASE_CORES: usize = 8;
const FILES_PER_CORE: usize = 4;

/// What the gateway is told by signals, from now on: `SIGTERM` and Ctrl-C end it, `SIGHUP` makes it look at its files,
/// `SIGUSR1` and `SIGUSR2` mean nothing to it.
#[cfg(unix)]
pub(crate) fn controls() -> anyhow::Result<mpsc::UnboundedReceiver<GatewayControl>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (tell, told) = mpsc::unbounded_channel();
    let on_terminal = std::io::stdin().is_terminal();
    let terminal_is_gone = move || on_terminal && !std::io::stdin().is_terminal();
    for (kind, name, control) in [
        (SignalKind::terminate(), "SIGTERM", Some(GatewayControl::Terminate)),
        (SignalKind::interrupt(), "SIGINT", Some(GatewayControl::Interrupt)),
        (SignalKind::hangup(), "SIGHUP", Some(GatewayControl::Reload)),
        (SignalKind::user_defined1(), "SIGUSR1", None),
        (SignalKind::user_defined2(), "SIGUSR2", None),
    ] {
        let mut came = signal(kind).with_context(|| format!("{name} cannot be listened for"))?;
        let tell = tell.clone();
        tokio::spawn(async move {
            while came.recv().await.is_some() {
                let told = match control {
                    // Whoever closes the window of a terminal wants the end of what runs in it.
                    Some(GatewayControl::Reload) if terminal_is_gone() => Some(GatewayControl::Interrupt),
                    control => control,
                };
                tracing::debug!(signal = name, ?told, "a signal came");
                // After the end nobody listens.
                told.map(|told| tell.send(told));
            }
        });
    }
    Ok(told)
}

#[cfg(not(unix))]
pub(crate) fn controls() -> anyhow::Result<mpsc::UnboundedReceiver<GatewayControl>> {
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && tell.send(GatewayControl::Interrupt).is_ok() {}
    });
    Ok(told)
}

/// Ctrl-C, or whoever runs us says so.
pub(crate) async fn shutdown_signal() {
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
