//! The whole gateway, from its configuration to the server behind: the demo, or a script.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mcp_attune_demo::DemoOptions;
use mcp_attune_gateway::config::Config;
use mcp_attune_gateway::gateway::Gateway;
use mcp_attune_gateway::listen::DrainOutcome;
use mcp_attune_gateway::workers::Workers;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::support::{behind, message, soon};

pub(crate) struct Running {
    pub(crate) callers: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) end: JoinHandle<DrainOutcome>,
}

impl Running {
    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(self) -> DrainOutcome {
        drop(self.stop);
        self.end.await.unwrap()
    }
}

/// A gateway for this configuration, on ports of its own.
pub(crate) async fn gateway(toml: &str, file: Option<PathBuf>) -> Running {
    // On threads of their own, as the command does it.
    run(bound(toml).await.with_workers(Workers::start().unwrap()), file)
}

/// The same, all on the thread of the test: for those that listen to its log.
pub(crate) async fn gateway_here(toml: &str) -> Running {
    run(bound(toml).await, None)
}

async fn bound(toml: &str) -> Gateway {
    let mut config = Config::parse(toml, "attune.toml").unwrap_or_else(|findings| panic!("{findings}"));
    config.server.listen.set_port(0);
    config.server.admin.set_port(0);
    Gateway::bind(config).await.unwrap()
}

fn run(gateway: Gateway, file: Option<PathBuf>) -> Running {
    let (callers, admin) = (gateway.address().unwrap(), gateway.admin_address().unwrap());
    let (stop, stopped) = oneshot::channel();
    let end = tokio::spawn(gateway.run(file, async {
        let _ = stopped.await;
    }));
    Running { callers, admin, stop: Some(stop), end }
}

pub(crate) fn in_front_of(server: SocketAddr) -> String {
    format!("default_language = 'en'\n[upstream]\nurl = 'http://{server}/mcp'\nera = 'modern'\n")
}

pub(crate) async fn demo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = DemoOptions { step_delay: Duration::from_millis(5), ..DemoOptions::default() };
    tokio::spawn(mcp_attune_demo::serve(listener, options, std::future::pending()));
    address
}

/// Sends a request and reads the answer to its end: status, head and body, chunks put together.
pub(crate) async fn ask(
    address: SocketAddr,
    line: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String, String) {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let mut request = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    tcp.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    soon(tcp.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = if head.contains("transfer-encoding: chunked") { unchunked(body) } else { body.to_owned() };
    (status, head.to_owned(), body)
}

pub(crate) fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body += &after[..size];
        rest = after[size..].strip_prefix("\r\n").unwrap_or_default();
    }
    body
}

pub(crate) const ACCEPT: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// A modern call of a demo tool.
pub(crate) async fn call(
    address: SocketAddr,
    tool: &str,
    arguments: Value,
    meta: &[(&str, &str)],
    more: &[(&str, &str)],
) -> (u16, String, String) {
    let mut envelope = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in meta {
        envelope[*key] = (*value).into();
    }
    let body = json!({"jsonrpc": "2.0", "id": "seven", "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": envelope}});
    let routed = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    ask(address, "POST /mcp", &[&ACCEPT[..], &routed, more].concat(), &body.to_string()).await
}

#[tokio::test]
async fn a_header_that_disagrees_is_refused_before_the_server_sees_it() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let sql = json!({"query": "SELECT 1", "region": "eu-west1", "shard": 7, "options": {"priority": "high"}});
    let (status, head, body) = call(
        gateway.callers,
        "execute_sql",
        sql.clone(),
        &[],
        &[("Mcp-Param-Region", "us-west1"), ("Mcp-Param-Shard", "7.0"), ("X-Request-Id", "mine")],
    )
    .await;
    assert_eq!(status, 400);
    assert!(head.contains("x-request-id: mine") && head.contains("content-type: application/json"), "{head}");
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!("seven"), &json!(-32020)));
    let headers: Vec<_> = error["error"]["data"]["mismatches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["header"].as_str().unwrap())
        .collect();
    assert_eq!(headers, ["Mcp-Param-Priority", "Mcp-Param-Region"]);

    let agreeing =
        [("Mcp-Param-Region", "eu-west1"), ("Mcp-Param-Shard", "7"), ("Mcp-Param-Priority", "high")];
    let (status, _, body) = call(gateway.callers, "execute_sql", sql, &[], &agreeing).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn an_answer_to_a_preference_says_its_language() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let german = [("io.modelcontextprotocol/acceptLanguage", "de-CH, en;q=0.5")];
    let (status, head, body) =
        call(gateway.callers, "get_weather", json!({"location": "Bern"}), &german, &[]).await;
    assert_eq!(status, 200);
    assert!(head.contains("content-language: en") && head.contains("cache-control: private"), "{head}");
    let result: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/contentLanguage"], "en");
}

#[tokio::test]
async fn progress_streams_through_and_the_result_in_it_says_its_language() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let meta = [("progressToken", "p"), ("io.modelcontextprotocol/acceptLanguage", "fr")];
    let (status, head, body) = call(gateway.callers, "build_report", json!({"pages": 3}), &meta, &[]).await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/event-stream") && !head.contains("content-language"), "{head}");
    assert_eq!(body.matches("notifications/progress").count(), 3, "{body}");
    assert!(body.contains("\"io.modelcontextprotocol/contentLanguage\":\"en\""), "{body}");
}

#[tokio::test]
async fn legacy_sessions_pass_as_they_are() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let (status, head, _) = ask(gateway.callers, "POST /mcp", &ACCEPT, &initialize.to_string()).await;
    assert_eq!(status, 200);
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers =
        [&ACCEPT[..], &[("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]].concat();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(ask(gateway.callers, "POST /mcp", &headers, ready).await.0, 202);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &headers, list).await;
    assert!(status == 200 && body.contains("execute_sql"), "{status} {body}");
    assert_eq!(ask(gateway.callers, "DELETE /mcp", &headers, "").await.0, 202);
    assert_eq!(ask(gateway.callers, "POST /mcp", &headers, list).await.0, 404);
}

/// Odd but legal: nothing here is for the gateway to change.
const ODD: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"vendor/odd","params":{"z":1,"a":2}}"#,
    "{\r\n  \"id\" : 123456789012345678901234567890 ,\t\"method\":\"ping\", \"jsonrpc\":\"2.0\"}\n",
    r#"{"jsonrpc":"2.0","id":1.50e+2,"method":"tools\/list","extra":[null,true,-0.0,1e400]}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/\u0063ancelled","params":{"requestId":"\ud83d\ude00","x":"\ud83d"}}"#,
    r#"{"jsonrpc":"2.0","id":"é\u00e9","result":{"unknown":{"":""}}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"\t\"","data":[[[]]]}}"#,
];

#[tokio::test]
async fn odd_but_legal_messages_come_out_as_they_went_in_both_ways() {
    let (seen, mut sent) = mpsc::unbounded_channel();
    let server = behind(move |_, mut tcp| {
        let seen = seen.clone();
        async move {
            let request = message(&mut tcp).await;
            let body = request.split_once("\r\n\r\n").unwrap().1.to_owned();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-odd: a\r\nx-odd: b\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            tcp.write_all(answer.as_bytes()).await.unwrap();
            seen.send(request).unwrap();
        }
    }).await;
    let gateway = gateway(&in_front_of(server), None).await;
    for odd in ODD {
        let headers =
            [&ACCEPT[..], &[("MCP-Protocol-Version", "2025-11-25"), ("X-Vendor", "  kept  ")]].concat();
        let (status, head, body) = ask(gateway.callers, "POST /mcp?q=1&q=2", &headers, odd).await;
        assert_eq!((status, body.as_str()), (200, *odd));
        assert_eq!(head.matches("x-odd: ").count(), 2);
        let request = soon(sent.recv()).await.unwrap();
        assert!(request.starts_with("POST /mcp?q=1&q=2 HTTP/1.1\r\n"), "{request}");
        assert_eq!(request.split_once("\r\n\r\n").unwrap().1, *odd);
        assert!(request.contains("x-vendor: kept\r\n"), "{request}");
    }
}

#[tokio::test]
async fn a_challenge_and_paths_beside_the_endpoint_come_through() {
    let server = behind(|_, mut tcp| async move {
        let request = message(&mut tcp).await;
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let answer = format!("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer resource_metadata=\"{path}\"\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
        tcp.write_all(answer.as_bytes()).await.unwrap();
    }).await;
    let gateway = gateway(&in_front_of(server), None).await;
    for line in ["POST /mcp", "GET /mcp", "GET /.well-known/oauth-protected-resource/mcp"] {
        let body = if line.starts_with("POST") { r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"# } else { "" };
        let (status, head, body) = ask(gateway.callers, line, &ACCEPT, body).await;
        let path = line.split(' ').nth(1).unwrap();
        assert_eq!((status, body.as_str()), (401, "no"));
        assert!(head.contains(&format!("www-authenticate: Bearer resource_metadata=\"{path}\"")), "{head}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_503_with_the_id_and_the_next_call_works() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let gateway = gateway(&in_front_of(address), None).await;
    let ping = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &ACCEPT, ping).await;
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &error["id"], &error["error"]["code"]), (503, &json!(42), &json!(-32603)));

    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(mcp_attune_demo::serve(listener, DemoOptions::default(), std::future::pending()));
    let (status, _, _) = call(gateway.callers, "local_time", json!({}), &[], &[]).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_server_killed_in_the_middle_of_a_stream_ends_it_with_an_error_event() {
    let server = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        tcp.write_all(format!("{head}9\r\ndata: 1\n\n\r\n7\r\ndata: {{\r\n").as_bytes()).await.unwrap();
    })
    .await;
    let gateway = gateway(&in_front_of(server), None).await;
    let ping = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &ACCEPT, ping).await;
    assert_eq!(status, 200);
    let last = body.strip_prefix("data: 1\n\ndata: ").unwrap().trim();
    let error: Value = serde_json::from_str(last).unwrap();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(42), &json!(-32603)));
}

#[tokio::test]
async fn several_servers_are_told_apart_by_their_paths() {
    let answers = |text: &'static str| {
        behind(move |_, mut tcp| async move {
            message(&mut tcp).await;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
                text.len()
            );
            tcp.write_all(answer.as_bytes()).await.unwrap();
        })
    };
    let (one, two) = (answers("one").await, answers("two").await);
    let toml = format!(
        "[mounts.a]\npath = '/a'\nupstream = {{ url = 'http://{one}/mcp', unknown_paths = 'pass' }}\n[mounts.b]\npath = '/b/mcp'\nupstream = {{ url = 'http://{two}/mcp' }}\n"
    );
    let gateway = gateway(&toml, None).await;
    for (path, expected) in [
        ("/a", "one"),
        ("/b/mcp", "two"),
        ("/.well-known/oauth-protected-resource/b/mcp", "two"),
        ("/a/beside", "one"),
    ] {
        assert_eq!(ask(gateway.callers, &format!("GET {path}"), &[], "").await.2, expected, "{path}");
    }
    assert_eq!(ask(gateway.callers, "GET /elsewhere", &[], "").await.0, 404);
}

#[tokio::test]
async fn a_new_configuration_is_followed_and_a_wrong_one_is_not() {
    let server = demo().await;
    let folder = std::env::temp_dir().join(format!("attune-whole-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("attune.toml");
    let enforcing = in_front_of(server);
    std::fs::write(&file, &enforcing).unwrap();
    let gateway = gateway(&enforcing, Some(file.clone())).await;
    let wrong = [("Mcp-Param-Region", "us-west1")];
    let sql = json!({"query": "SELECT 1", "region": "eu-west1"});
    assert_eq!(call(gateway.callers, "execute_sql", sql.clone(), &[], &wrong).await.0, 400);

    std::fs::write(&file, "[headers]\nagree = 'maybe'\n").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(call(gateway.callers, "execute_sql", sql.clone(), &[], &wrong).await.0, 400);

    std::fs::write(&file, format!("{enforcing}[headers]\nagree = 'report'\n")).unwrap();
    for _ in 0..50 {
        if call(gateway.callers, "execute_sql", sql.clone(), &[], &wrong).await.0 == 200 {
            std::fs::remove_dir_all(&folder).unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the new configuration was not followed");
}

#[tokio::test]
async fn health_is_told_beside_and_stopping_waits_for_running_calls() {
    let mut gateway = gateway(&in_front_of(demo().await), None).await;
    let (status, _, body) = ask(gateway.admin, "GET /healthz", &[], "").await;
    assert_eq!((status, body.as_str()), (200, "ok\n"));
    assert_eq!(ask(gateway.admin, "GET /readyz", &[], "").await.0, 200);
    let running = tokio::spawn({
        let callers = gateway.callers;
        async move { call(callers, "build_report", json!({"pages": 20}), &[], &[]).await }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    gateway.stop.take().unwrap().send(()).unwrap();
    assert_eq!(soon(running).await.unwrap().0, 200);
    assert_eq!(soon(gateway.end).await.unwrap().cut, 0);
    assert!(TcpStream::connect(gateway.callers).await.is_err());
}
