//! Each key of `[limits]`, as callers of the whole gateway meet it; `upstream_first_byte` and `stream_idle` are
//! in `outage`. Rules: G4.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{behind, message, rest, soon};
use crate::whole::{ACCEPT, Running, ask, gateway, in_front_of};

const PING: &str = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
const WISHING: &str = r#"{"jsonrpc":"2.0","id":42,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;

/// A server whose answer has so many bytes, as JSON or as an event.
async fn answering(bytes: usize, kind: &'static str) -> SocketAddr {
    behind(move |_, mut tcp| async move {
        message(&mut tcp).await;
        let answer = format!(r#"{{"jsonrpc":"2.0","id":42,"result":{{"text":"{}"}}}}"#, "x".repeat(bytes));
        let (before, after) = if kind == "text/event-stream" { ("data: ", "\n\n") } else { ("", "") };
        let length = before.len() + answer.len() + after.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        // Whoever refuses it may hang up before all of it is sent.
        let _ = tcp.write_all(format!("{head}{before}{answer}{after}").as_bytes()).await;
    })
    .await
}

async fn json() -> SocketAddr {
    answering(10, "application/json").await
}

/// A gateway with this in `[limits]`.
async fn limited(server: SocketAddr, limits: &str) -> Running {
    gateway(&format!("{}[limits]\n{limits}\n", in_front_of(server)), None).await
}

async fn post(gateway: &Running, body: &str) -> (u16, String, String) {
    ask(gateway.callers, "POST /mcp", &ACCEPT, body).await
}

/// Says something on a connection of its own, and returns what comes until it is closed.
async fn says(gateway: &Running, raw: &str) -> String {
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    tcp.write_all(raw.as_bytes()).await.unwrap();
    rest(&mut tcp).await
}

#[track_caller]
fn check(
    (status, head, body): &(u16, String, String),
    expected: u16,
    code: i64,
    id: Option<i64>,
    words: &str,
) {
    assert_eq!(*status, expected, "{head}\n{body}");
    let error: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{body}"));
    assert_eq!((error["error"]["code"].as_i64(), error["id"].as_i64()), (Some(code), id), "{body}");
    assert!(error["error"]["message"].as_str().unwrap().contains(words), "{body}");
}

#[tokio::test]
async fn a_body_over_body_is_413() {
    let gateway = limited(json().await, "body = '1 KiB'").await;
    let fits = format!("{PING}{}", " ".repeat(1024 - PING.len()));
    assert_eq!(post(&gateway, &fits).await.0, 200);
    let words = "over 1024 bytes, the limit `body`";
    check(&post(&gateway, &format!("{fits} ")).await, 413, -32600, None, words);
    let chunked = format!("Transfer-Encoding: chunked\r\n\r\n401\r\n{fits} \r\n0\r\n\r\n");
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let got = says(&gateway, &format!("{head}{chunked}")).await;
    assert!(got.starts_with("HTTP/1.1 413 ") && got.contains(words), "{got}");
    assert_eq!(post(&gateway, PING).await.0, 200);
}

#[tokio::test]
async fn an_answer_over_answer_is_502_with_the_id() {
    let gateway = limited(answering(2000, "application/json").await, "answer = '1 KiB'").await;
    // They wish for German, and are told in German.
    check(&post(&gateway, WISHING).await, 502, -32603, Some(42), "mehr als 1024 Byte, die Grenze `answer`");
    // Only what is held back has this limit.
    assert_eq!(post(&gateway, PING).await.0, 200);
    let gateway = limited(answering(900, "application/json").await, "answer = '1 KiB'").await;
    assert_eq!(post(&gateway, WISHING).await.0, 200);
}

#[tokio::test]
async fn an_event_over_event_ends_the_stream_with_an_error() {
    for (body, told) in
        [(PING, "over 1024 bytes, the limit `event`"), (WISHING, "mehr als 1024 Byte, die Grenze `event`")]
    {
        let gateway = limited(answering(2000, "text/event-stream").await, "event = '1 KiB'").await;
        let (status, head, stream) = post(&gateway, body).await;
        let last = stream.strip_prefix("data: ").unwrap().trim_end().to_owned();
        check(&(status, head, last), 200, -32603, Some(42), told);
        let gateway = limited(answering(900, "text/event-stream").await, "event = '1 KiB'").await;
        assert!(post(&gateway, body).await.2.contains("\"result\""));
    }
}

#[tokio::test]
async fn more_lines_than_headers_are_431() {
    let gateway = limited(json().await, "headers = 20").await;
    for (lines, status) in [(10, 200), (30, 431)] {
        let more: Vec<_> = (0..lines).map(|number| format!("x-{number}")).collect();
        let more: Vec<_> = more.iter().map(|name| (name.as_str(), "1")).collect();
        let got = ask(gateway.callers, "POST /mcp", &[&ACCEPT[..], &more].concat(), PING).await;
        assert_eq!(got.0, status, "{got:?}");
    }
}

#[tokio::test]
async fn a_head_over_header_bytes_is_431() {
    let gateway = limited(json().await, "header_bytes = '16 KiB'").await;
    for (bytes, status) in [(12 << 10, 200), (40 << 10, 431)] {
        let long = "x".repeat(bytes);
        let got = ask(gateway.callers, "POST /mcp", &[ACCEPT[0], ACCEPT[1], ("X-Long", &long)], PING).await;
        assert_eq!(got.0, status, "{got:?}");
    }
}

#[tokio::test]
async fn a_connection_over_connections_is_503() {
    let gateway = limited(json().await, "connections = 1").await;
    let first = TcpStream::connect(gateway.callers).await.unwrap();
    // Connections are taken in order: when the second is answered, the first has its seat.
    let second = post(&gateway, PING).await;
    check(&second, 503, -32603, None, "too many connections; try again later");
    assert!(second.1.contains("retry-after: 1"), "{}", second.1);
    drop(first);
    for _ in 0..50 {
        if post(&gateway, PING).await.0 == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the seat was not given back");
}

/// A server that begins a stream, and ends it when told.
async fn until_told() -> (SocketAddr, mpsc::Sender<()>, mpsc::Receiver<()>) {
    let (tell, told) = mpsc::channel::<()>(1);
    let (begin, begun) = mpsc::channel(9);
    let told = std::sync::Arc::new(tokio::sync::Mutex::new(told));
    let server = behind(move |_, mut tcp| {
        let (told, begin) = (told.clone(), begin.clone());
        async move {
            message(&mut tcp).await;
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: 1\n\n";
            tcp.write_all(head.as_bytes()).await.unwrap();
            begin.send(()).await.unwrap();
            told.lock().await.recv().await;
        }
    })
    .await;
    (server, tell, begun)
}

#[tokio::test]
async fn a_call_over_calls_is_503() {
    let (server, tell, mut begun) = until_told().await;
    let gateway = limited(server, "calls = 1").await;
    let callers = gateway.callers;
    let first = tokio::spawn(async move { ask(callers, "POST /mcp", &ACCEPT, PING).await });
    soon(begun.recv()).await.unwrap();
    check(
        &post(&gateway, PING).await,
        503,
        -32603,
        None,
        "too many calls are running; try again in a moment",
    );
    tell.send(()).await.unwrap();
    assert_eq!(soon(first).await.unwrap().0, 200);
    tell.send(()).await.unwrap();
    assert_eq!(post(&gateway, PING).await.0, 200);
}

#[tokio::test]
async fn a_head_that_takes_longer_than_request_head_is_cut_off() {
    let gateway = limited(json().await, "request_head = '200 ms'").await;
    for begins in ["", "POST /mcp HTTP/1.1\r\nHost: loc"] {
        assert_eq!(says(&gateway, begins).await, "");
    }
    let kept =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{PING}", PING.len());
    assert!(
        says(&gateway, &kept).await.starts_with("HTTP/1.1 200 "),
        "closed after an answer without a next request"
    );
    assert_eq!(post(&gateway, PING).await.0, 200);
}

#[tokio::test]
async fn a_body_that_pauses_longer_than_request_pause_is_408() {
    let gateway = limited(json().await, "request_pause = '200 ms'").await;
    let head =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{\"half";
    let got = says(&gateway, head).await;
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    let got = (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned());
    check(&got, 408, -32600, None, "did not come in time; send it without pauses");
    assert_eq!(post(&gateway, PING).await.0, 200);
}

/// A server whose answer has no end, and which says when nobody takes more of it.
async fn endless() -> (SocketAddr, mpsc::Receiver<()>) {
    let (given_up, gave_up) = mpsc::channel(9);
    let server = behind(move |_, mut tcp| {
        let given_up = given_up.clone();
        async move {
            message(&mut tcp).await;
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
            tcp.write_all(head).await.unwrap();
            while tcp.write_all(&[b' '; 4096]).await.is_ok() {}
            given_up.send(()).await.unwrap();
        }
    })
    .await;
    (server, gave_up)
}

#[tokio::test]
async fn an_answer_left_alone_longer_than_unread_is_cut() {
    let (server, mut gave_up) = endless().await;
    let gateway = limited(server, "unread = '200 ms'").await;
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{PING}", PING.len());
    tcp.write_all(request.as_bytes()).await.unwrap();
    soon(gave_up.recv()).await.unwrap();
    // What was on its way can still be read, and then there is no more.
    assert!(!rest(&mut tcp).await.ends_with("0\r\n\r\n"));
}

#[tokio::test]
async fn a_call_that_outlasts_drain_is_cut() {
    let (server, _tell, mut begun) = until_told().await;
    let mut gateway = limited(server, "drain = '200 ms'").await;
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{PING}", PING.len());
    tcp.write_all(request.as_bytes()).await.unwrap();
    soon(begun.recv()).await.unwrap();
    let mut first = [0; 512];
    assert_ne!(soon(tcp.read(&mut first)).await.unwrap(), 0);
    gateway.stop.take().unwrap().send(()).unwrap();
    assert_eq!(soon(gateway.end).await.unwrap().cut, 1);
    assert!(!rest(&mut tcp).await.ends_with("0\r\n\r\n"), "a stream that was cut has no end");
}
