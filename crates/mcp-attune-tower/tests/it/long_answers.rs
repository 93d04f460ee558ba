//! Answers that take long to adapt, and whoever is served by the same thread meanwhile.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune_shape::OperatorContent;
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, Settings, full};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{post, text};

const EXTENSION: &str = "io.modelcontextprotocol/content-negotiation";
const MODERN: &str = "2026-07-28";

/// A server whose tools answer with data as text, each with a schema.
#[derive(Clone)]
struct Server {
    tools: Vec<(&'static str, Value, Value)>,
    streams: bool,
}

impl Server {
    fn respond(&self, body: &[u8]) -> Response<Body> {
        let read: Value = serde_json::from_slice(body).unwrap();
        let result = if read["method"] == "tools/list" {
            let tool = |(name, schema, _): &(&str, Value, Value)| json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": schema});
            json!({"tools": self.tools.iter().map(tool).collect::<Vec<_>>()})
        } else {
            let called = |(name, ..): &&(&str, Value, Value)| read["params"]["name"] == *name;
            let (_, _, data) = self.tools.iter().find(called).unwrap();
            json!({"content": [{"type": "text", "text": data.to_string()}]})
        };
        let answer = json!({"jsonrpc": "2.0", "id": read["id"], "result": result});
        let response = Response::builder();
        if !self.streams || read["method"] == "tools/list" {
            return response
                .header("content-type", "application/json")
                .body(full(answer.to_string()))
                .unwrap();
        }
        let note =
            |at| json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": at}});
        let events = format!("data: {}\n\ndata: {answer}\n\n: behind\n\ndata: {}\n\n", note(1), note(2));
        response.header("content-type", "text/event-stream").body(full(events)).unwrap()
    }

    fn attuned(
        self,
        mut settings: Settings,
    ) -> AttuneService<
        impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    > {
        settings.offer.content = Some(Arc::new(Arc::new(OperatorContent::default())));
        AttuneLayer::new(settings).layer(service_fn(move |request: Request<Body>| {
            let server = self.clone();
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                Ok::<_, Infallible>(server.respond(&body))
            }
        }))
    }
}

/// A call by a program, which wants data and no text.
fn call(tool: &str) -> Request<Body> {
    let features = json!({"extensions": {EXTENSION: {"version": "1.0", "features": ["format=json"]}}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": features}}});
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    post(&headers, &body.to_string())
}

/// The messages of an answer, in their order.
fn messages(body: &str) -> Vec<Value> {
    let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// More data than is adapted at once, and little data that is costly to check.
fn long() -> [(&'static str, Value, Value); 2] {
    let rows = json!(vec![json!({"a": "b".repeat(100)}); 3000]);
    let names: serde_json::Map<_, _> = (0..500).map(|at| (format!("name{at}"), json!(at))).collect();
    let patterns: serde_json::Map<_, _> = (0..20).map(|at| (format!("^(a+)+x{at}$"), json!({}))).collect();
    [
        ("large", json!({"properties": {"rows": {"items": {"required": ["a"]}}}}), json!({"rows": rows})),
        ("costly", json!({"patternProperties": patterns}), Value::Object(names)),
    ]
}

#[tokio::test]
async fn what_takes_long_is_adapted_like_what_does_not() {
    for streams in [false, true] {
        let service = Server { tools: long().to_vec(), streams }.attuned(Settings::default());
        for (tool, _, data) in long() {
            let body = text(service.clone().oneshot(call(tool)).await.unwrap()).await;
            let messages = messages(&body);
            let answer = messages.iter().find(|message| message["id"] == 7).unwrap();
            assert_eq!(
                answer["result"],
                json!({"content": [], "structuredContent": data}),
                "{tool} {streams}"
            );
            assert_eq!(messages.len(), if streams { 3 } else { 1 });
        }
    }
}

#[tokio::test]
async fn another_call_on_the_same_thread_is_answered_while_a_long_check_runs() {
    for streams in [false, true] {
        for (tool, schema, data) in long() {
            let tools = vec![(tool, schema, data), ("short", json!({}), json!({"a": 1}))];
            let service = Server { tools, streams }.attuned(Settings::default());
            // Once before, so that listings and schemas are known and each call is one turn of its task.
            for tool in [tool, "short"] {
                text(service.clone().oneshot(call(tool)).await.unwrap()).await;
            }
            // There is one thread, and it begins with the long one. Whichever thread is faster, if the long one held this
            // thread, it would be the first each time.
            let mut orders = Vec::new();
            while orders.len() < 100 && !orders.contains(&vec!["short", tool]) {
                let answered = Mutex::new(Vec::new());
                let ask = async |tool| {
                    text(service.clone().oneshot(call(tool)).await.unwrap()).await;
                    answered.lock().unwrap().push(tool);
                };
                tokio::join!(ask(tool), ask("short"));
                orders.push(answered.into_inner().unwrap());
            }
            assert_eq!(orders.pop().unwrap(), ["short", tool], "{streams}");
        }
    }
}

#[tokio::test]
async fn events_behind_one_that_takes_long_stay_behind_it() {
    let mut settings = Settings::default();
    let server = Server { tools: long().to_vec(), streams: true };
    let service = server.clone().attuned(settings.clone());
    let body = text(service.oneshot(call("large")).await.unwrap()).await;
    let order: Vec<_> =
        messages(&body).iter().map(|message| message["params"]["progress"].as_i64()).collect();
    assert_eq!(order, [Some(1), None, Some(2)]);
    assert!(body.find("structuredContent") < body.find(": behind"));
    // A stream that breaks off says so behind everything that came before.
    settings.limits.event = 400 << 10;
    let too_large = json!("x".repeat(500 << 10));
    let broken = service_fn(move |request: Request<Body>| {
        let (server, too_large) = (server.clone(), too_large.clone());
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut answer = server.respond(&body);
            if answer.headers()["content-type"] == "text/event-stream" {
                let events = answer.body_mut().collect().await.unwrap().to_bytes();
                let events = [&events[..], format!("data: {too_large}\n\n").as_bytes()].concat();
                *answer.body_mut() = full(events);
            }
            Ok::<_, Infallible>(answer)
        }
    });
    settings.offer.content = Some(Arc::new(Arc::new(OperatorContent::default())));
    let service = AttuneLayer::new(settings).layer(broken);
    let body = text(service.oneshot(call("large")).await.unwrap()).await;
    let messages = messages(&body);
    assert_eq!(messages.len(), 4);
    assert!(messages[1]["result"]["structuredContent"].is_object() && messages[3]["error"].is_object());
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_logged_once_and_its_results_pass_as_they_are() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    let data = json!({"mail": "a@b.example"});
    let slow = json!({"properties": {"mail": {"pattern": "^(?!\\.).*@"}}});
    for streams in [false, true] {
        let server = Server { tools: vec![("slow", slow.clone(), data.clone())], streams };
        let service = server.attuned(Settings::default());
        for _ in 0..3 {
            let body = text(service.clone().oneshot(call("slow")).await.unwrap()).await;
            let messages = messages(&body);
            let answer = messages.iter().find(|message| message["id"] == 7).unwrap();
            assert_eq!(answer["result"], json!({"content": [{"type": "text", "text": data.to_string()}]}));
        }
        let log = String::from_utf8(std::mem::take(&mut *log.0.lock().unwrap())).unwrap();
        assert_eq!(log.matches("outputSchema cannot be used").count(), 1, "{log}");
        assert!(log.contains("slow") && log.contains("look-around"), "{log}");
    }
}
