//! HTTP/2 and TLS, on both sides.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Version};
use http_body::Frame;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcp_attune_gateway::Body;
use mcp_attune_gateway::guard::Allowlist;
use mcp_attune_gateway::listen::{ListenerLimits, ListenerTls, Peer, parse_certificates};
use mcp_attune_gateway::upstream::{HttpUpstreamOptions, HttpVersion, UpstreamError};
use tokio::net::TcpStream;

use crate::support::{Front, front_of, in_pieces, options, post, soon, stack, text, upstream};

/// A server that says in which version, to whom and over what it was asked, and gives the body back.
async fn mirror(tls: Option<ListenerTls>, headers: usize) -> Front {
    let service = service_fn(|request: Request<Body>| async move {
        let peer = *request.extensions().get::<Peer>().unwrap();
        let said = |name| request.headers().get(name).map_or("", |value| value.to_str().unwrap());
        let about = format!(
            "{:?} {} host={} forwarded={} tls={}",
            request.version(),
            request.uri(),
            said("host"),
            said("x-forwarded-proto"),
            peer.tls
        );
        let answer =
            http::Response::builder().header("x-about", about).header("x-two", "2").header("x-two", "1");
        Ok::<_, std::convert::Infallible>(answer.body(request.into_body()).unwrap())
    });
    let limits = {
        let mut limits = ListenerLimits::default();
        limits.headers = headers;
        limits
    };
    front_of(service, limits, tls).await
}

/// Asks over HTTP/2 without asking whether it is spoken.
async fn h2(address: SocketAddr, request: Request<Full<Bytes>>) -> http::Response<Incoming> {
    let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    soon(send.send_request(request)).await.unwrap()
}

fn made(name: &str) -> (ListenerTls, Vec<u8>) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let pem = made.cert.pem().into_bytes();
    (ListenerTls::from_pem(&pem, made.signing_key.serialize_pem().as_bytes()).unwrap(), pem)
}

fn secure(behind: &Front, pem: &[u8]) -> HttpUpstreamOptions {
    let mut options = options(behind.address);
    options.url = format!("https://localhost:{}/mcp", behind.address.port()).parse().unwrap();
    options.trust = parse_certificates(pem).unwrap();
    options
}

#[tokio::test]
async fn speaks_http2_without_asking_on_both_sides() {
    let behind = mirror(None, 128).await;
    let mut options = options(behind.address);
    options.http = HttpVersion::Http2;
    let front = front_of(stack(&options, Allowlist::default()), ListenerLimits::default(), None).await;
    let request = Request::post(format!("http://{}/mcp?q", front.address)).body(Full::from("hello")).unwrap();
    let got = h2(front.address, request).await;
    assert_eq!(got.version(), Version::HTTP_2);
    let about = format!("HTTP/2.0 http://{}/mcp?q host= forwarded=http tls=false", behind.address);
    assert_eq!(got.headers()["x-about"], about);
    assert_eq!(got.headers().get_all("x-two").iter().collect::<Vec<_>>(), ["2", "1"]);
    assert_eq!(got.into_body().collect().await.unwrap().to_bytes(), "hello");
}

#[tokio::test]
async fn speaks_http2_before_and_http1_behind() {
    let behind = mirror(None, 128).await;
    let front =
        front_of(stack(&options(behind.address), Allowlist::default()), ListenerLimits::default(), None)
            .await;
    let request = Request::get(format!("http://{}/mcp", front.address)).body(Full::default()).unwrap();
    let got = h2(front.address, request).await;
    let about = format!("HTTP/1.1 /mcp host={} forwarded=http tls=false", behind.address);
    assert_eq!(got.headers()["x-about"], about);
}

#[tokio::test]
async fn guards_the_authority_of_http2() {
    let behind = mirror(None, 128).await;
    let front =
        front_of(stack(&options(behind.address), Allowlist::default()), ListenerLimits::default(), None)
            .await;
    let request = Request::get("http://evil.example/mcp").body(Full::default()).unwrap();
    assert_eq!(h2(front.address, request).await.status(), 403);
}

#[tokio::test]
async fn counts_headers_of_http2_too() {
    let behind = mirror(None, 20).await;
    for (headers, status) in [(15, 200), (25, 431)] {
        let mut request = Request::get(format!("http://{}/", behind.address)).body(Full::default()).unwrap();
        for number in 0..headers {
            request
                .headers_mut()
                .append(http::HeaderName::try_from(format!("x-{number}")).unwrap(), "1".parse().unwrap());
        }
        assert_eq!(h2(behind.address, request).await.status(), status, "{headers}");
    }
}

#[tokio::test]
async fn speaks_tls_on_both_sides() {
    let (tls_behind, trusted_behind) = made("localhost");
    let behind = mirror(Some(tls_behind), 128).await;
    let (tls_front, trusted_front) = made("localhost");
    let stack = stack(&secure(&behind, &trusted_behind), Allowlist::default());
    let front = front_of(stack, ListenerLimits::default(), Some(tls_front)).await;
    // The caller is another upstream of ours: TLS, and HTTP/2 because both ends offer it.
    let got = post(&upstream(&secure(&front, &trusted_front)), "hello").await.unwrap();
    let about =
        format!("HTTP/2.0 https://localhost:{}/mcp host= forwarded=https tls=true", behind.address.port());
    assert_eq!(got.headers()["x-about"], about);
    assert_eq!(text(got).await.unwrap(), "hello");
}

#[tokio::test]
async fn trusts_no_certificate_that_nobody_vouches_for() {
    let (tls, pem) = made("localhost");
    let behind = mirror(Some(tls), 128).await;
    let (_, other) = made("localhost");
    assert_eq!(post(&upstream(&secure(&behind, &other)), "").await.unwrap_err(), UpstreamError::Tls);
    // The right certificate for the wrong name.
    let mut options = secure(&behind, &pem);
    options.url = format!("https://{}/mcp", behind.address).parse().unwrap();
    assert_eq!(post(&upstream(&options), "").await.unwrap_err(), UpstreamError::Tls);
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_given_up() {
    let (tls, _) = made("localhost");
    let short = std::time::Duration::from_millis(200);
    let limits = {
        let mut limits = ListenerLimits::default();
        limits.head = short;
        limits
    };
    let service = service_fn(|request: Request<Body>| async move {
        Ok::<_, std::convert::Infallible>(http::Response::new(request.into_body()))
    });
    let front = front_of(service, limits, Some(tls)).await;
    let since = std::time::Instant::now();
    assert_eq!(crate::support::rest(&mut front.connect().await).await, "");
    assert!(since.elapsed() >= short);
}

#[tokio::test]
async fn a_caller_that_stops_reading_http2_is_cut_off() {
    let limits = {
        let mut limits = ListenerLimits::default();
        limits.unread = std::time::Duration::from_millis(200);
        limits
    };
    let service = service_fn(|_: Request<Body>| async move {
        let piece = || Ok::<_, std::convert::Infallible>(Frame::data(vec![b' '; 1 << 14].into()));
        Ok::<_, std::convert::Infallible>(http::Response::new(in_pieces((0..64).map(|_| piece()))))
    });
    let front = front_of(service, limits, None).await;
    let io = TokioIo::new(TcpStream::connect(front.address).await.unwrap());
    let mut builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (mut send, connection) = builder.initial_stream_window_size(1 << 16).handshake(io).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get(format!("http://{}/", front.address)).body(Full::<Bytes>::default()).unwrap();
    let unread = soon(send.send_request(request)).await.unwrap();
    // Its window is full, the socket is not.
    let _ = soon(connection).await;
    assert!(unread.into_body().collect().await.is_err());
}

#[tokio::test]
async fn says_goodbye_to_http2_without_a_next_request() {
    let limits = {
        let mut limits = ListenerLimits::default();
        limits.head = std::time::Duration::from_millis(200);
        limits
    };
    let service = service_fn(|request: Request<Body>| async move {
        Ok::<_, std::convert::Infallible>(http::Response::new(request.into_body()))
    });
    let front = front_of(service, limits, None).await;
    let io = TokioIo::new(TcpStream::connect(front.address).await.unwrap());
    let (mut send, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get(format!("http://{}/", front.address)).body(Full::<Bytes>::default()).unwrap();
    assert_eq!(soon(send.send_request(request)).await.unwrap().status(), 200);
    // Without a goodbye this would be an error.
    soon(connection).await.unwrap().unwrap();
}
