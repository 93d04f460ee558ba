//! What passes through, byte for byte. Rules: G1, G2, G10.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use mcp_attune_gateway::Body;
use mcp_attune_gateway::guard::Allowlist;
use mcp_attune_gateway::upstream::UpstreamError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::support::{behind, front, lines, message, options, rest, send, soon, upstream};

/// Says `raw` to a gateway before a server that answers `answer`: what the server got, and what the caller got.
async fn pass(raw: &str, answer: &'static str) -> (String, String) {
    let seen = Arc::new(Mutex::new(String::new()));
    let seen_there = Arc::clone(&seen);
    let address = behind(move |_, mut tcp| {
        let seen = Arc::clone(&seen_there);
        async move {
            let got = message(&mut tcp).await;
            *seen.lock().unwrap() = got;
            tcp.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let front = front(&options(address), Allowlist::default()).await;
    let got = front.says(raw).await;
    let seen = seen.lock().unwrap().replace(&address.to_string(), "BEHIND");
    (seen, got)
}

const ODD: &str =
    "{\"z\":1,\"a\" : 12345678901234567890123,\r\n\t\"\\u00e9\":\"\\/é\\ud83d\",\"a\":[ ]}\u{7f}\0 ";

#[tokio::test]
async fn passes_odd_headers_and_bodies_both_ways() {
    let raw = format!(
        "POST /mcp?x=%2f&&y HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Odd:  a\tb,, c \r\nx-two: 2\r\nX-Two: 1\r\n\
         Empty:\r\nForwarded: for=a\r\nVia: 1.1 out\r\nAccept-Encoding: br\r\nMcp-Param-\u{21}x: \u{e9}\r\nContent-Length: {}\r\n\r\n{ODD}",
        ODD.len()
    );
    let answer = "HTTP/1.1 401 Go Away\r\nWWW-Authenticate: Bearer resource_metadata=\"https://a/b\"\r\nX-B: 2\r\nX-B: 1\r\n\
                  Content-Encoding: odd\r\nContent-Length: 7\r\n\r\n\n {no} ";
    let (there, back) = pass(&raw, answer).await;

    assert!(there.starts_with("POST /mcp?x=%2f&&y HTTP/1.1\r\n"), "{there}");
    assert!(there.ends_with(&format!("\r\n\r\n{ODD}")), "{there}");
    let length = format!("content-length: {}", ODD.len());
    assert_eq!(
        lines(&there),
        [
            "accept-encoding: br",
            &length,
            "empty: ",
            "forwarded: for=a",
            "host: BEHIND",
            "mcp-param-!x: \u{e9}",
            "via: 1.1 out",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: localhost",
            "x-forwarded-proto: http",
            "x-odd: a\tb,, c",
            "x-two: 2",
            "x-two: 1",
        ]
    );

    assert!(back.starts_with("HTTP/1.1 401 Go Away\r\n"), "{back}");
    assert!(back.ends_with("\r\n\r\n\n {no} "), "{back}");
    assert_eq!(
        lines(&back),
        [
            "connection: close",
            "content-encoding: odd",
            "content-length: 7",
            "www-authenticate: Bearer resource_metadata=\"https://a/b\"",
            "x-b: 2",
            "x-b: 1",
        ]
    );
}

#[tokio::test]
async fn strips_headers_of_one_hop_both_ways() {
    let raw = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 1\r\n\
               Proxy-Authorization: a\r\nTE: deflate\r\nUpgrade: b\r\nTrailer: c\r\nX-Kept: 1\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nConnection: X-Back\r\nX-Back: 1\r\nKeep-Alive: 1\r\nProxy-Authenticate: a\r\n\
                  Upgrade: b\r\nTransfer-Encoding: chunked\r\nX-Kept: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let (there, back) = pass(raw, answer).await;
    assert_eq!(
        lines(&there),
        [
            "host: BEHIND",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: localhost",
            "x-forwarded-proto: http",
            "x-kept: 1",
        ]
    );
    // Said anew by the hop to the caller.
    assert_eq!(lines(&back), ["connection: close", "transfer-encoding: chunked", "x-kept: 2"]);
}

#[tokio::test]
async fn keeps_the_length_that_an_answer_to_head_tells_of() {
    let raw = "HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let (there, back) = pass(raw, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n").await;
    assert!(there.starts_with("HEAD /mcp HTTP/1.1\r\n"), "{there}");
    assert!(back.ends_with("\r\n\r\n"), "{back}");
    assert_eq!(lines(&back), ["connection: close", "content-length: 7"]);
}

#[tokio::test]
async fn answers_expect_itself_and_sends_the_body_on() {
    let address = behind(|_, mut tcp| async move {
        let got = message(&mut tcp).await;
        assert!(!got.contains("expect"), "{got}");
        assert!(got.ends_with("\r\n\r\nhello"), "{got}");
        tcp.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    })
    .await;
    let front = front(&options(address), Allowlist::default()).await;
    let mut tcp = front.connect().await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n";
    tcp.write_all(head.as_bytes()).await.unwrap();
    assert!(message(&mut tcp).await.starts_with("HTTP/1.1 100"));
    tcp.write_all(b"hello").await.unwrap();
    assert!(rest(&mut tcp).await.starts_with("HTTP/1.1 204"));
}

#[tokio::test]
async fn passes_every_piece_of_a_stream_on_at_once() {
    let (say, said) = mpsc::channel::<&str>(1);
    let said = Arc::new(tokio::sync::Mutex::new(said));
    let address = behind(move |_, mut tcp| {
        let said = Arc::clone(&said);
        async move {
            message(&mut tcp).await;
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            tcp.write_all(head.as_bytes()).await.unwrap();
            while let Some(piece) = said.lock().await.recv().await {
                tcp.write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes()).await.unwrap();
            }
            tcp.write_all(b"0\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let front = front(&options(address), Allowlist::default()).await;
    let mut tcp = front.connect().await;
    tcp.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    // The head comes before any piece does.
    assert!(message(&mut tcp).await.contains("content-type: text/event-stream\r\n"));
    for piece in [": keep-alive\n\n", "id: 1\ndata: a\n\n", "da", "ta: b\r\n", "\r\n"] {
        say.send(piece).await.unwrap();
        let mut got = vec![0; format!("{:X}\r\n{piece}\r\n", piece.len()).len()];
        soon(tcp.read_exact(&mut got)).await.unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), format!("{:X}\r\n{piece}\r\n", piece.len()));
    }
    drop(say);
    assert_eq!(rest(&mut tcp).await, "0\r\n\r\n");
}

#[tokio::test]
async fn a_caller_that_goes_away_closes_the_call_behind() {
    let (gone, mut is_gone) = mpsc::channel(1);
    let address = behind(move |_, mut tcp| {
        let gone = gone.clone();
        async move {
            message(&mut tcp).await;
            tcp.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n:\r\n").await.unwrap();
            assert_eq!(rest(&mut tcp).await, "");
            gone.send(()).await.unwrap();
        }
    })
    .await;
    let front = front(&options(address), Allowlist::default()).await;
    let mut tcp = front.connect().await;
    tcp.write_all(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    message(&mut tcp).await;
    drop(tcp);
    soon(is_gone.recv()).await.unwrap();
}

async fn get(path: &str) -> Result<Response<Body>, UpstreamError> {
    let address = behind(|_, mut tcp| async move {
        let got = message(&mut tcp).await;
        let path = got.split(' ').nth(1).unwrap().to_owned();
        tcp.write_all(format!("HTTP/1.1 200 OK\r\nX-Path: {path}\r\nContent-Length: 0\r\n\r\n").as_bytes())
            .await
            .unwrap();
    })
    .await;
    let mut options = options(address);
    options.mount = "/weather".to_owned();
    let request = Request::get(path).body(http_body_util::Empty::new()).unwrap();
    soon(send(&upstream(&options), request)).await
}

#[tokio::test]
async fn sends_paths_beside_the_endpoint_to_the_same_place() {
    for (path, expected) in [
        ("/weather?a=1", "/mcp?a=1"),
        ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource"),
    ] {
        assert_eq!(get(path).await.unwrap().headers()["x-path"], expected);
    }
}
