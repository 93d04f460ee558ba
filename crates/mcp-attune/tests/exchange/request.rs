//! What an exchange asks its host for, what it makes of the answers, and what it tells.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::assume::CallerEvidence;
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart};
use mcp_attune::context::CoordinatePrecision;
use mcp_attune::exchange::listing::{ListingReadOptions, ToolIndex, ToolListingPage};
use mcp_attune::exchange::{
    Exchange, ExchangeSettings, IncomingRequest, ListingAvailability, ListingRecency, Need, Rejection,
};
use mcp_attune::plan::Offer;
use mcp_attune::session::SessionFacts;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::message::Message;

type Lines<'a> = &'a [(&'a str, &'a [u8])];

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":"x"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;
const PLAIN: Lines<'static> = &[
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"t"),
    ("accept-language", b"de"),
];
const WITH_PARAM: Lines<'static> = &[
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"t"),
    ("accept-language", b"de"),
    ("mcp-param-a", b"x"),
];
const OTHER_NAME: Lines<'static> = &[
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"another"),
    ("accept-language", b"de"),
];

/// A policy and an offer, for as long as an exchange goes on.
#[derive(Default)]
struct Place {
    policy: HeaderPolicy,
    offer: Offer,
}

impl Place {
    /// One that fills an argument of the tool `t`.
    fn binding() -> Self {
        let fills =
            ArgumentFill::Context { from: BoundContextPart::Timezone, default: Some("\"UTC\"".to_owned()) };
        let bound = BTreeMap::from([("tz".to_owned(), Binding { fills, hide: false })]);
        let mut place = Self::default();
        place.offer.bindings =
            Arc::new(Bindings::new([("t".to_owned(), bound)].into(), CoordinatePrecision::Off));
        place
    }

    fn begin<'a>(&'a self, headers: Lines<'a>, refuse_unknown: bool) -> Exchange<'a, Lines<'a>> {
        self.read(headers, CALL, refuse_unknown).unwrap()
    }

    fn read<'a>(
        &'a self,
        headers: Lines<'a>,
        body: &'a str,
        refuse_unknown: bool,
    ) -> Result<Exchange<'a, Lines<'a>>, Box<Rejection>> {
        let rules = ExchangeSettings {
            policy: &self.policy,
            report_only: false,
            refuse_unknown,
            offer: &self.offer,
            content: None,
            seal: None,
            tasks: None,
        };
        let incoming = IncomingRequest {
            headers: Some(headers),
            body: body.as_bytes(),
            session: SessionFacts::default(),
            evidence: CallerEvidence::default(),
            now: Timestamp::UNIX_EPOCH,
        };
        Exchange::begin(rules, incoming)
    }
}

/// A listing of the tool `t`, whose argument `a` is declared as this header.
fn listed(header: &str) -> ListingAvailability {
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"{header}"}}}}}}}}]}}}}"#
    );
    let interest = ListingReadOptions { bindings: &Bindings::default(), outputs: false };
    let page = ToolListingPage::read(&Message::parse(answer.as_bytes()).unwrap(), interest, |_| {}).unwrap();
    let mut listing = ToolIndex::default();
    listing.add(&page);
    ListingAvailability::Listed(Arc::new(listing))
}

#[test]
fn what_is_not_known_of_a_tool_keeps_its_call_only_where_that_could_hide_something() {
    let not_now = |declared_before| ListingAvailability::NotNow { declared_before };
    for (headers, refuse_unknown, known, expected) in [
        (PLAIN, false, ListingAvailability::Never, Ok(true)),
        (WITH_PARAM, false, ListingAvailability::Never, Ok(true)),
        (PLAIN, true, ListingAvailability::Never, Err(503)),
        (PLAIN, false, not_now(false), Ok(true)),
        (PLAIN, true, not_now(false), Err(503)),
        (PLAIN, false, not_now(true), Err(503)),
        (WITH_PARAM, false, not_now(false), Err(503)),
        // Refused whatever the tool declares.
        (OTHER_NAME, false, not_now(true), Err(400)),
        (OTHER_NAME, true, ListingAvailability::Never, Err(400)),
        (WITH_PARAM, false, listed("A"), Ok(false)),
    ] {
        let (place, told) = (Place::default(), format!("{headers:?} {refuse_unknown} {known:?}"));
        let exchange = place.begin(headers, refuse_unknown).provide_tool(known);
        let got = exchange.as_ref().map(|it| it.facts().unchecked).map_err(|it| it.reply.status);
        assert_eq!(got, expected, "{told}");
    }
}

#[test]
fn a_refusal_rests_on_a_recent_listing() {
    let place = Place::default();
    let recency = |exchange: &Exchange<'_, Lines<'_>>| match exchange.need() {
        Some(Need::Tool(name, recency)) => Some((name.into_owned(), recency)),
        _ => None,
    };
    let exchange = place.begin(PLAIN, false);
    assert_eq!(recency(&exchange), Some(("t".to_owned(), ListingRecency::Usual)));
    // The header of the argument is missing.
    let exchange = exchange.provide_tool(listed("A")).unwrap();
    assert_eq!(recency(&exchange), Some(("t".to_owned(), ListingRecency::Recent)));
    assert_eq!(exchange.provide_tool(listed("A")).unwrap_err().reply.status, 400);
    assert_eq!(recency(&place.begin(OTHER_NAME, false)), Some(("t".to_owned(), ListingRecency::AtHand)));
}

#[test]
fn tells_what_is_called_by_whom_and_what_the_context_fills() {
    let place = Place::binding();
    let exchange = place.begin(PLAIN, false);
    assert_eq!((exchange.called_tool(), exchange.facts().method), (Some("t"), Some("tools/call")));
    assert!(exchange.caller().is_none() && exchange.filled_arguments().is_none());
    let exchange = exchange.provide_tool(ListingAvailability::Never).unwrap();
    assert_eq!(exchange.caller().unwrap().preference().unwrap().as_str(), "de");
    assert!(!exchange.filled_arguments().unwrap().is_empty());
    let prompt = CALL.replace("tools/call", "prompts/get");
    let rejected = place.read(PLAIN, &prompt, false).unwrap_err();
    assert_eq!((rejected.called, rejected.facts.method), (None, Some("prompts/get")));
}

#[test]
fn a_message_that_goes_on_as_it_came_need_not_be_read_again() {
    for is_bound in [false, true] {
        let place = if is_bound { Place::binding() } else { Place::default() };
        let exchange = place.begin(PLAIN, false).provide_tool(ListingAvailability::Never).unwrap();
        let (outgoing, ..) = exchange.forward().unwrap();
        assert_eq!((outgoing.message.is_none(), *outgoing.body != *CALL.as_bytes()), (is_bound, is_bound));
    }
}

#[test]
fn an_answer_is_kept_where_it_lists_something() {
    let place = Place::default();
    let list = CALL.replace("tools/call", "tools/list");
    for (body, method, is_kept) in [(&*list, "tools/list", true), (CALL, "tools/call", false)] {
        let headers = PLAIN
            .iter()
            .map(|(name, value)| (*name, if *name == "mcp-method" { method.as_bytes() } else { *value }));
        let headers: Vec<_> = headers.collect();
        let mut exchange = place.read(&headers, body, false).unwrap();
        if matches!(exchange.need(), Some(Need::Tool(..))) {
            exchange = exchange.provide_tool(ListingAvailability::Never).unwrap();
        }
        let (_, _, answering) = exchange.forward().unwrap();
        assert_eq!(answering.listing_key().is_some(), is_kept, "{method}");
    }
}

#[test]
fn a_body_that_cannot_be_read_is_told_by_the_place_of_its_fault() {
    let rejected = Place::default().read(PLAIN, r#"{"a":1,"a":2}"#, false).unwrap_err();
    assert_eq!((rejected.reply.status, rejected.breach, rejected.called), (400, true, None));
    assert!(rejected.reply.faults.contains('7'), "{}", rejected.reply.faults);
}
