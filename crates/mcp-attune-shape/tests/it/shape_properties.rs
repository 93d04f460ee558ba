//! Whatever the tags and whatever the result: what must survive does, and what was promised is kept.

use std::sync::Arc;

use mcp_attune_shape::template::ToolHints;
use mcp_attune_shape::{CompiledSchema, ResultSchema, ToolShaping};
use mcp_attune_wire::message::Message;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use crate::shape::Case;

const TAGS: [&str; 24] = [
    "agent",
    "!agent",
    "human",
    "mcp-capable",
    "interactive",
    "!interactive",
    "sampling",
    "!sampling",
    "elicitation",
    "roots",
    "tasks",
    "format=json",
    "format=markdown",
    "format=text",
    "format!=json",
    "format!=text",
    "verbosity=compact",
    "verbosity=standard",
    "verbosity=verbose",
    "verbosity!=compact",
    "x-acme-tier=gold",
    "!x-acme",
    "@#$%",
    "format==json",
];

fn tags() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(TAGS.to_vec(), 0..6).prop_shuffle()
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        select(vec![
            "<script>alert(1)</script>",
            "[x](javascript:alert(1))",
            "| a | b |",
            "2026-11-12T14:23:00Z",
            "https://example.com/?a=b&c",
            "line\nline\u{7}\u{202e}",
        ])
        .prop_map(Value::from),
    ]
}

fn data() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]|city|hints", data(), 0..5)
        .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>()))
}

fn block() -> impl Strategy<Value = Value> {
    prop_oneof![
        "\\PC{0,20}".prop_map(|text| json!({"type": "text", "text": text})),
        object().prop_map(
            |data| json!({"type": "text", "text": data.to_string(), "annotations": {"priority": 0.5}})
        ),
        object().prop_map(|data| json!({"type": "text", "text": format!("{data:#}")})),
        data().prop_map(
            |data| json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": data})
        ),
        Just(json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"})),
        Just(json!({"type": "resource_link", "uri": "file:///a", "name": "a"})),
        Just(
            json!({"type": "resource", "resource": {"uri": "a:b", "mimeType": "application/json", "text": "{\"a\": 1}"}})
        ),
        Just(json!({"type": "new", "text": "unknown"})),
    ]
}

prop_compose! {
    fn result()(
        content in prop::option::weighted(0.9, prop::collection::vec(block(), 0..5)),
        structured in prop::option::weighted(0.7, object()),
        error in prop::option::weighted(0.1, any::<bool>()),
        other in data(),
    ) -> Value {
        let mut result = json!({"_meta": {"x": other}, "unknown": [1, {"a": null}]});
        if let Some(content) = content {
            result["content"] = Value::from(content);
        }
        if let Some(structured) = structured {
            result["structuredContent"] = structured;
        }
        if let Some(error) = error {
            result["isError"] = Value::from(error);
        }
        result
    }
}

/// Schemas that some data fit: everything is optional, required, or forbidden but for what is named.
fn schema() -> impl Strategy<Value = ResultSchema> {
    let known =
        |schema: Value| ResultSchema::Known(Arc::new(CompiledSchema::read(&schema.to_string()).unwrap()));
    prop_oneof![
        Just(ResultSchema::Unknown),
        Just(ResultSchema::None),
        Just(known(json!({"type": "object"}))),
        Just(known(
            json!({"type": "object", "required": ["a"], "properties": {"hints": {"type": "string"}}})
        )),
        Just(known(
            json!({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "city": {}}, "additionalProperties": false})
        )),
        Just(known(json!({"type": "object", "minProperties": 2}))),
    ]
}

prop_compose! {
    fn case()(schema in schema(), modern in any::<bool>(), hints in any::<bool>()) -> Case {
        let mut case = Case { schema, modern, ..Case::call("t") };
        let hints = hints.then(|| Arc::new(ToolHints::compile("always\n{{ city }}").unwrap()));
        case.content.tools.insert("t".to_owned(), ToolShaping { hints, low_priority: vec!["b".to_owned()], ..ToolShaping::default() });
        case
    }
}

fn answer(result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "é", "result": result}).to_string()
}

fn shaped(case: &Case, tags: &[&str], result: &Value) -> Value {
    let Some(shaped) = case.answer(tags, &answer(result)) else { return result.clone() };
    Message::parse(shaped.text.as_bytes()).expect("one reading");
    assert!(!shaped.text.contains(['\n', '\r']), "one line: {}", shaped.text);
    let mut shaped: Value = serde_json::from_str(&shaped.text).unwrap();
    assert_eq!(shaped["id"], "é");
    shaped["result"].take()
}

fn blocks(result: &Value, text: bool) -> Vec<&Value> {
    let content = result["content"].as_array();
    content.into_iter().flatten().filter(|block| (block["type"] == "text") == text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_is_no_text_survives_whatever_the_tags(case in case(), tags in tags(), result in result()) {
        let after = shaped(&case, &tags, &result);
        prop_assert_eq!(blocks(&after, false), blocks(&result, false));
        for member in ["_meta", "unknown", "isError"] {
            prop_assert_eq!(after.get(member), result.get(member));
        }
        if result["isError"] == true {
            prop_assert_eq!(after, result);
        }
    }

    #[test]
    fn structured_content_stays_valid_against_the_schema(case in case(), tags in tags(), result in result()) {
        let ResultSchema::Known(output) = &case.schema else { return Ok(()) };
        let after = shaped(&case, &tags, &result);
        let Some(data) = after.get("structuredContent") else { return Ok(()) };
        // What a server itself gets wrong is its own.
        let own = result.get("structuredContent");
        prop_assert!(output.is_valid(data) || own.is_some_and(|own| !output.is_valid(own)), "{}", data);
    }

    #[test]
    fn without_a_declaration_no_byte_changes(case in case(), result in result()) {
        prop_assert_eq!(case.answer(&[], &answer(&result)), None);
        prop_assert_eq!(case.answer(&["@#$%", "format==json", "colour=red"], &answer(&result)), None);
    }

    #[test]
    fn rendering_the_json_is_rendering(modern in any::<bool>(), result in result(), prose in select(vec!["format=markdown", "format=text"])) {
        let case = Case { modern, ..Case::call("t") };
        let json = shaped(&case, &["format=json"], &result);
        let (late, early) = (shaped(&case, &[prose], &json), shaped(&case, &[prose], &result));
        prop_assert_eq!(texts(&late), texts(&early));
    }

    #[test]
    fn who_wants_json_gets_the_data_once(case in case(), result in result()) {
        prop_assume!(result["isError"] != true && result.get("structuredContent").is_some());
        let after = shaped(&case, &["format=json"], &result);
        prop_assert!(blocks(&after, true).is_empty());
        prop_assert_eq!(&after["structuredContent"], &result["structuredContent"]);
        // And again, nothing is left to do.
        prop_assert_eq!(shaped(&case, &["format=json"], &after), after);
    }

    #[test]
    fn nothing_that_is_no_answer_changes(case in case(), tags in tags(), text in "\\PC{0,60}", data in data()) {
        prop_assert_eq!(case.answer(&tags, &text), None);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": data, "result": data});
        prop_assert_eq!(case.answer(&tags, &request.to_string()), None);
        let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "{}", "data": data}});
        prop_assert_eq!(case.answer(&tags, &error.to_string()), None);
    }
}

/// What a person reads. Where a result has no data in it, that is what the server wrote, or nothing.
fn texts(result: &Value) -> Vec<&Value> {
    blocks(result, true).into_iter().map(|block| &block["text"]).collect()
}
