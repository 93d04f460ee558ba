//! The way in: what is decided about a request before it goes on.
//!
//! Rules: C1, C7, C9, C10, F1, G8, H1–H11, H13, H14, H16, H17, L2, L3, L7, L13, L14.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{self, Agree, Agreed, Era, Open, Refusal};
use mcp_attune_wire::header::Headers;
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method::TOOLS_CALL;
use mcp_attune_wire::reply::Reply;

use super::answering::Answering;
use super::decided::{Arrived, Decided};
use super::facts::{Facts, Known, Need, Outgoing, Recency, Rejection, Rules};
use super::headers::{HeaderChange, HeaderLines, mirrored_preference};
use super::listing::{Envelope, Listing, Tool};
use super::visit::Visit;
use crate::bind::Filled;
use crate::caller::Caller;
use crate::catalog::Locale;
use crate::language::{AcceptLanguage, preference};
use crate::plan::negotiate;
use crate::session::Features;

/// A request on its way in.
#[derive(Debug)]
pub struct Exchange<'a, H> {
    rules: Rules<'a>,
    headers: Option<H>,
    body: &'a [u8],
    now: Timestamp,
    /// The features of the session that a pipe is.
    session: Features,
    facts: Facts,
    /// The tool that is called, as its caller names it.
    called: Option<Cow<'a, str>>,
    /// The preference as the message writes it, for answers of our own; they are rare, so it is not read before.
    stated: Option<Cow<'a, str>>,
    /// Whether the message could be read.
    is_readable: bool,
    /// Whether it is refused for what it breaks.
    breach: bool,
    state: State<'a>,
}

#[derive(Debug)]
enum State<'a> {
    /// The check waits for the schema of the called tool. With a refusal it waits for a recent one.
    Checking(Box<(Open<'a, 'a>, Option<Refusal>)>),
    Decided(Box<Decided<'a>>),
    /// It passes as it came, because it is only reported; or nothing is decided yet.
    Passing(Era),
}

impl<'a, H: HeaderLines<'a>> Exchange<'a, H> {
    /// Reads a request. `headers` are the lines that came with it; over a pipe there are none, and `session` is what its
    /// client declared when it began.
    ///
    /// # Errors
    ///
    /// The answer, where the request is refused.
    pub fn begin(
        rules: Rules<'a>,
        headers: Option<H>,
        body: &'a [u8],
        session: Features,
        now: Timestamp,
    ) -> Result<Self, Box<Rejection>> {
        let (facts, state) = (Facts::default(), State::Passing(Era::Legacy));
        let (called, stated, is_readable, breach) = (None, None, false, false);
        let mut exchange =
            Self { rules, headers, body, now, session, facts, called, stated, is_readable, breach, state };
        match exchange.read() {
            Ok(()) => Ok(exchange),
            Err(reply) => Err(exchange.rejection(reply)),
        }
    }

    fn rejection(&mut self, reply: Reply) -> Box<Rejection> {
        let (preference, facts) = (self.preference(), std::mem::take(&mut self.facts));
        let called = self.called.take().map(Cow::into_owned);
        Box::new(Rejection { reply, preference, breach: self.breach, facts, called })
    }

    /// What the caller prefers to read. The message counts, whatever the header says; the header where there is none.
    #[cold]
    fn preference(&self) -> AcceptLanguage {
        match self.headers.filter(|_| !self.is_readable) {
            Some(headers) => mirrored_preference(headers),
            None => preference(self.stated.as_deref()).0,
        }
    }

    fn read(&mut self) -> Result<(), Reply> {
        let message = match Message::parse(self.body) {
            Ok(message) => message,
            Err(unreadable) => {
                // Where it cannot be read is in no header; the log says it all the same. No byte of the body is in it.
                let refused = Reply { faults: unreadable.to_string(), ..Reply::from(&unreadable) };
                return self.report_or(refused, Era::Legacy);
            }
        };
        self.is_readable = true;
        self.stated = message.meta(meta::ACCEPT_LANGUAGE).and_then(Value::text).and_then(Text::decode);
        self.facts.method = message.known_method();
        if self.facts.method == Some(TOOLS_CALL) {
            self.called = message.param("name").and_then(Value::text).and_then(Text::decode);
        }
        let Some(lines) = self.headers else {
            return match agree::without_headers(message, self.rules.policy) {
                Ok(agreed) => self.decide(agreed, None),
                Err(refusal) => self.report_or(Reply::from(&refusal), Era::Legacy),
            };
        };
        let headers = Headers::new(lines.all());
        let era = agree::era(&headers, &message);
        match agree::begin(&headers, message, self.rules.policy) {
            Ok(Agree::Done(agreed)) => self.decide(agreed, None),
            Ok(Agree::NeedsSchema(open)) => {
                self.state = State::Checking(Box::new((open, None)));
                Ok(())
            }
            Err(refusal) => self.report_or(Reply::from(&refusal), era),
        }
    }

    /// What the host is asked for next.
    #[must_use]
    pub fn need(&self) -> Option<Need<'_>> {
        match &self.state {
            State::Checking(checking) => {
                let (open, refusal) = &**checking;
                let recency = match refusal {
                    Some(_) => Recency::Recent,
                    // Refused whatever the schema says: what is known completes the list of faults, and nobody is asked.
                    None if open.is_refused() => Recency::AtHand,
                    None => Recency::Usual,
                };
                Some(Need::Tool(open.tool(), recency))
            }
            State::Decided(decided) => decided.need(),
            State::Passing(_) => None,
        }
    }

    /// What is known of the tool that was asked for.
    ///
    /// # Errors
    ///
    /// The reply, where the headers of the call do not agree with its schema, or that cannot be found out.
    pub fn tool(mut self, known: Known) -> Result<Self, Box<Rejection>> {
        let state = std::mem::replace(&mut self.state, State::Passing(Era::Modern));
        let done = match state {
            State::Checking(checking) => self.check(*checking, known),
            State::Decided(mut decided) => {
                decided.listed(match known {
                    Known::Listed(listing) => Some(listing),
                    Known::Never | Known::NotNow { .. } => None,
                });
                self.state = State::Decided(decided);
                Ok(())
            }
            State::Passing(era) => {
                self.state = State::Passing(era);
                Ok(())
            }
        };
        match done {
            Ok(()) => Ok(self),
            Err(reply) => Err(self.rejection(reply)),
        }
    }

    /// Finishes a check that depends on the called tool's schema. A refusal rests on a recent listing only.
    fn check(&mut self, (open, refusal): (Open<'a, 'a>, Option<Refusal>), known: Known) -> Result<(), Reply> {
        let last = refusal.is_some() || open.is_refused();
        match (known, refusal) {
            (Known::Listed(listing), _) => {
                let declared = listing.declared(&open.tool());
                self.finish(open, Some((listing, declared)), last)
            }
            (_, Some(refusal)) => self.report_or(Reply::from(&refusal), Era::Modern),
            (_, None) if last => self.finish(open, None, last),
            // Its caller may have made the listing slow, so that what is wrong with it is not found.
            (Known::NotNow { declared_before }, None) if open.has_params() || declared_before => {
                self.report_or(not_now(&open), Era::Modern)
            }
            (Known::Never | Known::NotNow { .. }, None) if self.rules.refuse_unknown => {
                self.report_or(not_now(&open), Era::Modern)
            }
            (Known::Never | Known::NotNow { .. }, None) => {
                self.facts.unchecked = true;
                self.finish(open, None, last)
            }
        }
    }

    /// `last`: a refusal stands; else a recent listing is asked for first.
    fn finish(
        &mut self,
        open: Open<'a, 'a>,
        listed: Option<(Arc<Listing>, Option<Tool>)>,
        last: bool,
    ) -> Result<(), Reply> {
        let declared = listed.as_ref().and_then(|(_, tool)| tool.as_ref()).map(|tool| &**tool.shown());
        match open.try_with(declared) {
            Ok(agreed) => self.decide(agreed, listed),
            Err(refused) if last => self.report_or(Reply::from(&refused.0), Era::Modern),
            Err(refused) => {
                let (refusal, open) = *refused;
                self.state = State::Checking(Box::new((open, Some(refusal))));
                Ok(())
            }
        }
    }

    /// Decides about a message that agrees with its headers.
    fn decide(
        &mut self,
        agreed: Agreed<'a>,
        listed: Option<(Arc<Listing>, Option<Tool>)>,
    ) -> Result<(), Reply> {
        let arrived = Arrived { rules: &self.rules, headers: self.headers, now: self.now };
        let decided = Decided::new(agreed, listed, &arrived, &mut self.session, &mut self.facts)?;
        self.state = State::Decided(Box::new(decided));
        Ok(())
    }

    /// The locale files of the language that was asked for.
    pub fn locales(&mut self, locales: Vec<Arc<Locale>>) {
        if let State::Decided(decided) = &mut self.state {
            decided.translate(locales, self.rules.offer, self.now);
        }
    }

    /// Refuses, or lets pass and tells it.
    fn report_or(&mut self, refused: Reply, era: Era) -> Result<(), Reply> {
        if !self.rules.report_only {
            self.breach = true;
            return Err(refused);
        }
        self.facts.reported = Some(refused);
        self.state = State::Passing(era);
        Ok(())
    }

    /// A `tools/list` in the caller's name, for a host that has to ask for their tools.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        match &self.state {
            State::Checking(checking) => Envelope::of(checking.0.message(), &[]),
            State::Decided(decided) => Envelope::of(decided.message(), decided.session_changes()),
            State::Passing(_) => Envelope::default(),
        }
    }

    /// The message, where it could be read.
    pub(super) fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            State::Checking(checking) => Some(checking.0.message()),
            State::Decided(decided) => Some(decided.message()),
            State::Passing(_) => None,
        }
    }

    /// What is told of the request.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The tool that is called, as its caller names it.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.called.as_deref()
    }

    /// Who asks, once that is decided.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        match &self.state {
            State::Decided(decided) => Some(decided.caller()),
            _ => None,
        }
    }

    /// The names of what the context fills, for the log.
    #[must_use]
    pub fn filled(&self) -> Option<&Filled> {
        match &self.state {
            State::Decided(decided) => decided.filled(),
            _ => None,
        }
    }

    /// What holds for the session of a pipe after this request.
    #[must_use]
    pub fn session(&self) -> &Features {
        &self.session
    }

    /// What the server gets, who asks, and what becomes of its answer. Where locale files or what results are like was
    /// [needed](Self::need) and not given, it is done without.
    ///
    /// # Errors
    ///
    /// An id of a session that does not open, and a call whose headers could not be checked because what is known of its tool
    /// was not given.
    pub fn forward(mut self) -> Result<(Outgoing<'a>, Caller, Answering), Box<Rejection>> {
        match self.state {
            State::Decided(decided) => {
                Ok(decided.forward(self.headers, self.body, self.rules.offer, self.stated))
            }
            State::Checking(checking) if !self.rules.report_only => {
                self.breach = true;
                self.state = State::Passing(Era::Modern);
                Err(self.rejection(not_now(&checking.0)))
            }
            State::Checking(_) => Ok(passing(self.body, &self.rules, Visit::default(), Vec::new())),
            State::Passing(era) => {
                let mut changes = Vec::new();
                let seal = self.rules.seal.filter(|_| era == Era::Legacy);
                let visit = match self.headers {
                    Some(headers) => Visit::enter(seal, headers, None, &mut changes),
                    None => Ok(Visit::default()),
                };
                self.state = State::Passing(era);
                let visit = visit.map_err(|_| self.rejection(Reply::unknown_session(None)))?;
                Ok(passing(self.body, &self.rules, visit, changes))
            }
        }
    }
}

/// A request that passes as it came.
fn passing<'a>(
    body: &'a [u8],
    rules: &Rules<'_>,
    visit: Visit,
    headers: Vec<HeaderChange>,
) -> (Outgoing<'a>, Caller, Answering) {
    let caller = Caller::default();
    let plan = negotiate(&caller, rules.offer);
    let outgoing = Outgoing { headers, body: Cow::Borrowed(body), message: None };
    (outgoing, caller, Answering { visit, ..Answering::new(plan, rules.offer) })
}

#[cold]
fn not_now(open: &Open<'_, '_>) -> Reply {
    let id = open.message().id().map(Value::raw);
    let what =
        "the tools could not be listed, so the headers of this call cannot be checked; try again later";
    Reply { rules: vec!["H10"], ..Reply::failed(503, id, &what) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Offer;
    use mcp_attune_wire::agree::Policy;

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const HEADERS: &[(&str, &[u8])] = &[
        ("mcp-protocol-version", b"2026-07-28"),
        ("mcp-method", b"tools/call"),
        ("mcp-name", b"t"),
        ("mcp-param-a", b"another"),
    ];

    #[test]
    fn a_call_whose_headers_were_not_checked_does_not_go_on() {
        let (policy, offer) = (Policy::default(), Offer::default());
        for report_only in [false, true] {
            let rules = Rules {
                policy: &policy,
                report_only,
                refuse_unknown: false,
                offer: &offer,
                content: None,
                seal: None,
                tasks: None,
            };
            let (session, now) = (Features::default(), Timestamp::UNIX_EPOCH);
            let exchange = Exchange::begin(rules, Some(HEADERS), CALL.as_bytes(), session, now).unwrap();
            assert!(matches!(exchange.need(), Some(Need::Tool(name, Recency::Usual)) if name == "t"));
            // The host did not give it.
            match exchange.forward() {
                Ok((outgoing, ..)) => assert!(report_only && *outgoing.body == *CALL.as_bytes()),
                Err(rejected) => {
                    assert!(!report_only && rejected.breach);
                    assert_eq!((rejected.reply.status, rejected.reply.rules), (503, vec!["H10"]));
                }
            }
        }
    }
}
