//! The subscription to changes at a modern server, for a cache. Such a server tells what changes only to those
//! who listen.
//!
//! What comes is recorded before rmcp takes it, where all messages are. Here the stream is asked for, and kept
//! flowing. When it ends, or was never granted, answers are kept for their time and no longer, as with a server
//! that tells nothing.
//!
//! Rules: G3.

use rmcp::model::{ServerPeerInfo, SubscriptionFilter};
use rmcp::{Peer, RoleClient};
use tokio::task::JoinHandle;

/// A stream of notifications about changes, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ChangeSubscription(JoinHandle<()>);

impl ChangeSubscription {
    /// Subscribes, in a task of its own, to the changes of listings that the server says it tells. Returns
    /// `None` if it tells none, or if it is a legacy server, which tells them without being asked.
    pub(crate) fn begin(peer: Peer<RoleClient>, info: &ServerPeerInfo) -> Option<Self> {
        let able = &info.capabilities;
        let mut filter = SubscriptionFilter::new();
        let told = |tells: Option<bool>| tells.filter(|tells| *tells);
        filter.tools_list_changed = told(able.tools.as_ref().and_then(|tools| tools.list_changed));
        filter.prompts_list_changed = told(able.prompts.as_ref().and_then(|prompts| prompts.list_changed));
        filter.resources_list_changed = told(able.resources.as_ref().and_then(|all| all.list_changed));
        if info.protocol_version.has_initialize() || filter == SubscriptionFilter::new() {
            return None;
        }
        Some(Self(tokio::spawn(async move {
            let mut changes = match peer.listen(filter).await {
                Ok(changes) => changes,
                Err(error) => return tracing::debug!(%error, "the server does not tell what changes"),
            };
            while let Ok(Some(_)) = changes.next().await {}
            tracing::debug!("the server tells no more what changes");
        })))
    }
}

impl Drop for ChangeSubscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}
