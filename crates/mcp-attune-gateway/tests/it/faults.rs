//! Servers behind that fail, each in its own way. Rules: G5.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use mcp_attune_gateway::guard::Allowlist;
use mcp_attune_gateway::upstream::{HttpUpstream, UpstreamError};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::{behind, front, in_pieces, message, options, post, rest, send, soon, text, upstream};

const SHORT: Duration = Duration::from_millis(200);

fn hasty(address: SocketAddr) -> HttpUpstream {
    let mut options = options(address);
    (options.connect, options.first_byte, options.stream_idle) = (SHORT, SHORT * 2, SHORT);
    upstream(&options)
}

/// A server that reads the request and says this, then closes or stays silent.
async fn says(answer: &'static str, then_closes: bool) -> HttpUpstream {
    let address = behind(move |_, mut tcp| async move {
        message(&mut tcp).await;
        tcp.write_all(answer.as_bytes()).await.unwrap();
        if !then_closes {
            rest(&mut tcp).await;
        }
    })
    .await;
    hasty(address)
}

#[tokio::test]
async fn nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(post(&hasty(address), "{}").await.unwrap_err(), UpstreamError::Refused);
    let front = front(&options(address), Allowlist::default()).await;
    let got = front.says("GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert!(got.starts_with("HTTP/1.1 503 "), "{got}");
}

#[tokio::test]
async fn the_name_is_unknown() {
    let mut options = options("127.0.0.1:1".parse().unwrap());
    options.url = "http://name.invalid/mcp".parse().unwrap();
    let error = post(&upstream(&options), "{}").await.unwrap_err();
    assert!([UpstreamError::Connect, UpstreamError::ConnectTimeout].contains(&error), "{error}");
}

#[tokio::test]
async fn a_connection_takes_too_long() {
    // The handshake of TLS is part of connecting, and this server never begins it.
    let address = behind(|_, mut tcp| async move {
        rest(&mut tcp).await;
    })
    .await;
    let mut options = options(address);
    options.url = format!("https://{address}/mcp").parse().unwrap();
    options.trust = vec![rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.into()];
    options.connect = SHORT;
    assert_eq!(post(&upstream(&options), "{}").await.unwrap_err(), UpstreamError::ConnectTimeout);
}

#[tokio::test]
async fn plain_http_where_tls_was_promised() {
    let address = behind(|_, mut tcp| async move {
        tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        rest(&mut tcp).await;
    })
    .await;
    let mut options = options(address);
    options.url = format!("https://{address}/mcp").parse().unwrap();
    options.trust = vec![rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.into()];
    assert_eq!(post(&upstream(&options), "{}").await.unwrap_err(), UpstreamError::Tls);
}

#[tokio::test]
async fn no_answer_ever() {
    assert_eq!(post(&says("", false).await, "{}").await.unwrap_err(), UpstreamError::FirstByteTimeout);
    assert_eq!(
        post(&says("HTTP/1.1 200 OK\r\n", false).await, "{}").await.unwrap_err(),
        UpstreamError::FirstByteTimeout
    );
}

#[tokio::test]
async fn no_answer_and_gone() {
    for answer in [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nX: 1\r\n",
        "220 mail.example ESMTP\r\n",
        "HTTP/1.1 101 OK\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        assert_eq!(
            post(&says(answer, true).await, "{}").await.unwrap_err(),
            UpstreamError::Broken,
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn interim_answers_without_end() {
    let address = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        while tcp.write_all(b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n").await.is_ok() {}
    })
    .await;
    assert_eq!(post(&upstream(&options(address)), "{}").await.unwrap_err(), UpstreamError::Broken);
}

#[tokio::test]
async fn an_answer_that_comes_byte_by_byte() {
    let address = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        tcp.set_nodelay(true).unwrap();
        let chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: 1\r\n\r\n";
        for byte in format!("HTTP/1.1 103 A\r\n\r\nHTTP/1.1 200 OK\r\n{chunks}").bytes() {
            tcp.write_all(&[byte]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        rest(&mut tcp).await;
    })
    .await;
    assert_eq!(text(post(&upstream(&options(address)), "{}").await.unwrap()).await.unwrap(), "ab");
}

#[tokio::test]
async fn half_an_answer() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nx",
    ] {
        let begun = post(&says(answer, true).await, "{}").await.unwrap();
        assert_eq!(begun.status(), 200);
        assert_eq!(text(begun).await, Err(UpstreamError::Broken), "{answer:?}");
    }
}

#[tokio::test]
async fn an_answer_that_stops() {
    let begun =
        post(&says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", false).await, "{}").await.unwrap();
    assert_eq!(text(begun).await, Err(UpstreamError::Stalled));
}

#[tokio::test]
async fn a_stream_that_is_slow_but_alive() {
    let address = behind(move |_, mut tcp| async move {
        message(&mut tcp).await;
        tcp.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
        for _ in 0..8 {
            tokio::time::sleep(SHORT / 2).await;
            tcp.write_all(b"1\r\n:\r\n").await.unwrap();
        }
        tcp.write_all(b"0\r\n\r\n").await.unwrap();
    })
    .await;
    let mut options = options(address);
    options.stream_idle = SHORT * 3;
    assert_eq!(text(post(&upstream(&options), "{}").await.unwrap()).await.unwrap(), "::::::::");
}

#[tokio::test]
async fn a_caller_whose_body_breaks_is_not_the_fault_of_the_server() {
    let address = behind(|_, mut tcp| async move {
        rest(&mut tcp).await;
    })
    .await;
    let pieces = [Ok(Frame::data(Bytes::from("half"))), Err(std::io::Error::other("gone"))];
    let request = Request::post("/mcp").body(in_pieces(pieces)).unwrap();
    assert_eq!(soon(send(&hasty(address), request)).await.unwrap_err(), UpstreamError::Caller);
}
