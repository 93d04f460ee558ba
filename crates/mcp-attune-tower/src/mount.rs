//! The state that all requests of one mount share, and what is learned from answers.
//!
//! Rules: C9, F6, F14, H10.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_attune::exchange::{ExchangeSettings, LearnedFact, negotiates_content};
use mcp_attune::shaping::Shaper;

use crate::memo::{ListingMemo, ServerKnowledge};
use crate::schemas::{IdentityHash, ToolSchemaCache};
use crate::settings::Settings;

/// The state of one mount, shared by all requests and by all clones of its layer. Nothing in it belongs to one
/// caller, apart from listings by hashed identity.
#[derive(Debug)]
pub(crate) struct LayerState {
    pub(crate) settings: Settings,
    /// Listings of tools by identity.
    pub(crate) schemas: Arc<ToolSchemaCache>,
    /// Listings that were adapted before.
    pub(crate) memo: ListingMemo,
    /// Whether the server said that it negotiates content itself; then its answers are not shaped.
    negotiates: AtomicBool,
    /// Whether it was logged that a header came from somebody who is not trusted: that is said once.
    pub(crate) untrusted_header_logged: AtomicBool,
}

impl LayerState {
    pub(crate) fn new(settings: Settings, schemas: Arc<ToolSchemaCache>) -> Self {
        Self {
            settings,
            schemas,
            memo: ListingMemo::default(),
            negotiates: AtomicBool::default(),
            untrusted_header_logged: AtomicBool::default(),
        }
    }

    /// Returns what holds for a request that begins now: the settings, and the templates as they are at this
    /// moment.
    pub(crate) fn rules(&self) -> ExchangeSettings<'_> {
        let Settings { policy, report_only, offer, schemas, seal, .. } = &self.settings;
        ExchangeSettings {
            policy,
            report_only: *report_only,
            refuse_unknown: schemas.refuse_unknown,
            offer,
            content: self.content(),
            seal: seal.as_ref(),
            tasks: None,
        }
    }

    /// Returns how answers are shaped. `None` if they are not, because the operator does not want it or because
    /// the server negotiates content itself.
    fn content(&self) -> Option<Arc<dyn Shaper>> {
        let supply = self.settings.offer.content.as_ref()?;
        (!self.negotiates.load(Ordering::Relaxed)).then(|| supply.current_shaper())
    }

    /// Learns from a message of an answer, and returns what can be learned again from the same one. Of a
    /// listing in several pages nothing is kept.
    pub(crate) fn learn(&self, identity: IdentityHash, learned: LearnedFact<'_, '_>) -> ServerKnowledge {
        match learned {
            LearnedFact::Tools(listing) => match self.schemas.learn(identity, listing) {
                Some((listing, public)) => ServerKnowledge::Tools(listing, public),
                None => ServerKnowledge::Nothing,
            },
            // Listings that pass by are learned from where they are whole.
            LearnedFact::MoreTools(_) => ServerKnowledge::Nothing,
            LearnedFact::ToolsChanged => {
                self.schemas.forget(identity);
                ServerKnowledge::Nothing
            }
            LearnedFact::Negotiates(said) => {
                self.set_negotiates(said);
                ServerKnowledge::Negotiates(said)
            }
        }
    }

    /// Learns again what was learned from the same answer before.
    pub(crate) fn learn_again(&self, identity: IdentityHash, lesson: ServerKnowledge) {
        match lesson {
            ServerKnowledge::Nothing => {}
            ServerKnowledge::Tools(listing, public) => self.schemas.learn_again(identity, listing, public),
            ServerKnowledge::Negotiates(said) => self.set_negotiates(said),
        }
    }

    /// Notes whether the server negotiates content itself, and logs a change.
    pub(crate) fn set_negotiates(&self, negotiates: bool) {
        if self.negotiates.swap(negotiates, Ordering::Relaxed) == negotiates {
            return;
        }
        if negotiates {
            tracing::info!("the server negotiates content itself, so its answers pass as they are");
        } else {
            tracing::info!("the server no longer negotiates content itself, so its answers are shaped");
        }
    }

    /// Learns from the answer to an `initialize` or `server/discover` that the host itself asked.
    pub(crate) fn learn_from_introduction(&self, answer: &[u8]) {
        if let Some(said) = negotiates_content(answer) {
            self.set_negotiates(said);
        }
    }
}
