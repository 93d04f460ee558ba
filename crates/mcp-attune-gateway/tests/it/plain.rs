//! Requests that are read without hyper, those that are not, and the change from one to the other; and the same where hyper reads
//! all of them. Rules: G1, G2.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::service::service_fn;
use mcp_attune_gateway::Body;
use mcp_attune_gateway::config::HttpImplementation::{self, Hyper, Own};
use mcp_attune_gateway::listen::ListenerLimits;
use mcp_attune_tower::{boxed, full};
use tokio::io::AsyncWriteExt;

use crate::support::{Front, front_of, in_pieces, message, rest, soon};

const PLAIN: &str = "POST /plain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab";
const CHUNKED: &str =
    "POST /odd HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n0\r\n\r\n";
const LAST: &str = "GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

fn limits(http: HttpImplementation) -> ListenerLimits {
    let mut limits = ListenerLimits::default();
    limits.http = http;
    limits
}

/// Answers with the method, the path and the body of the request; `/stream` in pieces, `/breaks` with half of them.
async fn echo(http: HttpImplementation) -> Front {
    let answer = |request: Request<Body>| async {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let data = |text: &'static str| Ok(Frame::data(Bytes::from_static(text.as_bytes())));
        let body = match head.uri.path() {
            "/stream" => boxed(in_pieces([data("one "), data("two")])),
            "/breaks" => boxed(in_pieces([data("one "), Err(std::io::Error::other("gone"))])),
            path => full(format!("{} {path} {}", head.method, String::from_utf8_lossy(&body))),
        };
        Ok::<_, Infallible>(Response::new(body))
    };
    front_of(service_fn(answer), limits(http), None).await
}

/// The bodies of all answers, with the chunks of those that have some. They are the same whoever reads the requests.
async fn bodies(raw: &str) -> Vec<String> {
    let bodies = bodies_with(Own, raw).await;
    assert_eq!(bodies_with(Hyper, raw).await, bodies);
    bodies
}

async fn bodies_with(http: HttpImplementation, raw: &str) -> Vec<String> {
    let said = echo(http).await.says(raw).await;
    said.split("HTTP/1.1 200 OK\r\n")
        .skip(1)
        .map(|answer| answer.split_once("\r\n\r\n").unwrap().1.to_owned())
        .collect()
}

#[tokio::test]
async fn answers_requests_that_come_together_in_their_order() {
    assert_eq!(
        bodies(&[PLAIN, PLAIN, LAST].concat()).await,
        ["POST /plain ab", "POST /plain ab", "GET /last "]
    );
}

#[tokio::test]
async fn goes_on_with_whatever_comes_after_a_plain_request() {
    let expected = ["POST /plain ab", "POST /odd cd", "POST /plain ab", "GET /last "];
    assert_eq!(bodies(&[PLAIN, CHUNKED, PLAIN, LAST].concat()).await, expected);
}

#[tokio::test]
async fn reads_a_request_that_comes_byte_by_byte() {
    for http in [Own, Hyper] {
        let front = echo(http).await;
        let mut tcp = front.connect().await;
        tcp.set_nodelay(true).unwrap();
        for byte in [PLAIN, LAST].concat().bytes() {
            tcp.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        let said = rest(&mut tcp).await;
        assert!(said.contains("POST /plain ab") && said.ends_with("GET /last "), "{said}");
    }
}

#[tokio::test]
async fn streams_are_sent_in_chunks_and_the_connection_goes_on() {
    let stream = "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let expected = ["4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n", "POST /plain ab", "GET /last "];
    assert_eq!(bodies(&[stream, PLAIN, LAST].concat()).await, expected);
}

#[tokio::test]
async fn a_stream_that_breaks_does_not_end_as_if_it_were_whole() {
    let breaks = "GET /breaks HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let raw = [breaks, PLAIN].concat();
    assert_eq!(bodies_with(Own, &raw).await, ["4\r\none \r\n"]);
    // The one difference: where a body breaks before anything was written, hyper closes the connection without writing its
    // head, and Attune's own writes what came before the break. Neither looks whole.
    assert_eq!(bodies_with(Hyper, &raw).await, [""; 0]);
}

#[tokio::test]
async fn nothing_is_answered_after_the_last_answer() {
    for http in [Own, Hyper] {
        let last = |_: Request<Body>| async {
            Ok::<_, Infallible>(Response::builder().header("connection", "close").body(full("last")).unwrap())
        };
        let front = front_of(service_fn(last), limits(http), None).await;
        let said = front.says(&[PLAIN, PLAIN].concat()).await;
        assert!(said.matches("HTTP/1.1 200 OK").count() == 1 && said.ends_with("last"), "{said}");
    }
}

#[tokio::test]
async fn what_is_no_http_is_answered_and_closed() {
    for http in [Own, Hyper] {
        for raw in ["hello\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"] {
            let said = echo(http).await.says(raw).await;
            assert!(said.starts_with("HTTP/1.1 400 "), "{raw:?} {said:?}");
            let said = echo(http).await.says(&[PLAIN, raw].concat()).await;
            assert!(said.starts_with("HTTP/1.1 200 ") && said.contains("HTTP/1.1 400 "), "{raw:?} {said:?}");
        }
    }
}

#[tokio::test]
async fn the_end_waits_for_the_answer_and_for_nothing_else() {
    for http in [Own, Hyper] {
        let slow = |_: Request<Body>| async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok::<_, Infallible>(Response::new(full("slow")))
        };
        let front = front_of(service_fn(slow), limits(http), None).await;
        let (mut idle, mut busy) = (front.connect().await, front.connect().await);
        busy.write_all(PLAIN.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let stopped = front.stop();
        assert_eq!(rest(&mut idle).await, "");
        let answer = message(&mut busy).await;
        assert!(answer.contains("\r\nconnection: close\r\n") && answer.ends_with("slow"), "{answer}");
        assert_eq!((rest(&mut busy).await.as_str(), soon(stopped).await.unwrap().cut), ("", 0));
    }
}
