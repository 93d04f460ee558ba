//! The end: running requests finish, new ones are not taken.

use std::time::Duration;

use mcp_attune_gateway::guard::Allowlist;
use mcp_attune_gateway::listen::{DrainOutcome, ListenerLimits};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{Front, behind, front_of, message, options, rest, soon, stack};

const REQUEST: &str = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A gateway before a server that begins to answer when told to, and goes on when told again.
async fn waiting(drain: Duration) -> (Front, mpsc::Sender<()>) {
    let (go, gone) = mpsc::channel::<()>(1);
    let gone = std::sync::Arc::new(tokio::sync::Mutex::new(gone));
    let address = behind(move |_, mut tcp| {
        let gone = gone.clone();
        async move {
            message(&mut tcp).await;
            gone.lock().await.recv().await;
            tcp.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha").await.unwrap();
            gone.lock().await.recv().await;
            tcp.write_all(b"lf").await.unwrap();
        }
    })
    .await;
    let limits = {
        let mut limits = ListenerLimits::default();
        limits.drain = drain;
        limits
    };
    (front_of(stack(&options(address), Allowlist::default()), limits, None).await, go)
}

#[tokio::test]
async fn a_running_request_finishes_and_no_new_one_is_taken() {
    let (front, go) = waiting(Duration::from_secs(5)).await;
    let address = front.address;
    let mut idle = front.connect().await;
    let mut running = front.connect().await;
    running.write_all(REQUEST.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;

    let ended = front.stop();
    // An unused connection is closed, and another one is not taken.
    assert_eq!(rest(&mut idle).await, "");
    assert!(TcpStream::connect(address).await.is_err());
    assert!(!ended.is_finished());

    go.send(()).await.unwrap();
    go.send(()).await.unwrap();
    let got = rest(&mut running).await;
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("\r\n\r\nhalf"), "{got}");
    assert_eq!(soon(ended).await.unwrap(), DrainOutcome { cut: 0 });
}

#[tokio::test]
async fn what_does_not_finish_is_cut() {
    let (front, go) = waiting(Duration::from_millis(200)).await;
    let mut running = front.connect().await;
    running.write_all(REQUEST.as_bytes()).await.unwrap();
    go.send(()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(soon(front.stop()).await.unwrap(), DrainOutcome { cut: 1 });
    assert!(rest(&mut running).await.ends_with("\r\n\r\nha"));
}

#[tokio::test]
async fn a_gateway_that_is_dropped_takes_its_connections_along() {
    let (front, go) = waiting(Duration::from_secs(5)).await;
    let mut running = front.connect().await;
    running.write_all(REQUEST.as_bytes()).await.unwrap();
    go.send(()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    front.abort();
    assert!(rest(&mut running).await.ends_with("\r\n\r\nha"));
}
