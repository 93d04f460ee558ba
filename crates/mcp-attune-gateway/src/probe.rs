//! Probes servers behind, where the gateway is told to.
//!
//! A server is probed when the gateway starts, again and again where it cannot be reached, and where nobody has asked it for a
//! while. A program that runs is not probed again: it may end when nobody needs it.

use std::time::Duration;

use crate::health::UpstreamState;
use crate::metrics::Meter;
use crate::upstream_error::UpstreamError;

/// How long a server is taken at its last word.
const RECHECK: Duration = Duration::from_secs(5);
/// How long to wait before a server that cannot be reached is tried again, at first and at most.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Probes a server again and again. `what` is how the log calls it; `always`: also when it was up the last time.
pub(crate) async fn probe<F>(meter: Meter, what: String, always: bool, reach: impl Fn() -> F + Send)
where
    F: Future<Output = Result<(), UpstreamError>> + Send,
{
    let health = meter.health();
    if health.state() == UpstreamState::Unknown {
        meter.upstream_is(UpstreamState::Starting);
    }
    // What a program says when it dies need not be read every second.
    let first_retry = if always { FIRST_RETRY } else { FIRST_RETRY * 10 };
    let mut retry = first_retry;
    loop {
        let is_up = health.state() == UpstreamState::Up;
        if !(is_up && (!always || health.has_answered())) {
            match reach().await {
                Ok(()) => {
                    if meter.upstream_is(UpstreamState::Up) {
                        tracing::info!(mount = &**meter.mount(), "{what} can be reached");
                    }
                }
                Err(error) => {
                    if meter.upstream_is(UpstreamState::Down(error)) {
                        tracing::warn!(
                            mount = &**meter.mount(),
                            "{what}: {error}; callers are told so until it answers"
                        );
                    }
                }
            }
        }
        if health.state() == UpstreamState::Up {
            retry = first_retry;
            tokio::time::sleep(RECHECK).await;
        } else {
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LAST_RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::metrics::Metrics;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_cannot_be_reached_is_tried_until_it_can() {
        let metrics = Metrics::new(crate::access::AccessLog::default());
        let meter = metrics.meter("shop");
        let tried = Arc::<AtomicUsize>::default();
        let counting = Arc::clone(&tried);
        let reach = move || {
            let count = counting.fetch_add(1, Ordering::Relaxed);
            async move { if count < 3 { Err(UpstreamError::Refused) } else { Ok(()) } }
        };
        let watching = tokio::spawn(probe(meter.clone(), "the server".into(), true, reach));
        tokio::task::yield_now().await;
        assert_eq!(meter.health().state(), UpstreamState::Down(UpstreamError::Refused));
        assert!(metrics.text().contains("attune_upstream_up{mount=\"shop\"} 0\n"), "{}", metrics.text());
        for _ in 0..20 {
            advance(Duration::from_millis(500)).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(meter.health().state(), UpstreamState::Up);
        assert!(metrics.text().contains("attune_upstream_up{mount=\"shop\"} 1\n"), "{}", metrics.text());
        assert_eq!(tried.load(Ordering::Relaxed), 4);
        // While callers get answers, nobody else asks.
        for _ in 0..5 {
            meter.upstream_took(Duration::from_millis(1), true);
            advance(RECHECK).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(tried.load(Ordering::Relaxed), 4);
        advance(RECHECK).await;
        tokio::task::yield_now().await;
        assert_eq!(tried.load(Ordering::Relaxed), 5);
        watching.abort();
    }
}
