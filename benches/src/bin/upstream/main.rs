//! A server to measure the gateway with: `upstream TOOLS [results]`.
//!
//! It lists as many tools as it is told to, each with one declared header; a caller with `Authorization` gets names of
//! its own, so that no two listings are the same. A call is answered with a constant. A stream stays open, and with
//! `X-Bench-Every: MICROSECONDS` it has an event each time, which says when it left. With `results` its answers are long
//! ([`benches::results`]).

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_stream::wrappers::ReceiverStream;

use benches::results::Results;

const CALLED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"done"}],"structuredContent":{"done":true},"isError":false}}"#;
const LISTENS: &str = r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}"#;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let tools = arguments.first().and_then(|tools| tools.parse().ok()).unwrap_or(1);
    let results = arguments.iter().any(|argument| argument == "results").then(|| Results::new(tools));
    let server = Upstream { tools, results, answered: AtomicU64::new(0) };
    let router = Router::new().route("/mcp", post(answer)).with_state(Arc::new(server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("The server for measurements is at http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, router).await
}

struct Upstream {
    tools: usize,
    /// Long answers, in the place of short ones.
    results: Option<Results>,
    /// How many results there were.
    answered: AtomicU64,
}

async fn answer(State(server): State<Arc<Upstream>>, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let json = [(header::CONTENT_TYPE, "application/json")];
    match (text("mcp-method"), &server.results) {
        ("tools/call", Some(results)) => {
            let number = server.answered.fetch_add(1, Ordering::Relaxed);
            (json, results.result(&body, number)).into_response()
        }
        ("tools/call", None) => (json, CALLED).into_response(),
        ("tools/list", Some(results)) => (json, results.listing(&body)).into_response(),
        ("tools/list", None) => (json, listing(server.tools, text("authorization"))).into_response(),
        ("subscriptions/listen", _) => stream(text("x-bench-every").parse().ok().map(Duration::from_micros)),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn listing(tools: usize, caller: &str) -> String {
    let caller = caller.replace(' ', "_");
    let mut list = String::new();
    for number in 0..tools {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            list,
            r#"{comma}{{"name":"{caller}tool_{number}","description":"Does the work number {number}, and nothing else","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","x-mcp-header":"Region"}},"query":{{"type":"string"}}}}}}}}"#
        );
    }
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","tools":[{list}],"ttlMs":60000,"cacheScope":"private"}}}}"#
    )
}

fn stream(every: Option<Duration>) -> Response {
    let (send, events) = mpsc::channel::<Result<String, Infallible>>(1);
    tokio::spawn(async move {
        if send.send(Ok(format!("data: {LISTENS}\n\n"))).await.is_err() {
            return;
        }
        let Some(every) = every else { return send.closed().await };
        let mut clock = tokio::time::interval(every);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let event = format!(
                "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"data\":{{\"sent\":{now}}}}}}}\n\n"
            );
            if send.send(Ok(event)).await.is_err() {
                return;
            }
        }
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream")];
    (kind, Body::from_stream(ReceiverStream::new(events))).into_response()
}
