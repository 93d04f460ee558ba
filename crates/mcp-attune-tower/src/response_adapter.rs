//! What is known of the request that is answered, and what becomes of each message of its answer.
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

/// What is known of the request that is answered.
#[derive(Clone, Debug)]
pub(crate) struct ResponseAdapter {
    pub(crate) answering: Arc<AnswerAdapter>,
    mount: Arc<LayerState>,
    identity: IdentityHash,
    /// Where a stream that fails is noted.
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

    /// What is answered where the service fails.
    #[cold]
    pub(crate) fn failure_reply(&self, failed: &HttpFailure) -> (Reply, AcceptLanguage) {
        let reply = Reply::failed(failed.status, self.answering.id(), failed);
        (reply, self.answering.reply_preference())
    }

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

    /// Logs and counts what was done, on the thread that knows which request it is about.
    fn record_reworked(&self, message: MessageRewrite) -> MessageRewrite {
        if let Some(told) = &message.told {
            logging::record_adapted(told, &self.account);
        }
        message
    }

    /// One message of an answer, learned from and adapted; `None` where that may take long.
    pub(crate) fn adapt_message(&self, message: &[u8]) -> Option<MessageRewrite> {
        self.adapt(message, AdaptEffort::Short).map(|message| self.record_reworked(message))
    }

    /// The same where no other caller waits for it. It is not begun once the caller is gone.
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
