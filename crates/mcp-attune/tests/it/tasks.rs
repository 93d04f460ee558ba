//! What arrives through tasks, in both eras: in its caller's language, as what arrives at once.

use mcp_attune::localize::RequestSubject;
use serde_json::{Value, json};

use crate::localize::{BOTH, KEY, adapted, chain};

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
    let (text, reported) = adapted(&message, &RequestSubject::new(method), &chain(&[("de", german())]), BOTH);
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
