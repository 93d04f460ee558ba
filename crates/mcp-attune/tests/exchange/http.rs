//! Every case with headers: one caller, one exchange after the other, and a server that says what the case says.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use exchange_cases::{
    Answer, Arrived, Asked, Case, Event, Fault, Got, Host, Ids, Step, Text, check_step, names_sealed_session,
    run, write_events,
};
use jiff::Timestamp;
use mcp_attune::assume::CallerEvidence;
use mcp_attune::exchange::listing::{
    self, ListingPageError, ListingReadOptions, ToolIndex, ToolListRequest, ToolListingPage,
};
use mcp_attune::exchange::{
    AnswerAdapter, AnswerBodyMode, Exchange, ExchangeSettings, IdSeal, IncomingRequest, LearnedFact,
    ListingAvailability, ListingRecency, Need, NoRandomness, NonPostExchange, Rejection, SealKeys,
    localize_reply, mirrored_preference,
};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::Offer;
use mcp_attune::session::SessionFacts;
use mcp_attune::shaping::AdaptEffort;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::hop_headers;
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method::TOOLS_LIST;
use mcp_attune_wire::reply::Reply;

use super::headers::Headers;

const CORE: Host = Host {
    name: "the exchange itself",
    lacks: &[],
    except: &[
        ("h15-a-foreign-origin", "which origins are let in is for a host to know"),
        ("h15-a-foreign-origin-null", "which origins are let in is for a host to know"),
        ("g10-an-encoded-request", "a body that is encoded is refused before it is read"),
    ],
    seals: true,
};

#[test]
fn every_exchange_without_a_host() {
    run(&CORE, |case| {
        let mut played = Played::new(case);
        let mut ids = Ids::new(&case.input.sealed, CORE.seals);
        for (number, (step, told)) in case.input.steps.iter().zip(&case.expected.steps).enumerate() {
            played.asked = Asked::default();
            let got = played.step(step, &ids).unwrap_or_else(|it| refused(it.0, &it.1));
            check_step(step, told, &played.asked, &got, &mut ids)
                .map_err(|Fault(why)| Fault(format!("step {number}: {why}")))?;
        }
        Ok(())
    });
}

/// An answer of our own, and what its caller prefers to read it in.
type Refused = Box<(Reply, AcceptLanguage)>;

/// What a host would have of one case: how it is set up, and what it remembers.
struct Played {
    offer: Offer,
    policy: HeaderPolicy,
    report_only: bool,
    refuse_unknown: bool,
    seal: Option<IdSeal>,
    now: Timestamp,
    /// What the server answers to a `tools/list` of our own.
    listing: Option<Text>,
    /// What is known of the tools, from a listing.
    known: Option<Arc<ToolIndex>>,
    /// Whether the server negotiates content itself.
    negotiates: bool,
    asked: Asked,
    /// What a host knows of every caller.
    evidence: CallerEvidence,
}

impl Played {
    fn new(case: &Case) -> Self {
        let setup = &case.setup;
        let keys = setup.keys();
        let seal = keys
            .split_first()
            .map(|(first, others)| IdSeal::new(SealKeys::new(first, others), "default", never_the_same));
        Self {
            offer: setup.offer(),
            policy: setup.policy(),
            report_only: setup.report_only(),
            refuse_unknown: setup.refuses_unknown(),
            seal,
            now: setup.now.as_deref().unwrap_or("2026-11-12T13:23:00Z").parse().unwrap(),
            listing: case.input.listing.clone(),
            known: None,
            negotiates: false,
            asked: Asked::default(),
            evidence: CallerEvidence { trusts_headers: setup.trusts_headers(), ..CallerEvidence::default() },
        }
    }

    /// One request of the caller, and what becomes of it.
    fn step(&mut self, step: &Step, ids: &Ids) -> Result<Got, Refused> {
        let headers = Headers(step.request.lines(ids));
        let body = ids.fill(&step.request.body.0);
        let (outgoing, answering) = match step.request.method.as_deref() {
            None | Some("POST") => self.post(&headers, &body)?,
            Some(method) => self.resume(&headers, body, method == "GET")?,
        };
        self.asked.others.push(outgoing);
        Ok(self.answer(&step.server.clone().unwrap_or_default(), &answering))
    }

    fn rules<'r>(
        offer: &'r Offer,
        policy: &'r HeaderPolicy,
        seal: Option<&'r IdSeal>,
        (report_only, refuse_unknown, negotiates): (bool, bool, bool),
    ) -> ExchangeSettings<'r> {
        let content = offer.content.as_ref().filter(|_| !negotiates).map(|supply| supply.current_shaper());
        ExchangeSettings { policy, report_only, refuse_unknown, offer, content, seal, tasks: None }
    }

    fn flags(&self) -> (bool, bool, bool) {
        (self.report_only, self.refuse_unknown, self.negotiates)
    }

    /// A request on its way in.
    fn post(&mut self, headers: &Headers, body: &str) -> Result<(Arrived, AnswerAdapter), Refused> {
        self.admit(headers)?;
        let (offer, policy, seal) = (self.offer.clone(), self.policy.clone(), self.seal.clone());
        let rules = Self::rules(&offer, &policy, seal.as_ref(), self.flags());
        let (session, evidence) = (SessionFacts::default(), self.evidence.clone());
        let body = body.as_bytes();
        let incoming = IncomingRequest { headers: Some(headers), body, session, evidence, now: self.now };
        let begun = Exchange::begin(rules, incoming);
        let mut exchange = begun.map_err(rejection)?;
        while let Some(need) = exchange.need() {
            match need {
                Need::Tool(_, recency) => {
                    let known = self.tools(recency, &exchange.tool_list_request(), headers.clone());
                    let given = exchange.provide_tool(known);
                    exchange = given.map_err(rejection)?;
                }
                Need::Locales(language) => {
                    let locales = offer.library.as_ref().unwrap().load(language);
                    exchange.provide_locales(locales);
                }
            }
        }
        let forwarded = exchange.forward().map_err(rejection)?;
        let (outgoing, _, answering) = forwarded;
        let mut headers = headers.clone();
        headers.change(outgoing.headers);
        let body = String::from_utf8(outgoing.body.into_owned()).unwrap();
        Ok((Arrived { headers: Some(headers.0), body }, answering))
    }

    /// What is no request: a stream that is opened or goes on, or the end of a session.
    fn resume(
        &mut self,
        headers: &Headers,
        body: String,
        streams: bool,
    ) -> Result<(Arrived, AnswerAdapter), Refused> {
        self.admit(headers)?;
        let rules = Self::rules(&self.offer, &self.policy, self.seal.as_ref(), self.flags());
        let begun = NonPostExchange::begin(&rules, headers, streams, self.now);
        let mut resumption = begun.map_err(|reply| Box::new((reply, mirrored_preference(headers))))?;
        if let Some(language) = resumption.need() {
            let locales = self.offer.library.as_ref().unwrap().load(language);
            resumption = resumption.with_locales(locales);
        }
        let (changes, _, answering) = resumption.forward();
        let mut headers = headers.clone();
        headers.change(changes);
        Ok((Arrived { headers: Some(headers.0), body }, answering))
    }

    /// Refuses headers that would not all arrive as they are checked, as every host does first.
    fn admit(&self, headers: &Headers) -> Result<(), Refused> {
        let lines: Vec<_> =
            headers.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
        let lines = lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        match hop_headers::check(lines, |_| false) {
            Err(unfit) if !self.report_only => {
                Err(Box::new((Reply::not_accepted(400, "H20", unfit.notice()), mirrored_preference(headers))))
            }
            _ => Ok(()),
        }
    }

    /// What is known of the tools, where that is recent enough; else what the server lists.
    fn tools(
        &mut self,
        recency: ListingRecency,
        envelope: &ToolListRequest,
        mut headers: Headers,
    ) -> ListingAvailability {
        match (recency, &self.known) {
            (ListingRecency::AtHand | ListingRecency::Usual, Some(listing)) => {
                return ListingAvailability::Listed(Arc::clone(listing));
            }
            (ListingRecency::AtHand, None) => return ListingAvailability::Never,
            (ListingRecency::Usual, None) | (ListingRecency::Recent, _) => {}
        }
        // One that has just come is recent.
        if let Some(listing) = self.known.as_ref().filter(|_| self.asked.listings > 0) {
            return ListingAvailability::Listed(Arc::clone(listing));
        }
        self.asked.listings += 1;
        let request = envelope.body(None);
        assert_eq!(Message::parse(request.as_bytes()).unwrap().known_method(), Some(TOOLS_LIST));
        headers.change(envelope.header_changes());
        let listing = self.listing.clone().filter(|_| !names_sealed_session(&headers.0));
        let answer = listing.or(Answer::no_listing().body).unwrap().0;
        let interest =
            ListingReadOptions { bindings: &self.offer.bindings, outputs: self.offer.content.is_some() };
        match listing::read_page(answer.as_bytes(), interest, &mut Pages::new(TOOLS_LIST), |_| {}) {
            Ok((page, ListingStep::Done)) => ListingAvailability::Listed(self.keep(&page)),
            Err(ListingPageError::NotNow) => ListingAvailability::NotNow { declared_before: false },
            // A server that always gives the same page never comes to its end.
            Ok(_) | Err(ListingPageError::Never) => ListingAvailability::Never,
        }
    }

    fn keep(&mut self, page: &ToolListingPage) -> Arc<ToolIndex> {
        let mut listing = ToolIndex::default();
        listing.add(page);
        Arc::clone(self.known.insert(Arc::new(listing)))
    }

    fn learn(&mut self, learned: LearnedFact<'_, '_>) {
        match learned {
            LearnedFact::Tools(page) => {
                let interest = ListingReadOptions {
                    bindings: &self.offer.bindings,
                    outputs: self.offer.content.is_some(),
                };
                let page = ToolListingPage::read(page, interest, |_| {});
                if let Some(page) = page.filter(|page| page.next.is_none()) {
                    self.keep(&page);
                }
            }
            LearnedFact::MoreTools(_) => {}
            LearnedFact::ToolsChanged => self.known = None,
            LearnedFact::Negotiates(said) => self.negotiates = said,
        }
    }

    /// An answer of the server, as the caller gets it.
    fn answer(&mut self, server: &Answer, answering: &AnswerAdapter) -> Got {
        let status = server.status.unwrap_or(200);
        let mut headers = Headers(server.lines());
        let (way, changes, _) = answering.adapt_head((200..300).contains(&status), &headers);
        headers.change(changes);
        let streams = server.events.is_some();
        let body = match way {
            AnswerBodyMode::Pass => server.bytes(),
            AnswerBodyMode::Events => write_events(&self.events(server, answering)),
            AnswerBodyMode::Hold => {
                let came = server.bytes();
                let message = self.message(&came, answering);
                let (changes, _) = answering.adapt_held_head(&message.1, &headers);
                headers.change(changes);
                message.0.into_owned()
            }
        };
        Got { status: Some(status), headers: Some(headers.0), body, streams, bare: false }
    }

    fn events(&mut self, server: &Answer, answering: &AnswerAdapter) -> Vec<Event> {
        let adapt = |event: &Event| {
            let data = event.data.as_ref().map(|data| self.message(&data.0, answering).0.into_owned());
            let id = event.id.as_ref().map(|id| {
                answering.event_id(id.as_bytes()).unwrap_or_default().unwrap_or_else(|| id.clone())
            });
            Event { data: data.map(Text), id, ..event.clone() }
        };
        server.events.as_deref().unwrap_or_default().iter().map(adapt).collect()
    }

    /// One message of an answer, adapted: at once, or with more effort where that is not enough.
    fn message<'m>(
        &mut self,
        came: &'m str,
        answering: &AnswerAdapter,
    ) -> (Cow<'m, str>, mcp_attune::exchange::MessageRewrite) {
        let short = answering.adapt(came.as_bytes(), AdaptEffort::Short, |learned| self.learn(learned));
        let adapted = short.unwrap_or_else(|| {
            answering.adapt(came.as_bytes(), AdaptEffort::Full, |learned| self.learn(learned)).unwrap()
        });
        let text = adapted.changed.clone().map(|changed| String::from_utf8(changed).unwrap());
        (text.map_or(Cow::Borrowed(came), Cow::Owned), adapted)
    }
}

fn rejection(rejected: Box<Rejection>) -> Refused {
    Box::new((rejected.reply, rejected.preference))
}

/// Bytes that never come again, as random ones do not.
fn never_the_same(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    bytes.iter_mut().zip(number).for_each(|(byte, number)| *byte = number);
    Ok(())
}

/// An answer of our own, as its caller gets it.
fn refused(reply: Reply, preference: &AcceptLanguage) -> Got {
    let (reply, language) = localize_reply(reply, preference);
    let mut headers = vec![("Content-Type".to_owned(), reply.content_type.to_owned())];
    headers.extend(language.map(|language| ("Content-Language".to_owned(), language)));
    Got { status: Some(reply.status), headers: Some(headers), body: reply.body, streams: false, bare: false }
}
