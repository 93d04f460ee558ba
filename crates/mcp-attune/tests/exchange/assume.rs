//! What is assumed of callers: it never decides about a request, and the server sees it only where the operator says so.

use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::assume::{
    CallerAssumptions, CallerEvidence, CallerField, CallerValues, ClientProfile, ClientProfiles,
    TrustedHeaders, VerifiedClaims,
};
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune::caller::Caller;
use mcp_attune::context::{ClientContextField, ContextForwarding, CoordinatePrecision, IanaTimeZone};
use mcp_attune::exchange::{
    Exchange, ExchangeNotice, ExchangeSettings, HeaderChange, HeaderLines, IncomingRequest,
    ListingAvailability, MessageRewrite, Need, Rejection,
};
use mcp_attune::language::{AcceptLanguage, Languages, Tag};
use mcp_attune::plan::Offer;
use mcp_attune::session::{ClientFeatures, ClientImplementation, SessionFacts};
use mcp_attune_wire::agree::{HeaderPolicy, LanguageHeaderPolicy};
use proptest::prelude::*;
use serde_json::Value;

#[derive(Debug)]
struct EveryClient;

impl ClientProfiles for EveryClient {
    fn find(&self, _: &ClientImplementation) -> Option<ClientProfile> {
        Some(ClientProfile::new("any", ["agent", "format=text"]))
    }
}

fn header_names() -> TrustedHeaders {
    let name = |name: &str| Some(Arc::from(name));
    TrustedHeaders {
        language: name("accept-language"),
        timezone: name("x-timezone"),
        locale: name("x-locale"),
        country: name("x-country"),
        region: name("x-region"),
        city: name("x-city"),
    }
}

fn values(language: &str, zone: &str) -> CallerValues {
    CallerValues {
        language: AcceptLanguage::parse(language).ok(),
        timezone: IanaTimeZone::parse(zone).ok(),
        locale: Tag::parse("ne-NP").ok(),
        place: None,
        features: Some(ClientFeatures::from_tags(["human"]).features),
    }
}

/// A server that binds a zone, and the start of an interval, and is given parts of the context.
fn offer(callers: CallerAssumptions) -> Offer {
    let zone = ArgumentFill::Context { from: BoundContextPart::Timezone, default: None };
    let start = ArgumentFill::Interval {
        named: "period".into(),
        part: IntervalEdge::Start,
        written: InstantNotation::Date,
    };
    let bound = [
        ("tz".to_owned(), Binding { fills: zone, hide: true }),
        ("from".to_owned(), Binding { fills: start, hide: false }),
    ];
    Offer {
        languages: Languages::new("en", ["de", "fr"]).ok(),
        bindings: Arc::new(Bindings::new([("t".to_owned(), bound.into())].into(), CoordinatePrecision::Off)),
        forward: ContextForwarding {
            fields: vec![
                ClientContextField::Timezone,
                ClientContextField::Locale,
                ClientContextField::UserLocation,
            ],
            ..ContextForwarding::default()
        },
        callers: Arc::new(callers),
        ..Offer::default()
    }
}

type Forwarded = (Vec<HeaderChange>, String, Caller);

fn forward(
    offer: &Offer,
    policy: &HeaderPolicy,
    headers: &[(&str, &[u8])],
    body: &str,
    evidence: CallerEvidence,
) -> Result<Forwarded, Box<Rejection>> {
    let rules = ExchangeSettings {
        policy,
        report_only: false,
        refuse_unknown: false,
        offer,
        content: None,
        seal: None,
        tasks: None,
    };
    let now: Timestamp = "2026-11-12T10:30:00Z".parse().unwrap();
    let (headers, session) = (Some(headers), SessionFacts::default());
    let incoming = IncomingRequest { headers, body: body.as_bytes(), session, evidence, now };
    let exchange = provided(Exchange::begin(rules, incoming)?)?;
    let (outgoing, caller, _) = exchange.forward()?;
    Ok((outgoing.headers, String::from_utf8(outgoing.body.into_owned()).unwrap(), caller))
}

/// An exchange whose needs nobody can meet.
fn provided<'a, H: HeaderLines<'a>>(
    mut exchange: Exchange<'a, H>,
) -> Result<Exchange<'a, H>, Box<Rejection>> {
    while let Some(need) = exchange.need() {
        match need {
            Need::Tool(..) => exchange = exchange.provide_tool(ListingAvailability::Never)?,
            Need::Locales(_) => exchange.provide_locales(Vec::new()),
        }
    }
    Ok(exchange)
}

/// A message without the arguments that are bound.
fn without_bound(body: &str) -> Value {
    let mut message: Value = serde_json::from_str(body).unwrap();
    if let Some(params) = message["params"].as_object_mut() {
        let arguments = params.get_mut("arguments").and_then(Value::as_object_mut);
        if let Some(arguments) = arguments {
            arguments.remove("tz");
            arguments.remove("from");
        }
        if params.get("arguments").is_some_and(|arguments| *arguments == serde_json::json!({})) {
            params.remove("arguments");
        }
    }
    message
}

const ENVELOPE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// A call: what it says of its caller, and its arguments.
fn call(said: &str, arguments: &str, beside: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t"{arguments},"_meta":{{{ENVELOPE}{said}}}}}{beside}}}"#
    )
}

fn everything(forward_assumed: bool) -> CallerAssumptions {
    CallerAssumptions {
        headers: header_names(),
        profiles: Some(Arc::new(EveryClient)),
        default: values("fr", "Europe/Paris"),
        forward_assumed,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a request says and whatever is assumed beside it: it passes or is refused as it would without, and what the
    /// server gets is the same but for the arguments that are bound.
    #[test]
    fn assumptions_never_decide_and_are_seen_in_bound_arguments_alone(
        said in prop::sample::select(vec![
            "", r#","io.modelcontextprotocol/acceptLanguage":"de""#, r#","io.modelcontextprotocol/acceptLanguage":"de;q=7""#,
            r#","io.modelcontextprotocol/acceptLanguage":7"#, r#","io.modelcontextprotocol/acceptLanguage":"""#,
            r#","openai/locale":"it""#, r#","openai/userLocation":{"timezone":"Europe/Vienna"}"#, r#","openai/userLocation":7"#,
            r#","io.modelcontextprotocol/clientContext":{"timezone":"Asia/Tokyo"}"#, r#","io.modelcontextprotocol/clientContext":7"#,
        ]),
        beside in prop::sample::select(vec![
            "", r#","clientContext":{"timezone":"Asia/Tokyo","locale":"ja"}"#, r#","clientContext":{"timezone":"Mars"}"#,
            r#","clientContext":{"currentTimestamp":"2026-11-12T14:23:00+01:00"}"#, r#","clientContext":[]"#,
        ]),
        arguments in prop::sample::select(vec![
            "", r#","arguments":{}"#, r#","arguments":{"tz":"UTC"}"#, r#","arguments":{"period":"yesterday"}"#,
            r#","arguments":{"period":"no such time"}"#, r#","arguments":{"period":7}"#, r#","arguments":[]"#, r#","arguments":null"#,
        ]),
        language in prop::sample::select(vec![None, Some("de"), Some("*"), Some("fr-CA, fr;q=0.5"), Some("de;q=7"), Some("\u{fffd}"), Some("")]),
        zone in prop::sample::select(vec![None, Some("Asia/Kathmandu"), Some("Mars/Olympus"), Some("+05:45"), Some("")]),
        place in prop::sample::select(vec![None, Some("np"), Some("XX"), Some("\u{7}")]),
        name in prop::sample::select(vec!["t", "another"]), twice in any::<bool>(),
        claims in prop::option::of((prop::option::of("[a-z]{2}_[A-Z]{2}|.{0,9}"), prop::option::of("Asia/Tokyo|.{0,9}"))),
        trusts_headers in any::<bool>(), system in any::<bool>(), promote in any::<bool>(),
    ) {
        let body = call(said, arguments, beside);
        let mut headers: Vec<(&str, &[u8])> = vec![
            ("mcp-protocol-version", b"2026-07-28"), ("mcp-method", b"tools/call"), ("mcp-name", name.as_bytes()),
        ];
        headers.extend(language.map(|value| ("accept-language", value.as_bytes())));
        headers.extend(zone.map(|value| ("x-timezone", value.as_bytes())));
        headers.extend(zone.filter(|_| twice).map(|value| ("x-timezone", value.as_bytes())));
        headers.extend(place.into_iter().flat_map(|value| [("x-country", value.as_bytes()), ("x-city", value.as_bytes())]));
        let mut policy = HeaderPolicy::default();
        policy.language_header = if promote { LanguageHeaderPolicy::Promote } else { LanguageHeaderPolicy::Compare };
        let claims = claims.map(|(locale, zoneinfo)| VerifiedClaims { locale, zoneinfo });
        let evidence = CallerEvidence { claims, trusts_headers, system: system.then(|| values("pt", "America/Lima")) };

        let without = forward(&offer(CallerAssumptions::default()), &policy, &headers, &body, CallerEvidence::default());
        let with = forward(&offer(everything(false)), &policy, &headers, &body, evidence);
        match (without, with) {
            (Ok((changes, body, told)), Ok((same_changes, same_body, caller))) => {
                prop_assert_eq!(without_bound(&body), without_bound(&same_body));
                // Whether the body is another is in the headers, too.
                let kept = |changes: Vec<HeaderChange>| -> Vec<_> {
                    let is_kept = |change: &HeaderChange| {
                        *change != HeaderChange::ForgetOldBytes && *change != HeaderChange::Set("accept-encoding".into(), b"identity".into())
                    };
                    changes.into_iter().filter(is_kept).collect()
                };
                prop_assert_eq!(kept(changes), kept(same_changes));
                // What the request says stands, whatever is assumed.
                for field in CallerField::ALL {
                    if let Some(source) = told.sources().get(field) {
                        prop_assert_eq!(caller.sources().get(field), Some(source));
                    }
                }
            }
            (Err(refused), Err(same)) => {
                prop_assert_eq!(refused.reply.body, same.reply.body);
                prop_assert_eq!(refused.reply.status, same.reply.status);
            }
            (without, with) => prop_assert!(false, "{:?} but {:?}", without.is_ok(), with.is_ok()),
        }
    }
}

/// What a call arrives with, as `(tz, everything else is as it came)`.
fn bound_zone(offer: &Offer, headers: &[(&str, &[u8])], evidence: CallerEvidence) -> Option<String> {
    let body = call("", r#","arguments":{}"#, "");
    let (_, sent, _) = forward(offer, &HeaderPolicy::default(), headers, &body, evidence).unwrap();
    let sent: Value = serde_json::from_str(&sent).unwrap();
    sent["params"]["arguments"]["tz"].as_str().map(str::to_owned)
}

const CALL_HEADERS: [(&str, &[u8]); 3] =
    [("mcp-protocol-version", b"2026-07-28"), ("mcp-method", b"tools/call"), ("mcp-name", b"t")];

#[test]
fn one_header_from_somebody_who_is_trusted_and_from_somebody_who_is_not() {
    let callers = CallerAssumptions { headers: header_names(), ..CallerAssumptions::default() };
    let offer = offer(callers);
    let headers: Vec<_> = CALL_HEADERS.into_iter().chain([("x-timezone", &b"Asia/Kathmandu"[..])]).collect();
    for (trusts_headers, expected) in [(true, "Asia/Kathmandu"), (false, "UTC")] {
        let evidence = CallerEvidence { trusts_headers, ..CallerEvidence::default() };
        assert_eq!(bound_zone(&offer, &headers, evidence).as_deref(), Some(expected));
    }
}

#[test]
fn a_header_that_is_ignored_is_told_and_one_that_counts_is_in_vary() {
    let callers = CallerAssumptions { headers: header_names(), ..CallerAssumptions::default() };
    let (offer, policy) = (offer(callers), HeaderPolicy::default());
    let headers: Vec<_> = CALL_HEADERS.into_iter().chain([("x-timezone", &b"Asia/Kathmandu"[..])]).collect();
    let body = call("", r#","arguments":{}"#, "");
    for trusts_headers in [true, false] {
        let rules = ExchangeSettings {
            policy: &policy,
            report_only: false,
            refuse_unknown: false,
            offer: &offer,
            content: None,
            seal: None,
            tasks: None,
        };
        let incoming = IncomingRequest {
            headers: Some(&headers[..]),
            body: body.as_bytes(),
            session: SessionFacts::default(),
            evidence: CallerEvidence { trusts_headers, ..CallerEvidence::default() },
            now: Timestamp::UNIX_EPOCH,
        };
        let exchange = provided(Exchange::begin(rules, incoming).unwrap()).unwrap();
        let ignored = ExchangeNotice::UntrustedHeader("x-timezone".into());
        assert_eq!(exchange.facts().notices.contains(&ignored), !trusts_headers);
        let (_, _, answering) = exchange.forward().unwrap();
        let none: &[(&str, &[u8])] = &[];
        let (changes, _) = answering.adapt_held_head(&MessageRewrite::default(), none);
        let varies = changes.iter().any(|change| {
            matches!(change, HeaderChange::Set(name, value)
                if name == "vary" && String::from_utf8_lossy(value).contains("x-timezone"))
        });
        assert_eq!(varies, trusts_headers, "{changes:?}");
    }
}

#[test]
fn a_token_that_was_not_verified_says_nothing() {
    // Its payload says Asia/Tokyo. Nobody verified it, so there are no claims, whatever the header holds.
    let token = b"Bearer eyJhbGciOiJub25lIn0.eyJ6b25laW5mbyI6IkFzaWEvVG9reW8ifQ.";
    let headers: Vec<_> = CALL_HEADERS.into_iter().chain([("authorization", &token[..])]).collect();
    let offer = offer(everything(false));
    let evidence = CallerEvidence { trusts_headers: true, ..CallerEvidence::default() };
    assert_eq!(bound_zone(&offer, &headers, evidence.clone()).as_deref(), Some("Europe/Paris"));
    let claims = Some(VerifiedClaims { zoneinfo: Some("Asia/Tokyo".into()), ..VerifiedClaims::default() });
    assert_eq!(
        bound_zone(&offer, &headers, CallerEvidence { claims, ..evidence }).as_deref(),
        Some("Asia/Tokyo")
    );
}

#[test]
fn a_profile_of_the_client_gives_tags_where_profiles_are_on() {
    let body = call(r#","io.modelcontextprotocol/clientInfo":{"name":"acme","version":"2"}"#, "", "");
    for (profiles, expected) in
        [(None, "human default"), (Some(EveryClient), "agent+format=text profile:any")]
    {
        let mut callers = CallerAssumptions { default: values("fr", "UTC"), ..CallerAssumptions::default() };
        callers.profiles = profiles.map(|profiles| -> Arc<dyn ClientProfiles> { Arc::new(profiles) });
        let (_, _, caller) = forward(
            &offer(callers),
            &HeaderPolicy::default(),
            &CALL_HEADERS,
            &body,
            CallerEvidence::default(),
        )
        .unwrap();
        let tags: Vec<_> = caller.features().tags().collect();
        let source = caller.sources().get(CallerField::Features).unwrap();
        assert_eq!(format!("{} {source}", tags.join("+")), expected);
    }
}

#[test]
fn two_callers_never_mix() {
    let offer = offer(CallerAssumptions { headers: header_names(), ..CallerAssumptions::default() });
    let zones = ["Asia/Kathmandu", "Pacific/Apia", "America/Los_Angeles"];
    for round in 0..30 {
        let zone = zones[round % 3];
        let headers: Vec<_> = CALL_HEADERS.into_iter().chain([("x-timezone", zone.as_bytes())]).collect();
        let evidence = CallerEvidence { trusts_headers: true, ..CallerEvidence::default() };
        assert_eq!(bound_zone(&offer, &headers, evidence.clone()).as_deref(), Some(zone));
        // Whoever says nothing gets nothing of those before.
        assert_eq!(bound_zone(&offer, &CALL_HEADERS, evidence).as_deref(), Some("UTC"));
    }
}

#[test]
fn a_malformed_preference_is_never_overwritten_on_its_way() {
    let offer = offer(everything(true));
    for said in ["7", "\"de;q=7\"", "\"\""] {
        let body = call(&format!(r#","io.modelcontextprotocol/acceptLanguage":{said}"#), "", "");
        let (_, sent, _) =
            forward(&offer, &HeaderPolicy::default(), &CALL_HEADERS, &body, CallerEvidence::default())
                .unwrap();
        assert!(sent.contains(&format!(r#"acceptLanguage":{said}"#)), "{sent}");
    }
}

#[test]
fn a_locale_that_is_assumed_is_never_mirrored_as_a_preference() {
    let default = CallerValues { locale: Tag::parse("de-CH").ok(), ..CallerValues::default() };
    let callers = CallerAssumptions { default, forward_assumed: true, ..CallerAssumptions::default() };
    let (changes, sent, caller) = forward(
        &offer(callers),
        &HeaderPolicy::default(),
        &CALL_HEADERS,
        &call("", "", ""),
        CallerEvidence::default(),
    )
    .unwrap();
    assert_eq!(caller.preference().unwrap().as_str(), "de-CH");
    assert!(!sent.contains("acceptLanguage") && sent.contains(r#"{"locale":"de-CH"}"#), "{sent}");
    assert!(!format!("{changes:?}").contains("accept-language"));
}

#[test]
fn debug_of_a_caller_has_sources_and_no_assumed_value() {
    let (_, _, caller) = forward(
        &offer(everything(false)),
        &HeaderPolicy::default(),
        &CALL_HEADERS,
        &call("", "", ""),
        CallerEvidence::default(),
    )
    .unwrap();
    let shown = format!("{caller:?}");
    assert!(shown.contains("language=default timezone=default locale=default features=default"), "{shown}");
    assert!(!shown.contains("Paris") && !shown.contains("\"fr\"") && !shown.contains("ne-NP"), "{shown}");
}
