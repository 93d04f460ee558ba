//! What is known of the request that is answered, and what becomes of each message of its answer.
//!
//! Rules: G4, G5.

use std::sync::Arc;

use mcp_attune::exchange::{Answering, Learned, Reworked};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::shaping::Effort;
use mcp_attune_wire::reply::Reply;

use crate::account::Account;
use crate::failed::Failed;
use crate::long_work;
use crate::memo::Lesson;
use crate::mount::Mount;
use crate::schemas::Identity;
use crate::told;

/// What is known of the request that is answered.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) answering: Arc<Answering>,
    mount: Arc<Mount>,
    identity: Identity,
    /// Where a stream that fails is noted.
    pub(crate) account: Account,
}

impl Asked {
    pub(crate) fn new(
        answering: Answering,
        mount: &Arc<Mount>,
        identity: Identity,
        account: Account,
    ) -> Self {
        Self { answering: Arc::new(answering), mount: Arc::clone(mount), identity, account }
    }

    /// What is answered where the service fails.
    #[cold]
    pub(crate) fn failed(&self, failed: &Failed) -> (Reply, AcceptLanguage) {
        let reply = Reply::failed(failed.status, self.answering.id(), failed);
        (reply, self.answering.wish())
    }

    fn adapt(&self, message: &[u8], effort: Effort) -> Option<Reworked> {
        let lookup = self.mount.memo.lookup(&self.answering, message);
        if let Some((done, lesson)) = lookup.as_ref().and_then(|lookup| self.mount.memo.find(lookup)) {
            self.mount.learn_again(self.identity, lesson);
            return Some(done);
        }
        let mut lesson = Lesson::Nothing;
        let learn = |learned: Learned<'_, '_>| lesson = self.mount.learn(self.identity, learned);
        let Some(lookup) = lookup else { return self.answering.adapt(message, effort, learn) };
        let (done, kept) = self.answering.adapt_and_keep(message, lookup.answer(), effort, learn)?;
        if let Some(kept) = kept {
            self.mount.memo.keep(lookup, kept, lesson);
        }
        Some(done)
    }

    /// Logs and counts what was done, on the thread that knows which request it is about.
    fn tell(&self, message: Reworked) -> Reworked {
        if let Some(told) = &message.told {
            told::shaped(told, &self.account);
        }
        message
    }

    /// One message of an answer, learned from and adapted; `None` where that may take long.
    pub(crate) fn message(&self, message: &[u8]) -> Option<Reworked> {
        self.adapt(message, Effort::Short).map(|message| self.tell(message))
    }

    /// The same where no other caller waits for it. It is not begun once the caller is gone.
    pub(crate) fn long_message(
        &self,
        message: impl AsRef<[u8]> + Send + 'static,
    ) -> impl Future<Output = Reworked> + Send + 'static {
        let (asked, teller) = (self.clone(), self.clone());
        async move {
            let work = move || asked.adapt(message.as_ref(), Effort::Full).unwrap_or_default();
            teller.tell(long_work::run(work).await)
        }
    }
}
