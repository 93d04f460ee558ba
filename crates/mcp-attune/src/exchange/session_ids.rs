//! The ids of legacy sessions and events on their way through.
//!
//! 1. An id is sealed when it has something to carry: a session id the features that its client declared, the locale of a
//!    vendor's key and the client that has a profile, an event id the preference of the request that its stream answers. Any other id stays the server's own.
//! 2. A server's id that looks sealed (another gateway is behind) is sealed once more, so that ours can be told apart.
//! 3. The server sees its own ids only, and a caller never sees the server's id beside the sealed one.
//! 4. A server that gives no session id gets none. Where there is something to carry one is made for the caller.
//! 5. An id that looks sealed and does not open: no such session (404), or no such event (400).
//!
//! Rules: A6, C11, F1, G8, L13.

use mcp_attune_wire::protocol::header::lowercase::{LAST_EVENT_ID, SESSION_ID};

use super::headers::{HeaderChange, HeaderLines};
use super::notice::ExchangeNotice;
use super::seal::{IdSeal, UnsealError, looks_sealed};
use crate::session::{EventIdPayload, SessionFacts, SessionIdPayload};

/// A legacy request on its way in, and its answer on its way out. Without a seal everything stays as it is.
#[derive(Debug, Default)]
pub(super) struct SessionIdRewriter {
    seal: Option<IdSeal>,
    /// The session that the request names, where that is a sealed one.
    entered: Option<OpenedSession>,
    /// What the request declares, where it begins a session.
    begins: Option<SessionFacts>,
}

/// A session as its caller names it, opened.
#[derive(Debug)]
struct OpenedSession {
    shown: Vec<u8>,
    session: SessionIdPayload,
}

impl SessionIdRewriter {
    /// Opens the session that a request names, and lets it name the one that the server knows.
    pub(super) fn unseal_session<'h>(
        seal: Option<&IdSeal>,
        headers: impl HeaderLines<'h>,
        begins: Option<SessionFacts>,
        changes: &mut Vec<HeaderChange>,
    ) -> Result<Self, UnsealError> {
        let mut visit = Self { seal: seal.cloned(), entered: None, begins };
        if let Some(seal) = seal
            && let Some(shown) = single_sealed_id(headers, SESSION_ID)?
            && let Some(session) = seal.open_session(shown)?
        {
            changes.push(match session.upstream() {
                Some(own) => HeaderChange::set(SESSION_ID, own),
                None => HeaderChange::remove(SESSION_ID),
            });
            visit.entered = Some(OpenedSession { shown: shown.to_vec(), session });
        }
        Ok(visit)
    }

    /// Opens the event after which a stream is to go on, and lets the request name the one that the server knows.
    pub(super) fn unseal_last_event<'h>(
        &self,
        headers: impl HeaderLines<'h>,
        changes: &mut Vec<HeaderChange>,
    ) -> Result<Option<EventIdPayload>, UnsealError> {
        let Some(seal) = &self.seal else { return Ok(None) };
        let Some(shown) = single_sealed_id(headers, LAST_EVENT_ID)? else { return Ok(None) };
        let Some(event) = seal.open_event(shown)? else { return Ok(None) };
        changes.push(HeaderChange::set(LAST_EVENT_ID, event.upstream()));
        Ok(Some(event))
    }

    /// What holds for the session.
    pub(super) fn facts(&self) -> SessionFacts {
        let entered = self.entered.as_ref().map(|entered| entered.session.facts());
        self.begins.as_ref().or(entered).cloned().unwrap_or_default()
    }

    /// What becomes of the ids of events of a stream that is adapted to this preference.
    pub(super) fn event_id_rewriter(&self, preference: Option<&str>) -> Option<EventIdRewriter> {
        let preference = preference.map(str::to_owned);
        self.seal.clone().map(|seal| EventIdRewriter { seal, preference })
    }

    /// Puts the caller's session id into an answer, in the place of the server's own.
    pub(super) fn rewrite_answer<'h>(
        &self,
        success: bool,
        answer: impl HeaderLines<'h>,
        changes: &mut Vec<HeaderChange>,
        notices: &mut Vec<ExchangeNotice>,
    ) {
        let Some(seal) = &self.seal else { return };
        let mut given = answer.named(SESSION_ID).peekable();
        if given.peek().is_none() {
            let made = || seal_session_id(seal, None, self.facts());
            if self.begins.is_some()
                && success
                && !self.facts().is_empty()
                && let Some(made) = made()
            {
                changes.push(HeaderChange::set(SESSION_ID, made));
            }
            return;
        }
        let shown: Vec<_> = given.map(|id| (id, self.caller_session_id(seal, id, notices))).collect();
        if shown.iter().all(|(id, shown)| *id == shown.as_slice()) {
            return;
        }
        changes.push(HeaderChange::remove(SESSION_ID));
        changes.extend(shown.into_iter().map(|(_, id)| HeaderChange::Append(SESSION_ID.into(), id)));
    }

    /// The id that the caller gets for one that the server gave.
    fn caller_session_id(&self, seal: &IdSeal, id: &[u8], notices: &mut Vec<ExchangeNotice>) -> Vec<u8> {
        if let (Some(entered), None) = (&self.entered, &self.begins)
            && entered.session.upstream() == Some(id)
        {
            return entered.shown.clone();
        }
        let facts = self.facts();
        if facts.is_empty() && !looks_sealed(id) {
            return id.to_vec();
        }
        seal_session_id(seal, Some(id), facts).map(String::into_bytes).unwrap_or_else(|| {
            notices.push(ExchangeNotice::SessionIdTooLong);
            id.to_vec()
        })
    }
}

fn seal_session_id(seal: &IdSeal, id: Option<&[u8]>, facts: SessionFacts) -> Option<String> {
    seal.seal_session(&SessionIdPayload::new(id, facts)?)
}

/// The sealed id in a header, if there is one. Beside another it opens nothing: two readers could take two.
fn single_sealed_id<'h>(headers: impl HeaderLines<'h>, name: &str) -> Result<Option<&'h [u8]>, UnsealError> {
    let Some(sealed) = headers.named(name).find(|id| looks_sealed(id)) else { return Ok(None) };
    if headers.named(name).count() > 1 { Err(UnsealError) } else { Ok(Some(sealed)) }
}

/// What becomes of the event ids of one stream.
#[derive(Clone, Debug)]
pub(super) struct EventIdRewriter {
    seal: IdSeal,
    /// What a resumed stream needs to go on as it began.
    preference: Option<String>,
}

impl EventIdRewriter {
    /// The id that the caller gets for one that the server gave; `None` where that stays.
    pub(super) fn caller_event_id(&self, id: &[u8]) -> Result<Option<String>, ExchangeNotice> {
        if self.preference.is_none() && !looks_sealed(id) {
            return Ok(None);
        }
        let sealed = EventIdPayload::new(id, self.preference.as_deref())
            .and_then(|event| self.seal.seal_event(&event));
        sealed.map(Some).ok_or(ExchangeNotice::EventIdTooLong)
    }
}
