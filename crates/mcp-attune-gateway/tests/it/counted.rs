//! What operators see at `/metrics`. Rules: G12, H10, H17.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{always, behind, message, rest, soon};
use crate::whole::{ACCEPT, Running, ask, call, demo, gateway, in_front_of};

async fn metrics(admin: SocketAddr) -> String {
    let (status, head, body) = ask(admin, "GET /metrics", &[], "").await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(body.ends_with("# EOF\n"), "{body}");
    body
}

/// Waits until these lines are there: a request is counted when its connection has taken all of its answer.
pub(crate) async fn check(gateway: &Running, lines: &[&str]) {
    let mut text = String::new();
    for _ in 0..100 {
        text = metrics(gateway.admin).await;
        if lines.iter().all(|line| text.lines().any(|there| there == *line)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let missing: Vec<_> = lines.iter().filter(|line| !text.contains(**line)).collect();
    panic!("{missing:#?} is not in\n{text}");
}

const SQL: &str = r#"{"query":"SELECT 1","region":"eu-west1"}"#;

#[tokio::test]
async fn requests_by_method_outcome_and_language() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let german = [("io.modelcontextprotocol/acceptLanguage", "de-CH, en;q=0.5")];
    call(gateway.callers, "local_time", json!({}), &german, &[]).await;
    call(gateway.callers, "local_time", json!({}), &[], &[]).await;
    call(gateway.callers, "build_report", json!({"pages": 2}), &[("progressToken", "p")], &[]).await;
    call(
        gateway.callers,
        "execute_sql",
        serde_json::from_str(SQL).unwrap(),
        &[],
        &[("Mcp-Param-Region", "mars")],
    )
    .await;
    ask(gateway.callers, "GET /.well-known/nothing", &[], "").await;
    for made_up in 0..20 {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"made-up-{made_up}"}}"#);
        ask(gateway.callers, "POST /mcp", &ACCEPT, &body).await;
    }
    check(
        &gateway,
        &[
            r#"attune_requests_total{mount="default",method="tools/call",outcome="answered",language="en"} 1"#,
            r#"attune_requests_total{mount="default",method="tools/call",outcome="answered",language=""} 2"#,
            r#"attune_requests_total{mount="default",method="tools/call",outcome="refused",language=""} 1"#,
            r#"attune_requests_total{mount="default",method="beside",outcome="error",language=""} 1"#,
            r#"attune_requests_total{mount="default",method="other",outcome="error",language=""} 20"#,
            r#"attune_refusals_total{mount="default",rule="H6",enforced="true"} 1"#,
            r#"attune_answer_seconds_count{mount="default",method="tools/call"} 4"#,
            "attune_calls 0",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_only_reported_passes_and_is_counted() {
    let toml = in_front_of(demo().await) + "[headers]\nagree = 'report'\n";
    let gateway = gateway(&toml, None).await;
    let sql = serde_json::from_str(SQL).unwrap();
    let (status, _, _) =
        call(gateway.callers, "execute_sql", sql, &[], &[("Mcp-Param-Region", "mars")]).await;
    assert_eq!(status, 200);
    ask(gateway.callers, "POST /mcp", &ACCEPT, "no JSON").await;
    check(
        &gateway,
        &[
            r#"attune_refusals_total{mount="default",rule="H6",enforced="false"} 1"#,
            r#"attune_refusals_total{mount="default",rule="H13",enforced="false"} 1"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_call_that_goes_unchecked_is_counted() {
    let server = always("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n").await;
    let gateway = gateway(&in_front_of(server), None).await;
    call(gateway.callers, "any", json!({"a": 1}), &[], &[]).await;
    check(
        &gateway,
        &[
            r#"attune_unchecked_total{mount="default"} 1"#,
            r#"attune_requests_total{mount="default",method="tools/call",outcome="error",language=""} 1"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_server_that_fails_is_counted_by_how() {
    let server = behind(|number, mut tcp| async move {
        message(&mut tcp).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        if number == 1 {
            tcp.write_all(format!("{head}9\r\ndata: 1\n\n\r\n").as_bytes()).await.unwrap();
        }
    })
    .await;
    let gateway = gateway(&in_front_of(server), None).await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(ask(gateway.callers, "POST /mcp", &ACCEPT, ping).await.0, 502);
    assert_eq!(ask(gateway.callers, "POST /mcp", &ACCEPT, ping).await.0, 200);
    check(
        &gateway,
        &[
            r#"attune_upstream_errors_total{mount="default",kind="broken"} 2"#,
            r#"attune_requests_total{mount="default",method="ping",outcome="failed",language=""} 2"#,
        ],
    )
    .await;
}

#[tokio::test]
async fn a_caller_that_leaves_is_counted_and_its_place_is_free_again() {
    let server = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        tcp.write_all(format!("{head}9\r\ndata: 1\n\n\r\n").as_bytes()).await.unwrap();
        rest(&mut tcp).await;
    })
    .await;
    let gateway = gateway(&in_front_of(server), None).await;
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    tcp.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        .await
        .unwrap();
    let mut some = [0; 512];
    soon(tcp.read(&mut some)).await.unwrap();
    check(&gateway, &["attune_calls 1", "attune_connections 1"]).await;
    drop(tcp);
    check(
        &gateway,
        &[
            r#"attune_requests_total{mount="default",method="GET",outcome="gone",language=""} 1"#,
            "attune_calls 0",
            "attune_connections 0",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_stranger_is_counted_and_told_the_name_of_its_request() {
    let gateway = gateway(&in_front_of(demo().await), None).await;
    let (status, head, _) =
        ask(gateway.callers, "POST /mcp", &[("Origin", "https://evil.example")], "").await;
    assert_eq!(status, 403);
    assert!(head.contains("x-request-id: "), "{head}");
    check(&gateway, &[r#"attune_refusals_total{mount="",rule="H15",enforced="true"} 1"#]).await;
}

#[tokio::test]
async fn a_trace_goes_on_as_it_came() {
    let (seen, mut sent) = tokio::sync::mpsc::unbounded_channel();
    let server = behind(move |_, mut tcp| {
        let seen = seen.clone();
        async move {
            seen.send(message(&mut tcp).await).unwrap();
            tcp.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await
                .unwrap();
        }
    })
    .await;
    let gateway = gateway(&in_front_of(server), None).await;
    let trace = [
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("tracestate", "vendor=1"),
        ("baggage", "k=v"),
    ];
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    ask(gateway.callers, "POST /mcp", &[&ACCEPT[..], &trace].concat(), ping).await;
    let request = soon(sent.recv()).await.unwrap();
    for (name, value) in trace {
        assert_eq!(request.matches(&format!("{name}: {value}\r\n")).count(), 1, "{request}");
    }
}
