//! What holds for every input.

use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::{self, MirroredHeaders};
use mcp_attune_wire::message::{JsonFault, Message};
use mcp_attune_wire::mirror;
use mcp_attune_wire::schema::DeclaredHeaders;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json, value::RawValue};

/// JSON values, with the numbers and strings that are easy to get wrong.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        (-20i64..20).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-e\"é]{0,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A message and a schema whose properties are the arguments' names.
fn call() -> impl Strategy<Value = (String, Value)> {
    let arguments = prop::collection::btree_map("[a-c]", value(), 0..4);
    let types = prop::collection::vec(prop_oneof![Just("string"), Just("integer"), Just("boolean")], 3);
    (arguments, types, ".{1,10}", prop_oneof![Just("tools/call"), Just("prompts/get"), Just("käse/holen")])
        .prop_map(|(arguments, types, name, method)| {
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {
            "name": name, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/acceptLanguage": "de, en;q=0.5",
            }}});
            let property =
                |(name, kind): (&str, &&str)| (name.to_owned(), json!({"type": kind, "x-mcp-header": name}));
            let properties: serde_json::Map<_, _> =
                ["a", "b", "c"].into_iter().zip(&types).map(property).collect();
            (body.to_string(), json!({"properties": properties}))
        })
}

/// Some of the names that are read in the message, in `params` and in `_meta`.
const KNOWN: [&[&str]; 3] = [
    &["jsonrpc", "id", "method", "params", "result", "error", "clientContext"],
    &["name", "uri", "taskId", "arguments", "_meta", "cursor", "requestId", "progressToken"],
    &["progressToken", "io.modelcontextprotocol/acceptLanguage", "io.modelcontextprotocol/protocolVersion"],
];

fn any_name() -> impl Strategy<Value = String> {
    let known: Vec<_> = KNOWN.iter().copied().flatten().map(|name| String::from(*name)).collect();
    prop_oneof![prop::sample::select(known), "[a-zA-Z_éßσжſ]{1,12}"]
}

/// The name with the case of some of its letters changed.
fn in_another_case(name: &str, which: u64) -> String {
    let turn = |(index, char): (usize, char)| {
        let other: Vec<char> = match char {
            _ if which >> (index % 64) & 1 == 0 => return char,
            // What else readers take for these.
            's' if which >> 63 == 1 => vec!['ſ'],
            'k' | 'K' => vec!['\u{212a}'],
            'i' if which >> 63 == 1 => vec!['ı'],
            _ if char.is_lowercase() => char.to_uppercase().collect(),
            _ => char.to_lowercase().collect(),
        };
        if let [other] = other[..] { other } else { char }
    };
    name.chars().enumerate().map(turn).collect()
}

fn differs_in_case(body: &str) -> bool {
    match agree::check_without_headers(Message::parse(body.as_bytes()).unwrap(), &HeaderPolicy::default()) {
        Ok(_) => false,
        Err(refusal) => {
            assert_eq!(refusal.refused.rules(), ["H18"], "{body}");
            true
        }
    }
}

proptest! {
    // The same inputs every time, so that a build says the same twice; new ones are the fuzz targets' work.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(2792), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_undoes_encoding(text in ".*") {
        let value = header::encode(&text);
        prop_assert!(value.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        prop_assert_eq!(header::decode(value.as_bytes()).unwrap(), &*text);
    }

    #[test]
    fn decoding_never_panics(value in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = header::decode(&value);
        let wrapped = [b"=?base64?", value.as_slice(), b"?="].concat();
        if let Ok(text) = header::decode(&wrapped) {
            let again = header::encode(&text);
            prop_assert_eq!(header::decode(again.as_bytes()).unwrap(), &*text);
        }
    }

    #[test]
    fn accepts_what_it_sends((body, schema) in call()) {
        let declared = DeclaredHeaders::read(schema.to_string().as_bytes()).unwrap();
        let sent = mirror::headers(&Message::parse(body.as_bytes()).unwrap(), Some(&declared));
        let headers = MirroredHeaders::new(sent.iter().map(|(name, value)| (*name, value.as_bytes())));
        let policy = HeaderPolicy::default();
        let agreed = match agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &policy).unwrap() {
            HeaderAgreement::Done(agreed) => Ok(agreed),
            HeaderAgreement::NeedsSchema(open) => open.finish_with_schema(Some(&declared)),
        };
        prop_assert!(agreed.is_ok(), "{:?}", agreed.unwrap_err());
    }

    #[test]
    fn refuses_any_other_value_than_it_sends((body, schema) in call(), at in any::<prop::sample::Index>(), byte in b'!'..b'~') {
        let declared = DeclaredHeaders::read(schema.to_string().as_bytes()).unwrap();
        let mut sent = mirror::headers(&Message::parse(body.as_bytes()).unwrap(), Some(&declared));
        let changed = at.index(sent.len());
        // Letters at the end: no number keeps its value and no base64 its padding.
        sent[changed].1.to_mut().extend([char::from(byte), 'x']);
        let headers = MirroredHeaders::new(sent.iter().map(|(name, value)| (*name, value.as_bytes())));
        let policy = HeaderPolicy::default();
        let agreed = match agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &policy) {
            Ok(HeaderAgreement::Done(agreed)) => Ok(agreed),
            Ok(HeaderAgreement::NeedsSchema(open)) => open.finish_with_schema(Some(&declared)),
            Err(refusal) => Err(refusal),
        };
        prop_assert!(agreed.is_err(), "{:?}", sent[changed]);
    }

    #[test]
    fn reads_what_serde_json_reads(value in value(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert!(Message::parse(text.as_bytes()).is_ok(), "{text}");
    }

    #[test]
    fn gives_the_verdict_of_serde_json(text in r#"[\[\]{}:,"\\a-bu0-9.eE+\- tn]{0,24}"#) {
        let ours = Message::parse(text.as_bytes());
        if !matches!(&ours, Err(error) if error.fault == JsonFault::RepeatedName) {
            prop_assert_eq!(ours.is_ok(), serde_json::from_str::<&RawValue>(&text).is_ok());
        }
    }

    #[test]
    fn splicing_changes_nothing_but_the_value(value in value(), other in value()) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": value, "z": [1, 2.50]}});
        let text = serde_json::to_string_pretty(&body).unwrap();
        let message = Message::parse(text.as_bytes()).unwrap();
        let a = message.param("a").unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(a.raw()).unwrap(), &body["params"]["a"]);
        let spliced = message.splice(&[(a.span(), &other.to_string())]).unwrap();
        let (before, after) = (&text[..a.span().start()], &text[a.span().end()..]);
        prop_assert_eq!(spliced, format!("{before}{other}{after}"));
    }

    #[test]
    fn members_are_those_that_serde_json_sees(map in prop::collection::btree_map(".{0,6}", value(), 0..30)) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"arguments": map}}).to_string();
        let message = Message::parse(body.as_bytes()).unwrap();
        let read = |name: mcp_attune_wire::json::JsonString<'_>, value: mcp_attune_wire::json::SpannedValue<'_>| {
            (name.decode().unwrap().into_owned(), serde_json::from_str::<Value>(value.raw()).unwrap())
        };
        let ours: Vec<_> = message.arguments().map(|(name, value)| read(name, value)).collect();
        let again: Vec<_> = message.param("arguments").unwrap().members().map(|(name, value)| read(name, value)).collect();
        let expected: Vec<_> = serde_json::from_str::<Value>(&body).unwrap()["params"]["arguments"]
            .as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        prop_assert_eq!(&ours, &expected);
        prop_assert_eq!(&again, &expected);
    }

    #[test]
    fn a_name_in_another_case_is_refused_where_the_rules_read_names(name in any_name(), case in any::<u64>(), level in 0..3usize, alone in any::<bool>()) {
        let other = in_another_case(&name, case);
        prop_assume!(other != name);
        let members = format!("{}:1,{}:2", json!(name), json!(other));
        let around = ["{MEMBERS}", r#"{"params":{MEMBERS}}"#, r#"{"params":{"_meta":{MEMBERS}}}"#];
        prop_assert!(differs_in_case(&around[level].replace("MEMBERS", &members)));
        // Alone it is refused where it is one that is read there.
        let read = KNOWN[level].contains(&name.as_str());
        let single = around[level].replace("MEMBERS", &format!("{}:2", json!(other)));
        if alone {
            prop_assert_eq!(differs_in_case(&single), read);
        }
    }

    #[test]
    fn a_name_in_another_case_passes_in_all_other_objects(name in any_name(), case in any::<u64>(), around in 0..5usize) {
        let other = in_another_case(&name, case);
        prop_assume!(other != name);
        let around = [
            r#"{"params":{"arguments":{MEMBERS}}}"#,
            r#"{"params":{"arguments":{"x":{MEMBERS}}}}"#,
            r#"{"params":{"_meta":{"x":{MEMBERS}}}}"#,
            r#"{"result":{MEMBERS}}"#,
            r#"[{MEMBERS}]"#,
        ][around];
        let body = around.replace("MEMBERS", &format!("{}:1,{}:2", json!(name), json!(other)));
        prop_assert!(!differs_in_case(&body), "{body}");
    }

    #[test]
    fn a_declared_argument_in_another_case_is_refused(name in "[a-zéßσ]{1,9}", case in any::<u64>(), nested in any::<bool>()) {
        let other = in_another_case(&name, case);
        prop_assume!(other != name);
        let declare = |inner: Value| json!({"type": "object", "properties": inner});
        let leaf = json!({&name: {"type": "string", "x-mcp-header": "P"}});
        let schema = if nested { declare(json!({"in": declare(leaf)})) } else { declare(leaf) };
        let arguments = if nested { json!({"in": {&other: "x"}}) } else { json!({&other: "x"}) };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "t", "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }}}).to_string();
        let declared = DeclaredHeaders::read(schema.to_string().as_bytes()).unwrap();
        let headers = MirroredHeaders::new([
            ("MCP-Protocol-Version", &b"2026-07-28"[..]), ("Mcp-Method", b"tools/call"), ("Mcp-Name", b"t"),
        ]);
        let policy = HeaderPolicy::default();
        let Ok(HeaderAgreement::NeedsSchema(open)) = agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &policy) else {
            return Err(TestCaseError::fail(body));
        };
        let refusal = open.finish_with_schema(Some(&declared)).unwrap_err();
        prop_assert_eq!(refusal.refused.rules(), ["H18"]);
    }
}
