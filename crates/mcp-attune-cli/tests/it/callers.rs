//! The caller's time, place and locale on their way through the real program: over HTTP and pipes, in both eras.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::demo::NOW;
use crate::serving::{FREE, Served};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

/// What the server behind may know.
const FORWARD: &str =
    "[context]\nforward = [\"timezone\", \"locale\", \"currentTimestamp\", \"userLocation\"]\n";

/// Written once: a test that writes it again would empty it while another reads.
static CONFIG: LazyLock<String> = LazyLock::new(|| {
    let file = std::env::temp_dir().join(format!("attune-callers-{}.toml", std::process::id()));
    std::fs::write(&file, FORWARD).expect("a file");
    file.to_str().expect("a path").to_owned()
});

/// A call as an era sends it.
fn call(era: &str, tool: &str, query: &str, context: &Value) -> Value {
    let mut call = json!({ "jsonrpc": "2.0", "id": 101, "method": "tools/call",
        "params": { "name": tool, "arguments": { "query": query } }, "clientContext": context });
    if era == MODERN {
        call["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {} });
    }
    call
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": LEGACY,
        "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } } })
}

pub(crate) fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// The answer to a call over HTTP.
fn over_http(address: &str, era: &str, call: &Value) -> Value {
    let mut session = String::new();
    if era == LEGACY {
        let (head, _) = post(address, "", &initialize());
        let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
        post(address, &session, &initialized());
    }
    let tool = call["params"]["name"].as_str().expect("a name");
    let headers = match era {
        LEGACY => session,
        _ => format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"),
    };
    post(address, &headers, call).1
}

pub(crate) fn post(address: &str, headers: &str, body: &Value) -> (String, Value) {
    let body = body.to_string();
    let mut tcp = TcpStream::connect(address).expect("it listens");
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    tcp.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).expect("it answers");
    let (head, rest) = answer.split_once("\r\n\r\n").expect("a head");
    // Chunks and events have their lines around the message.
    let message = rest.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let mut message = message.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    (head.to_owned(), message.rfind(Value::is_object).unwrap_or_default())
}

/// The answer to a call over the pipes of `attune stdio`, and what was logged meanwhile.
fn over_pipes(era: &str, call: &Value) -> (Value, String) {
    let binary = env!("CARGO_BIN_EXE_attune");
    let mut child = Command::new(binary)
        .args(["stdio", "--config", &CONFIG, "--", binary, "demo", "--bare", "--stdio", "--now", NOW])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    let mut to = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    if era == LEGACY {
        writeln!(to, "{}", initialize()).expect("it reads");
        lines.next().expect("a line").expect("a line");
        writeln!(to, "{}", initialized()).expect("it reads");
    }
    writeln!(to, "{call}").expect("it reads");
    let answer = lines.next().expect("a line").expect("a line");
    drop(to);
    let output = child.wait_with_output().expect("it ends");
    (serde_json::from_str(&answer).expect("a message"), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The examples of SEP-1809, and what a caller there has to get on 22 February 2026. The third says `the last
/// week` in the proposal, of which the library decides what it means.
fn examples() -> [(&'static str, &'static str, Value, Value); 3] {
    let location = json!({ "city": "Los Angeles", "region": "California", "country": "US",
        "coordinates": { "latitude": 34.0522, "longitude": -118.2437 } });
    [
        (
            "query_sales",
            "sales this month",
            json!({ "timezone": "Europe/Vienna", "locale": "de-AT" }),
            json!({ "from": "2026-02-01", "to": "2026-02-28", "timezone": "Europe/Vienna", "tickets": 33279,
                "revenue": 780_392.55, "currency": "CHF" }),
        ),
        (
            "query_tickets",
            "tickets submitted as of now",
            json!({ "currentTimestamp": "2025-11-12T14:23:00+01:00" }),
            json!({ "as_of": "2025-11-12T14:23:00+01:00", "timezone": "+01:00", "open": 46 }),
        ),
        (
            "query_activity",
            "user logins last week",
            json!({ "timezone": "America/Los_Angeles", "currentTimestamp": "2025-11-12T06:23:00-08:00",
                "locale": "en-US", "userLocation": location }),
            json!({ "from": "2025-11-02", "to": "2025-11-08", "timezone": "America/Los_Angeles", "logins": 1176 }),
        ),
    ]
}

#[test]
fn the_examples_of_the_proposal_work_through_the_gateway_and_over_pipes() {
    let binary = env!("CARGO_BIN_EXE_attune");
    let mut demo = Served::start(&[&["demo", "--now", NOW], &FREE[..]].concat());
    let over = demo.address("is at");
    let command = ["--", binary, "demo", "--bare", "--stdio", "--now", NOW];
    let mut child = Served::start(&[&["serve", "--config", &CONFIG], &FREE[..], &command].concat());
    let program = child.address("serves");
    for era in [MODERN, LEGACY] {
        for (tool, query, context, expected) in examples() {
            let call = call(era, tool, query, &context);
            for address in [&over, &program] {
                let answer = over_http(address, era, &call);
                assert_eq!(answer["result"]["structuredContent"], expected, "{era} {tool} {answer}");
            }
            let (answer, _) = over_pipes(era, &call);
            assert_eq!(answer["result"]["structuredContent"], expected, "{era} {tool} {answer}");
        }
    }
}

/// Contexts with something that cannot be read, and where.
fn bad() -> Vec<(Value, &'static str)> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    vec![
        (json!({ "timezone": "Europe/Nowhere" }), "timezone"),
        (json!({ "timezone": "+02:00" }), "timezone"),
        (json!({ "timezone": 7 }), "timezone"),
        (json!({ "currentTimestamp": "20261-01-01T00:00:00Z" }), "currentTimestamp"),
        (json!({ "currentTimestamp": "2026-01-01T00:00:00" }), "currentTimestamp"),
        (json!({ "currentTimestamp": "2016-12-31T25:59:60Z" }), "currentTimestamp"),
        (json!({ "locale": ["de"] }), "locale"),
        (json!({ "locale": format!("de{}", "-x1234567".repeat(200)) }), "locale"),
        (json!({ "userLocation": { "coordinates": { "latitude": 91, "longitude": 8 } } }), "latitude"),
        (json!({ "userLocation": { "country": "Switzerland" } }), "country"),
        (json!({ "timezone": "x".repeat(1 << 20) }), "clientContext is ignored: it is over 64 KiB"),
        (json!({ "userLocation": deep }), "userLocation"),
    ]
}

#[test]
fn what_cannot_be_read_of_a_context_is_ignored_and_told_and_the_call_goes_on() {
    for (mut context, field) in bad() {
        // What can be read beside it still counts.
        let told = context.as_object().is_some_and(|members| members.contains_key("timezone"));
        if !told {
            context["timezone"] = "America/Los_Angeles".into();
        }
        let zone = if told { "UTC" } else { "America/Los_Angeles" };
        let call = call(MODERN, "query_tickets", "as of now", &context);
        let (answer, log) = over_pipes(MODERN, &call);
        assert_eq!(answer["result"]["structuredContent"]["timezone"], zone, "{field} {answer}");
        let warned = log.lines().any(|line| line.contains("WARN") && line.contains(field));
        assert!(warned, "{field}: {log}");
        assert!(
            log.len() < 10_000 && !log.contains("Nowhere") && !log.contains("Los_Angeles"),
            "{field}: {log}"
        );
    }
}

/// What is not known is nobody's fault: it is passed over, however deep it is.
#[test]
fn a_context_that_is_deep_changes_nothing() {
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "a": inner }));
    let context = json!({ "timezone": "Asia/Kathmandu", "more": deep });
    let call = call(MODERN, "query_tickets", "as of now", &context);
    let (answer, log) = over_pipes(MODERN, &call);
    assert_eq!(answer["result"]["structuredContent"]["as_of"], "2026-02-22T14:15:00+05:45", "{answer}");
    assert_eq!(log, "");
}
