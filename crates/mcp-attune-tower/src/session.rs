//! The ids of legacy sessions and events on their way through.
//!
//! 1. An id is sealed when it has something to carry: a session id the features that its client declared, an event
//!    id the preference of the request that its stream answers. Any other id stays the server's own.
//! 2. A server's id that looks sealed (another gateway is behind) is sealed once more, so that ours can be told apart.
//! 3. The server sees its own ids only, and a caller never sees the server's id beside the sealed one.
//! 4. A server that gives no session id gets none. Where features were declared one is made for the caller.
//! 5. An id that looks sealed and does not open: no such session (404), or no such event (400).
//!
//! Rules: F1, G8, L13.

use http::Response;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use mcp_attune::session::{Event, Features, Session};

use crate::seal::{Seal, Unopened, looks_sealed};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A legacy request on its way in, and its answer on its way out. Without a seal everything stays as it is.
#[derive(Debug)]
pub(crate) struct Visit<'s> {
    seal: Option<&'s Seal>,
    /// The session that the request names, where that is a sealed one.
    entered: Option<Entered>,
    /// What the request declares, where it begins a session.
    begins: Option<Features>,
}

/// A session as its caller names it, opened.
#[derive(Debug)]
struct Entered {
    shown: HeaderValue,
    session: Session,
}

impl<'s> Visit<'s> {
    /// Opens the session that a request names, and lets it name the one that the server knows.
    pub(crate) fn enter(
        seal: Option<&'s Seal>,
        headers: &mut HeaderMap,
        begins: Option<Features>,
    ) -> Result<Self, Unopened> {
        let mut visit = Self { seal, entered: None, begins };
        if let Some(seal) = seal
            && let Some(shown) = only_sealed(headers, &SESSION_ID)?
            && let Some(session) = seal.open_session(shown.as_bytes())?
        {
            replace(headers, SESSION_ID, session.upstream())?;
            visit.entered = Some(Entered { shown, session });
        }
        Ok(visit)
    }

    /// Opens the event after which a stream is to go on, and lets the request name the one that the server knows.
    pub(crate) fn resume(&self, headers: &mut HeaderMap) -> Result<Option<Event>, Unopened> {
        let Some(seal) = self.seal else { return Ok(None) };
        let Some(shown) = only_sealed(headers, &LAST_EVENT_ID)? else { return Ok(None) };
        let Some(event) = seal.open_event(shown.as_bytes())? else { return Ok(None) };
        replace(headers, LAST_EVENT_ID, Some(event.upstream()))?;
        Ok(Some(event))
    }

    /// What holds for the session.
    pub(crate) fn features(&self) -> Features {
        let entered = self.entered.as_ref().map(|entered| entered.session.features());
        self.begins.as_ref().or(entered).cloned().unwrap_or_default()
    }

    /// What becomes of the ids of events of a stream that is adapted to this preference.
    pub(crate) fn events(&self, preference: Option<&str>) -> Option<EventIds> {
        let preference = preference.map(str::to_owned);
        self.seal.map(|seal| EventIds { seal: seal.clone(), preference })
    }

    /// Puts the caller's session id into an answer, in the place of the server's own.
    pub(crate) fn leave<B>(&self, answer: &mut Response<B>) {
        let Some(seal) = self.seal else { return };
        let begins = self.begins.is_some() && answer.status().is_success();
        let headers = answer.headers_mut();
        let given: Vec<HeaderValue> = headers.get_all(SESSION_ID).iter().cloned().collect();
        headers.remove(SESSION_ID);
        for id in &given {
            headers.append(SESSION_ID, self.shown(seal, id));
        }
        if given.is_empty()
            && begins
            && !self.features().is_empty()
            && let Some(made) = sealed(seal, None, self.features())
        {
            headers.insert(SESSION_ID, made);
        }
    }

    /// The id that the caller gets for one that the server gave.
    fn shown(&self, seal: &Seal, id: &HeaderValue) -> HeaderValue {
        if let (Some(entered), None) = (&self.entered, &self.begins)
            && entered.session.upstream() == Some(id.as_bytes())
        {
            return entered.shown.clone();
        }
        let features = self.features();
        if features.is_empty() && !looks_sealed(id.as_bytes()) {
            return id.clone();
        }
        sealed(seal, Some(id), features).unwrap_or_else(|| {
            tracing::warn!(
                "the server's session id is too long to be sealed; what was declared is forgotten"
            );
            id.clone()
        })
    }
}

fn sealed(seal: &Seal, id: Option<&HeaderValue>, features: Features) -> Option<HeaderValue> {
    let session = Session::new(id.map(HeaderValue::as_bytes), features)?;
    HeaderValue::try_from(seal.session(&session)?).ok()
}

/// The sealed id in a header, if there is one. Beside another it opens nothing: two readers could take two.
fn only_sealed(headers: &HeaderMap, name: &HeaderName) -> Result<Option<HeaderValue>, Unopened> {
    let lines = headers.get_all(name);
    let Some(sealed) = lines.iter().find(|id| looks_sealed(id.as_bytes())) else { return Ok(None) };
    if lines.iter().count() > 1 { Err(Unopened) } else { Ok(Some(sealed.clone())) }
}

fn replace(headers: &mut HeaderMap, name: HeaderName, id: Option<&[u8]>) -> Result<(), Unopened> {
    headers.remove(&name);
    if let Some(id) = id {
        headers.insert(name, HeaderValue::from_bytes(id).map_err(|_| Unopened)?);
    }
    Ok(())
}

/// What becomes of the event ids of one stream.
#[derive(Clone, Debug)]
pub(crate) struct EventIds {
    seal: Seal,
    /// What a resumed stream needs to go on as it began.
    preference: Option<String>,
}

impl EventIds {
    /// The id that the caller gets for one that the server gave; none where that stays.
    pub(crate) fn shown(&self, id: &[u8]) -> Option<String> {
        if self.preference.is_none() && !looks_sealed(id) {
            return None;
        }
        let sealed = Event::new(id, self.preference.as_deref()).and_then(|event| self.seal.event(&event));
        if sealed.is_none() {
            tracing::warn!(
                "an event's id is too long to be sealed; a stream resumed after it is not adapted"
            );
        }
        sealed
    }
}
