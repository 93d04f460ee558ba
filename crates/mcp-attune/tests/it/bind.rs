//! The cases of `spec/cases/bind.json`, and what holds for every call and every listing.

use std::collections::BTreeMap;

use case_table::{check, same};
use jiff::Timestamp;
use mcp_attune::bind::{
    ArgumentFill, ArgumentFillError, ArgumentFillReason, Binding, BindingFinding, BindingProblem, Bindings,
    BoundContextPart, InstantNotation, IntervalEdge,
};
use mcp_attune::caller::Caller;
use mcp_attune::context::CoordinatePrecision;
use mcp_attune::when::{TimeExpressionError, TimeResolutionError};
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::message::Message;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A binding as `attune.toml` writes it.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct Bound {
    from: Option<String>,
    #[serde(default)]
    hide: bool,
    default: Option<Value>,
    interval: Option<String>,
    part: Option<String>,
    r#as: Option<String>,
    end: Option<String>,
}

type Tools = BTreeMap<String, BTreeMap<String, Bound>>;

fn bindings(tools: Tools, coordinates: Option<&str>) -> Bindings {
    let precision = match coordinates {
        Some("exact") => CoordinatePrecision::Exact,
        Some("coarse") => CoordinatePrecision::Coarse,
        _ => CoordinatePrecision::Off,
    };
    let each = |bound: BTreeMap<String, Bound>| {
        bound.into_iter().map(|(argument, bound)| (argument, binding(bound))).collect()
    };
    Bindings::new(tools.into_iter().map(|(tool, bound)| (tool, each(bound))).collect(), precision)
}

fn binding(bound: Bound) -> Binding {
    let written = match bound.r#as.as_deref() {
        None | Some("date-time") => InstantNotation::DateTime,
        Some("date") => InstantNotation::Date,
        Some("utc") => InstantNotation::Utc,
        Some("unix") => InstantNotation::Unix,
        Some("unix-ms") => InstantNotation::UnixMillis,
        Some(other) => panic!("{other}"),
    };
    let fills = match (bound.from.as_deref(), bound.interval) {
        (Some(from), None) => {
            let from = match from {
                "timezone" => BoundContextPart::Timezone,
                "offset" => BoundContextPart::Offset,
                "now" => BoundContextPart::Now(written),
                "today" => BoundContextPart::Now(InstantNotation::Date),
                "locale" => BoundContextPart::Locale,
                "language" => BoundContextPart::Language,
                "city" => BoundContextPart::City,
                "region" => BoundContextPart::Region,
                "country" => BoundContextPart::Country,
                "latitude" => BoundContextPart::Latitude,
                "longitude" => BoundContextPart::Longitude,
                other => panic!("{other}"),
            };
            ArgumentFill::Context { from, default: bound.default.map(|value| value.to_string()) }
        }
        (None, Some(named)) => {
            let part = match (bound.part.as_deref(), bound.end.as_deref()) {
                (Some("start"), None) => IntervalEdge::Start,
                (Some("end"), None | Some("exclusive")) => IntervalEdge::After,
                (Some("end"), Some("inclusive")) => IntervalEdge::Last,
                other => panic!("{other:?}"),
            };
            ArgumentFill::Interval { named, part, written }
        }
        other => panic!("{other:?}"),
    };
    Binding { fills, hide: bound.hide }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    bindings: Tools,
    coordinates: Option<String>,
    clock: Option<String>,
    arguments_text: Option<String>,
    #[serde(rename = "clientContext")]
    context: Option<Value>,
    #[serde(rename = "acceptLanguage")]
    accept: Option<String>,
    schema_text: Option<String>,
    tools: Option<Value>,
}

#[test]
fn bind() {
    let file = include_str!("../../../../spec/cases/bind.json");
    check(file, 130, |mut input: Input, expected: Map<String, Value>| {
        let bindings = bindings(std::mem::take(&mut input.bindings), input.coordinates.as_deref());
        let actual = match (&input.tools, &input.schema_text) {
            (Some(tools), _) => findings(&bindings, tools),
            (None, Some(schema)) => json!({ "schema_text": shown(&bindings, schema) }),
            (None, None) => filled(&bindings, &input),
        };
        same("what comes of it", &actual, &Value::Object(expected))
    });
}

/// The request and what it becomes.
fn request(input: &Input) -> String {
    let arguments = input.arguments_text.as_ref().map(|text| format!(r#","arguments":{text}"#));
    let context = input.context.as_ref().map(|context| format!(r#","clientContext":{context}"#));
    let accept =
        input.accept.as_ref().map(|text| format!(r#""io.modelcontextprotocol/acceptLanguage":"{text}""#));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t"{},"_meta":{{{}}}}}{}}}"#,
        arguments.unwrap_or_default(),
        accept.unwrap_or_default(),
        context.unwrap_or_default()
    )
}

fn fill(bindings: &Bindings, body: &str, clock: &str) -> Result<String, ArgumentFillError> {
    let message = Message::parse(body.as_bytes()).unwrap();
    let agreed = agree::check_without_headers(message, &HeaderPolicy::default()).unwrap();
    let clock: Timestamp = clock.parse().unwrap();
    let filled = bindings.fill(agreed.message(), &Caller::read(&agreed), clock)?;
    Ok(agreed.message().splice(&filled.edits()).unwrap())
}

fn filled(bindings: &Bindings, input: &Input) -> Value {
    let body = request(input);
    let onward = match fill(bindings, &body, input.clock.as_deref().unwrap()) {
        Ok(onward) => onward,
        Err(ArgumentFillError { argument, why }) => {
            let why = match why {
                ArgumentFillReason::NotText => "not-text",
                ArgumentFillReason::Unreadable(TimeExpressionError::Unknown) => "unknown",
                ArgumentFillReason::Unreadable(TimeExpressionError::NoSuchDate) => "no-such-date",
                ArgumentFillReason::Unresolvable(TimeResolutionError::Backwards) => "backwards",
                ArgumentFillReason::Unresolvable(TimeResolutionError::OutOfRange) => "out-of-range",
                other => panic!("{other:?}"),
            };
            return json!({ "error": format!("{argument} {why}") });
        }
    };
    let read = Message::parse(onward.as_bytes()).unwrap();
    let arguments = read.param("arguments").map(|arguments| arguments.raw().to_owned());
    // Whatever is not in the arguments is as it came.
    let around = |text: &str, arguments: Option<&str>| {
        let arguments = arguments.map(|text| format!(r#""arguments":{text},"#));
        text.replacen(arguments.as_deref().unwrap_or("\0"), "", 1)
    };
    assert_eq!(around(&onward, arguments.as_deref()), around(&body, input.arguments_text.as_deref()));
    arguments.map_or(json!({}), |text| json!({ "arguments_text": text }))
}

/// A tool's schema as callers are shown it, the words of descriptions of ours left out.
fn shown(bindings: &Bindings, schema: &str) -> String {
    let (before, after) =
        (r#"{"id":1,"result":{"tools":[{"inputSchema":"#, r#","name":"t"}]},"jsonrpc":"2.0"}"#);
    let answer = format!("{before}{schema}{after}");
    let read = Message::parse(answer.as_bytes()).unwrap();
    let edits = bindings.edits_for_listing(&read);
    let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
    let spliced = read.splice(&edits).unwrap();
    Message::parse(spliced.as_bytes()).unwrap();
    let mut schema = spliced.strip_prefix(before).unwrap().strip_suffix(after).unwrap().to_owned();
    while let Some(start) = schema.find("A span of time") {
        let end = start + schema[start..].find('"').unwrap();
        schema.replace_range(start..end, "…");
    }
    schema
}

fn findings(bindings: &Bindings, tools: &Value) -> Value {
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string();
    let answer = Message::parse(answer.as_bytes()).unwrap();
    let told = bindings.check(&[answer], true).into_iter().map(
        |BindingFinding { tool, argument, wrong, .. }| {
            let (word, meant) = match wrong {
                BindingProblem::NoTool(meant) => ("no-tool", meant),
                BindingProblem::NoArgument { meant, .. } => ("no-argument", meant),
                BindingProblem::Type { .. } => ("type", None),
                BindingProblem::Format { .. } => ("format", None),
                BindingProblem::Default { .. } => ("default", None),
                BindingProblem::Taken => ("taken", None),
                BindingProblem::MayLack => ("may-lack", None),
                other => panic!("{other:?}"),
            };
            let mut told = json!({ "tool": tool, "wrong": word });
            if !argument.is_empty() {
                told["argument"] = argument.into();
            }
            if let Some(meant) = meant {
                told["meant"] = meant.into();
            }
            told
        },
    );
    json!({ "findings": told.collect::<Vec<_>>() })
}

fn two() -> Bindings {
    let tools = json!({"t": {
        "tz": {"from": "timezone", "hide": true},
        "from": {"interval": "period", "part": "start", "as": "date"},
        "to": {"interval": "period", "part": "end", "as": "date"},
    }});
    bindings(serde_json::from_value(tools).unwrap(), None)
}

#[test]
fn a_page_that_is_not_all_of_the_tools_misses_none() {
    let answer = Message::parse(br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#).unwrap();
    assert!(two().check(std::slice::from_ref(&answer), false).is_empty());
    assert_eq!(two().check(&[answer], true).len(), 1);
}

#[test]
fn a_finding_says_where_and_what_to_do() {
    let schema = json!({"properties": {"tzz": {}, "from": {"type": "integer"}, "to": {"format": "date-time"}, "period": {}}});
    let answer =
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": schema}]}});
    let answer = answer.to_string();
    let findings = two().check(&[Message::parse(answer.as_bytes()).unwrap()], true);
    let told: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "tools.t.context.period: the tool has this argument itself; name the interval differently",
            "tools.t.context.from: a string is written, and the argument takes integer; with `as = \"unix\"` an instant is one",
            "tools.t.context.to: a date is written, and the argument takes a date-time; set `as = \"date-time\"`",
            "tools.t.context.tz: the tool has no argument `tz`; did you mean `tzz`?",
        ]
    );
}

#[test]
fn a_finding_without_a_near_name_lists_what_there_is() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"zone\n":{},"from":{},"to":{}}}}]}}"#;
    let findings = two().check(&[Message::parse(answer.as_bytes()).unwrap()], true);
    assert_eq!(
        findings[0].to_string(),
        r"tools.t.context.tz: the tool has no argument `tz`; it has `zone\n`"
    );
    let findings = two().check(&[], true);
    assert_eq!(
        findings[0].to_string(),
        "tools.t.context: the server lists no tool `t`; take the binding out, or see what `tools/list` says"
    );
}

#[test]
fn what_cannot_be_read_says_what_can() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"period":"hush"}}}"#;
    let wrong = fill(&two(), body, "2026-11-12T13:23:00Z").unwrap_err().to_string();
    assert!(wrong.starts_with("`period` is not an expression of time"), "{wrong}");
    assert!(wrong.contains("last N U") && !wrong.contains("hush"), "{wrong}");
}

#[test]
fn debug_names_arguments_and_shows_none() {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"},"clientContext":{"timezone":"Europe/Zurich"}}"#;
    let agreed =
        agree::check_without_headers(Message::parse(body).unwrap(), &HeaderPolicy::default()).unwrap();
    let filled = two().fill(agreed.message(), &Caller::read(&agreed), Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(filled.names().collect::<Vec<_>>(), ["tz"]);
    assert_eq!(format!("{filled:?}"), "FilledArguments { names: [\"tz\"], .. }");
}

#[test]
fn only_calls_of_bound_tools_change() {
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"period":"x"}}}"#;
    for other in [
        call.replace("\"t\"", "\"u\""),
        call.replace("\"t\"", "7"),
        call.replace("tools/call", "prompts/get"),
        call.replace("\"id\":1,", ""),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
    ] {
        assert_eq!(fill(&two(), &other, "2026-11-12T13:23:00Z").unwrap(), other);
    }
    let escaped = call.replace("\"t\"", r#""\u0074""#).replace("\"x\"", "\"today\"");
    assert_ne!(fill(&two(), &escaped, "2026-11-12T13:23:00Z").unwrap(), escaped);
}

/// Any JSON, with white space and escapes where they may stand, and names that bindings know.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e+2".to_owned()),
        Just("true".to_owned()),
        Just(r#""\ud83d\/ é""#.to_owned()),
        Just(r#""tz""#.to_owned()),
        Just(r#""from""#.to_owned()),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[ {}]", items.join(" ,"))),
            prop::collection::btree_map(name(), inner, 0..5).prop_map(|members| object(&members)),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "b",
        "properties",
        "required",
        "allOf",
        "oneOf",
        "anyOf",
        "if",
        "then",
        "not",
        "o\\\"x",
        "\\u00e9",
        "dependentRequired",
        "minProperties",
        "tz",
        "from",
        "period",
    ])
    .prop_map(str::to_owned)
}

fn object(members: &BTreeMap<String, String>) -> String {
    let members = members.iter().map(|(name, value)| format!("\"{name}\" :{value}"));
    format!("{{{} }}", members.collect::<Vec<_>>().join(", "))
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(9), cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// What no binding names is the same, byte for byte, in a call.
    #[test]
    fn a_call_keeps_every_byte_that_no_binding_names(
        members in prop::collection::btree_map(prop::sample::select(vec!["a", "b\\n", "\\u00e9"]).prop_map(str::to_owned), any_json(), 0..4),
        other in any_json(),
    ) {
        let arguments = object(&members);
        let body = format!(
            r#"{{ "jsonrpc":"2.0","x" : {other},"id":1, "method":"tools/call","params":{{"arguments":{arguments}, "name":"t","y":{other}}}}}"#
        );
        let onward = fill(&two(), &body, "2026-11-12T13:23:00Z").unwrap();
        let comma = if members.is_empty() { "" } else { "," };
        let put = format!(r#"{{"tz":"UTC"{comma}"#);
        prop_assert_eq!(onward.replacen(&put, "{", 1), body);
    }

    /// A listing of other tools is the same to the byte, and of a bound tool what no binding names is.
    #[test]
    fn a_listing_keeps_every_byte_that_no_binding_names(
        schema in prop::collection::btree_map(name(), any_json(), 0..6).prop_map(|members| object(&members)),
        other in any_json(),
    ) {
        let answer = |name: &str| format!(
            r#"{{"jsonrpc":"2.0", "id":1,"result":{{"z":{other},"tools" : [{{"name":"{name}","inputSchema":{schema}, "x":{other}}}]}}}}"#
        );
        let show = |answer: &str| {
            let read = Message::parse(answer.as_bytes()).unwrap();
            let edits = two().edits_for_listing(&read);
            let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
            read.splice(&edits).unwrap()
        };
        prop_assert_eq!(show(&answer("u")), answer("u"));
        let shown = show(&answer("t"));
        // Whole, and outside of the schema to the byte.
        let read = Message::parse(shown.as_bytes()).unwrap();
        let tool = read.member("result").unwrap().member("tools").unwrap().elements().next().unwrap();
        let made = tool.member("inputSchema").unwrap();
        let rebuilt = shown.replacen(made.raw(), &schema, 1);
        prop_assert_eq!(rebuilt, answer("t"));
        let before = Message::parse(schema.as_bytes()).unwrap();
        for keyword in ["a", "b", "o\"x", "é", "tz", "from", "period"] {
            let raw = |value: mcp_attune_wire::json::SpannedValue<'_>| value.raw().to_owned();
            prop_assert_eq!(made.member(keyword).map(raw), before.member(keyword).map(raw));
        }
        // Where there is room for it, the new argument is there, and nothing is that is hidden.
        let properties = made.member("properties").unwrap();
        prop_assert!(properties.member("tz").is_none());
        if before.member("properties").is_none_or(|properties| properties.raw().starts_with('{')) {
            prop_assert!(properties.member("period").unwrap().member("type").unwrap().text().unwrap().is("string"));
        }
    }
}
