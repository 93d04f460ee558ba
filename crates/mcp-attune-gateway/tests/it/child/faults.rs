//! Children that misbehave: a clear answer each time, and the next call works.

use std::time::Duration;

use serde_json::json;

use super::*;

const QUICK: &str = "[limits]\nupstream_first_byte = '3 s'\nstream_idle = '3 s'\n";

/// The tool gives this status with an error of ours, for modern and legacy callers, and the next call works.
async fn check(tool: &str, status: u16, more: &str) {
    let gateway = serve("both", more).await;
    let at = gateway.callers;
    let (got, _, body) = call(at, "\"mine\"", tool, json!({})).await;
    let answer = read(&body);
    assert_eq!(
        (got, &answer["error"]["code"], &answer["id"]),
        (status, &json!(-32603), &json!("mine")),
        "{body}"
    );
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);

    let session = Legacy::begin(at, json!({})).await;
    let (got, _, body) = session.call("\"mine\"", tool, json!({})).await;
    let answer = if got == 200 { messages(&body).pop().unwrap() } else { read(&body) };
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32603), &json!("mine")), "{body}");
    assert_eq!(Legacy::begin(at, json!({})).await.call("1", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn a_child_that_dies_in_a_call() {
    check("die", 502, "").await;
}

#[tokio::test]
async fn a_child_that_writes_half_a_line() {
    check("half", 502, "").await;
}

#[tokio::test]
async fn a_child_that_never_answers() {
    check("never", 504, QUICK).await;
}

#[tokio::test]
async fn an_answer_of_a_hundred_megabytes_fails_that_call_alone() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    let body = modern_text("1", "tools/call", json!({"name": "begin"}), Some("1"));
    let mut other = Open::send(at, "POST /mcp", &modern_headers("tools/call", "begin"), &body).await;
    other.until("\"progress\":1").await;
    let pid = call(at, "1", "pid", json!({})).await.2;
    let (status, _, body) = call(at, "\"mine\"", "long", json!({})).await;
    assert_eq!(
        (status, &read(&body)["error"]["code"], &read(&body)["id"]),
        (502, &json!(-32603), &json!("mine"))
    );
    assert!(body.contains("more than the limit allows"), "{body}");
    assert_eq!(call(at, "1", "pid", json!({})).await.2, pid, "the child goes on");
    assert!(!other.until("").await.contains("error"));

    let session = Legacy::begin(at, json!({})).await;
    let (_, _, body) = session.call("\"mine\"", "long", json!({})).await;
    assert!(body.contains("more than the limit allows") && body.contains(r#""id":"mine""#), "{body}");
    assert_eq!(session.call("1", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn what_is_too_long_and_answers_nobody_fails_no_call() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut other = session.open("1", "elicit", json!({})).await;
    other.until("elicitation/create").await;
    let (_, _, body) = session.call("7", "loud", json!({})).await;
    assert!(body.contains(r#""id":7"#) && !body.contains("error"), "{body}");
    session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    let all = other.until("\r\n0\r\n\r\n").await;
    assert!(all.contains(r#"\"accept\""#) && !all.contains("error"), "{all}");
}

#[tokio::test]
async fn what_is_no_message_is_read_over() {
    let gateway = serve("both", "").await;
    let (status, _, body) = call(gateway.callers, "1", "noise", json!({})).await;
    assert_eq!((status, body.as_str()), (200, r#"{"result":{},"jsonrpc":"2.0","id":1}"#));
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let (status, _, body) = session.call("1", "noise", json!({})).await;
    assert_eq!((status, body.as_str()), (200, r#"{"result":{},"jsonrpc":"2.0","id":1}"#));
}

#[tokio::test]
async fn a_child_that_floods_its_standard_error_is_not_held_up() {
    let gateway = serve("both", "").await;
    assert_eq!(call(gateway.callers, "1", "flood", json!({})).await.0, 200);
}

#[tokio::test]
async fn a_child_that_dies_whenever_it_is_started() {
    let gateway = serve("dies", "").await;
    let at = gateway.callers;
    let mut said = Vec::new();
    for _ in 0..12 {
        let (status, _, body) = call(at, "1", "echo", json!({})).await;
        assert!([502, 503].contains(&status), "{body}");
        assert_eq!(read(&body)["error"]["code"], -32603);
        said.push(status);
    }
    assert_eq!(said.last(), Some(&503), "it is not started again and again: {said:?}");
    let (status, _, body) = ask(at, "POST /mcp", &ACCEPT, &hello(&json!({}))).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (503, &json!(-32603)));
}

#[tokio::test]
async fn a_child_that_reads_nothing_more_does_not_hold_a_caller_for_ever() {
    let gateway = serve("both", QUICK).await;
    let at = gateway.callers;
    let session = Legacy::begin(at, json!({})).await;
    let deaf = session.open("1", "deaf", json!({})).await;
    let large = json!({ "text": "x".repeat(1_500_000) });
    let calls: Vec<_> = (2..10)
        .map(|id| {
            let (large, id, headers) = (large.clone(), id.to_string(), session.id.clone());
            let session = Legacy { gateway: at, id: headers };
            tokio::spawn(async move { session.call(&id, "echo", large).await })
        })
        .collect();
    for call in calls {
        let (_, _, body) = call.await.unwrap();
        assert!(body.contains("\"code\":-32603"), "{body}");
    }
    drop(deaf);
    assert_eq!(session.end().await, 204);
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn a_caller_that_does_not_read_holds_up_no_other() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let body = modern_text("1", "tools/call", json!({"name": "pages"}), Some("1"));
    let slow = Open::send(at, "POST /mcp", &modern_headers("tools/call", "pages"), &body).await;
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);
    drop(slow);
}

#[tokio::test]
async fn waiting_for_the_caller_is_nobodys_fault() {
    let gateway = serve("legacy", "[limits]\nstream_idle = '500 ms'\n").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut open = session.open("1", "elicit", json!({})).await;
    open.until("elicitation/create").await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    let all = open.until("\r\n0\r\n\r\n").await;
    assert!(all.contains(r#"\"accept\""#) && !all.contains("error"), "{all}");
}
