//! H: what cannot be read in one way, what lacks its envelope, and who may ask at all.

use mcp_attune_wire::protocol::{code, header, meta};
use serde_json::{Value, json};

use super::super::ask::CheckRequest;
use super::super::facts::SurveyFacts;
use super::super::judge::{CheckExchange, Verdict, expect_refused, expect_served, rule_broken, shift_fault};
use super::super::scenario::Scenario;
use super::super::scenario::ScenarioNeed::{Http, Loopback, Modern};

const STRICT: &str = "read the body strictly, once, before anything looks into it";

/// The listing with a spoiled body, and as it should be.
fn spoiled_listing(facts: &SurveyFacts, spoil: impl Fn(String) -> Vec<u8>) -> Option<Vec<CheckRequest>> {
    Some(vec![
        facts.listing_request().with_body(spoil(facts.listing_request().body_template())),
        facts.listing_request(),
    ])
}

/// The message with a value in it that nobody knows: in `_meta`, where anything may stand, if it has that.
fn with_unknown_member(text: &str, value: &str) -> String {
    let place = if text.contains("\"_meta\":{") { "\"_meta\":{" } else { "{" };
    text.replacen(place, &format!("{place}\"x-attune\":{value},"), 1)
}

/// The first request is refused so, and the others are served.
fn expect_refused_then_served(facts: &SurveyFacts, seen: &[CheckExchange], code: i32) -> Verdict {
    let Some((first, others)) = seen.split_first() else { return Ok(()) };
    expect_served(facts, others).map_err(|fault| shift_fault(fault, 1))?;
    expect_refused(std::slice::from_ref(first), 400, code)
}

fn expect_parse_error(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_refused_then_served(facts, seen, code::PARSE_ERROR)
}

fn expect_invalid_request(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_refused_then_served(facts, seen, code::INVALID_REQUEST)
}

fn expect_invalid_params(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_refused_then_served(facts, seen, code::INVALID_PARAMS)
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "H13",
        name: "no-json",
        title: "a body that is no JSON is 400 and -32700",
        own: false,
        needs: &[Http],
        send: |facts| spoiled_listing(facts, |text| text.trim_end_matches('}').into()),
        judge: expect_parse_error,
        hint: STRICT,
    },
    Scenario {
        rule: "H13",
        name: "bytes-behind",
        title: "bytes behind the message are 400 and -32700",
        own: false,
        needs: &[Http],
        send: |facts| spoiled_listing(facts, |text| format!("{text} {{}}").into()),
        judge: expect_parse_error,
        hint: STRICT,
    },
    Scenario {
        rule: "H13",
        name: "no-text",
        title: "a body that is no UTF-8 is 400 and -32700",
        own: false,
        needs: &[Http],
        send: |facts| {
            spoiled_listing(facts, |text| {
                let spoiled = with_unknown_member(&text, "\"?\"");
                spoiled.bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect()
            })
        },
        judge: expect_parse_error,
        hint: STRICT,
    },
    Scenario {
        rule: "H13",
        name: "name-twice",
        title: "a member name twice in one object is 400 and -32700",
        own: true,
        needs: &[Http],
        send: |facts| {
            spoiled_listing(facts, |text| {
                text.replacen("\"method\":", "\"m\\u0065thod\":\"ping\",\"method\":", 1).into()
            })
        },
        judge: expect_parse_error,
        hint: "two readers may take two different members: refuse it",
    },
    Scenario {
        rule: "H13",
        name: "too-deep",
        title: "more than 127 open brackets are 400 and -32700",
        own: true,
        needs: &[Http],
        send: |facts| {
            spoiled_listing(facts, |text| {
                with_unknown_member(&text, &format!("{}{}", "[".repeat(200), "]".repeat(200))).into()
            })
        },
        judge: expect_parse_error,
        hint: "bound the depth before anything walks the text",
    },
    Scenario {
        rule: "H13",
        name: "batch",
        title: "a batch is 400 and -32600",
        own: false,
        needs: &[Http, Modern],
        send: |facts| spoiled_listing(facts, |text| format!("[{text}]").into()),
        judge: expect_invalid_request,
        hint: "one message a POST since 2025-06-18",
    },
    Scenario {
        rule: "H13",
        name: "answer",
        title: "an answer is 400 and -32600",
        own: false,
        needs: &[Http, Modern],
        send: |facts| spoiled_listing(facts, |_| r#"{"jsonrpc":"2.0","id":$ID,"result":{}}"#.into()),
        judge: expect_invalid_request,
        hint: "clients send requests and notifications only",
    },
    Scenario {
        rule: "H13",
        name: "neither",
        title: "what is neither request nor notification is 400 and -32600",
        own: false,
        needs: &[Http, Modern],
        send: |facts| spoiled_listing(facts, |text| text.replacen("\"method\":", "\"verb\":", 1).into()),
        judge: expect_invalid_request,
        hint: "a message without a method is no request",
    },
    Scenario {
        rule: "H14",
        name: "no-capabilities",
        title: "a request without clientCapabilities in _meta is 400 and -32602",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![
                facts.listing_request().without_meta(meta::CLIENT_CAPABILITIES),
                facts.listing_request(),
            ])
        },
        judge: expect_invalid_params,
        hint: "every request says what its client can do",
    },
    Scenario {
        rule: "H14",
        name: "no-version",
        title: "a request without protocolVersion in _meta is 400 and -32602",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            let right = facts.listing_request().to_wire(0);
            let version = right.headers.into_iter().find(|(name, _)| name == header::PROTOCOL_VERSION)?.1;
            let without = facts
                .listing_request()
                .without_meta(meta::PROTOCOL_VERSION)
                .with_header(header::PROTOCOL_VERSION, version);
            Some(vec![without, facts.listing_request()])
        },
        judge: expect_invalid_params,
        hint: "the header does not stand in for the body",
    },
    Scenario {
        rule: "H14",
        name: "version-no-string",
        title: "a protocolVersion in _meta that is no string is 400 and -32602",
        own: true,
        needs: &[Http, Modern],
        send: |facts| {
            let right = facts.listing_request().to_wire(0);
            let version = right.headers.into_iter().find(|(name, _)| name == header::PROTOCOL_VERSION)?.1;
            let number = facts.listing_request().with_meta(meta::PROTOCOL_VERSION, json!(20_260_728));
            Some(vec![number.with_header(header::PROTOCOL_VERSION, version), facts.listing_request()])
        },
        judge: expect_invalid_params,
        hint: "a version is a string",
    },
    Scenario {
        rule: "H14",
        name: "unknown-version",
        title: "an unknown version is 400 and -32022, with what is asked for and what is spoken",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            let unknown = facts.listing_request().with_meta(meta::PROTOCOL_VERSION, json!("2099-01-01"));
            Some(vec![unknown.with_header(header::PROTOCOL_VERSION, "2099-01-01"), facts.listing_request()])
        },
        judge: unknown_version,
        hint: "clients choose another version from data.supported",
    },
    Scenario {
        rule: "H15",
        name: "foreign-origin",
        title: "an Origin that is not allowed is 403",
        own: false,
        needs: &[Http],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_header("Origin", "https://evil.example"),
                facts.listing_request(),
            ])
        },
        judge: forbidden,
        hint: "any web page could use a server that does not look at Origin",
    },
    Scenario {
        rule: "H15",
        name: "foreign-host",
        title: "a Host that is not allowed is 403, or 421",
        own: true,
        needs: &[Http, Loopback],
        send: |facts| {
            Some(vec![facts.listing_request().with_header("Host", "evil.example"), facts.listing_request()])
        },
        judge: misdirected,
        hint: "a name that was made to point to this machine (DNS rebinding) shows in Host",
    },
];

fn unknown_version(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_refused_then_served(facts, seen, code::UNSUPPORTED_PROTOCOL_VERSION)?;
    let data = seen.first().and_then(CheckExchange::error).and_then(|error| error.get("data"));
    let names = |list: &Value| list.as_array().is_some_and(|all| all.iter().any(Value::is_string));
    if !data.is_some_and(|data| names(&data["supported"]) && data["requested"] == "2099-01-01") {
        let came = data.map_or_else(|| "no data".to_owned(), |data| format!("the data {data}"));
        return Err(rule_broken(0, "data.supported and data.requested", came));
    }
    Ok(())
}

fn forbidden(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_first_status(facts, seen, &[403])
}

/// 421 says of a host what 403 says, and some servers prefer it.
fn misdirected(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_first_status(facts, seen, &[403, 421])
}

fn expect_first_status(facts: &SurveyFacts, seen: &[CheckExchange], statuses: &[u16]) -> Verdict {
    let Some((first, others)) = seen.split_first() else { return Ok(()) };
    expect_served(facts, others).map_err(|fault| shift_fault(fault, 1))?;
    let is = first.came.status.is_some_and(|status| statuses.contains(&status));
    if is { Ok(()) } else { Err(rule_broken(0, "403", first.describe_answer())) }
}
