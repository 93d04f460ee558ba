//! Plain requests in HTTP/1.0, whose answers end with their connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);

/// An answer that has come whole.
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    /// The value of a header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> String {
        header(&self.head, name).unwrap_or_default()
    }

    /// Its body as JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Posts a body to a URL.
pub(crate) fn post(url: &str, headers: &[(&str, &str)], body: &str) -> Result<HttpAnswer> {
    let host = authority(url);
    let path = url.split_once(host).map_or("/", |(_, path)| path);
    let mut request = format!("POST {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    let mut tcp = TcpStream::connect(host).with_context(|| format!("nobody listens at {host}"))?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    tcp.write_all(format!("{request}\r\n{body}").as_bytes())?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).with_context(|| format!("{url} did not answer"))?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without an end of its head")?;
    let status = head.split(' ').nth(1).context("an answer without a status")?.parse()?;
    Ok(HttpAnswer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Lists the tools of a server, as a modern client that says nothing of its caller.
pub(crate) fn list_tools(url: &str, headers: &[(&str, &str)]) -> Result<HttpAnswer> {
    modern(url, "tools/list", json!({}), headers)
}

/// Calls a tool without arguments, as a modern client that says nothing of its caller.
pub(crate) fn call_tool(url: &str, tool: &str, headers: &[(&str, &str)]) -> Result<HttpAnswer> {
    let headers = [headers, &[("Mcp-Name", tool)]].concat();
    modern(url, "tools/call", json!({ "name": tool, "arguments": {} }), &headers)
}

fn modern(url: &str, method: &str, mut params: Value, more: &[(&str, &str)]) -> Result<HttpAnswer> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    post(url, &[&headers[..], more].concat(), &body.to_string())
}

/// The value of a header in the head of an answer.
pub(crate) fn header(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

/// `http://127.0.0.1:80/mcp` → `127.0.0.1:80`
pub(crate) fn authority(url: &str) -> &str {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split('/').next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_headers_and_addresses() {
        let head = "HTTP/1.1 200 OK\r\nX-Replica: 127.0.0.1:1\r\nMcp-Session-Id: a: b\r\n\r\n";
        assert_eq!(header(head, "mcp-session-id").as_deref(), Some("a: b"));
        assert_eq!(header(head, "x-other"), None);
        assert_eq!(authority("http://127.0.0.1:80/mcp"), "127.0.0.1:80");
    }
}
