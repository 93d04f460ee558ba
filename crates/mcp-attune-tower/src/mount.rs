//! What all requests of one mount share, and what is learned from answers.
//!
//! Rules: C9, F6, F14, H10.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_attune::exchange::{Learned, Rules, negotiates_content};
use mcp_attune::shaping::Shaper;

use crate::memo::{Lesson, ListingMemo};
use crate::schemas::{Identity, Schemas};
use crate::settings::Settings;

/// What all requests of one mount share.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) settings: Settings,
    pub(crate) schemas: Arc<Schemas>,
    /// Listings that were adapted before.
    pub(crate) memo: ListingMemo,
    /// Whether the server negotiates content itself, as far as it has said.
    negotiates: AtomicBool,
}

impl Mount {
    pub(crate) fn new(settings: Settings, schemas: Arc<Schemas>) -> Self {
        Self { settings, schemas, memo: ListingMemo::default(), negotiates: AtomicBool::default() }
    }

    /// What holds for a request that comes now.
    pub(crate) fn rules(&self) -> Rules<'_> {
        let Settings { policy, report_only, offer, schemas, seal, .. } = &self.settings;
        Rules {
            policy,
            report_only: *report_only,
            refuse_unknown: schemas.refuse_unknown,
            offer,
            content: self.content(),
            seal: seal.as_ref(),
            tasks: None,
        }
    }

    /// How answers are shaped, if they are.
    fn content(&self) -> Option<Arc<dyn Shaper>> {
        let supply = self.settings.offer.content.as_ref()?;
        (!self.negotiates.load(Ordering::Relaxed)).then(|| supply.content())
    }

    /// Learns from a message of an answer.
    pub(crate) fn learn(&self, identity: Identity, learned: Learned<'_, '_>) -> Lesson {
        match learned {
            Learned::Tools(listing) => match self.schemas.learn(identity, listing) {
                Some((listing, public)) => Lesson::Tools(listing, public),
                None => Lesson::Nothing,
            },
            // Listings that pass by are learned from where they are whole.
            Learned::MoreTools(_) => Lesson::Nothing,
            Learned::ToolsChanged => {
                self.schemas.forget(identity);
                Lesson::Nothing
            }
            Learned::Negotiates(said) => {
                self.greeted(said);
                Lesson::Negotiates(said)
            }
        }
    }

    /// Learns from an answer what was learned from the same one before.
    pub(crate) fn learn_again(&self, identity: Identity, lesson: Lesson) {
        match lesson {
            Lesson::Nothing => {}
            Lesson::Tools(listing, public) => self.schemas.learn_again(identity, listing, public),
            Lesson::Negotiates(said) => self.greeted(said),
        }
    }

    /// Learns what the server says of itself.
    pub(crate) fn greeted(&self, negotiates: bool) {
        if self.negotiates.swap(negotiates, Ordering::Relaxed) == negotiates {
            return;
        }
        let what =
            if negotiates { "so its answers pass as they are" } else { "no more, so its answers are shaped" };
        tracing::info!("the server negotiates content itself, {what}");
    }

    /// Learns from an answer to `initialize` or `server/discover`.
    pub(crate) fn greeted_with(&self, answer: &[u8]) {
        if let Some(said) = negotiates_content(answer) {
            self.greeted(said);
        }
    }
}
