//! Nobody gets more than their share: of calls, of streams, of memory. Rules: G4.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{behind, message, rest, soon};
use crate::whole::{ACCEPT, Running, ask, gateway, in_front_of};

const PING: &str = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
const WISHING: &str = r#"{"jsonrpc":"2.0","id":42,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;

/// A server that answers a ping at once, and tells of every request whose body says `wait`, or that is a GET, and leaves it
/// without an end.
async fn server() -> (SocketAddr, mpsc::UnboundedReceiver<()>) {
    let (waits, waiting) = mpsc::unbounded_channel();
    let address = behind(move |_, mut tcp| {
        let waits = waits.clone();
        async move {
            loop {
                let got = message(&mut tcp).await;
                if got.is_empty() {
                    return;
                }
                if got.starts_with("GET") || got.contains("wait") {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                    tcp.write_all(head.as_bytes()).await.unwrap();
                    waits.send(()).unwrap();
                    let _ = rest(&mut tcp).await;
                    return;
                }
                let answer = r#"{"jsonrpc":"2.0","id":42,"result":{}}"#;
                let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
                tcp.write_all(format!("{head}{answer}").as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    (address, waiting)
}

async fn limited(server: SocketAddr, limits: &str) -> Running {
    gateway(&format!("{}[limits]\n{limits}\n", in_front_of(server)), None).await
}

/// The status of a ping with these headers beside the usual ones.
async fn ping(gateway: &Running, more: &[(&str, &str)]) -> u16 {
    ask(gateway.callers, "POST /mcp", &[&ACCEPT, more].concat(), PING).await.0
}

/// Sends something on a connection of its own, and keeps that.
async fn begin(gateway: &Running, raw: &str) -> TcpStream {
    let mut tcp = TcpStream::connect(gateway.callers).await.unwrap();
    tcp.write_all(raw.as_bytes()).await.unwrap();
    tcp
}

fn waiting(line: &str, more: &str, body: &str) -> String {
    format!(
        "{line} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

const WAIT: &str = r#"{"jsonrpc":"2.0","id":42,"method":"wait"}"#;

#[tokio::test]
async fn a_body_that_has_not_come_holds_up_no_call() {
    let (server, _) = server().await;
    let gateway = limited(server, "calls = 2").await;
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
    let mut slow = Vec::new();
    for _ in 0..10 {
        slow.push(begin(&gateway, head).await);
    }
    for _ in 0..20 {
        assert_eq!(ping(&gateway, &[]).await, 200);
    }
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_is_cut() {
    let (server, _) = server().await;
    let gateway = limited(server, "request_body = '300 ms'\nrequest_pause = '20 s'").await;
    let mut tcp =
        begin(&gateway, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n").await;
    let (mut answers, mut asks) = tcp.split();
    let drip = async {
        // Never a pause that would be too long.
        while asks.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        std::future::pending::<()>().await;
    };
    let read = async {
        let mut got = Vec::new();
        let _ = answers.read_to_end(&mut got).await;
        String::from_utf8(got).unwrap()
    };
    let got = soon(async {
        tokio::select! {
            got = read => got,
            () = drip => String::new(),
        }
    })
    .await;
    assert!(got.starts_with("HTTP/1.1 408 ") && got.contains("came too slowly"), "{got}");
    // What comes at the rate may take longer.
    let gateway = limited(server, "request_body = '100 ms'\nrequest_rate = '1 B'").await;
    let body = format!("{PING}{}", " ".repeat(60 - PING.len()));
    let (first, second) = body.split_at(30);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 60\r\n\r\n{first}"
    );
    let mut tcp = begin(&gateway, &head).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    tcp.write_all(second.as_bytes()).await.unwrap();
    let got = rest(&mut tcp).await;
    assert!(got.starts_with("HTTP/1.1 200 "), "{got}");
}

#[tokio::test]
async fn streams_take_no_room_from_calls_and_have_a_limit_of_their_own() {
    let (server, mut waits) = server().await;
    let gateway = limited(server, "calls = 1\nstreams = 3").await;
    let mut open = Vec::new();
    let listen = r#"{"jsonrpc":"2.0","id":42,"method":"subscriptions/listen","params":{"wait":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let modern = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
    for raw in [waiting("GET", "", ""), waiting("GET", "", ""), waiting("POST", modern, listen)] {
        open.push(begin(&gateway, &raw).await);
        soon(waits.recv()).await.unwrap();
    }
    assert_eq!(ping(&gateway, &[]).await, 200);
    let (status, head, body) = ask(gateway.callers, "GET /mcp", &[], "").await;
    assert!(
        status == 503 && head.contains("retry-after: ") && body.contains("too many streams are open"),
        "{head} {body}"
    );
    assert_eq!(ping(&gateway, &[]).await, 200);
    drop(open.pop());
    soon(async {
        loop {
            let mut tcp = begin(&gateway, &waiting("GET", "", "")).await;
            let mut start = [0; 12];
            tcp.read_exact(&mut start).await.unwrap();
            if &start == b"HTTP/1.1 200" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn one_caller_gets_its_share_of_calls_and_the_others_theirs() {
    let (server, mut waits) = server().await;
    let from = |address: &str| format!("X-Forwarded-For: {address}\r\n");
    for one in [from("203.0.113.7"), "Authorization: Bearer one\r\n".to_owned()] {
        let gateway = limited(server, "calls = 8\nshare = 0.25").await;
        let mut open = Vec::new();
        for _ in 0..2 {
            open.push(begin(&gateway, &waiting("POST", &one, WAIT)).await);
            soon(waits.recv()).await.unwrap();
        }
        let (name, value) = one.trim().split_once(": ").unwrap();
        let (status, head, body) =
            ask(gateway.callers, "POST /mcp", &[&ACCEPT, &[(name, value)][..]].concat(), PING).await;
        assert!(
            status == 429 && head.contains("retry-after: ") && body.contains("of this caller"),
            "{head} {body}"
        );
        for (name, value) in
            [("X-Forwarded-For", "203.0.113.8"), ("Authorization", "Bearer two"), ("X-Other", "1")]
        {
            assert_eq!(ping(&gateway, &[(name, value)]).await, 200, "{name}: {value}");
        }
        drop(open);
        soon(async {
            while ping(&gateway, &[(name, value)]).await != 200 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn credentials_that_are_made_up_do_not_get_around_the_share_of_a_peer() {
    let (server, mut waits) = server().await;
    let toml = format!("{}[limits]\ncalls = 8\n[server]\ntrusted_proxies = []\n", in_front_of(server));
    let gateway = gateway(&toml, None).await;
    let mut open = Vec::new();
    for number in 0..2 {
        let who = format!("Authorization: Bearer {number}\r\nX-Forwarded-For: 203.0.113.{number}\r\n");
        open.push(begin(&gateway, &waiting("POST", &who, WAIT)).await);
        soon(waits.recv()).await.unwrap();
    }
    assert_eq!(
        ping(&gateway, &[("Authorization", "Bearer 3"), ("X-Forwarded-For", "203.0.113.3")]).await,
        429
    );
}

#[tokio::test]
async fn all_that_is_held_back_has_one_bound() {
    // Answers that must be held, because the header depends on them, and of which the last byte does not come.
    let (came, mut coming) = mpsc::unbounded_channel();
    let server = behind(move |_, mut tcp| {
        let came = came.clone();
        async move {
            message(&mut tcp).await;
            let text = "x".repeat(400_000);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 400100\r\n\r\n";
            // Whoever finds no room hangs up.
            let _ = tcp.write_all(format!("{head}{{\"{text}").as_bytes()).await;
            came.send(()).unwrap();
            let _ = rest(&mut tcp).await;
        }
    })
    .await;
    let gateway = limited(server, "held = '1 MiB'").await;
    let mut open = Vec::new();
    for _ in 0..2 {
        open.push(begin(&gateway, &waiting("POST", "", WISHING)).await);
        soon(coming.recv()).await.unwrap();
    }
    // Whether those two have been read all the way is for the gateway to know: a third soon finds no room.
    soon(async {
        loop {
            let (status, head, body) = ask(gateway.callers, "POST /mcp", &ACCEPT, WISHING).await;
            if status == 503 {
                assert!(head.contains("retry-after: ") && body.contains("`held`"), "{head} {body}");
                return;
            }
        }
    })
    .await;
    // Bodies of requests count, too.
    let large = format!("{PING}{}", " ".repeat(400_000));
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &ACCEPT, &large).await;
    assert!(status == 503 && body.contains("`held`"), "{status} {body}");
    drop(open);
}
