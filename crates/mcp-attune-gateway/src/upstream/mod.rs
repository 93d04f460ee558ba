//! A server behind the gateway, over HTTP.
//!
//! 1. The mount's path is the server's endpoint; paths beside it go to the same place on the server.
//! 2. Headers of one hop end here, both ways; what tells of the caller is added (see [`HttpUpstream`]).
//! 3. Everything else goes on as it came: method, query, headers, body, status, trailers aside.
//! 4. Streams stay streams: nothing is held back, and a caller that goes away closes the call behind.
//! 5. Waiting ends: for a connection, for the first byte of the answer, between two pieces of it.
//! 6. Nothing is sent twice that the server may have begun. The one thing that is: a request that was given
//!    to a pooled connection which turned out to be closed before a byte of the request was written.
//!
//! Caveat: a server that closes a pooled connection in the very moment in which a request is written to it
//! may or may not have read it, so the caller gets 502. Connections are pooled for less time than servers
//! commonly keep them (5 s), which makes that rare.
//!
//! ```
//! use mcp_attune_gateway::upstream::{HttpUpstream, HttpUpstreamOptions};
//!
//! let upstream = HttpUpstream::new(&HttpUpstreamOptions::new("http://127.0.0.1:9000/mcp".parse()?, "/weather"))?;
//! # let _: HttpUpstream = upstream;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules: G1, G2, G5, G10.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version};
use mcp_attune_tower::{boxed, full};
use rustls::pki_types::CertificateDer;

mod connect;
mod hop;
mod path;
mod service;

mod http1_connection;

mod error;

mod pool;

pub(crate) use path::upstream_path;
pub(crate) use service::{
    MeteredAnswer, Requester, Upstream, UpstreamFuture, UpstreamResult, UpstreamService, metered_body,
};

pub use crate::upstream_error::UpstreamError;

use crate::body::IdleTimeoutBody;
use crate::listen::Peer;
use crate::metrics::Meter;
use crate::{Body, BoxError, workers};
use connect::UpstreamConnector;
use http1_connection::{AnswerBody, StreamingBody};
use pool::ConnectionPool;

/// How to reach one server over HTTP: where it is, how it is spoken to, and how long it may take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpUpstreamOptions {
    /// The server's endpoint, such as `https://mcp.example.com/mcp`. Its query, if it has one, is sent with
    /// every request for the endpoint, before the caller's own.
    pub url: Uri,
    /// The public path that stands for the endpoint, such as `/weather`. It begins with `/`.
    pub mount: String,
    /// Which version of HTTP is spoken to the server.
    pub http: HttpVersion,
    /// Certificates to trust as roots besides the system's, for servers with one of their own making. Only
    /// read where the URL is `https://`.
    pub trust: Vec<CertificateDer<'static>>,
    /// How long opening a connection may take: name look-up, TCP and TLS together. 10 s by default; after
    /// that the caller gets [`UpstreamError::ConnectTimeout`].
    pub connect: Duration,
    /// How long the head of an answer may take, a new connection and the sending of the request included; 60
    /// s by default. After that the caller gets [`UpstreamError::FirstByteTimeout`].
    pub first_byte: Duration,
    /// The longest pause between two pieces of an answer's body. 5 minutes by default; after that the body
    /// fails with [`UpstreamError::Stalled`]. Time in which the caller does not read does not count.
    pub stream_idle: Duration,
    /// How long an unused HTTP/1.1 connection is kept for the next request. 4 s by default, less than the 5 s
    /// after which servers commonly close one.
    pub pool_idle: Duration,
}

impl HttpUpstreamOptions {
    /// Returns the options for an endpoint and the public path that stands for it, with everything else as it
    /// is by default.
    #[must_use]
    pub fn new(url: Uri, mount: impl Into<String>) -> Self {
        Self {
            url,
            mount: mount.into(),
            http: HttpVersion::default(),
            trust: Vec::new(),
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(60),
            stream_idle: Duration::from_secs(5 * 60),
            pool_idle: Duration::from_secs(4),
        }
    }
}

/// Which version of HTTP is spoken to a server behind the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HttpVersion {
    /// HTTP/1.1 to an `http://` URL; to `https://` whichever of HTTP/1.1 and HTTP/2 the server chooses
    /// (ALPN).
    #[default]
    Negotiated,
    /// HTTP/2 always, also without TLS ("prior knowledge"). A server that does not speak it cannot be
    /// reached.
    Http2,
}

/// Why an [`HttpUpstream`] cannot be made of its [`HttpUpstreamOptions`]. Nothing was sent to the server for
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UpstreamSetupError {
    /// The URL is no `http://…` or `https://…`: `ftp://host/`, `/mcp`.
    Url,
    /// The URL holds a name or a password: `http://me:secret@host/mcp`.
    Credentials,
    /// The mount is no path: `mcp`.
    Mount,
    /// One of the certificates to trust is no certificate that can be read.
    Trust,
    /// The URL is `https://`, and there is no certificate to trust, neither of the system nor in `trust`.
    NoRoots,
    /// TLS itself cannot be set up: the cryptography of this build supports none of the versions.
    Tls,
}

impl fmt::Display for UpstreamSetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url => "the upstream's URL must begin with http:// or https:// and a host",
            Self::Credentials => "the upstream's URL must not hold a name or a password",
            Self::Mount => "the mount must be a path and begin with /",
            Self::Trust => "a certificate to trust cannot be read",
            Self::NoRoots => {
                "no trusted certificates were found on this machine; install ca-certificates or name one to trust"
            }
            Self::Tls => "TLS cannot be set up",
        })
    }
}

impl Error for UpstreamSetupError {}

/// A server behind the gateway that is reached over HTTP/1.1 or HTTP/2. Clones share the server's
/// connections.
///
/// What it changes in a request: the target becomes the path on the server; `Host` becomes the server's;
/// headers of one hop are removed; `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` tell of the
/// caller. In an answer it removes the headers of one hop. Bodies pass in both directions as they come.
///
/// Connections belong to the thread that opened them: each worker thread has a pool of its own.
#[derive(Clone, Debug)]
pub struct HttpUpstream {
    shared: Arc<HttpUpstreamState>,
}

/// The body of an answer of the server. Where it fails, the error is an [`UpstreamError`]: `Stalled` after a
/// pause of more than `stream_idle`, else `Broken`. Dropping it before its end closes the connection, or over
/// HTTP/2 the stream.
pub struct UpstreamBody(AnswerBody<IdleTimeoutBody<StreamingBody, UpstreamError>>);

impl UpstreamBody {
    /// Returns it as a body of the gateway.
    #[must_use]
    pub fn into_body(self) -> Body {
        match self.0 {
            AnswerBody::Complete(bytes) => full(bytes),
            AnswerBody::Streaming(body) => boxed(body),
        }
    }

    /// Does what [`into_body`](Self::into_body) does, and has a failure in the middle of the body counted. A
    /// body that came whole cannot fail any more.
    fn metered(self, meter: &Meter) -> Body {
        match self.0 {
            AnswerBody::Complete(bytes) => full(bytes),
            AnswerBody::Streaming(body) => metered_body(body, meter),
        }
    }
}

impl fmt::Debug for UpstreamBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamBody").finish_non_exhaustive()
    }
}

/// What all clones of an [`HttpUpstream`] share.
#[derive(Debug)]
struct HttpUpstreamState {
    /// A pool for each worker thread, by its number, so that an answer comes in on the thread that waits for
    /// it.
    pools: Vec<Arc<ConnectionPool>>,
    /// The value of `Host` in requests to the server.
    host: HeaderValue,
    options: HttpUpstreamOptions,
}

impl HttpUpstream {
    /// Makes an upstream. It connects to nothing yet: whether the server can be reached shows with the first
    /// request.
    ///
    /// # Errors
    ///
    /// [`UpstreamSetupError`], where the options cannot work.
    pub fn new(options: &HttpUpstreamOptions) -> Result<Self, UpstreamSetupError> {
        let url = &options.url;
        let authority = url.authority().ok_or(UpstreamSetupError::Url)?;
        if !url.scheme().is_some_and(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme)) {
            return Err(UpstreamSetupError::Url);
        }
        if authority.as_str().contains('@') {
            return Err(UpstreamSetupError::Credentials);
        }
        if !options.mount.starts_with('/') {
            return Err(UpstreamSetupError::Mount);
        }
        let connector = UpstreamConnector::new(options)?;
        let pools =
            (0..workers::max_workers()).map(|_| ConnectionPool::new(connector.clone(), options)).collect();
        let host = hop::host_header(url).ok_or(UpstreamSetupError::Url)?;
        Ok(Self { shared: Arc::new(HttpUpstreamState { pools, host, options: options.clone() }) })
    }
}

impl HttpUpstream {
    /// Sends a request to the server and waits for the head of its answer. The future is not boxed.
    ///
    /// The target of the request is a public path. One that is no path is [`UpstreamError::NotServed`]; which
    /// paths are let through is decided before. `peer` is where the request came from, for `X-Forwarded-For`
    /// and `X-Forwarded-Proto`; without it the two are left as they came.
    ///
    /// Dropping the future closes the connection that the request was given to, or its stream over HTTP/2.
    /// The status that each error stands for is [`UpstreamError::status`].
    pub fn answer<B>(
        &self,
        request: Request<B>,
        peer: Option<Peer>,
    ) -> impl Future<Output = Result<Response<UpstreamBody>, UpstreamError>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let shared = Arc::clone(&self.shared);
        // Boxed, because it goes from hand to hand, and each would have room for all of it.
        let request = shared.forwarded_request(request, peer).map(Box::new);
        async move { shared.send(request?).await }
    }
}

impl Upstream for HttpUpstream {
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture {
        Box::pin(MeteredAnswer::new(self.answer(request, requester.peer), meter, UpstreamBody::metered))
    }

    fn call_off_endpoint(
        &self,
        request: Request<Body>,
        requester: Requester,
    ) -> UpstreamResult<'static, Response<Body>> {
        let answer = self.answer(request, requester.peer);
        Box::pin(async move { Ok(answer.await?.map(UpstreamBody::into_body)) })
    }

    /// Opens a connection to the server, with TLS where the URL asks for it, and closes it at once. No
    /// request is sent.
    fn reach(&self) -> UpstreamResult<'_, ()> {
        Box::pin(async {
            let pool = self.shared.pools.get(workers::worker_number()).ok_or(UpstreamError::Broken)?;
            pool.reach().await
        })
    }

    /// Returns the path of the server's URL.
    fn endpoint(&self) -> Option<&str> {
        Some(self.shared.options.url.path())
    }

    /// Returns the URL, which has no credentials in it: [`HttpUpstream::new`] refuses them.
    fn name(&self) -> String {
        self.shared.options.url.to_string()
    }
}

impl HttpUpstreamState {
    /// Makes a caller's request one for the server: target, `Host`, headers of this hop, and a
    /// `Content-Length` that is right. Fails with [`UpstreamError::NotServed`] where the target is no path.
    fn forwarded_request<B>(
        &self,
        request: Request<B>,
        peer: Option<Peer>,
    ) -> Result<Request<Body>, UpstreamError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let HttpUpstreamOptions { url, mount, .. } = &self.options;
        let (mut head, body) = request.into_parts();
        let target = path::upstream_target(&head.uri, mount, url).ok_or(UpstreamError::NotServed)?;
        hop::rewrite_request_head(&mut head, &self.host, peer);
        hop::correct_length(&mut head.headers, body.size_hint().exact());
        head.uri = target.into();
        // The version of this hop is settled by its connection.
        head.version = Version::HTTP_11;
        Ok(Request::from_parts(head, boxed(body)))
    }

    /// Makes the server's answer one for the caller: headers of one hop are removed, and a body that is not
    /// there yet gets its time-out. A 101 is [`UpstreamError::Broken`]: nobody asked for another protocol,
    /// because `Upgrade` is not passed on.
    fn returned_answer(
        &self,
        answer: Response<AnswerBody<StreamingBody>>,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let (mut head, body) = answer.into_parts();
        // Nobody asked for another protocol, and nobody here speaks it.
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(UpstreamError::Broken);
        }
        hop::strip(&mut head.headers);
        head.version = Version::HTTP_11;
        let body = match body {
            AnswerBody::Complete(bytes) => AnswerBody::Complete(bytes),
            AnswerBody::Streaming(body) => {
                let idle = self.options.stream_idle;
                AnswerBody::Streaming(IdleTimeoutBody::new(
                    body,
                    idle,
                    UpstreamError::Stalled,
                    UpstreamError::Broken,
                ))
            }
        };
        Ok(Response::from_parts(head, UpstreamBody(body)))
    }

    /// Sends a request that is ready, over the pool of the thread that this runs on.
    async fn send(&self, request: Box<Request<Body>>) -> Result<Response<UpstreamBody>, UpstreamError> {
        // There is one for every number.
        let Some(pool) = self.pools.get(workers::worker_number()) else { return Err(UpstreamError::Broken) };
        self.returned_answer(pool.send(request).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_wrong_with_its_options() {
        for (url, mount, wrong) in [
            ("/mcp", "/mcp", UpstreamSetupError::Url),
            ("host:80", "/mcp", UpstreamSetupError::Url),
            ("ftp://host/mcp", "/mcp", UpstreamSetupError::Url),
            ("http://me:secret@host/mcp", "/mcp", UpstreamSetupError::Credentials),
            ("http://host/mcp", "mcp", UpstreamSetupError::Mount),
        ] {
            let options = HttpUpstreamOptions::new(url.parse().unwrap(), mount);
            assert_eq!(HttpUpstream::new(&options).err(), Some(wrong), "{url} {mount}");
        }
        let mut options = HttpUpstreamOptions::new("https://host/mcp".parse().unwrap(), "/mcp");
        options.trust.push(vec![1, 2, 3].into());
        assert_eq!(HttpUpstream::new(&options).err(), Some(UpstreamSetupError::Trust));
    }
}
