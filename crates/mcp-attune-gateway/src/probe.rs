//! Probes upstreams, where the gateway is told to
//! ([`Gateway::with_probes`](crate::gateway::Gateway::with_probes)).
//!
//! An upstream is probed when the gateway starts, again and again while it cannot be reached, and when it has
//! not answered anybody for a while. A program that runs is not probed again: it may end when nobody needs
//! it.

use std::time::Duration;

use crate::health::UpstreamState;
use crate::metrics::Meter;
use crate::upstream_error::UpstreamError;

/// How often a server that is up is looked at. If it answered somebody meanwhile, it is not probed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The pause before a server that cannot be reached is probed again: at first this, then twice as long each
/// time,
const MIN_RETRY: Duration = Duration::from_secs(1);
/// up to this.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// Probes an upstream for ever, and keeps the health of its `meter` up to date; changes are logged. Run as a
/// task that is aborted when the configuration changes.
///
/// `what` is the name of the upstream in the log. `reach` makes one attempt. With `always`, an upstream that
/// is up is probed again when it has not answered anybody since the last look; without it (for programs),
/// only one that is not up. Programs also begin with a ten times longer pause between attempts, because each
/// attempt starts a process.
pub(crate) async fn probe<F>(meter: Meter, what: String, always: bool, reach: impl Fn() -> F + Send)
where
    F: Future<Output = Result<(), UpstreamError>> + Send,
{
    let health = meter.health();
    if health.state() == UpstreamState::Unknown {
        meter.set_upstream_state(UpstreamState::Starting);
    }
    // What a program says when it dies need not be read every second.
    let first_retry = if always { MIN_RETRY } else { MIN_RETRY * 10 };
    let mut retry = first_retry;
    loop {
        let is_up = health.state() == UpstreamState::Up;
        if !(is_up && (!always || health.take_answered())) {
            match reach().await {
                Ok(()) => {
                    if meter.set_upstream_state(UpstreamState::Up) {
                        tracing::info!(mount = &**meter.mount(), "{what} can be reached");
                    }
                }
                Err(error) => {
                    if meter.set_upstream_state(UpstreamState::Down(error)) {
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
            tokio::time::sleep(RECHECK_INTERVAL).await;
        } else {
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(MAX_RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::health::UpstreamHealth;
    use crate::metrics::Metrics;
    use tokio::time::advance;

    /// A server that is watched, and how often it was tried.
    struct Watched {
        metrics: Metrics,
        meter: Meter,
        tried: Arc<AtomicUsize>,
        watching: tokio::task::JoinHandle<()>,
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.watching.abort();
        }
    }

    impl Watched {
        /// `is_there` says of each try, counted from 0, whether the server is there.
        async fn start(always: bool, is_there: fn(usize) -> bool) -> Self {
            let metrics = Metrics::new(crate::access::AccessLog::default());
            let (meter, tried) = (metrics.meter("shop"), Arc::<AtomicUsize>::default());
            let counting = Arc::clone(&tried);
            let reach = move || {
                let count = counting.fetch_add(1, Ordering::Relaxed);
                async move { if is_there(count) { Ok(()) } else { Err(UpstreamError::Refused) } }
            };
            let watching = tokio::spawn(probe(meter.clone(), "the server".into(), always, reach));
            tokio::task::yield_now().await;
            Self { metrics, meter, tried, watching }
        }

        /// Lets so many seconds go by.
        async fn wait(&self, seconds: f64) {
            for _ in 0..(seconds * 10.0) as usize {
                advance(Duration::from_millis(100)).await;
                tokio::task::yield_now().await;
            }
        }

        fn tried(&self) -> usize {
            self.tried.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_cannot_be_reached_is_tried_until_it_can() {
        let server = Watched::start(true, |count| count >= 3).await;
        assert_eq!(server.meter.health().state(), UpstreamState::Down(UpstreamError::Refused));
        let told =
            |up: u8| server.metrics.text().contains(&format!("attune_upstream_up{{mount=\"shop\"}} {up}\n"));
        assert!(told(0), "{}", server.metrics.text());
        server.wait(10.0).await;
        assert_eq!(server.meter.health().state(), UpstreamState::Up);
        assert!(told(1), "{}", server.metrics.text());
        assert_eq!(server.tried(), 4);
        // While callers get answers, nobody else asks.
        for _ in 0..5 {
            server.meter.upstream_took(Duration::from_millis(1), true);
            advance(RECHECK_INTERVAL).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(server.tried(), 4);
        advance(RECHECK_INTERVAL).await;
        tokio::task::yield_now().await;
        assert_eq!(server.tried(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stays_away_is_tried_less_often_but_for_ever() {
        let server = Watched::start(true, |_| false).await;
        server.wait(31.5).await;
        assert_eq!(server.tried(), 6, "after 0, 1, 3, 7, 15 and 31 seconds");
        server.wait(300.0).await;
        assert_eq!(server.tried(), 16, "every half minute");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_was_there_is_tried_again_soon() {
        let server = Watched::start(true, |count| count == 2 || count > 3).await;
        // It is there after 3 seconds, gone when it is looked at 5 seconds later, and back a second after that.
        server.wait(9.5).await;
        assert_eq!((server.tried(), server.meter.health().state()), (5, UpstreamState::Up));
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_runs_is_left_alone_and_one_that_does_not_is_tried_seldom() {
        let runs = Watched::start(false, |_| true).await;
        runs.wait(60.0).await;
        assert_eq!((runs.tried(), runs.meter.health().state()), (1, UpstreamState::Up));
        let dies = Watched::start(false, |_| false).await;
        dies.wait(9.5).await;
        assert_eq!(dies.tried(), 1);
        dies.wait(1.0).await;
        assert_eq!(dies.tried(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_known_yet_is_neither_up_nor_down() {
        let metrics = Metrics::new(crate::access::AccessLog::default());
        let meter = metrics.meter("shop");
        assert_eq!(meter.health().state().is_up(), None);
        let watching = tokio::spawn(probe(meter.clone(), "the server".into(), true, std::future::pending));
        tokio::task::yield_now().await;
        assert_eq!(meter.health().state(), UpstreamState::Starting);
        assert_eq!(meter.health().state().is_up(), None);
        watching.abort();
    }

    #[test]
    fn the_first_answer_after_a_failure_is_a_first_one() {
        let health = UpstreamHealth::default();
        assert!(health.note_first_answer() && !health.note_first_answer());
        assert!(health.set(UpstreamState::Up) && !health.note_first_answer());
        assert!(health.set(UpstreamState::Down(UpstreamError::Refused)));
        assert!(health.note_first_answer() && !health.note_first_answer());
    }
}
