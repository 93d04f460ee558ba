//! Arguments that the caller's context fills, as the service inside and the caller see them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune_tower::{AttuneLayer, Body, Settings, full};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};

use crate::{META, post, text};

type Heard = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// A server whose tool has headers on its zone and its city, and wants both; `stream`: it answers with events.
#[derive(Clone, Default)]
struct Server {
    heard: Heard,
    stream: bool,
}

fn listed() -> Value {
    json!({"tools": [{"name": "weather", "inputSchema": {
        "properties": {
            "tz": {"type": "string", "x-mcp-header": "Zone"},
            "city": {"type": "string", "x-mcp-header": "City"},
            "from": {"type": "string", "x-mcp-header": "From"}, "to": {"type": "string"}},
        "required": ["tz", "city"]}}]})
}

impl Server {
    async fn serve(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
        let result = if body["method"] == "tools/list" { listed() } else { json!({"content": []}) };
        let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
        self.heard.lock().unwrap().push((parts.headers, body));
        let answer = if self.stream { format!(": hello\n\nid: 1\ndata: {answer}\n\n") } else { answer };
        let kind = if self.stream { "text/event-stream" } else { "application/json" };
        Ok(Response::builder().header("content-type", kind).body(full(answer)).unwrap())
    }

    async fn answer(&self, request: Request<Body>) -> (u16, HeaderMap, String) {
        let (server, mut settings) = (self.clone(), Settings::default());
        settings.offer.bindings = Arc::new(bindings());
        let inner = service_fn(move |request| server.clone().serve(request));
        let answer = AttuneLayer::new(settings).layer(inner).oneshot(request).await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        (status, headers, text(answer).await)
    }

    /// The last call that came.
    fn call(&self) -> (HeaderMap, Value) {
        self.heard.lock().unwrap().last().cloned().unwrap()
    }
}

fn bindings() -> Bindings {
    let tz = Binding {
        fills: ArgumentFill::Context { from: BoundContextPart::Timezone, default: None },
        hide: true,
    };
    let end = |part| {
        let fills =
            ArgumentFill::Interval { named: "period".to_owned(), part, written: InstantNotation::Date };
        Binding { fills, hide: false }
    };
    let bound = [("tz", tz), ("from", end(IntervalEdge::Start)), ("to", end(IntervalEdge::Last))];
    let bound = bound.into_iter().map(|(name, binding)| (name.to_owned(), binding));
    Bindings::new(BTreeMap::from([("weather".to_owned(), bound.collect())]), Default::default())
}

const ZURICH: &str = r#"{"timezone":"Europe/Zurich","currentTimestamp":"2026-11-12T14:23:00+01:00"}"#;

#[tokio::test]
async fn a_request_that_was_changed_goes_on_without_the_digest_of_what_came() {
    let server = Server::default();
    let digests = [("content-digest", "sha-256=:x:"), ("mcp-param-city", "Bern")];
    let (status, _, answer) = server.answer(call(r#","arguments":{"city":"Bern"}"#, &digests)).await;
    assert_eq!(status, 200, "{answer}");
    let (sent, body) = server.call();
    assert_eq!(body["params"]["arguments"]["tz"], "Europe/Zurich");
    assert!(!sent.contains_key("content-digest"));
    // What is not changed keeps it.
    let listing =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{{META}}}}}}}"#);
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/list"),
        ("content-digest", "sha-256=:x:"),
    ];
    server.answer(post(&headers, &listing)).await;
    assert_eq!(server.call().0["content-digest"], "sha-256=:x:");
}

/// A modern call, with these header lines beside the usual ones.
fn call(arguments: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"weather"{arguments},"_meta":{{{META}}}}},"clientContext":{ZURICH}}}"#
    );
    let routed =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "weather")];
    post(&[&routed, headers].concat(), &body)
}

fn legacy(method: &str, params: &str) -> Request<Body> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params},"clientContext":{ZURICH}}}"#
    );
    post(&[("mcp-protocol-version", "2025-11-25")], &body)
}

#[tokio::test]
async fn fills_what_was_left_out_and_mirrors_it_onward() {
    for stream in [false, true] {
        let server = Server { stream, ..Server::default() };
        let arguments = r#","arguments":{"city":"Bern","period":"yesterday"}"#;
        let (status, headers, answer) = server.answer(call(arguments, &[("mcp-param-city", "Bern")])).await;
        assert_eq!(status, 200, "{answer}");
        let (sent, body) = server.call();
        assert_eq!(
            body["params"]["arguments"],
            json!({"tz": "Europe/Zurich", "city": "Bern", "from": "2026-11-11", "to": "2026-11-11"})
        );
        assert_eq!(sent["mcp-param-zone"], "Europe/Zurich");
        assert_eq!(sent["mcp-param-city"], "Bern");
        assert_eq!(sent["mcp-param-from"], "2026-11-11");
        assert!(body.get("clientContext").is_none());
        // Another caller's context would have given another answer.
        assert_eq!(headers["cache-control"], "private");
    }
}

#[tokio::test]
async fn a_call_without_arguments_gets_them_and_their_headers() {
    let server = Server::default();
    let (status, ..) = server.answer(call("", &[])).await;
    let (sent, body) = server.call();
    assert_eq!((status, &body["params"]["arguments"]), (200, &json!({"tz": "Europe/Zurich"})));
    assert_eq!(sent["mcp-param-zone"], "Europe/Zurich");
}

#[tokio::test]
async fn callers_are_checked_against_the_schema_that_they_were_shown() {
    let server = Server::default();
    let city = r#","arguments":{"city":"Bern"}"#;
    let (status, _, answer) = server.answer(call(city, &[])).await;
    assert_eq!(status, 400, "{answer}");
    assert!(answer.contains("Mcp-Param-City") && !answer.contains("Mcp-Param-Zone"), "{answer}");
    // What is hidden can be said all the same, and needs no header then.
    let both = r#","arguments":{"city":"Bern","tz":"Asia/Tokyo"}"#;
    let (status, _, answer) = server.answer(call(both, &[("mcp-param-city", "Bern")])).await;
    let (sent, body) = server.call();
    assert_eq!((status, &body["params"]["arguments"]["tz"]), (200, &json!("Asia/Tokyo")), "{answer}");
    assert_eq!(sent["mcp-param-zone"], "Asia/Tokyo");
}

#[tokio::test]
async fn a_header_for_a_hidden_argument_is_dropped() {
    let server = Server::default();
    let lines = [("mcp-param-city", "Bern"), ("mcp-param-zone", "Mars/Olympus")];
    let (status, ..) = server.answer(call(r#","arguments":{"city":"Bern"}"#, &lines)).await;
    let (sent, _) = server.call();
    assert_eq!((status, sent.get_all("mcp-param-zone").iter().count()), (200, 1));
    assert_eq!(sent["mcp-param-zone"], "Europe/Zurich");
    // Where the body does not say it, nothing of it goes on.
    let null = r#","arguments":{"city":"Bern","tz":null}"#;
    let (status, ..) = server.answer(call(null, &lines)).await;
    let (sent, body) = server.call();
    assert_eq!((status, &body["params"]["arguments"]["tz"]), (200, &Value::Null));
    assert!(!sent.contains_key("mcp-param-zone") && sent["mcp-param-city"] == "Bern");
}

#[tokio::test]
async fn words_that_cannot_be_read_end_the_call_with_a_result_that_models_see() {
    let server = Server::default();
    let soon = r#","arguments":{"period":"soon"}"#;
    let (status, _, answer) = server.answer(call(soon, &[])).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    assert_eq!(
        (&answer["result"]["isError"], &answer["result"]["resultType"]),
        (&json!(true), &json!("complete"))
    );
    let told = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("last N U") && !told.contains("soon"), "{told}");
    assert!(server.heard.lock().unwrap().iter().all(|(_, body)| body["method"] == "tools/list"));

    let params = r#"{"name":"weather","arguments":{"period":7}}"#;
    let (_, _, answer) = server.answer(legacy("tools/call", params)).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["result"]["isError"], answer["result"].get("resultType")), (&json!(true), None));
}

#[tokio::test]
async fn listings_are_shown_as_callers_may_call_in_both_eras_and_both_forms() {
    let modern = || crate::listing("", &[]);
    let paged = || {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"cursor":"2","_meta":{{{META}}}}}}}"#
        );
        post(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")], &body)
    };
    for stream in [false, true] {
        for request in [modern(), paged(), legacy("tools/list", "{}")] {
            let server = Server { stream, ..Server::default() };
            let (_, headers, answer) = server.answer(request).await;
            let answer = match stream {
                true => {
                    let data = answer.strip_prefix(": hello\n\nid: 1\ndata: ").unwrap();
                    data.strip_suffix("\n\n").unwrap().to_owned()
                }
                false => answer,
            };
            let answer: Value = serde_json::from_str(&answer).unwrap();
            let schema = &answer["result"]["tools"][0]["inputSchema"];
            assert_eq!(schema["required"], json!(["city"]));
            let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
            assert_eq!(names, ["city", "from", "period", "to"]);
            // It is the same for every caller.
            assert!(!headers.contains_key("cache-control"));
            let (sent, _) = server.call();
            assert_eq!(sent["accept-encoding"], "identity");
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_resumed_brings_the_listing_as_it_is_shown() {
    let server = Server { stream: true, ..Server::default() };
    let request = Request::get("/mcp").header("accept", "text/event-stream");
    let request = request.header("mcp-protocol-version", "2025-11-25").header("last-event-id", "0");
    // The server here answers whatever it is sent.
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let (_, _, answer) = server.answer(request.body(full(body)).unwrap()).await;
    assert!(answer.contains("period") && !answer.contains("\"tz\""), "{answer}");
}

#[tokio::test]
async fn legacy_calls_are_filled_and_get_no_headers() {
    let server = Server::default();
    let (status, ..) = server.answer(legacy("tools/call", r#"{"name":"weather"}"#)).await;
    let (sent, body) = server.call();
    assert_eq!((status, &body["params"]["arguments"]), (200, &json!({"tz": "Europe/Zurich"})));
    assert!(!sent.keys().any(|name| name.as_str().starts_with("mcp-param")));
    assert_eq!(server.heard.lock().unwrap().len(), 1);
}
