//! H: headers say what the body says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_attune_wire::protocol::code::HEADER_MISMATCH;
use mcp_attune_wire::protocol::header::{METHOD, NAME, PROTOCOL_VERSION as VERSION, lowercase};
use mcp_attune_wire::protocol::meta;
use mcp_attune_wire::protocol::method;
use mcp_attune_wire::protocol::version::NEWEST_LEGACY;
use mcp_attune_wire::schema::{DeclaredHeaders, DeclaredType, HeaderDeclaration};
use serde_json::{Value, json};

use super::super::ask::CheckRequest;
use super::super::facts::{SampleCall, SurveyFacts};
use super::super::judge::{
    CheckExchange, ScenarioFault, Verdict, expect_mismatch, expect_served, first_refused_others_served,
    rule_broken,
};
use super::super::scenario::Scenario;
use super::super::scenario::ScenarioNeed::{Call as CallNeeded, Http, Mirrored, Modern, Prompt, Resource};

const COMPARE: &str = "compare the header with the body before the request is handled";
const DECODE: &str = "decode strictly: the marks as written, canonical base64 with its padding, UTF-8 inside";
const ONCE: &str = "refuse a routing header that comes twice: whoever routes may read the other copy";

/// The call that may be made.
fn call(facts: &SurveyFacts) -> Option<CheckRequest> {
    Some(facts.call.as_ref()?.to_request(facts))
}

/// The name in that call.
fn name(facts: &SurveyFacts) -> Option<&str> {
    Some(facts.call.as_ref()?.name.as_str())
}

/// The base64 form of a text.
fn encoded(text: &str) -> String {
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// A call that mirrors, and one of its headers that has a value.
fn mirrored(facts: &SurveyFacts) -> Option<(&SampleCall, &HeaderDeclaration)> {
    mirrored_as(facts, None)
}

fn mirrored_as(facts: &SurveyFacts, kind: Option<DeclaredType>) -> Option<(&SampleCall, &HeaderDeclaration)> {
    let call = facts.mirrored.as_ref()?;
    let fits = |one: &&HeaderDeclaration| {
        call.argument(one.path()).is_some_and(|value| !value.is_null())
            && kind.is_none_or(|kind| one.kind() == kind)
    };
    Some((call, call.declared.as_ref()?.iter().find(fits)?))
}

/// A mirrored integer, its header and its value.
fn integer(facts: &SurveyFacts) -> Option<(CheckRequest, &str, i64)> {
    let (call, one) = mirrored_as(facts, Some(DeclaredType::Integer))?;
    let value = call.argument(one.path())?.as_i64()?;
    Some((call.to_request(facts), one.header(), value))
}

/// One request for each spelling of a mirrored integer.
fn integer_spellings(facts: &SurveyFacts, spell: fn(i64) -> Vec<String>) -> Option<Vec<CheckRequest>> {
    let (ask, header, value) = integer(facts)?;
    Some(spell(value).into_iter().map(|text| ask.clone().with_header(header, text)).collect())
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "H1",
        name: "method-differs",
        title: "an Mcp-Method that is not the method in the body is refused",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![facts.listing_request().with_header(METHOD, method::PING), facts.listing_request()])
        },
        judge: first_refused_others_served,
        hint: COMPARE,
    },
    Scenario {
        rule: "H1",
        name: "method-missing",
        title: "a request without Mcp-Method is refused",
        own: false,
        needs: &[Http, Modern],
        send: |facts| Some(vec![facts.listing_request().without_header(METHOD), facts.listing_request()]),
        judge: first_refused_others_served,
        hint: "every request of this version has Mcp-Method",
    },
    Scenario {
        rule: "H1",
        name: "version-missing",
        title: "a request without MCP-Protocol-Version whose body names a version is refused",
        own: false,
        needs: &[Http, Modern],
        send: |facts| Some(vec![facts.listing_request().without_header(VERSION), facts.listing_request()]),
        judge: first_refused_others_served,
        hint: "every request of this version has MCP-Protocol-Version",
    },
    Scenario {
        rule: "H1",
        name: "name-differs",
        title: "an Mcp-Name that is not the tool in the body is refused",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header(NAME, "another-tool"), call(facts)?]),
        judge: first_refused_others_served,
        hint: COMPARE,
    },
    Scenario {
        rule: "H1",
        name: "name-missing",
        title: "a call without Mcp-Name is refused",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.without_header(NAME), call(facts)?]),
        judge: first_refused_others_served,
        hint: "tools/call, prompts/get and resources/read have Mcp-Name",
    },
    Scenario {
        rule: "H1",
        name: "name-empty",
        title: "an Mcp-Name that is empty is refused",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header(NAME, ""), call(facts)?]),
        judge: first_refused_others_served,
        hint: "an empty value is there, and is not the name",
    },
    Scenario {
        rule: "H1",
        name: "prompt-differs",
        title: "an Mcp-Name that is not the prompt in the body is refused",
        own: false,
        needs: &[Http, Modern, Prompt],
        send: |facts| {
            let prompt = facts.prompt.as_ref()?;
            Some(vec![
                facts
                    .new_request(method::PROMPTS_GET, json!({ "name": prompt }))
                    .with_header(NAME, "another-prompt"),
            ])
        },
        judge: expect_mismatch,
        hint: COMPARE,
    },
    Scenario {
        rule: "H1",
        name: "resource-differs",
        title: "an Mcp-Name that is not the URI in the body is refused",
        own: false,
        needs: &[Http, Modern, Resource],
        send: |facts| {
            let uri = facts.resource.as_ref()?;
            Some(vec![
                facts
                    .new_request(method::RESOURCES_READ, json!({ "uri": uri }))
                    .with_header(NAME, "file:///another"),
            ])
        },
        judge: expect_mismatch,
        hint: COMPARE,
    },
    Scenario {
        rule: "H2",
        name: "method-twice",
        title: "Mcp-Method twice is refused, even if both say the same",
        own: true,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_added_header(METHOD, &facts.listing),
                facts.listing_request(),
            ])
        },
        judge: first_refused_others_served,
        hint: ONCE,
    },
    Scenario {
        rule: "H2",
        name: "version-twice",
        title: "MCP-Protocol-Version twice with two values is refused",
        own: true,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_added_header(VERSION, NEWEST_LEGACY),
                facts.listing_request(),
            ])
        },
        judge: first_refused_others_served,
        hint: ONCE,
    },
    Scenario {
        rule: "H2",
        name: "name-twice",
        title: "Mcp-Name twice is refused, even if both say the same",
        own: true,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_added_header(NAME, name(facts)?), call(facts)?]),
        judge: first_refused_others_served,
        hint: ONCE,
    },
    Scenario {
        rule: "H2",
        name: "param-twice",
        title: "an Mcp-Param header that the tool declares is refused when it comes twice",
        own: true,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let (call, one) = mirrored(facts)?;
            let sent = call.to_request(facts).to_wire(0);
            let (_, value) = sent.headers.iter().find(|(name, _)| name == one.header())?;
            Some(vec![call.to_request(facts).with_added_header(one.header(), value), call.to_request(facts)])
        },
        judge: first_refused_others_served,
        hint: ONCE,
    },
    Scenario {
        rule: "H3",
        name: "names-in-small-letters",
        title: "names of headers in small letters are the same headers",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            let small = facts.listing_request().with_lowercase_headers();
            Some(vec![small.clone().with_header(lowercase::METHOD, method::PING), small])
        },
        judge: first_refused_others_served,
        hint: "compare the names of headers without case",
    },
    Scenario {
        rule: "H3",
        name: "values-with-case",
        title: "an Mcp-Method in other letters is not the method",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_header(METHOD, facts.listing.to_uppercase()),
                facts.listing_request(),
            ])
        },
        judge: first_refused_others_served,
        hint: "compare the values of headers with case",
    },
    Scenario {
        rule: "H4",
        name: "name-in-base64",
        title: "an Mcp-Name in its base64 form is decoded before it is compared",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header(NAME, encoded(name(facts)?))]),
        judge: expect_served,
        hint: "decode =?base64?…?= before comparing",
    },
    Scenario {
        rule: "H4",
        name: "blanks-around",
        title: "blanks around a value do not belong to it",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header(NAME, format!("  {} \t", name(facts)?))]),
        judge: expect_served,
        hint: "take optional whitespace off values, as RFC 9110 says",
    },
    Scenario {
        rule: "H4",
        name: "marks-in-capitals",
        title: "=?BASE64?…?= is no base64 form, but text",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| {
            Some(vec![call(facts)?.with_header(NAME, encoded(name(facts)?).replacen("base64", "BASE64", 1))])
        },
        judge: expect_mismatch,
        hint: DECODE,
    },
    Scenario {
        rule: "H4",
        name: "without-padding",
        title: "base64 without its padding is refused",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| {
            // Where the name needs no padding, what is left of it is no base64 at all.
            let name = name(facts)?;
            let mut text = STANDARD.encode(name).trim_end_matches('=').to_owned();
            if text.len() % 4 == 0 {
                text.pop();
            }
            Some(vec![call(facts)?.with_header(NAME, format!("=?base64?{text}?="))])
        },
        judge: expect_mismatch,
        hint: DECODE,
    },
    Scenario {
        rule: "H4",
        name: "no-text-inside",
        title: "base64 over bytes that are no UTF-8 is refused",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| {
            let bytes = [name(facts)?.as_bytes(), &[0xff]].concat();
            Some(vec![call(facts)?.with_header(NAME, format!("=?base64?{}?=", STANDARD.encode(bytes)))])
        },
        judge: expect_mismatch,
        hint: DECODE,
    },
    Scenario {
        rule: "H4",
        name: "bytes-beyond-ascii",
        title: "a value with bytes beyond ASCII is refused, and does not count as missing",
        own: true,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header(NAME, format!("{}é", name(facts)?))]),
        judge: expect_mismatch,
        hint: "such a value is there and says nothing: refuse it",
    },
    Scenario {
        rule: "H4",
        name: "method-in-base64",
        title: "an Mcp-Method in base64 is refused, so that routers can compare text",
        own: true,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_header(METHOD, encoded(&facts.listing)),
                facts.listing_request(),
            ])
        },
        judge: first_refused_others_served,
        hint: "the base64 form is for Mcp-Name and Mcp-Param only",
    },
    Scenario {
        rule: "H5",
        name: "annotations-are-valid",
        title: "every x-mcp-header that is listed is valid",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            let annotated =
                facts.tools.iter().any(|tool| tool["inputSchema"].to_string().contains("\"x-mcp-header\""));
            annotated.then(|| vec![facts.new_request(method::TOOLS_LIST, json!({}))])
        },
        judge: expect_valid_annotations,
        hint: "a token of its own on one string, integer or boolean, reached through properties alone; clients drop the tool else",
    },
    Scenario {
        rule: "H6",
        name: "param-differs",
        title: "an Mcp-Param header that is not the argument is refused",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let (call, one) = mirrored(facts)?;
            Some(vec![
                call.to_request(facts).with_header(one.header(), "something-else"),
                call.to_request(facts),
            ])
        },
        judge: first_refused_others_served,
        hint: COMPARE,
    },
    Scenario {
        rule: "H6",
        name: "param-missing",
        title: "a call without the Mcp-Param header of an argument that it has is refused",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let (call, one) = mirrored(facts)?;
            Some(vec![call.to_request(facts).without_header(one.header()), call.to_request(facts)])
        },
        judge: first_refused_others_served,
        hint: "a declared argument has its header",
    },
    Scenario {
        rule: "H6",
        name: "param-in-base64",
        title: "an Mcp-Param header in its base64 form is decoded before it is compared",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let (call, one) = mirrored_as(facts, Some(DeclaredType::String))?;
            let value = call.argument(one.path())?.as_str()?;
            Some(vec![call.to_request(facts).with_header(one.header(), encoded(value))])
        },
        judge: expect_served,
        hint: "decode =?base64?…?= before comparing",
    },
    Scenario {
        rule: "H6",
        name: "orphan",
        title: "an Mcp-Param header without its argument is refused",
        own: true,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let call = facts.mirrored.as_ref()?;
            let absent = call.declared.as_ref()?.iter().find(|one| call.argument(one.path()).is_none())?;
            Some(vec![call.to_request(facts).with_header(absent.header(), "1"), call.to_request(facts)])
        },
        judge: first_refused_others_served,
        hint: "whoever routes by this header believes an argument that nobody sent",
    },
    Scenario {
        rule: "H7",
        name: "by-value",
        title: "42.0 is the integer 42",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| integer_spellings(facts, |value| vec![format!("{value}.0")]),
        judge: expect_served,
        hint: "compare integers by value, not by spelling",
    },
    Scenario {
        rule: "H7",
        name: "another-value",
        title: "an integer of another value is refused, however it is spelled",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            integer_spellings(facts, |value| vec![format!("{value}.5"), format!("{}", value.wrapping_add(1))])
        },
        judge: expect_mismatch,
        hint: "compare integers by value, exactly",
    },
    Scenario {
        rule: "H7",
        name: "no-number",
        title: "hexadecimal, a leading plus and a trailing dot never match an integer",
        own: true,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            integer_spellings(facts, |value| {
                vec![format!("{value:#x}"), format!("+{value}"), format!("{value}.")]
            })
        },
        judge: expect_mismatch,
        hint: "read plain decimal only: -?[0-9]+(.[0-9]+)?",
    },
    Scenario {
        rule: "H7",
        name: "boolean-in-capitals",
        title: "True is not the boolean true",
        own: false,
        needs: &[Http, Modern, Mirrored],
        send: |facts| {
            let (call, one) = mirrored_as(facts, Some(DeclaredType::Boolean))?;
            let text = if call.argument(one.path())?.as_bool()? { "True" } else { "False" };
            Some(vec![call.to_request(facts).with_header(one.header(), text), call.to_request(facts)])
        },
        judge: first_refused_others_served,
        hint: "booleans travel as true and false",
    },
    Scenario {
        rule: "H8",
        name: "nobodys-param",
        title: "an Mcp-Param header that the tool does not declare means nothing",
        own: false,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| Some(vec![call(facts)?.with_header("Mcp-Param-Attune-Nobodys", "7")]),
        judge: expect_served,
        hint: "ignore Mcp-Param headers that the tool does not declare",
    },
    Scenario {
        rule: "H9",
        name: "form",
        title: "a refusal is 400 and JSON, with the code -32020 and the id of the request",
        own: false,
        needs: &[Http, Modern],
        send: |facts| Some(vec![facts.listing_request().with_header(METHOD, method::PING)]),
        judge: expect_refusal_form,
        hint: "answer with Content-Type: application/json and the id that was read",
    },
    Scenario {
        rule: "H9",
        name: "every-fault",
        title: "error.data.mismatches has an entry for every fault",
        own: true,
        needs: &[Http, Modern, CallNeeded],
        send: |facts| {
            Some(vec![call(facts)?.with_header(METHOD, method::PING).with_header(NAME, "another-tool")])
        },
        judge: expect_every_mismatch,
        hint: "whoever has to mend a client wants to see all that is wrong at once",
    },
    Scenario {
        rule: "H16",
        name: "older-header",
        title: "an older version in the header than in the body is refused",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            Some(vec![facts.listing_request().with_header(VERSION, NEWEST_LEGACY), facts.listing_request()])
        },
        judge: first_refused_others_served,
        hint: "else a caller gets past the checks by naming an older version",
    },
    Scenario {
        rule: "H16",
        name: "older-body",
        title: "an older version in the body than in the header is refused",
        own: false,
        needs: &[Http, Modern],
        send: |facts| {
            let older = facts.listing_request().with_meta(meta::PROTOCOL_VERSION, json!(NEWEST_LEGACY));
            Some(vec![older.with_header(VERSION, version(facts)?), facts.listing_request()])
        },
        judge: first_refused_others_served,
        hint: "compare the two versions before either is used",
    },
];

fn version(facts: &SurveyFacts) -> Option<&str> {
    use super::super::ask::CheckProtocol;
    match &facts.manner {
        CheckProtocol::Modern(version) => Some(version),
        CheckProtocol::Legacy { .. } => None,
    }
}

fn expect_valid_annotations(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let tools = seen.first().and_then(CheckExchange::result).and_then(|result| result["tools"].as_array());
    for tool in tools.into_iter().flatten() {
        if let Err(invalid) = DeclaredHeaders::read(tool["inputSchema"].to_string().as_bytes()) {
            let came = format!("the tool {}: {invalid}", tool["name"]);
            return Err(rule_broken(0, "annotations that are valid", came));
        }
    }
    Ok(())
}

fn expect_refusal_form(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_mismatch(facts, seen)?;
    let Some(first) = seen.first() else { return Ok(()) };
    if !first.came.is_json() {
        let came = first.came.header_values("content-type").next().unwrap_or("no Content-Type").to_owned();
        return Err(rule_broken(0, "Content-Type: application/json", came));
    }
    let id = first.came.answer.as_ref().and_then(|answer| answer.get("id"));
    if id != Some(&json!(first.id)) {
        let came = id.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
        return Err(rule_broken(0, format!("the id {}", first.id), came));
    }
    Ok(())
}

fn expect_every_mismatch(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let Some(first) = seen.first() else { return Ok(()) };
    if first.code() != Some(HEADER_MISMATCH.into()) {
        return Err(ScenarioFault::Unclear("the server does not refuse mismatches at all".to_owned()));
    }
    let listed = first.error().and_then(|error| error.pointer("/data/mismatches")).and_then(Value::as_array);
    let names: Vec<String> = listed
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["header"].as_str())
        .map(str::to_ascii_lowercase)
        .collect();
    for header in [METHOD, NAME] {
        if !names.contains(&header.to_ascii_lowercase()) {
            return Err(rule_broken(0, format!("an entry for {header}"), format!("entries for {names:?}")));
        }
    }
    Ok(())
}
