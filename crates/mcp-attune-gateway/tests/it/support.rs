//! Servers behind that follow a script, a gateway in front of them, and callers that say raw bytes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::service::{Service, service_fn};
use mcp_attune_gateway::guard::{Allowlist, Guard};
use mcp_attune_gateway::listen::{DrainOutcome, ListenerLimits, ListenerMetrics, ListenerTls, Peer, serve};
use mcp_attune_gateway::upstream::{HttpUpstream, HttpUpstreamOptions, UpstreamBody, UpstreamError};
use mcp_attune_gateway::{Body, BoxError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longer than any test waits on purpose.
const NEVER: Duration = Duration::from_secs(30);

pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(NEVER, what).await.expect("it should have happened by now")
}

/// Listens, and runs the script for each connection with its number.
pub(crate) async fn behind<F>(script: impl Fn(usize, TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let (tcp, _) = listener.accept().await.unwrap();
            tokio::spawn(script(number, tcp));
        }
    });
    address
}

/// One HTTP/1.1 message as it came, with the body that its `content-length` tells of.
pub(crate) async fn message(tcp: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        if soon(tcp.read(&mut byte)).await.unwrap() == 0 {
            return String::from_utf8(all).unwrap();
        }
        all.push(byte[0]);
    }
    let head = String::from_utf8(all).unwrap();
    let mut body = vec![0; length(&head)];
    soon(tcp.read_exact(&mut body)).await.unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn length(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.map_or(0, |digits| digits.parse().unwrap())
}

/// The lines of a head, sorted, without the first and without `date`.
pub(crate) fn lines(head: &str) -> Vec<&str> {
    let end = head.find("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> =
        head[..end].split("\r\n").skip(1).filter(|line| !line.starts_with("date: ")).collect();
    lines.sort_by_key(|line| line.split(':').next());
    lines
}

/// A server that answers every request with the same bytes, keeping its connections.
pub(crate) async fn always(answer: &'static str) -> SocketAddr {
    behind(move |_, mut tcp| async move {
        while !message(&mut tcp).await.is_empty() {
            tcp.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await
}

pub(crate) fn options(address: SocketAddr) -> HttpUpstreamOptions {
    HttpUpstreamOptions::new(format!("http://{address}/mcp").parse().unwrap(), "/mcp")
}

pub(crate) fn upstream(options: &HttpUpstreamOptions) -> HttpUpstream {
    HttpUpstream::new(options).unwrap()
}

/// Sends a POST straight to a server behind.
pub(crate) async fn post(
    upstream: &HttpUpstream,
    body: &'static str,
) -> Result<Response<Body>, UpstreamError> {
    let request = Request::post("/mcp").body(Full::new(Bytes::from(body))).unwrap();
    soon(send(upstream, request)).await
}

/// Sends a request straight to a server behind.
pub(crate) async fn send<B>(
    upstream: &HttpUpstream,
    request: Request<B>,
) -> Result<Response<Body>, UpstreamError>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let peer = request.extensions().get().copied();
    let answer = upstream.answer(request, peer).await?;
    Ok(answer.map(UpstreamBody::into_body))
}

/// The whole of a body, or the error that ended it.
pub(crate) async fn text(answer: Response<Body>) -> Result<String, UpstreamError> {
    match soon(answer.into_body().collect()).await {
        Ok(body) => Ok(String::from_utf8(body.to_bytes().to_vec()).unwrap()),
        Err(error) => Err(*error.downcast::<UpstreamError>().unwrap()),
    }
}

/// A running gateway.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<DrainOutcome>,
}

impl Front {
    /// Begins to drain.
    pub(crate) fn stop(self) -> JoinHandle<DrainOutcome> {
        self.stop.send(()).unwrap();
        self.ended
    }

    /// Drops it where it stands.
    pub(crate) fn abort(&self) {
        self.ended.abort();
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Says something on a connection of its own and returns all that is said until it is closed.
    pub(crate) async fn says(&self, raw: &str) -> String {
        let mut tcp = self.connect().await;
        tcp.write_all(raw.as_bytes()).await.unwrap();
        rest(&mut tcp).await
    }
}

/// All that comes until the other end hangs up, in whichever way.
pub(crate) async fn rest(tcp: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _ = soon(tcp.read_to_end(&mut all)).await;
    String::from_utf8(all).unwrap()
}

/// A gateway around any service.
pub(crate) async fn front_of<S>(service: S, limits: ListenerLimits, tls: Option<ListenerTls>) -> Front
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = stopped.await;
    };
    let service = move |peer: Peer| {
        let service = service.clone();
        service_fn(move |mut request: Request<Body>| {
            request.extensions_mut().insert(peer);
            service.call(request)
        })
    };
    let ended = tokio::spawn(serve(listener, service, limits, tls, ListenerMetrics::default(), shutdown));
    Front { address, stop, ended }
}

/// A gateway around a server behind; its errors are bare statuses.
pub(crate) async fn front(options: &HttpUpstreamOptions, allowed: Allowlist) -> Front {
    front_of(stack(options, allowed), ListenerLimits::default(), None).await
}

pub(crate) fn stack(
    options: &HttpUpstreamOptions,
    allowed: Allowlist,
) -> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let bare = |error: UpstreamError| {
        let body = mcp_attune_tower::full("");
        Response::builder().status(error.status()).body(body).unwrap()
    };
    let upstream = upstream(options);
    let proxy = service_fn(move |request| {
        let upstream = upstream.clone();
        async move { Ok(send(&upstream, request).await.unwrap_or_else(bare)) }
    });
    Guard::new(allowed, proxy)
}

/// A body of these pieces.
pub(crate) fn in_pieces<E: Into<BoxError> + Unpin + Send + 'static>(
    pieces: impl IntoIterator<Item = Result<Frame<Bytes>, E>>,
) -> Body {
    mcp_attune_tower::boxed(StreamBody::new(Pieces(pieces.into_iter().collect())))
}

struct Pieces<T>(VecDeque<T>);

impl<T: Unpin> Stream for Pieces<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.pop_front())
    }
}
