//! What arrives through tasks, in both eras: in its caller's shape, as what arrives at once.

use std::sync::Arc;

use mcp_attune::features::FeaturePreferences;
use mcp_attune::session::{ClientFeatures, ViewSupport};
use mcp_attune::shaping::{ListedSchema, ListedTool, OutputSchema, ShapeRequest};
use mcp_attune::task::TaskTools;
use mcp_attune_shape::template::{Template, TemplateSet, ToolHints};
use mcp_attune_shape::{OperatorContent, ShapePlan, ToolShaping};
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

use crate::shape::tag;

/// What the operator wrote for `weather`.
fn content() -> OperatorContent {
    let tool = ToolShaping {
        templates: Arc::new(TemplateSet::new([Template::compile("md", "{{ city }} is cold").unwrap()])),
        hints: Some(Arc::new(ToolHints::compile("Stay inside").unwrap())),
        low_priority: vec!["source".to_owned()],
    };
    OperatorContent { tools: [("weather".to_owned(), tool)].into(), ..OperatorContent::default() }
}

fn request(method: &str) -> ShapeRequest {
    let params = match method {
        "subscriptions/listen" => json!({"notifications": {"taskIds": ["7", "8"]}}),
        _ => json!({"taskId": "7"}),
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    ShapeRequest::of(&Message::parse(body.as_bytes()).unwrap(), true, &content())
}

/// The shape of what a task of `weather` brings, or of a tool that nobody knows.
fn shape(method: &str, tags: &[&str], known: bool) -> Option<ShapePlan> {
    let mut tools = TaskTools::default();
    if known {
        tools.add("7", "weather");
    }
    let values = || mcp_attune_format::formatters(&tag("en")).for_locales([], jiff::tz::TimeZone::UTC);
    let wanted = FeaturePreferences::read(tags.iter().copied());
    let request = request(method).with_tasks(tools);
    ShapePlan::new(request, wanted, Arc::new(content()), values, jiff::Timestamp::UNIX_EPOCH)
}

/// The result in a message that brings it, and the message around it.
fn message(method: &str, result: &Value) -> Value {
    match method {
        "tasks/result" => json!({"jsonrpc": "2.0", "id": 1, "result": result}),
        "tasks/get" => {
            json!({"jsonrpc": "2.0", "id": 1, "result": {"taskId": "7", "status": "completed", "result": result}})
        }
        _ => {
            json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": {"taskId": "7", "result": result}})
        }
    }
}

#[track_caller]
fn check(shape: &ShapePlan, method: &str, result: &Value, expected: &Value) {
    let before = message(method, result).to_string();
    let after = shape.adapt(before.as_bytes(), None).map_or(before, |shaped| shaped.text);
    Message::parse(after.as_bytes()).expect("a message that can be read in one way");
    assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), message(method, expected), "{method}");
}

const METHODS: [&str; 3] = ["tasks/get", "tasks/result", "subscriptions/listen"];

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn results_of_tasks_are_shaped_as_results() {
    let data = json!({"city": "Bern", "source": "Met"});
    let twice = json!({"content": [said(&data.to_string())], "structuredContent": data, "_meta": {"a": 1}});
    for method in METHODS {
        for known in [false, true] {
            let once = json!({"content": [], "structuredContent": data, "_meta": {"a": 1}});
            check(&shape(method, &["agent"], known).unwrap(), method, &twice, &once);
            let text = if known { "Bern is cold" } else { "- **City:** Bern\n- **Source:** Met" };
            let page = json!({"content": [said(text)], "_meta": {"a": 1}});
            check(&shape(method, &["human"], known).unwrap(), method, &twice, &page);
            // What a view is drawn from stays.
            let drawn = json!({"content": [said(text)], "structuredContent": data, "_meta": {"a": 1}});
            let shape = shape(method, &["human"], known).unwrap().for_views(ViewSupport::Declared);
            check(&shape, method, &twice, &drawn);
        }
        assert!(shape(method, &[], true).is_none());
        assert!(shape(method, &["verbosity=compact"], true).is_none());
    }
}

#[test]
fn a_text_of_a_task_becomes_data_only_where_the_schema_is_known() {
    let data = json!({"city": "Bern"});
    let text = json!({"content": [said(&data.to_string())]});
    let lifted = json!({"content": [], "structuredContent": data});
    let schema = json!({"type": "object", "required": ["city"]}).to_string();
    for method in METHODS {
        for output in [
            ListedSchema::Unknown,
            ListedSchema::None,
            ListedSchema::Known(Arc::new(OutputSchema::new(&schema))),
        ] {
            // Nobody knows which tool it is of, whatever is said of one.
            let tool = ListedTool { output: output.clone(), view: Some(false) };
            check(&shape(method, &["agent"], false).unwrap().with_tool(tool.clone()), method, &text, &text);
            let known = method != "subscriptions/listen" && !matches!(output, ListedSchema::Unknown);
            let shape = shape(method, &["agent"], true).unwrap().with_tool(tool);
            check(&shape, method, &text, if known { &lifted } else { &text });
        }
    }
}

#[test]
fn hints_for_a_task_are_those_of_its_tool() {
    let result = json!({"content": [], "structuredContent": {"city": "Bern"}});
    let hinted = json!({"content": [said("Stay inside")], "structuredContent": {"city": "Bern"}});
    for method in METHODS {
        check(&shape(method, &["sampling"], true).unwrap(), method, &result, &hinted);
        assert!(shape(method, &["sampling"], false).is_none());
    }
}

#[test]
fn a_task_that_failed_asks_or_still_works_is_not_shaped() {
    for method in ["tasks/get", "subscriptions/listen"] {
        let shape = shape(method, &["human"], true).unwrap();
        for task in [
            json!({"taskId": "7", "status": "working"}),
            json!({"taskId": "7", "status": "failed", "error": {"code": 1, "message": "{}"}}),
            json!({"taskId": "7", "status": "input_required", "inputRequests": {"a": {}}}),
            json!({"taskId": "7", "result": {"isError": true, "content": [said("{}")], "structuredContent": {}}}),
            json!({"taskId": "7", "result": 7}),
        ] {
            let answer = match method {
                "tasks/get" => json!({"jsonrpc": "2.0", "id": 1, "result": task}),
                _ => json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": task}),
            };
            assert_eq!(shape.adapt(answer.to_string().as_bytes(), None), None, "{answer}");
        }
    }
    // Nor is anything else on that stream, and a task is told on no other.
    let result = json!({"content": [], "structuredContent": {"city": "Bern"}});
    let listening = shape("subscriptions/listen", &["human"], true).unwrap();
    let other = message("subscriptions/listen", &result)
        .to_string()
        .replace("notifications/tasks", "notifications/x");
    assert_eq!(listening.adapt(other.as_bytes(), None), None);
    let told = message("subscriptions/listen", &result).to_string();
    assert_eq!(shape("tasks/get", &["human"], true).unwrap().adapt(told.as_bytes(), None), None);
}

#[test]
fn what_was_shaped_in_a_task_is_not_for_everybodys_cache() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"7","cacheScope":"public","result":{"content":[],"structuredContent":{"a":1}}}}"#;
    let shaped = shape("tasks/get", &["human"], false).unwrap().adapt(answer.as_bytes(), None).unwrap().text;
    assert!(shaped.contains(r#""cacheScope":"private""#), "{shaped}");
}

#[test]
fn a_task_carries_its_tool_only_where_somebody_can_use_it() {
    let call = |tool: &str| {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}).to_string();
        ShapeRequest::of(&Message::parse(body.as_bytes()).unwrap(), true, &content())
    };
    let tags = ClientFeatures::from_tags(["human"]).features;
    assert_eq!(call("weather").tool_for_created_tasks(&content(), &tags), Some("weather"));
    assert_eq!(call("weather").tool_for_created_tasks(&content(), &ClientFeatures::default()), None);
    assert_eq!(call("other").tool_for_created_tasks(&content(), &tags), None);
    assert_eq!(request("tasks/get").tool_for_created_tasks(&content(), &tags), None);
}

#[test]
fn listening_to_something_else_shapes_nothing() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#;
    let request = ShapeRequest::of(&Message::parse(body.as_bytes()).unwrap(), true, &content());
    let values = || mcp_attune_format::formatters(&tag("en")).for_locales([], jiff::tz::TimeZone::UTC);
    let wanted = FeaturePreferences::read(["human"]);
    let shape = ShapePlan::new(request, wanted, Arc::new(content()), values, jiff::Timestamp::UNIX_EPOCH);
    assert!(shape.is_none());
}
