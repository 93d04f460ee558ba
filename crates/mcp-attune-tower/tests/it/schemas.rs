//! What checking `Mcp-Param-*` costs the server behind, counted by that server.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, Settings, full};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{META, error, post, text};

/// The result of a `tools/list`, for an `Authorization` and a cursor.
type Lists = Box<dyn Fn(&str, Option<&str>) -> Value + Send>;

/// A server that lists one tool, with a header on `region`, and counts.
#[derive(Clone)]
struct Server {
    listings: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    /// What it answers to `tools/list`, by the request's `Authorization` and cursor.
    answer: Arc<Mutex<Lists>>,
    delay: Duration,
}

fn tool(header: &str) -> Value {
    json!({"name": "t", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": header}}}})
}

impl Server {
    fn new(answer: impl Fn(&str, Option<&str>) -> Value + Send + 'static) -> Self {
        let answer: Lists = Box::new(answer);
        Self {
            listings: Arc::default(),
            calls: Arc::default(),
            answer: Arc::new(Mutex::new(answer)),
            delay: Duration::ZERO,
        }
    }

    /// The usual one: nothing may be kept, as the Python SDK says by default.
    fn usual() -> Self {
        Self::new(|_, _| json!({"tools": [tool("Region")], "ttlMs": 0, "cacheScope": "private"}))
    }

    async fn serve(self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let (parts, body) = request.into_parts();
        let body: Value = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
        let result = if body["method"] == "tools/list" {
            self.listings.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.delay).await;
            assert_eq!(parts.headers["mcp-method"], "tools/list");
            assert!(
                !parts.headers.contains_key("mcp-name") && !parts.headers.contains_key("mcp-param-region")
            );
            assert!(body["params"]["_meta"].get("progressToken").is_none());
            let who = parts.headers.get("authorization").map_or("", |value| value.to_str().unwrap());
            self.answer.lock().unwrap()(who, body["params"]["cursor"].as_str())
        } else {
            self.calls.fetch_add(1, Ordering::Relaxed);
            json!({"content": []})
        };
        let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
        Ok(Response::builder().header("content-type", "application/json").body(full(answer)).unwrap())
    }

    fn listings(&self) -> usize {
        self.listings.load(Ordering::Relaxed)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

type Gate = tower::util::BoxCloneService<Request<Body>, Response<Body>, Infallible>;

fn gate(server: &Server, settings: Settings) -> Gate {
    let server = server.clone();
    let inner = service_fn(move |request| server.clone().serve(request));
    let attune: AttuneService<_> = AttuneLayer::new(settings).layer(inner);
    tower::util::BoxCloneService::new(attune)
}

/// A call whose argument says `eu`, with these headers beside the usual ones.
fn call(headers: &[(&str, &str)]) -> Request<Body> {
    call_with(r#"{"region":"eu"}"#, headers)
}

fn call_with(arguments: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{{META},"progressToken":1}}}}}}"#
    );
    let routed = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t")];
    post(&[&routed, headers].concat(), &body)
}

const GOOD: (&str, &str) = ("mcp-param-region", "eu");
const BAD: (&str, &str) = ("mcp-param-region", "us");

async fn status(gate: &Gate, request: Request<Body>) -> u16 {
    gate.clone().ready().await.unwrap().call(request).await.unwrap().status().as_u16()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_good_calls_cost_two_listings_at_most() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    for _ in 0..10_000 {
        assert_eq!(status(&gate, call(&[GOOD])).await, 200);
        tokio::time::advance(Duration::from_millis(3)).await;
    }
    assert!(server.listings() <= 2, "{}", server.listings());
    assert_eq!(server.calls(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_bad_calls_in_ten_seconds_cost_twelve_listings_at_most() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    for _ in 0..1000 {
        assert_eq!(status(&gate, call(&[BAD])).await, 400);
        tokio::time::advance(Duration::from_millis(10)).await;
    }
    assert!((2..=12).contains(&server.listings()), "{}", server.listings());
    assert_eq!(server.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_declared_argument_in_another_case_never_reaches_the_server() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    for arguments in [
        r#"{"region":"eu","Region":"us"}"#,
        r#"{"REGION":"us"}"#,
        r#"{"region":"eu","re\u0067\u0049on":"us"}"#,
        r#"{"region":"eu","a":1,"A":2}"#,
    ] {
        let answer = gate.clone().oneshot(call_with(arguments, &[GOOD])).await.unwrap();
        let (status, code, _) = error(answer).await;
        assert_eq!((status, code), (400, -32700), "{arguments}");
    }
    assert_eq!(server.calls(), 0);
    // What is inside other arguments is the tool's own.
    assert_eq!(status(&gate, call_with(r#"{"region":"eu","x":{"a":1,"A":2}}"#, &[GOOD])).await, 200);
}

#[tokio::test(start_paused = true)]
async fn those_who_miss_together_wait_for_one_listing() {
    let mut server = Server::usual();
    server.delay = Duration::from_millis(500);
    let gate = gate(&server, Settings::default());
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(gate.oneshot(call(&[GOOD])))
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(server.listings(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_passes_by_is_learned_from() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{META}}}}}}}"#);
    let listing = post(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")], &body);
    assert_eq!(status(&gate, listing).await, 200);
    assert_eq!(status(&gate, call(&[GOOD])).await, 200);
    assert_eq!(status(&gate, call(&[])).await, 400);
    assert_eq!(server.listings(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_identity_is_checked_against_what_it_was_shown() {
    let server =
        Server::new(|who, _| json!({"tools": if who == "Bearer a" { vec![tool("Region")] } else { vec![] }}));
    let gate = gate(&server, Settings::default());
    assert_eq!(status(&gate, call(&[("authorization", "Bearer a"), BAD])).await, 400);
    assert_eq!(status(&gate, call(&[("authorization", "Bearer b"), BAD])).await, 200);
    assert_eq!(status(&gate, call(&[("authorization", "Bearer a"), GOOD])).await, 200);
    assert_eq!(server.listings(), 2);
    for (number, key) in ["k", "l"].into_iter().enumerate() {
        assert_eq!(status(&gate, call(&[("x-api-key", key), BAD])).await, 200);
        assert_eq!(server.listings(), 3 + number);
    }
}

#[tokio::test(start_paused = true)]
async fn a_public_listing_serves_everyone() {
    let server = Server::new(|_, _| json!({"tools": [tool("Region")], "cacheScope": "public"}));
    let gate = gate(&server, Settings::default());
    for who in 0..50 {
        let who = format!("Bearer {who}");
        assert_eq!(status(&gate, call(&[("authorization", &who), GOOD])).await, 200);
    }
    assert_eq!(server.listings(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_rests_on_the_newest_schema() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    assert_eq!(status(&gate, call(&[GOOD])).await, 200);
    *server.answer.lock().unwrap() = Box::new(|_, _| json!({"tools": [tool("Zone")]}));
    tokio::time::advance(Duration::from_secs(2)).await;
    // By the schema that was kept, the header is missing; by the newest, it has another name.
    assert_eq!(status(&gate, call(&[("mcp-param-zone", "eu")])).await, 200);
    assert_eq!(server.listings(), 2);
    assert_eq!(status(&gate, call(&[])).await, 400);
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed_to_the_end() {
    let server = Server::new(|_, cursor| match cursor {
        None => json!({"tools": [], "nextCursor": "2"}),
        Some("2") => json!({"tools": [], "nextCursor": "3"}),
        _ => json!({"tools": [tool("Region")]}),
    });
    let gate = gate(&server, Settings::default());
    assert_eq!(status(&gate, call(&[BAD])).await, 400);
    assert_eq!(server.listings(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_list_fails_no_call_and_is_not_asked_again_at_once() {
    let repeats = |_: &str, _: Option<&str>| json!({"tools": [tool("Region")], "nextCursor": "again"});
    let endless = |_: &str, cursor: Option<&str>| json!({"tools": [], "nextCursor": format!("{}x", cursor.unwrap_or("x"))});
    let broken = |_: &str, _: Option<&str>| json!("no listing");
    for (server, most) in [(Server::new(repeats), 2), (Server::new(endless), 100), (Server::new(broken), 1)] {
        let gate = gate(&server, Settings::default());
        assert_eq!(status(&gate, call(&[BAD])).await, 200);
        assert_eq!(status(&gate, call(&[BAD])).await, 200);
        assert!(server.listings() <= most + 1, "{} of {most}", server.listings());
        assert_eq!(server.calls(), 2);
    }
}

/// The status of a call of `t` whose argument says `eu`, without any header for it.
async fn without_headers(gate: &Gate) -> u16 {
    status(gate, call(&[])).await
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_is_slow_lets_no_header_pass_unchecked() {
    let mut server = Server::usual();
    server.delay = Duration::from_secs(5);
    let gate = gate(&server, Settings::default());
    // Nothing is known of the tool: what names no header may pass, what names one must not.
    assert_eq!(without_headers(&gate).await, 200);
    let response = gate.clone().oneshot(call(&[BAD])).await.unwrap();
    assert_eq!(response.headers()["retry-after"], "1");
    assert_eq!(error(response).await, (503, -32603, 7.into()));
    // The listing that nobody waits for any more is there for who comes later.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((status(&gate, call(&[BAD])).await, status(&gate, call(&[GOOD])).await), (400, 200));
    assert_eq!((server.listings(), server.calls()), (1, 2));
    // Its tool declared headers once: now a call without any must not pass either.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(without_headers(&gate).await, 503);
    assert_eq!(server.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_load_of_one_caller_switches_no_check_off() {
    // One thread, as many servers have: each listing takes 20 ms, one after the other.
    let turn = Arc::new(tokio::sync::Mutex::new(()));
    let (listings, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let inner = {
        let (listings, calls) = (Arc::clone(&listings), Arc::clone(&calls));
        service_fn(move |request: Request<Body>| {
            let (turn, listings, calls) = (Arc::clone(&turn), Arc::clone(&listings), Arc::clone(&calls));
            async move {
                let _turn = turn.lock().await;
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let lists = serde_json::from_slice::<Value>(&body).unwrap()["method"] == "tools/list";
                if lists { &listings } else { &calls }.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
                let result = json!({"jsonrpc": "2.0", "id": 7, "result": {"tools": [tool("Region")]}});
                let answer = Response::builder().header("content-type", "application/json");
                Ok::<_, Infallible>(answer.body(full(result.to_string())).unwrap())
            }
        })
    };
    let gate = tower::util::BoxCloneService::new(AttuneLayer::new(Settings::default()).layer(inner));
    let mut all = tokio::task::JoinSet::new();
    for who in 0..512 {
        let mut request = call(&[BAD, ("authorization", &format!("Bearer {who}"))]);
        *request.uri_mut() = format!("/mcp?x={who}").parse().unwrap();
        let gate: Gate = gate.clone();
        all.spawn(async move { gate.oneshot(request).await.unwrap().status().as_u16() });
    }
    let statuses = all.join_all().await;
    assert!(statuses.iter().all(|status| [400, 503].contains(status)), "{statuses:?}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    // Those who wait in vain do not make the server work, then or later: so many fit into the budget, and a few more at a time.
    tokio::time::sleep(Duration::from_secs(60)).await;
    let made = listings.load(Ordering::Relaxed);
    assert!(made <= 100 + 2 * 16, "{made}");
}

#[tokio::test(start_paused = true)]
async fn the_query_tells_callers_apart_only_where_the_operator_says_so() {
    for (identity_query, expected) in [(false, 1), (true, 20)] {
        let server = Server::usual();
        let mut settings = Settings::default();
        settings.schemas.identity_query = identity_query;
        let gate = gate(&server, settings);
        for number in 0..20 {
            let mut request = call(&[GOOD]);
            *request.uri_mut() = format!("/mcp?x={number}").parse().unwrap();
            assert_eq!(status(&gate, request).await, 200);
        }
        assert_eq!(server.listings(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn callers_that_a_header_tells_apart_are_checked_apart_where_it_is_named() {
    // A server that lists by tenant, which only the operator can know.
    let lists = |tenant: &str| match tenant {
        "a" => json!({"tools": [tool("Region")]}),
        _ => json!({"tools": [tool("Zone")]}),
    };
    let inner = service_fn(move |request: Request<Body>| async move {
        let tenant = request.headers()["x-tenant"].to_str().unwrap().to_owned();
        let result = json!({"jsonrpc": "2.0", "id": 7, "result": lists(&tenant)});
        let answer = Response::builder().header("content-type", "application/json");
        Ok::<_, Infallible>(answer.body(full(result.to_string())).unwrap())
    });
    let mut settings = Settings::default();
    settings.schemas.identity_headers = vec!["x-tenant".parse().unwrap()];
    let gate: Gate = tower::util::BoxCloneService::new(AttuneLayer::new(settings).layer(inner));
    for _ in 0..3 {
        for (tenant, header, expected) in [
            ("a", GOOD, 200),
            ("b", GOOD, 400),
            ("a", ("mcp-param-zone", "eu"), 400),
            ("b", ("mcp-param-zone", "eu"), 200),
        ] {
            assert_eq!(status(&gate, call(&[("x-tenant", tenant), header])).await, expected, "{tenant}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn another_spelling_of_a_tool_is_checked_as_that_tool() {
    let server = Server::new(|_, _| {
        let mut other = tool("Region");
        other["name"] = "sql".into();
        json!({"tools": [other, {"name": "SQL2", "inputSchema": {}}, {"name": "Sql", "inputSchema": {}}]})
    });
    let gate = gate(&server, Settings::default());
    let named = |name: &str, header: (&str, &str)| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{name}","arguments":{{"region":"eu"}},"_meta":{{{META}}}}}}}"#
        );
        let routed = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
            header,
        ];
        post(&routed, &body)
    };
    for name in ["sql", "SQL", "sqL"] {
        assert_eq!(status(&gate, named(name, BAD)).await, 400, "{name}");
        assert_eq!(status(&gate, named(name, GOOD)).await, 200, "{name}");
    }
    // A tool of that very name, and one that is not listed at all, declare nothing.
    for name in ["Sql", "SQL2", "other"] {
        assert_eq!(status(&gate, named(name, BAD)).await, 200, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_notification_itself_says_that_the_tools_changed() {
    let server = Server::usual();
    let said = Arc::new(Mutex::new(json!({})));
    let inner = {
        let (server, said) = (server.clone(), Arc::clone(&said));
        service_fn(move |request: Request<Body>| {
            let (server, said) = (server.clone(), said.lock().unwrap().clone());
            async move {
                if request.headers()["mcp-method"] == "tools/list" {
                    return server.serve(request).await;
                }
                let events =
                    format!("data: {said}\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{}}}}\n\n");
                Ok(Response::builder()
                    .header("content-type", "text/event-stream")
                    .body(full(events))
                    .unwrap())
            }
        })
    };
    let mut settings = crate::english();
    settings.schemas.ttl = Duration::from_secs(3600);
    let gate: Gate = tower::util::BoxCloneService::new(AttuneLayer::new(settings).layer(inner));
    // The status of a call, and how many listings there were after it.
    let call = async || {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{"region":"eu"}},"_meta":{{{META}{}}}}}}}"#,
            crate::preference("de")
        );
        let routed =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t"), GOOD];
        let answer = gate.clone().oneshot(post(&routed, &body)).await.unwrap();
        let status = answer.status().as_u16();
        text(answer).await;
        (status, server.listings())
    };
    let text = "notifications/tools/list_changed";
    for harmless in [
        json!({"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": text}]}}),
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}),
        json!({"jsonrpc": "2.0", "id": 9, "method": text}),
    ] {
        *said.lock().unwrap() = harmless;
        for _ in 0..20 {
            assert_eq!(call().await, (200, 1));
        }
    }
    *said.lock().unwrap() = json!({"jsonrpc": "2.0", "method": text});
    assert_eq!(call().await, (200, 1));
    // However often it is said, the tools are asked for once in a second; until then the header cannot be checked.
    for listings in 1..4 {
        for _ in 0..5 {
            assert_eq!(call().await, (503, listings));
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(call().await, (200, listings + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_listed_is_refused_where_the_operator_says_so() {
    let server = Server::new(|_, _| json!("no listing"));
    let mut settings = Settings::default();
    settings.schemas.refuse_unknown = true;
    let gate = gate(&server, settings);
    let response = gate.oneshot(call(&[GOOD])).await.unwrap();
    assert_eq!(error(response).await, (503, -32603, 7.into()));
    assert_eq!(server.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_arguments_and_headers_asks_for_nothing() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{}},"_meta":{{{META}}}}}}}"#
    );
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t")];
    assert_eq!(status(&gate, post(&headers, &body)).await, 200);
    assert_eq!(server.listings(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_anyway_asks_for_nothing() {
    let server = Server::usual();
    let gate = gate(&server, Settings::default());
    let mut request = call(&[BAD]);
    request.headers_mut().insert("mcp-name", "other".parse().unwrap());
    let response = gate.oneshot(request).await.unwrap();
    assert!(text(response).await.contains("Mcp-Name"));
    assert_eq!((server.listings(), server.calls()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_tools_are_kept_for_each_identity() {
    let tools: Vec<_> = (0..10_000)
        .map(|index| {
            let mut tool = tool("Region");
            tool["name"] = format!("t{index}").into();
            tool
        })
        .chain([tool("Region")])
        .collect();
    let answer = json!({"tools": tools, "cacheScope": "private"});
    let server = Server::new(move |_, _| answer.clone());
    let gate = gate(&server, Settings::default());
    for who in 0..5 {
        let who = format!("Bearer {who}");
        assert_eq!(status(&gate, call(&[("authorization", &who), GOOD])).await, 200);
        assert_eq!(status(&gate, call(&[("authorization", &who), BAD])).await, 400);
    }
    assert_eq!(server.listings(), 5);
}
