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

use super::answering::AnswerAdapter;
use super::forward;
use super::headers::{HeaderChange, HeaderLines};
use super::interface::ExchangeSettings;
use super::session_ids::SessionIdRewriter;
use crate::assume::CallerEvidence;
use crate::caller::Caller;
use crate::catalog::CompiledLocale;
use crate::language::Tag;
use crate::localize::RequestSubject;
use crate::plan::{Offer, Plan, negotiate};
use crate::session::{EventIdPayload, SessionFacts};
use crate::shaping::ShapeRequest;

/// A stream that is opened or goes on, or whatever else is no POST.
#[derive(Debug)]
pub struct NonPostExchange<'a> {
    offer: &'a Offer,
    now: Timestamp,
    caller: Caller,
    plan: Plan,
    visit: SessionIdRewriter,
    changes: Vec<HeaderChange>,
    preference: Option<String>,
    streams: bool,
    in_header: bool,
}

impl<'a> NonPostExchange<'a> {
    /// Reads what the headers say. `streams`: a stream is asked for.
    ///
    /// # Errors
    ///
    /// The reply, where an id does not open.
    pub fn begin<'h>(
        rules: &ExchangeSettings<'a>,
        headers: impl HeaderLines<'h>,
        streams: bool,
        now: Timestamp,
    ) -> Result<Self, Reply> {
        let mut changes = Vec::new();
        let visit = SessionIdRewriter::unseal_session(rules.seal, headers, None, &mut changes)
            .map_err(|_| Reply::unknown_session(None))?;
        let resumed = if streams { visit.unseal_last_event(headers, &mut changes) } else { Ok(None) };
        let resumed = resumed.map_err(|_| Reply::unknown_event())?;
        let preference = resumed.as_ref().and_then(EventIdPayload::preference).map(str::to_owned);
        let session = visit.facts();
        // Only what results look like is assumed: a stream without a preference is tied to no request (L13).
        let client = session.client.clone();
        let assumed =
            rules.offer.callers.gather(&CallerEvidence::default(), client.as_ref(), &|_| Vec::new());
        let session = SessionFacts { locale: None, ..session };
        let caller =
            Caller::resumed(preference.as_deref()).in_session(session).assuming(assumed.only_features());
        // What the server said its languages were is gone with the request that it said them to.
        let silent = Offer::default();
        let offer = if preference.is_some() && !rules.offer.speaks { rules.offer } else { &silent };
        // A stream that goes on may bring the listing that was asked for when it began.
        let mut plan = negotiate(&caller, offer).with_bindings(&rules.offer.bindings);
        if let Some(content) = rules.content.clone().filter(|_| streams)
            && let Some(shape) =
                plan.decide_shape(ShapeRequest::for_resumed_stream(), content, &caller, rules.offer, now)
        {
            // Whoever goes on with a stream was shown a schema before, which nobody here knows.
            plan = plan.with_shape(shape);
        }
        let in_header = headers.named(ACCEPT_LANGUAGE).next().is_some();
        let offer = rules.offer;
        Ok(Self { offer, now, caller, plan, visit, changes, preference, streams, in_header })
    }

    /// The language whose locale files are needed: [`with_locales`](Self::with_locales).
    #[must_use]
    pub fn need(&self) -> Option<&Tag> {
        self.plan.needed_locale()
    }

    /// The locale files of that language.
    #[must_use]
    pub fn with_locales(self, locales: Vec<Arc<CompiledLocale>>) -> Self {
        let asked = RequestSubject::new("");
        let plan = self.plan.with_translation(asked, &self.caller, self.offer, locales, self.now);
        Self { plan, ..self }
    }

    /// What changes in the headers, who asks, and what becomes of the answer.
    #[must_use]
    pub fn forward(self) -> (Vec<HeaderChange>, Caller, AnswerAdapter) {
        let Self { offer, caller, plan, visit, mut changes, preference, streams, in_header, .. } = self;
        if plan.may_edit() {
            changes.push(forward::accept_identity());
        }
        let events = visit.event_id_rewriter(preference.as_deref());
        let answering = AnswerAdapter {
            is_request: streams && (events.is_some() || plan.needs_whole_answer()),
            preferred: preference.is_some() && plan.may_edit(),
            in_header,
            events,
            visit,
            ..AnswerAdapter::new(plan, offer)
        };
        (changes, caller, answering)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::bind::{ArgumentFill, Binding, Bindings, BoundContextPart};
    use crate::context::CoordinatePrecision;
    use crate::exchange::seal::{IdSeal, SealKeys};
    use crate::session::SessionIdPayload;
    use mcp_attune_wire::agree::HeaderPolicy;

    /// What becomes of a stream, or of what is none, in a session that began with a locale.
    fn forward(offer: &Offer, streams: bool) -> (Caller, AnswerAdapter) {
        let seal = IdSeal::new(SealKeys::new(&[1; 32], []), "default", |_| Ok(()));
        let facts = SessionFacts { locale: Tag::parse("de-AT").ok(), ..SessionFacts::default() };
        let id = seal.seal_session(&SessionIdPayload::new(Some(b"s"), facts).unwrap()).unwrap();
        let rules = ExchangeSettings {
            policy: &HeaderPolicy::default(),
            report_only: false,
            refuse_unknown: false,
            offer,
            content: None,
            seal: Some(&seal),
            tasks: None,
        };
        let headers: &[(&str, &[u8])] = &[("mcp-session-id", id.as_bytes())];
        let (_, caller, answering) =
            NonPostExchange::begin(&rules, headers, streams, Timestamp::UNIX_EPOCH).unwrap().forward();
        (caller, answering)
    }

    #[test]
    fn a_stream_without_a_preference_has_no_language() {
        let fills = ArgumentFill::Context { from: BoundContextPart::Timezone, default: None };
        let bound = BTreeMap::from([("tz".to_owned(), Binding { fills, hide: true })]);
        let bindings = Bindings::new([("t".to_owned(), bound)].into(), CoordinatePrecision::Off);
        // Its listings are changed, for everybody alike.
        let (caller, answering) = forward(&Offer { bindings: Arc::new(bindings), ..Offer::default() }, true);
        assert!(answering.plan.may_edit() && answering.is_request && !answering.preferred);
        assert_eq!(caller.preference(), None);
    }

    #[test]
    fn what_is_no_stream_is_not_adapted() {
        assert!(!forward(&Offer::default(), false).1.is_request);
    }
}
