//! All children of a gateway, which outlive the configuration that asked for them, and end with the gateway.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::ChildUpstream;
use super::options::ChildOptions;
use super::supervisor::Supervisor;

/// How long all of them together may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The children of a gateway. A clone has the same ones.
#[derive(Clone, Debug)]
pub(crate) struct ChildRegistry {
    stop: Arc<watch::Sender<bool>>,
    known: Arc<Mutex<Vec<Weak<Supervisor>>>>,
}

impl ChildRegistry {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(watch::Sender::new(false)), known: Arc::default() }
    }

    /// The server behind that these options describe: the one that there is, with its sessions, or a new one.
    pub(crate) fn upstream(&self, options: ChildOptions) -> ChildUpstream {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|inner| inner.strong_count() > 0);
        let same = known.iter().filter_map(Weak::upgrade).find(|inner| *inner.options() == options);
        let inner = same.unwrap_or_else(|| {
            let inner = Arc::new(Supervisor::new(options, self.stop.subscribe()));
            known.push(Arc::downgrade(&inner));
            inner
        });
        ChildUpstream::new(inner)
    }

    /// Ends all of them, each in order, and waits for that.
    pub(crate) async fn end_all(&self) {
        self.stop.send_replace(true);
        // Every child that runs holds a receiver until it is over; so does each server behind.
        let known: Vec<_> = self.known.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect();
        for inner in known.iter().filter_map(Weak::upgrade) {
            inner.refuse_new_children();
        }
        if timeout(END_TIMEOUT, self.stop.closed()).await.is_err() {
            tracing::warn!("some children did not end in time");
        }
    }
}
