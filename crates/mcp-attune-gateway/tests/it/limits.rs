//! Callers that use too much. Rules: G4.

use std::time::{Duration, Instant};

use http::Response;
use http_body_util::BodyExt;
use hyper::service::service_fn;
use mcp_attune_gateway::listen::{ListenerLimits, RequestBodyError};
use tokio::io::AsyncWriteExt;

use crate::support::{Front, front_of, message, rest, soon};

const SHORT: Duration = Duration::from_millis(200);
const REQUEST: &str = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A gateway that reads the body and answers with its length, or with the status that its error stands for.
async fn counting(change: impl FnOnce(&mut ListenerLimits)) -> Front {
    answering(0, change).await
}

/// The same, but the answer is so long at least.
async fn answering(bytes: usize, change: impl FnOnce(&mut ListenerLimits)) -> Front {
    let mut limits = ListenerLimits::default();
    change(&mut limits);
    let service = service_fn(move |request: http::Request<mcp_attune_gateway::Body>| async move {
        let (status, text) = match request.into_body().collect().await {
            Ok(body) => (200, body.to_bytes().len().to_string()),
            Err(error) => (error.downcast::<RequestBodyError>().unwrap().status(), String::new()),
        };
        let body = mcp_attune_tower::full(text + &" ".repeat(bytes));
        Ok::<_, std::convert::Infallible>(Response::builder().status(status).body(body).unwrap())
    });
    front_of(service, limits, None).await
}

#[track_caller]
fn check_cut(since: Instant, after: Duration) {
    let took = since.elapsed();
    assert!(took >= after.mul_f64(0.9) && took < after + Duration::from_secs(3), "cut after {took:?}");
}

#[tokio::test]
async fn a_caller_that_sends_no_head_is_cut_off() {
    let front = counting(|limits| limits.head = SHORT).await;
    for begins in ["", "P", "PRI * HTTP/2.0\r\n\r\nSM", "POST / HTTP/1.1\r\nHost: loc"] {
        let since = Instant::now();
        let mut tcp = front.connect().await;
        tcp.write_all(begins.as_bytes()).await.unwrap();
        assert_eq!(rest(&mut tcp).await, "", "{begins}");
        check_cut(since, SHORT);
    }
}

#[tokio::test]
async fn a_caller_that_drips_its_head_is_cut_off() {
    let front = counting(|limits| limits.head = SHORT).await;
    let since = Instant::now();
    let (mut read, mut write) = front.connect().await.into_split();
    let dripping = tokio::spawn(async move {
        write.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ").await.unwrap();
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    });
    let mut got = Vec::new();
    let _ = soon(tokio::io::AsyncReadExt::read_to_end(&mut read, &mut got)).await;
    check_cut(since, SHORT);
    dripping.abort();
}

#[tokio::test]
async fn a_connection_without_a_next_request_is_closed() {
    let front = counting(|limits| limits.head = SHORT).await;
    let mut tcp = front.connect().await;
    tcp.write_all(REQUEST.as_bytes()).await.unwrap();
    assert!(message(&mut tcp).await.starts_with("HTTP/1.1 200 OK\r\n"));
    let since = Instant::now();
    assert_eq!(rest(&mut tcp).await, "");
    check_cut(since, SHORT);
}

#[tokio::test]
async fn a_body_that_pauses_is_given_up() {
    let front = counting(|limits| limits.body_pause = SHORT).await;
    let since = Instant::now();
    let mut tcp = front.connect().await;
    tcp.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
    assert!(message(&mut tcp).await.starts_with("HTTP/1.1 408 "));
    check_cut(since, SHORT);
}

#[tokio::test]
async fn a_body_that_is_slow_but_comes_is_read() {
    let front = counting(|limits| limits.body_pause = SHORT * 3).await;
    let mut tcp = front.connect().await;
    tcp.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n").await.unwrap();
    for _ in 0..8 {
        tokio::time::sleep(SHORT / 2).await;
        tcp.write_all(b"x").await.unwrap();
    }
    assert!(message(&mut tcp).await.ends_with("\r\n\r\n8"));
}

const MUCH: usize = 32 << 20;

#[tokio::test]
async fn a_caller_that_stops_reading_is_cut_off() {
    let front = answering(MUCH, |limits| limits.unread = SHORT).await;
    let mut tcp = front.connect().await;
    tcp.write_all(REQUEST.as_bytes()).await.unwrap();
    tokio::time::sleep(SHORT * 3).await;
    assert!(rest(&mut tcp).await.len() < MUCH);
}

#[tokio::test]
async fn a_caller_that_reads_slowly_is_served() {
    let front = answering(MUCH, |limits| limits.unread = SHORT * 3).await;
    let mut tcp = front.connect().await;
    tcp.write_all(REQUEST.as_bytes()).await.unwrap();
    let (mut left, mut buffer) = (MUCH, vec![0; MUCH / 10]);
    for _ in 0..9 {
        tokio::time::sleep(SHORT / 2).await;
        left -= soon(tokio::io::AsyncReadExt::read_exact(&mut tcp, &mut buffer)).await.unwrap();
    }
    let mut end = vec![0; left];
    soon(tokio::io::AsyncReadExt::read_exact(&mut tcp, &mut end)).await.unwrap();
}

#[tokio::test]
async fn too_many_headers_are_431() {
    let front = counting(|limits| limits.headers = 120).await;
    for (headers, status) in [(115, 200), (130, 431)] {
        let lines: String = (0..headers).map(|number| format!("X-{number}: 1\r\n")).collect();
        let got = front
            .says(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n"))
            .await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{headers}: {got}");
    }
}

#[tokio::test]
async fn too_long_headers_are_431() {
    let front = counting(|limits| limits.header_bytes = 16 << 10).await;
    for (bytes, status) in [(12 << 10, 200), (40 << 10, 431)] {
        let line = "x".repeat(bytes);
        let got = front
            .says(&format!("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {line}\r\n\r\n"))
            .await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{bytes}: {got}");
    }
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    let front = counting(|limits| limits.connections = 1).await;
    let mut first = front.connect().await;
    first.write_all(REQUEST.as_bytes()).await.unwrap();
    assert!(message(&mut first).await.starts_with("HTTP/1.1 200 "));
    let got = front.says(REQUEST).await;
    assert!(got.starts_with("HTTP/1.1 503 ") && got.contains("retry-after: 1\r\n"), "{got}");
    assert!(got.ends_with("too many connections; try again later\"}}"), "{got}");

    drop(first);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut next = front.connect().await;
    next.write_all(REQUEST.as_bytes()).await.unwrap();
    assert!(message(&mut next).await.starts_with("HTTP/1.1 200 "));
}
