//! The way in: what is decided about a request before it goes on.
//!
//! Rules: C1, C7, C9, C10, F1, G8, H1–H11, H13, H14, H16, H17, L2, L3, L7, L13, L14.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{self, Agreed, Era, HeaderAgreement, MessageRefusal, PendingAgreement};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::protocol::method::TOOLS_CALL;
use mcp_attune_wire::reply::Reply;

use super::answering::AnswerAdapter;
use super::decided::{ArrivedRequest, DecidedRequest};
use super::headers::{HeaderChange, HeaderLines, mirrored_preference};
use super::interface::{
    ExchangeSettings, IncomingRequest, ListingAvailability, ListingRecency, Need, OutgoingRequest, Rejection,
    RequestFacts,
};
use super::listing::{ListedToolHeaders, ToolIndex, ToolListRequest};
use super::session_ids::SessionIdRewriter;
use crate::assume::CallerEvidence;
use crate::bind::FilledArguments;
use crate::caller::Caller;
use crate::catalog::CompiledLocale;
use crate::language::{AcceptLanguage, read_preference};
use crate::plan::negotiate;
use crate::session::SessionFacts;

/// A request on its way in.
#[derive(Debug)]
pub struct Exchange<'a, H> {
    rules: ExchangeSettings<'a>,
    headers: Option<H>,
    body: &'a [u8],
    now: Timestamp,
    /// What the session of a pipe began with.
    session: SessionFacts,
    evidence: CallerEvidence,
    facts: RequestFacts,
    /// The tool that is called, as its caller names it.
    called: Option<Cow<'a, str>>,
    /// The preference as the message writes it, for answers of our own; they are rare, so it is not read before.
    stated: Option<Cow<'a, str>>,
    /// Whether the message could be read.
    is_readable: bool,
    /// Whether it is refused for what it breaks.
    breach: bool,
    state: ExchangeState<'a>,
}

#[derive(Debug)]
enum ExchangeState<'a> {
    /// The check waits for the schema of the called tool. With a refusal it waits for a recent one.
    Checking(Box<(PendingAgreement<'a, 'a>, Option<MessageRefusal>)>),
    Decided(Box<DecidedRequest<'a>>),
    /// It passes as it came, because it is only reported; or nothing is decided yet.
    Passing(Era),
}

impl<'a, H: HeaderLines<'a>> Exchange<'a, H> {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// The answer, where the request is refused.
    pub fn begin(
        rules: ExchangeSettings<'a>,
        incoming: IncomingRequest<'a, H>,
    ) -> Result<Self, Box<Rejection>> {
        let IncomingRequest { headers, body, session, evidence, now } = incoming;
        let (facts, state) = (RequestFacts::default(), ExchangeState::Passing(Era::Legacy));
        let (called, stated, is_readable, breach) = (None, None, false, false);
        let mut exchange = Self {
            rules,
            headers,
            body,
            now,
            session,
            evidence,
            facts,
            called,
            stated,
            is_readable,
            breach,
            state,
        };
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
            None => read_preference(self.stated.as_deref()).0,
        }
    }

    fn read(&mut self) -> Result<(), Reply> {
        let message = match Message::parse(self.body) {
            Ok(message) => message,
            Err(unreadable) => {
                // Where it cannot be read is in no header; the log says it all the same. No byte of the body is in it.
                let refused = Reply { faults: unreadable.to_string(), ..Reply::from(&unreadable) };
                return self.refuse_or_report(refused, Era::Legacy);
            }
        };
        self.is_readable = true;
        self.stated =
            message.meta(meta::ACCEPT_LANGUAGE).and_then(SpannedValue::text).and_then(JsonString::decode);
        self.facts.method = message.known_method();
        if self.facts.method == Some(TOOLS_CALL) {
            self.called = message.param("name").and_then(SpannedValue::text).and_then(JsonString::decode);
        }
        let Some(lines) = self.headers else {
            return match agree::check_without_headers(message, self.rules.policy) {
                Ok(agreed) => self.decide(agreed, None),
                Err(refusal) => self.refuse_or_report(Reply::from(&refusal), Era::Legacy),
            };
        };
        let headers = MirroredHeaders::new(lines.all());
        let era = agree::request_era(&headers, &message);
        match agree::begin(&headers, message, self.rules.policy) {
            Ok(HeaderAgreement::Done(agreed)) => self.decide(agreed, None),
            Ok(HeaderAgreement::NeedsSchema(open)) => {
                self.state = ExchangeState::Checking(Box::new((open, None)));
                Ok(())
            }
            Err(refusal) => self.refuse_or_report(Reply::from(&refusal), era),
        }
    }

    /// What the host is asked for next.
    #[must_use]
    pub fn need(&self) -> Option<Need<'_>> {
        match &self.state {
            ExchangeState::Checking(checking) => {
                let (open, refusal) = &**checking;
                let recency = match refusal {
                    Some(_) => ListingRecency::Recent,
                    // Refused whatever the schema says: what is known completes the list of faults, and nobody is asked.
                    None if open.is_refused() => ListingRecency::AtHand,
                    None => ListingRecency::Usual,
                };
                Some(Need::Tool(open.tool(), recency))
            }
            ExchangeState::Decided(decided) => decided.need(),
            ExchangeState::Passing(_) => None,
        }
    }

    /// What is known of the tool that was asked for.
    ///
    /// # Errors
    ///
    /// The reply, where the headers of the call do not agree with its schema, or that cannot be found out.
    pub fn provide_tool(mut self, known: ListingAvailability) -> Result<Self, Box<Rejection>> {
        let state = std::mem::replace(&mut self.state, ExchangeState::Passing(Era::Modern));
        let done = match state {
            ExchangeState::Checking(checking) => self.check(*checking, known),
            ExchangeState::Decided(mut decided) => {
                decided.set_listing(match known {
                    ListingAvailability::Listed(listing) => Some(listing),
                    ListingAvailability::Never | ListingAvailability::NotNow { .. } => None,
                });
                self.state = ExchangeState::Decided(decided);
                Ok(())
            }
            ExchangeState::Passing(era) => {
                self.state = ExchangeState::Passing(era);
                Ok(())
            }
        };
        match done {
            Ok(()) => Ok(self),
            Err(reply) => Err(self.rejection(reply)),
        }
    }

    /// Finishes a check that depends on the called tool's schema. A refusal rests on a recent listing only.
    fn check(
        &mut self,
        (open, refusal): (PendingAgreement<'a, 'a>, Option<MessageRefusal>),
        known: ListingAvailability,
    ) -> Result<(), Reply> {
        let last = refusal.is_some() || open.is_refused();
        match (known, refusal) {
            (ListingAvailability::Listed(listing), _) => {
                let declared = listing.headers_of(&open.tool());
                self.finish(open, Some((listing, declared)), last)
            }
            (_, Some(refusal)) => self.refuse_or_report(Reply::from(&refusal), Era::Modern),
            (_, None) if last => self.finish(open, None, last),
            // Its caller may have made the listing slow, so that what is wrong with it is not found.
            (ListingAvailability::NotNow { declared_before }, None)
                if open.has_param_headers() || declared_before =>
            {
                self.refuse_or_report(cannot_check_reply(&open), Era::Modern)
            }
            (ListingAvailability::Never | ListingAvailability::NotNow { .. }, None)
                if self.rules.refuse_unknown =>
            {
                self.refuse_or_report(cannot_check_reply(&open), Era::Modern)
            }
            (ListingAvailability::Never | ListingAvailability::NotNow { .. }, None) => {
                self.facts.unchecked = true;
                self.finish(open, None, last)
            }
        }
    }

    /// `last`: a refusal stands; else a recent listing is asked for first.
    fn finish(
        &mut self,
        open: PendingAgreement<'a, 'a>,
        listed: Option<(Arc<ToolIndex>, Option<ListedToolHeaders>)>,
        last: bool,
    ) -> Result<(), Reply> {
        let declared =
            listed.as_ref().and_then(|(_, tool)| tool.as_ref()).map(|tool| &**tool.headers_for_callers());
        match open.try_finish_with_schema(declared) {
            Ok(agreed) => self.decide(agreed, listed),
            Err(refused) if last => self.refuse_or_report(Reply::from(&refused.0), Era::Modern),
            Err(refused) => {
                let (refusal, open) = *refused;
                self.state = ExchangeState::Checking(Box::new((open, Some(refusal))));
                Ok(())
            }
        }
    }

    /// Decides about a message that agrees with its headers.
    fn decide(
        &mut self,
        agreed: Agreed<'a>,
        listed: Option<(Arc<ToolIndex>, Option<ListedToolHeaders>)>,
    ) -> Result<(), Reply> {
        let arrived = ArrivedRequest {
            rules: &self.rules,
            headers: self.headers,
            evidence: &self.evidence,
            now: self.now,
        };
        let decided = DecidedRequest::new(agreed, listed, &arrived, &mut self.session, &mut self.facts)?;
        self.state = ExchangeState::Decided(Box::new(decided));
        Ok(())
    }

    /// The locale files of the language that was asked for.
    pub fn provide_locales(&mut self, locales: Vec<Arc<CompiledLocale>>) {
        if let ExchangeState::Decided(decided) = &mut self.state {
            decided.set_locales(locales, self.rules.offer, self.now);
        }
    }

    /// Refuses, or lets pass and tells it.
    fn refuse_or_report(&mut self, refused: Reply, era: Era) -> Result<(), Reply> {
        if !self.rules.report_only {
            self.breach = true;
            return Err(refused);
        }
        self.facts.reported = Some(refused);
        self.state = ExchangeState::Passing(era);
        Ok(())
    }

    /// A `tools/list` in the caller's name, for a host that has to ask for their tools.
    #[must_use]
    pub fn tool_list_request(&self) -> ToolListRequest {
        match &self.state {
            ExchangeState::Checking(checking) => ToolListRequest::of(checking.0.message(), &[]),
            ExchangeState::Decided(decided) => {
                ToolListRequest::of(decided.message(), decided.session_changes())
            }
            ExchangeState::Passing(_) => ToolListRequest::default(),
        }
    }

    /// The message, where it could be read.
    pub(super) fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            ExchangeState::Checking(checking) => Some(checking.0.message()),
            ExchangeState::Decided(decided) => Some(decided.message()),
            ExchangeState::Passing(_) => None,
        }
    }

    /// What is told of the request.
    #[must_use]
    pub fn facts(&self) -> &RequestFacts {
        &self.facts
    }

    /// The tool that is called, as its caller names it.
    #[must_use]
    pub fn called_tool(&self) -> Option<&str> {
        self.called.as_deref()
    }

    /// Who asks, once that is decided.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        match &self.state {
            ExchangeState::Decided(decided) => Some(decided.caller()),
            _ => None,
        }
    }

    /// The names of what the context fills, for the log.
    #[must_use]
    pub fn filled_arguments(&self) -> Option<&FilledArguments> {
        match &self.state {
            ExchangeState::Decided(decided) => decided.filled(),
            _ => None,
        }
    }

    /// What holds for the session of a pipe after this request.
    #[must_use]
    pub fn session_facts(&self) -> &SessionFacts {
        &self.session
    }

    /// What the server gets, who asks, and what becomes of its answer. Where locale files or what results are like was
    /// [needed](Self::need) and not given, it is done without.
    ///
    /// # Errors
    ///
    /// An id of a session that does not open, and a call whose headers could not be checked because what is known of its tool
    /// was not given.
    pub fn forward(mut self) -> Result<(OutgoingRequest<'a>, Caller, AnswerAdapter), Box<Rejection>> {
        match self.state {
            ExchangeState::Decided(decided) => {
                Ok(decided.forward(self.headers, self.body, self.rules.offer, self.stated))
            }
            ExchangeState::Checking(checking) if !self.rules.report_only => {
                self.breach = true;
                self.state = ExchangeState::Passing(Era::Modern);
                Err(self.rejection(cannot_check_reply(&checking.0)))
            }
            ExchangeState::Checking(_) => {
                Ok(forward_unchanged(self.body, &self.rules, SessionIdRewriter::default(), Vec::new()))
            }
            ExchangeState::Passing(era) => {
                let mut changes = Vec::new();
                let seal = self.rules.seal.filter(|_| era == Era::Legacy);
                let visit = match self.headers {
                    Some(headers) => SessionIdRewriter::unseal_session(seal, headers, None, &mut changes),
                    None => Ok(SessionIdRewriter::default()),
                };
                self.state = ExchangeState::Passing(era);
                let visit = visit.map_err(|_| self.rejection(Reply::unknown_session(None)))?;
                Ok(forward_unchanged(self.body, &self.rules, visit, changes))
            }
        }
    }
}

/// A request that passes as it came.
fn forward_unchanged<'a>(
    body: &'a [u8],
    rules: &ExchangeSettings<'_>,
    visit: SessionIdRewriter,
    headers: Vec<HeaderChange>,
) -> (OutgoingRequest<'a>, Caller, AnswerAdapter) {
    let caller = Caller::default();
    let plan = negotiate(&caller, rules.offer);
    let outgoing = OutgoingRequest { headers, body: Cow::Borrowed(body), message: None };
    (outgoing, caller, AnswerAdapter { visit, ..AnswerAdapter::new(plan, rules.offer) })
}

#[cold]
fn cannot_check_reply(open: &PendingAgreement<'_, '_>) -> Reply {
    let id = open.message().id().map(SpannedValue::raw);
    Reply { rules: vec!["H10"], ..Reply::failed(503, id, Notice::ToolsNotListed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Offer;
    use mcp_attune_wire::agree::HeaderPolicy;

    const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    const HEADERS: &[(&str, &[u8])] = &[
        ("mcp-protocol-version", b"2026-07-28"),
        ("mcp-method", b"tools/call"),
        ("mcp-name", b"t"),
        ("mcp-param-a", b"another"),
    ];

    #[test]
    fn a_call_whose_headers_were_not_checked_does_not_go_on() {
        let (policy, offer) = (HeaderPolicy::default(), Offer::default());
        for report_only in [false, true] {
            let rules = ExchangeSettings {
                policy: &policy,
                report_only,
                refuse_unknown: false,
                offer: &offer,
                content: None,
                seal: None,
                tasks: None,
            };
            let incoming = IncomingRequest {
                headers: Some(HEADERS),
                body: CALL.as_bytes(),
                session: SessionFacts::default(),
                evidence: CallerEvidence::default(),
                now: Timestamp::UNIX_EPOCH,
            };
            let exchange = Exchange::begin(rules, incoming).unwrap();
            assert!(matches!(exchange.need(), Some(Need::Tool(name, ListingRecency::Usual)) if name == "t"));
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
