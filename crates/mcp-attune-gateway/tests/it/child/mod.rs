//! Servers behind that are programs.

mod addressed;
mod bridged;
mod faults;
mod leaks;
mod restarts;
pub(crate) mod script;
mod sessions;
mod shared;

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::soon;
use crate::whole::{ACCEPT, Running, ask, gateway};

/// A gateway in front of a child that follows a script; `more` are lines for `[upstream]` and tables after it.
async fn serve(script: &str, more: &str) -> Running {
    gateway(&format!("{}{more}", script::command(script)), None).await
}

type Answer = (u16, String, String);

fn read(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|why| panic!("{why}: {body}"))
}

/// The messages of a stream.
fn messages(stream: &str) -> Vec<Value> {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| !data.is_empty())
        .map(read)
        .collect()
}

/// A modern request as text, its id and token as written.
fn modern_text(id: &str, method: &str, params: Value, token: Option<&str>) -> String {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["progressToken"] = "TOKEN".into();
    let token = token.map(|token| format!(r#""progressToken":{token}"#));
    let params = params.to_string();
    let params = match token {
        Some(token) => params.replace(r#""progressToken":"TOKEN""#, &token),
        None => params.replace(r#","progressToken":"TOKEN""#, ""),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn modern_headers<'a>(method: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut headers = ACCEPT.to_vec();
    headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)]);
    if !name.is_empty() {
        headers.push(("Mcp-Name", name));
    }
    headers
}

/// A modern call of a tool of the script.
async fn call(gateway: SocketAddr, id: &str, tool: &str, arguments: Value) -> Answer {
    call_with(gateway, id, tool, arguments, None).await
}

async fn call_with(
    gateway: SocketAddr,
    id: &str,
    tool: &str,
    arguments: Value,
    token: Option<&str>,
) -> Answer {
    let body = modern_text(id, "tools/call", json!({ "name": tool, "arguments": arguments }), token);
    ask(gateway, "POST /mcp", &modern_headers("tools/call", tool), &body).await
}

/// A request whose answer is read piece by piece.
struct Open {
    tcp: TcpStream,
    all: String,
}

impl Open {
    async fn send(gateway: SocketAddr, line: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut tcp = TcpStream::connect(gateway).await.unwrap();
        let mut request = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        tcp.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
        Self { tcp, all: String::new() }
    }

    /// Reads until this was said, and returns all that was.
    async fn until(&mut self, said: &str) -> &str {
        while !self.all.contains(said) {
            let mut piece = [0; 4096];
            let bytes = soon(self.tcp.read(&mut piece)).await.unwrap();
            assert_ne!(bytes, 0, "{said} was not said: {}", self.all);
            self.all += &String::from_utf8_lossy(&piece[..bytes]);
        }
        &self.all
    }
}

/// A legacy session.
struct Legacy {
    gateway: SocketAddr,
    id: String,
}

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2025-11-25");

fn hello(capabilities: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "it", "version": "1"}}})
    .to_string()
}

fn session_of(head: &str) -> Option<&str> {
    head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "))
}

impl Legacy {
    async fn begin(gateway: SocketAddr, capabilities: Value) -> Self {
        let (status, head, body) = ask(gateway, "POST /mcp", &ACCEPT, &hello(&capabilities)).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!(read(&body)["result"]["protocolVersion"], "2025-11-25");
        let id = session_of(&head).unwrap().to_owned();
        let session = Self { gateway, id };
        let (status, _, body) =
            session.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        assert_eq!((status, body.as_str()), (202, ""));
        session
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        [&ACCEPT[..], &[VERSION, ("Mcp-Session-Id", &self.id)]].concat()
    }

    async fn post(&self, body: &str) -> Answer {
        ask(self.gateway, "POST /mcp", &self.headers(), body).await
    }

    fn text(id: &str, tool: &str, arguments: &Value) -> String {
        let params = json!({ "name": tool, "arguments": arguments });
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    }

    async fn call(&self, id: &str, tool: &str, arguments: Value) -> Answer {
        self.post(&Self::text(id, tool, &arguments)).await
    }

    async fn open(&self, id: &str, tool: &str, arguments: Value) -> Open {
        Open::send(self.gateway, "POST /mcp", &self.headers(), &Self::text(id, tool, &arguments)).await
    }

    async fn get(&self, more: &[(&str, &str)]) -> Open {
        Open::send(self.gateway, "GET /mcp", &[&self.headers()[..], more].concat(), "").await
    }

    async fn end(&self) -> u16 {
        ask(self.gateway, "DELETE /mcp", &self.headers(), "").await.0
    }

    async fn pid(&self) -> u32 {
        let (_, _, body) = self.call("1", "pid", json!({})).await;
        read(&body)["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap()
    }
}
