//! What checking `Mcp-Param-*` costs the server behind, counted by that server.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune_tower::{Attune, AttuneLayer, Body, Settings, full};
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
    let attune: Attune<_> = AttuneLayer::new(settings).layer(inner);
    tower::util::BoxCloneService::new(attune)
}

/// A call whose argument says `eu`, with these headers beside the usual ones.
fn call(headers: &[(&str, &str)]) -> Request<Body> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{"region":"eu"}},"_meta":{{{META},"progressToken":1}}}}}}"#
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
    assert_eq!(status(&gate, call(&[("x-api-key", "k"), BAD])).await, 200);
    assert_eq!(server.listings(), 3);
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
async fn what_cannot_be_listed_fails_no_call_and_is_not_asked_for_again_at_once() {
    let repeats = |_: &str, _: Option<&str>| json!({"tools": [tool("Region")], "nextCursor": "again"});
    let endless = |_: &str, cursor: Option<&str>| json!({"tools": [], "nextCursor": format!("{}x", cursor.unwrap_or("x"))});
    let broken = |_: &str, _: Option<&str>| json!("no listing");
    let mut slow = Server::usual();
    slow.delay = Duration::from_secs(3);
    for (server, most) in
        [(Server::new(repeats), 2), (Server::new(endless), 100), (Server::new(broken), 1), (slow, 1)]
    {
        let gate = gate(&server, Settings::default());
        assert_eq!(status(&gate, call(&[BAD])).await, 200);
        assert_eq!(status(&gate, call(&[BAD])).await, 200);
        assert!(server.listings() <= most + 1, "{} of {most}", server.listings());
        assert_eq!(server.calls(), 2);
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
