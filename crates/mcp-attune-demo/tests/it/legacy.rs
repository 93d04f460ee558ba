//! The era of sessions.

use std::time::Duration;

use hyper::{Method, StatusCode};
use mcp_attune_demo::DemoOptions;
use serde_json::{Value, json};

use crate::http::{Answer, Demo, Stream};

const SEAT: &str = "bern-zurich-2026-02-22-0831";

/// A session of a client that can be asked.
struct Session {
    demo: Demo,
    id: String,
}

impl Session {
    async fn start(demo: Demo, capabilities: Value) -> Self {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "it", "version": "1" },
        });
        let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = demo.post(&[], &begin).await;
        let result = &answer.last()["result"];
        assert_eq!(result["protocolVersion"], "2025-11-25");
        assert_eq!(result["serverInfo"]["title"], "Swiss travel service");
        let session = Self { id: answer.header("mcp-session-id").to_owned(), demo };
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(session.post(&ready).await.status, StatusCode::ACCEPTED);
        session
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [("mcp-session-id", &self.id), ("mcp-protocol-version", "2025-11-25")]
    }

    async fn post(&self, body: &Value) -> Answer {
        self.demo.post(&self.headers(), body).await
    }

    async fn request(&self, method: &str, params: Value) -> Value {
        self.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await.last()
    }

    async fn open(&self, params: Value) -> Stream {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        Stream::of(self.demo.send(Method::POST, &self.headers(), &body.to_string()).await)
    }
}

#[tokio::test]
async fn a_session_lists_and_calls() {
    let session = Session::start(Demo::start().await, json!({})).await;
    let listed = session.request("tools/list", json!({})).await["result"].clone();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 10);
    assert_eq!((&listed["ttlMs"], &listed["resultType"]), (&Value::Null, &Value::Null), "these came later");
    let call = json!({ "name": "get_weather", "arguments": { "location": "Lugano" } });
    let called = session.request("tools/call", call).await["result"].clone();
    assert_eq!(called["structuredContent"]["temperature_c"], 13);
    assert_eq!(called["_meta"], Value::Null);
}

#[tokio::test]
async fn a_session_reads_the_map_and_the_prompt() {
    let session = Session::start(Demo::start().await, json!({})).await;
    let read = session.request("resources/read", json!({ "uri": "map://features/alpine-valley-1" })).await;
    assert_eq!(read["result"]["contents"][0]["mimeType"], "application/json");
    let missing = session.request("resources/read", json!({ "uri": "map://features/atlantis" })).await;
    assert_eq!(missing["error"]["code"], -32002);
    let arguments = json!({ "city": "Bern" });
    let got = session.request("prompts/get", json!({ "name": "plan_trip", "arguments": arguments })).await;
    assert_eq!(got["result"]["description"], "A trip of 3 days to Bern");
}

#[tokio::test]
async fn a_seat_is_booked_while_the_call_is_open() {
    let session = Session::start(Demo::start().await, json!({ "elicitation": {} })).await;
    let mut stream = session.open(json!({ "name": "book_seat", "arguments": { "connection": SEAT } })).await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["requestedSchema"]["properties"]["position"]["title"], "Position");
    let content = json!({ "travel_class": "second", "position": "aisle" });
    let reply = json!({
        "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": content },
    });
    assert_eq!(session.post(&reply).await.status, StatusCode::ACCEPTED);
    let booked = stream.next().await.unwrap();
    assert_eq!((&booked["id"], &booked["result"]["structuredContent"]["seat"]), (&json!(7), &json!("42B")));
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_books_nothing() {
    let session = Session::start(Demo::start().await, json!({})).await;
    let call = json!({ "name": "book_seat", "arguments": { "connection": SEAT } });
    let refused = session.request("tools/call", call).await["result"].clone();
    assert_eq!(refused["isError"], true);
    assert_eq!(
        refused["content"][0]["text"],
        "The seat has to be chosen by the user, and this client cannot ask"
    );
}

#[tokio::test]
async fn the_stream_of_a_cancelled_report_ends_without_an_answer() {
    let slow = DemoOptions { step_delay: Duration::from_millis(200), ..DemoOptions::default() };
    let session = Session::start(Demo::with(slow).await, json!({})).await;
    let call =
        json!({ "name": "build_report", "arguments": { "pages": 50 }, "_meta": { "progressToken": 1 } });
    let mut stream = session.open(call).await;
    assert_eq!(stream.next().await.unwrap()["params"]["progress"], 1.0);
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(session.post(&cancel).await.status, StatusCode::ACCEPTED);
    let mut pages = 1;
    while let Some(message) = stream.next().await {
        assert_eq!(message["method"], "notifications/progress");
        pages += 1;
    }
    assert!(pages < 5, "{pages} pages were fetched");
}

#[tokio::test]
async fn a_session_ends_when_it_is_deleted() {
    let session = Session::start(Demo::start().await, json!({})).await;
    let ended = session.demo.send(Method::DELETE, &session.headers(), "").await;
    assert_eq!(ended.status(), StatusCode::ACCEPTED);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(session.post(&list).await.status, StatusCode::NOT_FOUND);
}
