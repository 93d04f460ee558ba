//! What arrives through tasks, in both eras: in its caller's language and shape, as what arrives at once.

use std::sync::Arc;

use mcp_attune::features::Wanted;
use mcp_attune::localize::Asked;
use mcp_attune::session::{Features, ViewSupport};
use mcp_attune::shape::template::{Hints, Template, Templates};
use mcp_attune::shape::{Content, ListedTool, Output, Request, Schema, Shape, Tool};
use mcp_attune::task::TaskTools;
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

use crate::localize::{BOTH, KEY, adapted, chain, tag};

fn german() -> Value {
    let messages = [
        ("Working on page {n}", "Seite { $n } wird bearbeitet"),
        ("Unknown city: {city}", "Unbekannte Stadt: { $city }"),
        ("Choose a seat", "Platz wählen"),
        ("It is sunny.", "Die Sonne scheint."),
    ];
    let messages: serde_json::Map<_, _> = messages
        .iter()
        .enumerate()
        .map(|(at, (source, text))| (format!("m{at}"), json!({"source": source, "text": text})))
        .collect();
    json!({"messages": messages})
}

const ENGLISH: [&str; 4] = ["Working on page 3", "Unknown city: Bern", "Choose a seat", "It is sunny."];
const GERMAN: [&str; 4] =
    ["Seite 3 wird bearbeitet", "Unbekannte Stadt: Bern", "Platz wählen", "Die Sonne scheint."];

/// A task with everything that one can carry, and much that is no text.
fn task([status, error, question, content]: [&str; 4]) -> Value {
    json!({
        "taskId": "Choose a seat", "status": "working", "statusMessage": status, "createdAt": "It is sunny.", "ttlMs": 1,
        "result": {"content": [{"type": "text", "text": content}, {"type": "image", "data": "It is sunny."}],
            "structuredContent": {"statusMessage": "It is sunny."}, "isError": false},
        "error": {"code": -32602, "message": error, "data": {"message": "It is sunny."}},
        "inputRequests": {"Choose a seat": {"method": "elicitation/create", "params": {"message": question}}},
    })
}

/// Adapts the answer to a request, or a notification during it, to a German.
fn german_of(method: &str, message: &Value) -> (Value, Option<String>) {
    let message = message.to_string();
    let (text, reported) = adapted(&message, &Asked::new(method), &chain(&[("de", german())]), BOTH);
    (serde_json::from_str(&text).unwrap(), reported)
}

/// With a report, as the language of a message is told.
fn told(mut holder: Value, language: &str) -> Value {
    holder["_meta"][KEY] = language.into();
    holder
}

#[test]
fn the_status_the_result_the_error_and_the_questions_of_a_task_are_translated() {
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let de = Some("de".to_owned());
    assert_eq!(
        german_of("tasks/get", &answer(task(ENGLISH))),
        (answer(told(task(GERMAN), "de")), de.clone())
    );
    let notification =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    for method in ["notifications/tasks", "notifications/tasks/status"] {
        assert_eq!(
            german_of("subscriptions/listen", &notification(method, task(ENGLISH))),
            (notification(method, told(task(GERMAN), "de")), de.clone())
        );
    }
    let status =
        |[status, ..]: [&str; 4]| json!({"taskId": "7", "status": "working", "statusMessage": status});
    // The answers that create one, in the modern era and in the legacy one.
    let created = |texts| {
        let mut task = status(texts);
        task["resultType"] = "task".into();
        task
    };
    let cases = [
        ("tools/call", created(ENGLISH), created(GERMAN)),
        ("tools/call", json!({"task": status(ENGLISH)}), json!({"task": status(GERMAN)})),
        ("tasks/cancel", status(ENGLISH), status(GERMAN)),
        ("tasks/list", json!({"tasks": [status(ENGLISH)]}), json!({"tasks": [status(GERMAN)]})),
        (
            "tasks/result",
            json!({"content": [{"type": "text", "text": ENGLISH[3]}]}),
            json!({"content": [{"type": "text", "text": GERMAN[3]}]}),
        ),
    ];
    for (method, before, after) in cases {
        assert_eq!(german_of(method, &answer(before)), (answer(told(after, "de")), de.clone()), "{method}");
    }
}

#[test]
fn what_only_looks_like_a_task_is_none() {
    for (method, result) in [
        ("tools/call", json!({"statusMessage": "It is sunny."})),
        ("tools/call", json!({"resultType": "complete", "statusMessage": "It is sunny."})),
        ("tools/call", json!({"task": {"statusMessage": "It is sunny."}})),
        ("tools/call", json!({"result": {"content": [{"type": "text", "text": "It is sunny."}]}})),
        ("resources/read", task(ENGLISH)["result"].clone()),
        ("tasks/get", json!({"result": "It is sunny.", "error": "It is sunny.", "statusMessage": 7})),
    ] {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        let expected = json!({"jsonrpc": "2.0", "id": 1, "result": told(result, "en")});
        assert_eq!(german_of(method, &answer), (expected, Some("en".to_owned())), "{method}");
    }
}

#[test]
fn a_task_whose_result_says_its_language_is_left_alone() {
    for place in ["result", "error"] {
        let mut own = task(ENGLISH);
        let meta = json!({KEY: "ca"});
        if place == "result" {
            own["result"]["_meta"] = meta;
        } else {
            own["error"]["data"]["_meta"] = meta;
        }
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": own});
        assert_eq!(german_of("tasks/get", &answer), (answer.clone(), Some("ca".to_owned())));
        let told = json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": own});
        assert_eq!(german_of("subscriptions/listen", &told), (told.clone(), Some("ca".to_owned())));
    }
}

/// What the operator wrote for `weather`.
fn content() -> Content {
    let tool = Tool {
        templates: Arc::new(Templates::new([Template::compile("md", "{{ city }} is cold").unwrap()])),
        hints: Some(Arc::new(Hints::compile("Stay inside").unwrap())),
        low_priority: vec!["source".to_owned()],
    };
    Content { tools: [("weather".to_owned(), tool)].into(), ..Content::default() }
}

fn request(method: &str) -> Request {
    let params = match method {
        "subscriptions/listen" => json!({"notifications": {"taskIds": ["7", "8"]}}),
        _ => json!({"taskId": "7"}),
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    Request::of(&Message::parse(body.as_bytes()).unwrap(), true, &content())
}

/// The shape of what a task of `weather` brings, or of a tool that nobody knows.
fn shape(method: &str, tags: &[&str], known: bool) -> Option<Shape> {
    let mut tools = TaskTools::default();
    if known {
        tools.add("7", "weather");
    }
    let values = || mcp_attune::format::Formatters::new(&tag("en")).format([], jiff::tz::TimeZone::UTC);
    let wanted = Wanted::read(tags.iter().copied());
    let request = request(method).with_tasks(tools);
    Shape::new(request, wanted, Arc::new(content()), values, jiff::Timestamp::UNIX_EPOCH)
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
fn check(shape: &Shape, method: &str, result: &Value, expected: &Value) {
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
        for output in [Schema::Unknown, Schema::None, Schema::Known(Arc::new(Output::read(&schema).unwrap()))]
        {
            // Nobody knows which tool it is of, whatever is said of one.
            let tool = ListedTool { output: output.clone(), view: Some(false) };
            check(&shape(method, &["agent"], false).unwrap().with_tool(tool.clone()), method, &text, &text);
            let known = method != "subscriptions/listen" && !matches!(output, Schema::Unknown);
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
        Request::of(&Message::parse(body.as_bytes()).unwrap(), true, &content())
    };
    let tags = Features::of(["human"]).features;
    assert_eq!(call("weather").names_its_tasks(&content(), &tags), Some("weather"));
    assert_eq!(call("weather").names_its_tasks(&content(), &Features::default()), None);
    assert_eq!(call("other").names_its_tasks(&content(), &tags), None);
    assert_eq!(request("tasks/get").names_its_tasks(&content(), &tags), None);
}

#[test]
fn listening_to_something_else_shapes_nothing() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}"#;
    let request = Request::of(&Message::parse(body.as_bytes()).unwrap(), true, &content());
    let values = || mcp_attune::format::Formatters::new(&tag("en")).format([], jiff::tz::TimeZone::UTC);
    let wanted = Wanted::read(["human"]);
    let shape = Shape::new(request, wanted, Arc::new(content()), values, jiff::Timestamp::UNIX_EPOCH);
    assert!(shape.is_none());
}
