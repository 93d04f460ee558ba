//! Framing that could be read in two ways, and control frames without end. Rules: G4, H20.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::service::service_fn;
use mcp_attune_gateway::Body;
use mcp_attune_gateway::config::HttpImplementation::{self, Hyper, Own};
use mcp_attune_gateway::listen::ListenerLimits;
use mcp_attune_tower::full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{Front, front_of, soon};

/// A gateway around a service that reads its requests, says how it went, and counts those that were whole.
async fn reader(http: HttpImplementation) -> (Front, Arc<AtomicUsize>) {
    let whole = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&whole);
    let service = service_fn(move |request: Request<Body>| {
        let counted = Arc::clone(&counted);
        async move {
            let read = request.into_body().collect().await;
            if read.is_ok() {
                counted.fetch_add(1, Relaxed);
            }
            let text = read.map_or_else(|error| error.to_string(), |_| "whole".to_owned());
            Ok::<_, Infallible>(Response::new(full(text)))
        }
    });
    let mut limits = ListenerLimits::default();
    limits.http = http;
    (front_of(service, limits, None).await, whole)
}

#[tokio::test]
async fn what_frames_a_request_in_two_ways_is_refused_with_the_reason() {
    for http in [Own, Hyper] {
        for (lines, status, said) in [
            ("Host: a\r\nContent-Length: 2\r\nContent-Length: 2", 400, "Content-Length comes more than once"),
            ("Host: a\r\nTransfer-Encoding: gzip, chunked", 501, "Transfer-Encoding is not `chunked`"),
            (
                "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 2",
                400,
                "stands beside Transfer-Encoding",
            ),
            ("Host: a\r\nHost: a\r\nContent-Length: 2", 400, "Host comes more than once"),
        ] {
            let (front, whole) = reader(http).await;
            let got = front.says(&format!("POST /mcp HTTP/1.1\r\n{lines}\r\n\r\n{{}}")).await;
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{lines}: {got}");
            assert!(got.contains(said) && got.contains("connection: close"), "{lines}: {got}");
            assert_eq!(whole.load(Relaxed), 0, "{lines}");
        }
    }
}

#[tokio::test]
async fn a_request_hidden_in_trailers_is_not_swallowed_with_them() {
    for http in [Own, Hyper] {
        let (front, whole) = reader(http).await;
        let hidden = "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n";
        let got = front.says(hidden).await;
        assert!(
            got.contains("what follows the last chunk is no trailer") && got.contains("connection: close"),
            "{got}"
        );
        assert_eq!((got.matches("HTTP/1.1 ").count(), whole.load(Relaxed)), (1, 0), "{got}");
        let (front, whole) = reader(http).await;
        let both = "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let got = front.says(both).await;
        assert_eq!((got.matches("whole").count(), whole.load(Relaxed)), (2, 2), "{got}");
    }
}

/// A frame of HTTP/2 on the connection itself.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = u8::try_from(payload.len()).unwrap();
    [&[0, 0, size, kind, 0, 0, 0, 0, 0], payload].concat()
}

#[tokio::test]
async fn a_flood_of_control_frames_is_cut() {
    for http in [Own, Hyper] {
        let (settings, ping) = (frame(4, &[]), frame(6, &[0; 8]));
        let window = frame(8, &[0, 0, 0, 1]);
        for flood in [settings.clone(), ping, window] {
            let (front, _) = reader(http).await;
            let mut tcp = front.connect().await;
            let hello = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", settings.as_slice()].concat();
            tcp.write_all(&hello).await.unwrap();
            let (mut answers, mut asks) = tcp.split();
            let read = async {
                let mut some = [0; 4096];
                while matches!(answers.read(&mut some).await, Ok(1..)) {}
            };
            let write = async {
                // More than any caller has a use for; less than what would fill the buffers in between.
                for _ in 0..100 {
                    if asks.write_all(&flood.repeat(100)).await.is_err() {
                        return;
                    }
                }
                std::future::pending::<()>().await;
            };
            soon(async {
                tokio::select! {
                    () = read => {}
                    () = write => {}
                }
            })
            .await;
        }
    }
}
