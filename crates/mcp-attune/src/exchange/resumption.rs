//! What is no request: a stream of a legacy session that is opened or goes on, the end of one, or nothing that we know.
//!
//! 1. A stream that goes on does so in the language that it began in: the id of the event after which it does says which.
//! 2. Without a preference a stream is tied to no request whose language it could have.
//!
//! Rules: F1, G8, L13.

use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::protocol::header::lowercase::ACCEPT_LANGUAGE;
use mcp_attune_wire::reply::Reply;

use super::answering::Answering;
use super::facts::Rules;
use super::forward;
use super::headers::{HeaderChange, HeaderLines};
use super::visit::Visit;
use crate::caller::Caller;
use crate::catalog::Locale;
use crate::language::Tag;
use crate::localize::Asked;
use crate::plan::{Offer, Plan, negotiate};
use crate::session::Event;
use crate::shaping::Request;

/// A stream that is opened or goes on, or whatever else is no POST.
#[derive(Debug)]
pub struct Resumption<'a> {
    offer: &'a Offer,
    now: Timestamp,
    caller: Caller,
    plan: Plan,
    visit: Visit,
    changes: Vec<HeaderChange>,
    preference: Option<String>,
    streams: bool,
    in_header: bool,
}

impl<'a> Resumption<'a> {
    /// Reads what the headers say. `streams`: a stream is asked for.
    ///
    /// # Errors
    ///
    /// The reply, where an id does not open.
    pub fn begin<'h>(
        rules: &Rules<'a>,
        headers: impl HeaderLines<'h>,
        streams: bool,
        now: Timestamp,
    ) -> Result<Self, Reply> {
        let mut changes = Vec::new();
        let visit = Visit::enter(rules.seal, headers, None, &mut changes)
            .map_err(|_| Reply::unknown_session(None))?;
        let resumed = if streams { visit.resume(headers, &mut changes) } else { Ok(None) };
        let resumed = resumed.map_err(|_| Reply::unknown_event())?;
        let preference = resumed.as_ref().and_then(Event::preference).map(str::to_owned);
        let caller = Caller::resumed(preference.as_deref()).in_session(visit.features());
        // What the server said its languages were is gone with the request that it said them to.
        let silent = Offer::default();
        let offer = if preference.is_some() && !rules.offer.speaks { rules.offer } else { &silent };
        // A stream that goes on may bring the listing that was asked for when it began.
        let mut plan = negotiate(&caller, offer).showing(&rules.offer.bindings);
        if let Some(content) = rules.content.clone().filter(|_| streams)
            && let Some(shape) = plan.shape(Request::resumed(), content, &caller, rules.offer, now)
        {
            // Whoever goes on with a stream was shown a schema before, which nobody here knows.
            plan = plan.shaping(shape);
        }
        let in_header = headers.named(ACCEPT_LANGUAGE).next().is_some();
        let offer = rules.offer;
        Ok(Self { offer, now, caller, plan, visit, changes, preference, streams, in_header })
    }

    /// The language whose locale files are needed: [`locales`](Self::locales).
    #[must_use]
    pub fn need(&self) -> Option<&Tag> {
        self.plan.wants()
    }

    /// The locale files of that language.
    #[must_use]
    pub fn locales(self, locales: Vec<Arc<Locale>>) -> Self {
        let asked = Asked::new("");
        let plan = self.plan.translating(asked, &self.caller, self.offer, locales, self.now);
        Self { plan, ..self }
    }

    /// What changes in the headers, who asks, and what becomes of the answer.
    #[must_use]
    pub fn forward(self) -> (Vec<HeaderChange>, Caller, Answering) {
        let Self { offer, caller, plan, visit, mut changes, preference, streams, in_header, .. } = self;
        if plan.changes() {
            changes.push(forward::identity());
        }
        let events = visit.events(preference.as_deref());
        let answering = Answering {
            is_request: streams && (events.is_some() || plan.reads()),
            preferred: preference.is_some() && plan.changes(),
            in_header,
            events,
            visit,
            ..Answering::new(plan, offer)
        };
        (changes, caller, answering)
    }
}
