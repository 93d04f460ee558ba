//! Callers that go away in the middle of a call. Rules: G2.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::support::{behind, message, rest, soon};
use crate::whole::{ask, gateway, in_front_of};

/// What the server behind saw.
#[derive(PartialEq, Eq, Debug)]
enum Saw {
    Asked(String),
    Closed,
}

/// A server that begins to answer calls of `slow` in this way, and never ends; all else it answers at once.
async fn slow(begins: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<Saw>) {
    let (saw, seen) = mpsc::unbounded_channel();
    let server = behind(move |_, mut tcp| {
        let saw = saw.clone();
        async move {
            let asked = message(&mut tcp).await;
            let lists = asked.contains("tools/list");
            if !asked.contains("\"slow\"") || lists {
                // Our own listing aside, whatever comes is seen.
                let _ = (!lists).then(|| saw.send(Saw::Asked(asked)));
                let body = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                tcp.write_all(answer.as_bytes()).await.unwrap();
                return;
            }
            tcp.write_all(begins.as_bytes()).await.unwrap();
            saw.send(Saw::Asked(asked)).unwrap();
            assert_eq!(rest(&mut tcp).await, "");
            saw.send(Saw::Closed).unwrap();
        }
    })
    .await;
    (server, seen)
}

/// Nothing yet; an answer that is held back for a preference; a stream.
const BEGINNINGS: [&str; 3] = [
    "",
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{\"jsonrpc\":",
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n",
];

const MODERN: &[(&str, &str)] = &[
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "slow"),
];
const LEGACY: &[(&str, &str)] = &[
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2025-11-25"),
    ("Mcp-Session-Id", "s"),
];

fn call(modern: bool, preference: bool) -> String {
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    let wish = r#""io.modelcontextprotocol/acceptLanguage":"de""#;
    let meta = [(modern, version), (preference, wish)];
    let meta: Vec<&str> = meta.into_iter().filter_map(|(there, text)| there.then_some(text)).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"slow","arguments":{{}},"_meta":{{{}}}}}}}"#,
        meta.join(",")
    )
}

/// A caller calls, sees the call behind begin, and hangs up: the connection behind is closed, nothing else is sent
/// there, and the next call works.
async fn check(modern: bool, preference: bool, begins: &'static str) {
    let case = format!("modern: {modern}, preference: {preference}, begins: {begins:?}");
    let (server, mut seen) = slow(begins).await;
    let gateway = gateway(&in_front_of(server), None).await;
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    let body = call(modern, preference);
    let mut request = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in if modern { MODERN } else { LEGACY } {
        request += &format!("{name}: {value}\r\n");
    }
    tcp.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
    let Some(Saw::Asked(asked)) = soon(seen.recv()).await else { panic!("{case}") };
    assert!(asked.ends_with(&body), "{case}: {asked}");
    assert!(timeout(Duration::from_millis(100), seen.recv()).await.is_err(), "{case}: closed too soon");

    drop(tcp);
    assert_eq!(soon(seen.recv()).await, Some(Saw::Closed), "{case}");
    // Cancelling is the caller's to say, and a caller that is gone says nothing.
    let more = timeout(Duration::from_millis(200), seen.recv()).await;
    assert!(more.is_err(), "{case}: {more:?}");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(ask(gateway.callers, "POST /mcp", LEGACY, ping).await.0, 200, "{case}");
}

#[tokio::test]
async fn a_modern_caller_that_goes_away_closes_the_call_behind() {
    for begins in BEGINNINGS {
        for preference in [true, false] {
            check(true, preference, begins).await;
        }
    }
}

#[tokio::test]
async fn a_legacy_caller_that_goes_away_closes_its_connection_and_cancels_nothing() {
    for begins in BEGINNINGS {
        for preference in [true, false] {
            check(false, preference, begins).await;
        }
    }
}

#[tokio::test]
async fn a_stream_of_http2_that_is_reset_closes_the_call_behind_and_the_others_go_on() {
    let (server, mut seen) = slow("").await;
    let gateway = gateway(&in_front_of(server), None).await;
    let io = TokioIo::new(TcpStream::connect(gateway.callers).await.unwrap());
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let request = |body: String, headers: &[(&str, &str)]| {
        let mut request = Request::post(format!("http://{}/mcp", gateway.callers));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::new(Bytes::from(body))).unwrap()
    };
    let first = tokio::spawn(send.send_request(request(call(true, true), MODERN)));
    let second = tokio::spawn(send.send_request(request(call(true, true), MODERN)));
    for _ in 0..2 {
        assert!(matches!(soon(seen.recv()).await, Some(Saw::Asked(_))));
    }
    first.abort();
    assert_eq!(soon(seen.recv()).await, Some(Saw::Closed));
    assert!(timeout(Duration::from_millis(200), seen.recv()).await.is_err(), "one of the two");
    assert!(!second.is_finished());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
    assert_eq!(soon(send.send_request(request(ping, LEGACY))).await.unwrap().status(), 200);
}
