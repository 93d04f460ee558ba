//! Servers for tests, and short patience.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_attune_rmcp::{ClientError, Connection, ConnectionOptions, ServerTarget, StderrTarget};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Options for servers that answer at once, or never.
pub(crate) fn options() -> ConnectionOptions {
    let mut options = ConnectionOptions::default();
    options.stderr = StderrTarget::Logged("test".to_owned());
    options
}

/// Little patience.
pub(crate) fn impatient() -> ConnectionOptions {
    let mut options = options();
    (options.connect, options.answer) = (Duration::from_millis(1500), Duration::from_millis(300));
    options
}

/// The demo with its clock stopped at 2026-02-22T08:30:00Z.
pub(crate) fn stopped() -> mcp_attune_demo::DemoOptions {
    let now = Some(jiff::Timestamp::constant(1_771_749_000, 0));
    mcp_attune_demo::DemoOptions { now, ..Default::default() }
}

/// The demo over HTTP, at this URL.
pub(crate) async fn demo() -> ServerTarget {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(mcp_attune_demo::serve(listener, stopped(), std::future::pending()));
    url.parse().unwrap()
}

/// A request: its first line and headers, and its body where that is JSON.
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// The values of a header, line by line.
    pub(crate) fn lines(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(line, _)| *line == name).map(|(_, value)| value).collect()
    }

    /// A member of its `_meta`.
    pub(crate) fn meta(&self, key: &str) -> &Value {
        &self.body["params"]["_meta"][format!("io.modelcontextprotocol/{key}")]
    }

    /// An answer to it, with other headers.
    pub(crate) fn result_with(&self, headers: &str, result: &str) -> String {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.body["id"]);
        answer(200, &format!("Content-Type: application/json\r\n{headers}"), &body)
    }

    /// An error.
    pub(crate) fn refusal(&self, status: u16, code: i32, message: &str) -> String {
        let id = &self.body["id"];
        let error = serde_json::json!({ "code": code, "message": message });
        json(status, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
    }

    /// An answer to it.
    pub(crate) fn result(&self, result: &str) -> String {
        json(200, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.body["id"]))
    }
}

/// What a server was asked, in order.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<Asked>>>);

impl Heard {
    pub(crate) fn push(&self, asked: Asked) {
        self.0.lock().unwrap().push(asked);
    }

    /// All of it, and nothing is left.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The methods of all of it, and nothing is left.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.take().iter().map(|asked| asked.method().to_owned()).collect()
    }
}

/// A modern server with these capabilities that answers the rest as a test says.
pub(crate) async fn modern(
    capabilities: &'static str,
    rest: impl Fn(&Asked) -> String + Clone + Send + 'static,
) -> (ServerTarget, Heard) {
    let heard = Heard::default();
    let hears = heard.clone();
    let target = server(move |asked| {
        let answer = match asked.method() {
            "server/discover" => asked.result(&format!(
                r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private"}}"#
            )),
            _ => rest(&asked),
        };
        hears.push(asked);
        answer
    })
    .await;
    (target, heard)
}

/// A server of 2025-11-25 with these capabilities that answers the rest as a test says.
pub(crate) async fn legacy(
    capabilities: &'static str,
    rest: impl Fn(&Asked) -> String + Clone + Send + 'static,
) -> (ServerTarget, Heard) {
    let heard = Heard::default();
    let hears = heard.clone();
    let target = server(move |asked| {
        let answer = match asked.method() {
            "server/discover" => answer(405, "", ""),
            "initialize" => asked.result(&format!(
                r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"serverInfo":{{"name":"old","version":"1"}}}}"#
            )),
            "notifications/initialized" => answer(202, "", ""),
            _ => rest(&asked),
        };
        hears.push(asked);
        answer
    })
    .await;
    (target, heard)
}

/// A whole HTTP answer.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Status\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

pub(crate) fn json(status: u16, body: &str) -> String {
    answer(status, "Content-Type: application/json\r\n", body)
}

/// A server over HTTP that does what a test says. An empty answer is none at all.
pub(crate) async fn server(answer: impl Fn(Asked) -> String + Clone + Send + 'static) -> ServerTarget {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(one(stream, answer.clone()));
        }
    });
    url.parse().unwrap()
}

async fn one(mut stream: TcpStream, answer: impl Fn(Asked) -> String) {
    let Some(asked) = asked(&mut stream).await else { return };
    let answer = answer(asked);
    if answer.is_empty() {
        return std::future::pending().await;
    }
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// What comes first on a connection; none where it is no whole request.
pub(crate) async fn asked(stream: &mut TcpStream) -> Option<Asked> {
    let mut text = Vec::new();
    let head = loop {
        if stream.read_buf(&mut text).await.unwrap_or(0) == 0 {
            return None;
        }
        if let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8(text.drain(..end + 4).collect()).unwrap().to_ascii_lowercase();
        }
    };
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    while text.len() < length.unwrap_or(0) {
        if stream.read_buf(&mut text).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    Some(Asked { head, body: serde_json::from_slice(&text).unwrap_or_default() })
}

/// Why there is no connection.
pub(crate) async fn fault(target: &ServerTarget, options: &ConnectionOptions) -> ClientError {
    match Connection::open(target, options).await {
        Err(error) => error,
        Ok(connection) => panic!("{connection:?}"),
    }
}

/// What an error says, with the target left out.
pub(crate) fn says(error: &ClientError, target: &ServerTarget) -> String {
    error.to_string().replace(&target.to_string(), "TARGET")
}
