//! All programs of a gateway. They outlive the configuration that asked for them, and end with the gateway.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::ChildUpstream;
use super::options::ChildOptions;
use super::supervisor::Supervisor;

/// How long all children together may take to end. A single one is killed after 4 seconds at most.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The programs that a gateway runs. Clones share them.
///
/// A reload builds a new stack beside the old one. Through the registry, a mount whose options did not change
/// gets its old supervisor back, with its children and sessions. Supervisors are held weakly: when no stack
/// uses one any more, it goes away and its children end.
#[derive(Clone, Debug)]
pub(crate) struct ChildRegistry {
    /// Set to `true` when all children are to end. Every child and every supervisor holds a receiver, so that
    /// the sender sees when the last of them is gone.
    stop: Arc<watch::Sender<bool>>,
    /// The supervisors, at most one for each set of options.
    known: Arc<Mutex<Vec<Weak<Supervisor>>>>,
}

impl ChildRegistry {
    pub(crate) fn new() -> Self {
        Self { stop: Arc::new(watch::Sender::new(false)), known: Arc::default() }
    }

    /// Returns the upstream for these options: the existing one, with its children and sessions, or a new
    /// one. No program is started yet.
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

    /// Ends all children and waits until they are gone, for at most [`END_TIMEOUT`].
    ///
    /// Each child finds its input closed, and after that is asked to end and then killed (see
    /// `mcp_attune_process::process`). No child is started from now on: what needs one fails with
    /// `UpstreamError::Refused`. The gateway calls this last, when its listeners have drained.
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
