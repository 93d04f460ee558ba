//! Connections that are used again, and what happens when they turn out dead. Rules: G5.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use mcp_attune_gateway::upstream::UpstreamError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{behind, message, options, post, text, upstream};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that answers so many requests on a connection, takes one more and hangs up; counts what it takes.
async fn hangs_up_after(answers: usize) -> (std::net::SocketAddr, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (requests, connections) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, connected) = (Arc::clone(&requests), Arc::clone(&connections));
    let address = behind(move |_, mut tcp| {
        let requests = Arc::clone(&counted);
        connected.fetch_add(1, SeqCst);
        async move {
            for number in 0.. {
                if message(&mut tcp).await.is_empty() {
                    return;
                }
                requests.fetch_add(1, SeqCst);
                if number == answers {
                    return;
                }
                tcp.write_all(OK.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    (address, requests, connections)
}

#[tokio::test]
async fn uses_a_connection_again() {
    let (address, requests, connections) = hangs_up_after(100).await;
    let upstream = upstream(&options(address));
    for _ in 0..5 {
        assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((requests.load(SeqCst), connections.load(SeqCst)), (5, 1));
}

#[tokio::test]
async fn sends_nothing_twice_that_may_have_begun() {
    for answers in [0, 1] {
        let (address, requests, _) = hangs_up_after(answers).await;
        let upstream = upstream(&options(address));
        for _ in 0..answers {
            assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(post(&upstream, "{}").await.unwrap_err(), UpstreamError::Broken);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(requests.load(SeqCst), answers + 1);
        // The next call works.
        if answers > 0 {
            assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
        }
    }
}

#[tokio::test]
async fn a_connection_that_closed_while_idle_is_not_used() {
    let address = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        tcp.write_all(OK.as_bytes()).await.unwrap();
    })
    .await;
    let upstream = upstream(&options(address));
    for _ in 0..3 {
        assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The one retry there is. On a single thread, the close of a pooled connection and the caller's next request
/// become known in one turn of the event loop, the request first: it is handed to the connection before the
/// connection has looked, and comes back untouched.
#[tokio::test(flavor = "current_thread")]
async fn a_request_that_came_back_untouched_is_sent_on_another_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let signal = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut told = TcpStream::connect(signal.local_addr().unwrap()).await.unwrap();
    let (may_close, close) = std::sync::mpsc::channel::<()>();
    let (has_closed, closed) = std::sync::mpsc::channel::<()>();
    let server = std::thread::spawn(move || {
        let mut signal = signal.accept().unwrap().0;
        let answer = |tcp: &mut std::net::TcpStream| {
            let mut buffer = [0; 4096];
            let mut got = Vec::new();
            while !got.ends_with(b"{}") {
                let bytes = tcp.read(&mut buffer).unwrap();
                assert!(bytes > 0, "no request came");
                got.extend(&buffer[..bytes]);
            }
            tcp.write_all(OK.as_bytes()).unwrap();
        };
        let mut first = listener.accept().unwrap().0;
        answer(&mut first);
        close.recv().unwrap();
        signal.write_all(b"!").unwrap();
        drop(first);
        has_closed.send(()).unwrap();
        let mut second = listener.accept().unwrap().0;
        answer(&mut second);
    });

    let upstream = upstream(&options(address));
    assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
    tokio::time::sleep(Duration::from_millis(50)).await;
    may_close.send(()).unwrap();
    // Blocks the only thread, so that neither is seen before both have happened.
    closed.recv().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    told.read_exact(&mut [0]).await.unwrap();
    assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "ok");
    server.join().unwrap();
}

#[tokio::test]
async fn what_came_before_a_request_is_not_taken_for_its_answer() {
    // On a thread of its own, so that it goes on while the runtime of this test does nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stray, strays) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let answer = |text: &str| format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len());
        for connection in listener.incoming() {
            let mut tcp = connection.unwrap();
            let mut request = [0; 4096];
            while tcp.read(&mut request).is_ok_and(|size| size > 0) {
                tcp.write_all(answer("right").as_bytes()).unwrap();
                // Later than the answer, and before the next request.
                std::thread::sleep(Duration::from_millis(50));
                tcp.write_all(answer("stray").as_bytes()).unwrap();
                stray.send(()).unwrap();
            }
        }
    });
    let upstream = upstream(&options(address));
    for _ in 0..3 {
        assert_eq!(text(post(&upstream, "{}").await.unwrap()).await.unwrap(), "right");
        // Without a turn of the event loop, which would tell.
        strays.recv().unwrap();
    }
}
