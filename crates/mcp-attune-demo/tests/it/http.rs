//! A demo on a free port, and a client that shows everything: status, headers, JSON, events as they come.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use mcp_attune_demo::DemoOptions;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Half past nine in Switzerland, at which the clock of the service stands still: 2026-02-22T08:30:00Z.
const NOW: jiff::Timestamp = jiff::Timestamp::constant(1_771_749_000, 0);

/// Headers that a test adds to a request, or sends instead of the usual ones.
pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

pub(crate) struct Demo {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Demo {
    /// A demo that wastes no time.
    pub(crate) async fn start() -> Self {
        Self::with(DemoOptions {
            step_delay: Duration::from_millis(1),
            now: Some(NOW),
            ..DemoOptions::default()
        })
        .await
    }

    pub(crate) async fn with(options: DemoOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(mcp_attune_demo::serve(listener, options, async { _ = stopped.await }));
        Self { address, stop, ended }
    }

    /// Asks the demo to stop, and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        tokio::time::timeout(Duration::from_secs(5), self.ended).await.unwrap().unwrap().unwrap();
    }

    /// One request on a connection of its own. The later of two headers with the same name counts.
    pub(crate) async fn send(&self, method: Method, headers: Headers<'_>, body: &str) -> Response<Incoming> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::new(Full::new(Bytes::from(body.to_owned())));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().unwrap();
        let usual = [("host", "localhost"), ("content-type", "application/json"), ("accept", BOTH)];
        for (name, value) in usual.iter().chain(headers) {
            request.headers_mut().insert(
                name.parse::<hyper::header::HeaderName>().unwrap(),
                value.parse::<hyper::header::HeaderValue>().unwrap(),
            );
        }
        sender.send_request(request).await.unwrap()
    }

    pub(crate) async fn post(&self, headers: Headers<'_>, body: &Value) -> Answer {
        Answer::of(self.send(Method::POST, headers, &body.to_string()).await).await
    }

    /// A modern request as a good client sends it, envelope and headers included.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Answer {
        let body = modern(method, params);
        let params = &body["params"];
        let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
        headers.extend(params["name"].as_str().or(params["uri"].as_str()).map(|name| ("mcp-name", name)));
        self.post(&headers, &body).await
    }

    /// The whole result of a modern `tools/call`.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["result"].clone()
    }
}

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const BOTH: &str = "application/json, text/event-stream";

/// The body of a modern request, with an envelope unless `params` brings its own.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    let envelope = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": { "name": "it", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let meta = params["_meta"].take();
    params["_meta"] = envelope;
    for (key, value) in meta.as_object().into_iter().flatten() {
        params["_meta"][key] = value.clone();
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn of(response: Response<Incoming>) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        Self { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/json", "{}", self.text);
        serde_json::from_str(&self.text).unwrap()
    }

    /// The messages of a stream, without the events that carry none.
    pub(crate) fn messages(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), "text/event-stream", "{}", self.text);
        self.text.split("\n\n").filter_map(message).collect()
    }

    /// The last message of a stream, which is the answer.
    pub(crate) fn last(&self) -> Value {
        self.messages().pop().unwrap()
    }
}

/// A stream whose messages are taken one by one, while it is open.
pub(crate) struct Stream {
    body: Incoming,
    text: String,
}

impl Stream {
    pub(crate) fn of(response: Response<Incoming>) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next message; none when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let found = message(event);
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
            }
            let frame = tokio::time::timeout(Duration::from_secs(5), self.body.frame()).await.unwrap()?;
            let data = frame.unwrap().into_data().unwrap_or_default();
            self.text.push_str(str::from_utf8(&data).unwrap());
        }
    }
}

fn message(event: &str) -> Option<Value> {
    let data = event.lines().find_map(|line| line.strip_prefix("data:"))?.trim();
    (!data.is_empty()).then(|| serde_json::from_str(data).unwrap())
}
