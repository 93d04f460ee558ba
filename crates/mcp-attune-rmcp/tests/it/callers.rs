//! Handlers that know their caller: the example and the demo, over HTTP and over pipes, in both eras.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response};
use mcp_attune_rmcp::{AttuneLayer, AttuneTransport, Settings};
use rmcp::ServerHandler;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tower::{Layer, Service, ServiceExt};

use crate::clock;
use crate::support::stopped;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const CONTENT_LANGUAGE: &str = "io.modelcontextprotocol/contentLanguage";

/// The ways to a handler.
const WAYS: [(Over, &str); 4] =
    [(Over::Http, MODERN), (Over::Http, LEGACY), (Over::Pipes, MODERN), (Over::Pipes, LEGACY)];

#[derive(Clone, Copy, Debug)]
enum Over {
    Http,
    Pipes,
}

/// A server that can be asked over both.
#[derive(Clone, Copy, Debug)]
enum Server {
    Clock,
    Demo,
}

impl Server {
    /// Sends one request this way, in an era; the answer, and the headers that it came with.
    async fn ask(self, (over, era): (Over, &str), request: Value) -> (Value, HeaderMap) {
        let features = request["features"].clone();
        let (request, first) = envelope(request, era, &features);
        match (over, self) {
            (Over::Http, Self::Clock) => http(clock::app().into_service(), era, first, request).await,
            (Over::Http, Self::Demo) => {
                let demo = AttuneLayer::default().layer(mcp_attune_demo::service(stopped()));
                http(demo, era, first, request).await
            }
            (Over::Pipes, Self::Clock) => pipes(clock::Clock, first, request).await,
            (Over::Pipes, Self::Demo) => {
                let travel =
                    mcp_attune_demo::TravelServer::new(Default::default()).with_stopped_clock(stopped().now);
                pipes(travel, first, request).await
            }
        }
    }
}

/// The request as it is sent in an era, and the one that begins a session before it.
fn envelope(mut request: Value, era: &str, features: &Value) -> (Value, Option<Value>) {
    request.as_object_mut().unwrap().remove("features");
    let capabilities = match features {
        Value::Null => json!({}),
        tags => json!({ "extensions": { "io.modelcontextprotocol/content-negotiation": {
            "version": "1", "features": tags } } }),
    };
    request["jsonrpc"] = "2.0".into();
    request["id"] = 7.into();
    if era == MODERN {
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = era.into();
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        return (request, None);
    }
    let info = json!({ "name": "test", "version": "1" });
    let first = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": era, "capabilities": capabilities, "clientInfo": info } });
    (request, Some(first))
}

async fn http<S>(service: S, era: &str, first: Option<Value>, request: Value) -> (Value, HeaderMap)
where
    S: Service<Request<Body>, Error = std::convert::Infallible> + Clone,
    S::Response: IntoAxum,
{
    let mut session = None;
    if let Some(first) = first {
        let (_, headers) = post(service.clone(), era, None, &first).await;
        session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        post(service.clone(), era, session.as_deref(), &ready).await;
    }
    post(service, era, session.as_deref(), &request).await
}

/// An answer with whatever body.
trait IntoAxum {
    fn into_axum(self) -> Response<Body>;
}

impl<B> IntoAxum for Response<B>
where
    B: axum::body::HttpBody<Data = axum::body::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    fn into_axum(self) -> Response<Body> {
        self.map(Body::new)
    }
}

async fn post<S>(service: S, era: &str, session: Option<&str>, body: &Value) -> (Value, HeaderMap)
where
    S: Service<Request<Body>, Error = std::convert::Infallible> + Clone,
    S::Response: IntoAxum,
{
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if body["method"] != "initialize" {
        request = request.header("mcp-protocol-version", era);
    }
    if era == MODERN {
        request = request.header("mcp-method", body["method"].as_str().unwrap());
        for name in ["name", "uri"] {
            if let Some(name) = body["params"][name].as_str() {
                request = request.header("mcp-name", name);
            }
        }
    }
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let answer =
        service.oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap().into_axum();
    let headers = answer.headers().clone();
    let text = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let mut events = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let last = events.rfind(|data| data.contains("\"id\"")).unwrap_or(&text);
    (serde_json::from_str(last).unwrap_or_default(), headers)
}

async fn pipes(server: impl ServerHandler, first: Option<Value>, request: Value) -> (Value, HeaderMap) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move {
        let pipe = AttuneTransport::new(read, write, Settings::default());
        // Where no message reached it, there is no server to wait for.
        if let Ok(server) = rmcp::serve_server(server, pipe).await {
            server.waiting().await.unwrap();
        }
    });
    let (read, mut write) = tokio::io::split(ours);
    let mut lines = BufReader::new(read).lines();
    if let Some(first) = first {
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        write.write_all(format!("{first}\n").as_bytes()).await.unwrap();
        lines.next_line().await.unwrap().unwrap();
        write.write_all(format!("{ready}\n").as_bytes()).await.unwrap();
    }
    write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let answer = lines.next_line().await.unwrap().unwrap();
    drop((write, lines));
    serving.await.unwrap();
    (serde_json::from_str(&answer).unwrap(), HeaderMap::new())
}

fn call(tool: &str, arguments: Value) -> Value {
    let mut call = json!({ "method": "tools/call", "params": { "name": tool } });
    call["params"]["arguments"] = arguments;
    call
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn the_handlers_language_is_reported_by_itself() {
    for way in WAYS {
        for (preference, language, begins) in
            [("de-CH, en;q=0.5", "de", "Es ist "), ("fr", "fr", "Nous sommes le "), ("ja", "en", "It is ")]
        {
            let mut request = call("now", json!({}));
            request["params"]["_meta"]["io.modelcontextprotocol/acceptLanguage"] = preference.into();
            let (answer, headers) = Server::Clock.ask(way, request).await;
            assert!(text(&answer).starts_with(begins), "{way:?} {answer}");
            assert_eq!(answer["result"]["_meta"][CONTENT_LANGUAGE], language, "{way:?}");
            if let Some(header) = headers.get("content-language") {
                assert_eq!(header, language, "{way:?}");
            }
        }
        let (answer, _) = Server::Clock.ask(way, call("now", json!({}))).await;
        assert!(text(&answer).starts_with("It is "), "{way:?} {answer}");
        assert_eq!(answer["result"]["_meta"][CONTENT_LANGUAGE], Value::Null, "nobody asked: {way:?}");
    }
}

#[tokio::test]
async fn a_json_answer_mirrors_the_handlers_language_in_its_header() {
    let mut request = call("query_sales", json!({ "query": "sales today" }));
    request["params"]["_meta"]["io.modelcontextprotocol/acceptLanguage"] = "de".into();
    let (answer, headers) = Server::Demo.ask(WAYS[0], request).await;
    // The nearest that it has.
    assert_eq!(answer["result"]["_meta"][CONTENT_LANGUAGE], "de-CH");
    assert_eq!(headers["content-language"], "de-CH");
}

#[tokio::test]
async fn resources_and_features_know_their_caller_too() {
    for way in WAYS {
        let mut request = json!({ "method": "resources/read", "params": { "uri": "clock://now" } });
        request["params"]["_meta"]["io.modelcontextprotocol/acceptLanguage"] = "de".into();
        request["params"]["_meta"]["io.modelcontextprotocol/clientContext"] =
            json!({ "currentTimestamp": "2026-11-12T14:23:00+01:00", "timezone": "Europe/Zurich" });
        let (answer, _) = Server::Clock.ask(way, request).await;
        let read = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(read.starts_with("Es ist 12. November 2026") && read.contains("14:23"), "{way:?} {read}");
        assert_eq!(answer["result"]["_meta"][CONTENT_LANGUAGE], "de", "{way:?}");

        let mut request = call("now", json!({}));
        request["features"] = json!(["agent"]);
        request["clientContext"] = json!({ "currentTimestamp": "2026-11-12T14:23:00Z" });
        let (answer, _) = Server::Clock.ask(way, request).await;
        assert_eq!(text(&answer), "{\"now\":\"2026-11-12T14:23:00+00:00[UTC]\"}", "{way:?}");
    }
}

#[tokio::test]
async fn days_are_the_callers_and_what_cannot_be_read_is_said() {
    for way in WAYS {
        let mut request = call("days", json!({ "period": "last_week" }));
        request["clientContext"] = json!({ "timezone": "America/Los_Angeles", "locale": "en-US",
            "currentTimestamp": "2025-11-12T06:23:00-08:00" });
        let (answer, _) = Server::Clock.ask(way, request.clone()).await;
        assert_eq!(text(&answer), "Nov 2, 2025 – Nov 8, 2025", "{way:?}");
        request["params"]["arguments"]["period"] = "some day".into();
        let (answer, _) = Server::Clock.ask(way, request).await;
        assert_eq!(answer["result"]["isError"], true, "{way:?}");
        assert!(text(&answer).starts_with("`some day` is not an expression of time"), "{way:?}");
    }
}

/// The examples of SEP-1809: the request, and what a caller there has to get.
fn examples() -> [(Value, Value); 3] {
    let example = |tool: &str, query: &str, context: Value| {
        let mut request = call(tool, json!({ "query": query }));
        request["clientContext"] = context;
        request
    };
    let location = json!({ "city": "Los Angeles", "region": "California", "country": "US",
        "coordinates": { "latitude": 34.0522, "longitude": -118.2437 } });
    [
        (
            example(
                "query_sales",
                "sales this month",
                json!({ "timezone": "Europe/Vienna", "locale": "de-AT" }),
            ),
            json!({ "from": "2026-02-01", "to": "2026-02-28", "timezone": "Europe/Vienna", "tickets": 33279,
                "revenue": 780_392.55, "currency": "CHF" }),
        ),
        (
            example(
                "query_tickets",
                "tickets submitted as of now",
                json!({ "currentTimestamp": "2025-11-12T14:23:00+01:00" }),
            ),
            json!({ "as_of": "2025-11-12T14:23:00+01:00", "timezone": "+01:00", "open": 46 }),
        ),
        (
            example(
                "query_activity",
                "user logins last week",
                json!({ "timezone": "America/Los_Angeles", "currentTimestamp": "2025-11-12T06:23:00-08:00",
                    "locale": "en-US", "userLocation": location }),
            ),
            json!({ "from": "2025-11-02", "to": "2025-11-08", "timezone": "America/Los_Angeles", "logins": 1176 }),
        ),
    ]
}

#[tokio::test]
async fn the_examples_of_the_proposal_give_each_caller_their_own_days() {
    for way in WAYS {
        for (request, expected) in examples() {
            let (answer, _) = Server::Demo.ask(way, request).await;
            assert_eq!(answer["result"]["structuredContent"], expected, "{way:?} {answer}");
        }
    }
}

#[tokio::test]
async fn a_context_that_contradicts_itself_reaches_no_handler() {
    for way in WAYS {
        let mut request = call("now", json!({}));
        request["clientContext"] = json!({ "timezone": "Europe/Zurich" });
        request["params"]["_meta"]["io.modelcontextprotocol/clientContext"] = json!({ "timezone": "UTC" });
        let (answer, _) = Server::Clock.ask(way, request).await;
        assert_eq!(answer["error"]["code"], -32602, "{way:?} {answer}");
        assert_eq!(answer["id"], 7, "{way:?}");
    }
}

#[tokio::test]
async fn a_server_with_nothing_around_it_still_knows_its_caller() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move { rmcp::serve_server(clock::Clock, theirs).await.unwrap().waiting().await });
    let (read, mut write) = tokio::io::split(ours);
    let mut request = call("now", json!({}));
    request["params"]["_meta"] = json!({ "io.modelcontextprotocol/acceptLanguage": "de",
        "io.modelcontextprotocol/clientContext": { "currentTimestamp": "2026-11-12T14:23:00+01:00" } });
    let (request, _) = envelope(request, MODERN, &Value::Null);
    write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    let answer = BufReader::new(read).lines().next_line().await.unwrap().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert!(text(&answer).starts_with("Es ist 12. November 2026"), "{answer}");
}

#[tokio::test]
async fn lines_that_no_server_can_answer_are_answered_here() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let mut settings = Settings::default();
    settings.limits.body = 1000;
    tokio::spawn(async move {
        rmcp::serve_server(clock::Clock, AttuneTransport::new(read, write, settings))
            .await
            .unwrap()
            .waiting()
            .await
    });
    let (read, mut write) = tokio::io::split(ours);
    let mut lines = BufReader::new(read).lines();
    let first = envelope(call("now", json!({})), LEGACY, &Value::Null).1.unwrap();
    write.write_all(format!("{first}\n").as_bytes()).await.unwrap();
    lines.next_line().await.unwrap().unwrap();
    let long = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"{}"}}"#, "x".repeat(2000));
    for (line, id, code) in [
        ("{\"a\":1,\"a\":2}", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":4.5,"method":"ping"}"#, json!(4.5), -32600),
        (&long, json!(5), -32603),
    ] {
        write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}: {answer}");
    }
}

/// A server that somebody runs for themselves is not for web pages of others.
#[tokio::test]
async fn a_web_page_of_somewhere_else_cannot_use_the_example() {
    let (body, _) = envelope(json!({ "method": "tools/list", "params": {} }), MODERN, &Value::Null);
    for (host, origin, status) in [
        ("127.0.0.1:8000", None, 200),
        ("127.0.0.1:8000", Some("http://localhost:3000"), 200),
        ("127.0.0.1:8000", Some("https://evil.example"), 403),
        ("evil.example", None, 403),
    ] {
        let mut request = Request::post("/mcp")
            .header("host", host)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", "tools/list");
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let request = request.body(Body::from(body.to_string())).unwrap();
        let answer = clock::app().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), status, "{host} {origin:?}");
    }
}
