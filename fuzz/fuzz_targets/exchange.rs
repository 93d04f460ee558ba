//! A whole exchange: header lines, a request, and messages of its answer, each behind a line of its own.
//!
//! Never a panic, whatever comes in whatever order. What goes on is a message where what came was one, a message of the answer
//! stays one, and what a plain server that offers nothing answers stays as it came.
#![no_main]

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use mcp_attune::assume::{CallerAssumptions, CallerEvidence, TrustedHeaders};
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune::catalog::EmbeddedLocales;
use mcp_attune::context::CoordinatePrecision;
use mcp_attune::exchange::listing::{ListingReadOptions, ToolIndex, ToolListingPage};
use mcp_attune::exchange::{
    AnswerBodyMode, Exchange, ExchangeSettings, IdSeal, IncomingRequest, ListingAvailability, ListingRecency,
    Need, NoRandomness, SealKeys,
};
use mcp_attune::language::Tag;
use mcp_attune::localize::TranslationScope;
use mcp_attune::plan::Offer;
use mcp_attune::session::SessionFacts;
use mcp_attune::shaping::AdaptEffort;
use mcp_attune_shape::OperatorContent;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::message::Message;

const GERMAN: &str = r#"{"server":{"title":"Wetter"},"tools":{"t":{"title":"Wetter","description":"Das Wetter."}},"messages":{"a":{"source":"cold","text":"kalt"}}}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"tz":{"type":"string"},"a":{"type":"string","x-mcp-header":"A"}}},"outputSchema":{"type":"object"}}]}}"#;

/// A server that does all there is to do.
static OFFER: LazyLock<Offer> = LazyLock::new(|| {
    let zone = Binding {
        fills: ArgumentFill::Context { from: BoundContextPart::Timezone, default: None },
        hide: true,
    };
    let day = ArgumentFill::Interval {
        named: "when".into(),
        part: IntervalEdge::Start,
        written: InstantNotation::Date,
    };
    let arguments = [("tz".to_owned(), zone), ("day".to_owned(), Binding { fills: day, hide: false })];
    let bindings = Bindings::new([("t".to_owned(), arguments.into())].into(), CoordinatePrecision::default());
    let files = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", GERMAN)]).unwrap();
    let headers = TrustedHeaders {
        language: Some("accept-language".into()),
        timezone: Some("x-timezone".into()),
        country: Some("x-country".into()),
        ..TrustedHeaders::default()
    };
    Offer {
        library: Some(Arc::new(files)),
        translate: TranslationScope { display: true, model: true, logs: true },
        bindings: bindings.into(),
        content: Some(Arc::new(Arc::new(OperatorContent::default()))),
        callers: Arc::new(CallerAssumptions { headers, forward_assumed: true, ..CallerAssumptions::default() }),
        ..Offer::default()
    }
});
static PLAIN: LazyLock<Offer> = LazyLock::new(Offer::default);
static POLICY: LazyLock<HeaderPolicy> = LazyLock::new(HeaderPolicy::default);
static SEAL: LazyLock<IdSeal> = LazyLock::new(|| IdSeal::new(SealKeys::new(&[7; 32], []), "mount", random));
static LISTING: LazyLock<Arc<ToolIndex>> = LazyLock::new(|| {
    let interest = ListingReadOptions { bindings: &OFFER.bindings, outputs: true };
    let page = ToolListingPage::read(&Message::parse(TOOLS.as_bytes()).unwrap(), interest, |_| {}).unwrap();
    let mut listing = ToolIndex::default();
    listing.add(&page);
    Arc::new(listing)
});

fn random(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    bytes.fill(9);
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(3, |byte| *byte == 0);
    let (head, body, answers) = (parts.next(), parts.next(), parts.next());
    let (Some(head), Some(body), Some(answers)) = (head, body, answers) else { return };
    let lines: Vec<(&str, &[u8])> = head
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((core::str::from_utf8(&line[..colon]).ok()?, &line[colon + 1..]))
        })
        .collect();
    let answers: Vec<&[u8]> = answers.split(|byte| *byte == 0).take(4).collect();
    for headers in [Some(&lines[..]), None] {
        exchange(&OFFER, headers, body, &answers);
        exchange(&PLAIN, headers, body, &answers);
    }
});

fn exchange(offer: &Offer, headers: Option<&[(&str, &[u8])]>, body: &[u8], answers: &[&[u8]]) {
    let content = offer.content.as_ref().map(|supply| supply.current_shaper());
    let plain = content.is_none();
    let (seal, report_only) = ((!plain).then_some(&*SEAL), body.len() % 2 == 1);
    let rules = ExchangeSettings {
        policy: &POLICY,
        report_only,
        refuse_unknown: false,
        offer,
        content,
        seal,
        tasks: None,
    };
    let incoming = IncomingRequest {
        headers,
        body,
        session: SessionFacts::default(),
        evidence: CallerEvidence { trusts_headers: body.len() % 3 == 0, ..CallerEvidence::default() },
        now: Timestamp::UNIX_EPOCH,
    };
    let begun = Exchange::begin(rules, incoming);
    let Ok(mut exchange) = begun else { return };
    for needs in 0.. {
        assert!(needs < 8, "it always comes to an end");
        match exchange.need() {
            Some(Need::Tool(name, recency)) => {
                let known = match (recency, name.len() % 3) {
                    (ListingRecency::AtHand, 0) | (_, 1) => ListingAvailability::Never,
                    (_, 2) => ListingAvailability::NotNow { declared_before: false },
                    _ => ListingAvailability::Listed(Arc::clone(&LISTING)),
                };
                let Ok(known) = exchange.provide_tool(known) else { return };
                exchange = known;
            }
            Some(Need::Locales(language)) => {
                let locales = offer.library.as_ref().map(|library| library.load(language));
                exchange.provide_locales(locales.unwrap_or_default());
            }
            None => break,
        }
    }
    let Ok((outgoing, _, answering)) = exchange.forward() else { return };
    if Message::parse(body).is_ok() {
        assert!(Message::parse(&outgoing.body).is_ok(), "what goes on is a message");
    }
    for media in [&b"application/json"[..], b"text/event-stream"] {
        let (way, ..) = answering.adapt_head(true, &[("content-type", media)][..]);
        for answer in answers.iter().filter(|_| way != AnswerBodyMode::Pass) {
            let Some(message) = answering.adapt(answer, AdaptEffort::Full, |_| {}) else { continue };
            assert!(!plain || message.changed.is_none(), "nothing was offered, so nothing changes");
            if let Some(changed) = &message.changed {
                assert!(
                    Message::parse(answer).is_ok() && Message::parse(changed).is_ok(),
                    "it stays a message"
                );
            }
            let _ = answering.adapt_held_head(&message, &[("vary", &b"origin"[..])][..]);
        }
    }
}
