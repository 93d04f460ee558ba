//! What is known of the request that an answer belongs to, and what becomes of each message of the answer.
//!
//! Rules: G4, G5.

use std::sync::Arc;

use mcp_attune::exchange::{AnswerAdapter, LearnedFact, MessageRewrite};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::shaping::AdaptEffort;
use mcp_attune_wire::reply::Reply;

use crate::failed::HttpFailure;
use crate::logging;
use crate::long_work;
use crate::memo::ServerKnowledge;
use crate::mount::LayerState;
use crate::request_outcome::RequestOutcome;
use crate::schemas::IdentityHash;

/// Adapts the messages of one answer with an [`AnswerAdapter`] of the rules, and does what only a host can: it
/// asks and fills the memo, lets the mount learn, logs and counts, and moves long work to other threads.
/// Cloning it is cheap.
#[derive(Clone, Debug)]
pub(crate) struct ResponseAdapter {
    /// What the rules decided for this answer.
    pub(crate) answering: Arc<AnswerAdapter>,
    mount: Arc<LayerState>,
    /// Who asked: what is learned from a listing is kept under it.
    identity: IdentityHash,
    /// Where the outcome of the request is noted, also while a stream goes on.
    pub(crate) account: RequestOutcome,
}

impl ResponseAdapter {
    pub(crate) fn new(
        answering: AnswerAdapter,
        mount: &Arc<LayerState>,
        identity: IdentityHash,
        account: RequestOutcome,
    ) -> Self {
        Self { answering: Arc::new(answering), mount: Arc::clone(mount), identity, account }
    }

    /// Returns the answer for a failure of the service, and the language preference that it is to be worded
    /// for.
    #[cold]
    pub(crate) fn failure_reply(&self, failed: &HttpFailure) -> (Reply, AcceptLanguage) {
        let reply = Reply::failed(failed.status, self.answering.id(), failed.notice.clone());
        (reply, self.answering.reply_preference())
    }

    /// Adapts one message: from the memo if the same listing was adapted for the same plan before, else by the
    /// rules. Returns `None` if it needs more than this effort, which is never so for [`AdaptEffort::Full`].
    fn adapt(&self, message: &[u8], effort: AdaptEffort) -> Option<MessageRewrite> {
        let lookup = self.mount.memo.lookup(&self.answering, message);
        if let Some((done, lesson)) = lookup.as_ref().and_then(|lookup| self.mount.memo.find(lookup)) {
            self.mount.learn_again(self.identity, lesson);
            return Some(done);
        }
        let mut lesson = ServerKnowledge::Nothing;
        let learn = |learned: LearnedFact<'_, '_>| lesson = self.mount.learn(self.identity, learned);
        let Some(lookup) = lookup else { return self.answering.adapt(message, effort, learn) };
        let (done, kept) = self.answering.adapt_and_memoize(message, lookup.answer(), effort, learn)?;
        if let Some(kept) = kept {
            self.mount.memo.keep(lookup, kept, lesson);
        }
        Some(done)
    }

    /// Logs and counts what was done to a message. It runs on the thread that serves the request, where the log
    /// knows which request it is about.
    fn record_reworked(&self, message: MessageRewrite) -> MessageRewrite {
        if let Some(told) = &message.told {
            logging::record_adapted(told, &self.account);
        }
        message
    }

    /// Learns from one message of an answer and adapts it. Returns `None` if that may take long; then
    /// [`adapt_long_message`](Self::adapt_long_message) has to be used, and nothing was learned yet.
    pub(crate) fn adapt_message(&self, message: &[u8]) -> Option<MessageRewrite> {
        self.adapt(message, AdaptEffort::Short).map(|message| self.record_reworked(message))
    }

    /// Does the same on a thread where no other caller waits. It is not begun if the future is dropped before
    /// its turn comes.
    pub(crate) fn adapt_long_message(
        &self,
        message: impl AsRef<[u8]> + Send + 'static,
    ) -> impl Future<Output = MessageRewrite> + Send + 'static {
        let (asked, teller) = (self.clone(), self.clone());
        async move {
            let work = move || asked.adapt(message.as_ref(), AdaptEffort::Full).unwrap_or_default();
            teller.record_reworked(long_work::run(work).await)
        }
    }
}
