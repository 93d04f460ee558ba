//! A server behind, over HTTP.
//!
//! 1. The mount's path is the server's endpoint; paths beside it go to the same place on the server.
//! 2. Headers of one hop end here, both ways; what tells of the caller is added (see [`HttpUpstream`]).
//! 3. Everything else goes on as it came: method, query, headers, body, status, trailers aside.
//! 4. Streams stay streams: nothing is held back, and a caller that goes away closes the call behind.
//! 5. Waiting ends: for a connection, for the first byte of the answer, between two pieces of it.
//! 6. Nothing is sent twice that the server may have begun. The one thing that is: a request that was given to a
//!    pooled connection which turned out to be closed before a byte of the request was written.
//!
//! Caveat: a server that closes a pooled connection in the very moment in which a request is written to it may
//! or may not have read it, so the caller gets 502. Connections are pooled for less time than servers commonly
//! keep them (5 s), which makes that rare.
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

/// How to reach one server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpUpstreamOptions {
    /// The server's endpoint.
    pub url: Uri,
    /// The public path that stands for it.
    pub mount: String,
    /// Which version of HTTP is spoken.
    pub http: HttpVersion,
    /// Certificates to trust besides the system's, for servers with one of their own making.
    pub trust: Vec<CertificateDer<'static>>,
    /// How long a connection may take: name, TCP and TLS together.
    pub connect: Duration,
    /// How long the head of an answer may take, a new connection included.
    pub first_byte: Duration,
    /// How long a stream may be silent.
    pub stream_idle: Duration,
    /// How long an unused connection is kept.
    pub pool_idle: Duration,
}

impl HttpUpstreamOptions {
    /// The endpoint and the public path that stands for it; all else by default.
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

/// Which version of HTTP is spoken to a server behind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HttpVersion {
    /// HTTP/1.1, and over TLS whichever of it and HTTP/2 the server prefers.
    #[default]
    Negotiated,
    /// HTTP/2 without asking, also without TLS ("prior knowledge").
    Http2,
}

/// What is wrong with [`HttpUpstreamOptions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UpstreamSetupError {
    /// The URL is no `http://…` or `https://…`: `ftp://host/`, `/mcp`.
    Url,
    /// The URL holds a name or a password: `http://me:secret@host/mcp`.
    Credentials,
    /// The mount is no path: `mcp`.
    Mount,
    /// One of the certificates to trust cannot be read.
    Trust,
    /// No certificate to trust was found, neither the system's nor another.
    NoRoots,
    /// TLS itself cannot be set up.
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

/// A server behind over HTTP. A clone is the same server with the same connections.
#[derive(Clone, Debug)]
pub struct HttpUpstream {
    shared: Arc<HttpUpstreamState>,
}

/// The body of an answer. It fails with an [`UpstreamError`].
pub struct UpstreamBody(AnswerBody<IdleTimeoutBody<StreamingBody, UpstreamError>>);

impl UpstreamBody {
    /// The body as one of the gateway's.
    #[must_use]
    pub fn into_body(self) -> Body {
        match self.0 {
            AnswerBody::Complete(bytes) => full(bytes),
            AnswerBody::Streaming(body) => boxed(body),
        }
    }

    /// The same, and what fails in it is counted. A body that has come cannot fail any more.
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

#[derive(Debug)]
struct HttpUpstreamState {
    /// One for each thread that connections live on, so that an answer comes in on the thread that waits for it.
    pools: Vec<Arc<ConnectionPool>>,
    /// What the server is called.
    host: HeaderValue,
    options: HttpUpstreamOptions,
}

impl HttpUpstream {
    /// Connects to nothing yet.
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
    /// Calls the server, without boxing what waits for its answer. `Host` is set for it; `peer`, where there is one, goes into
    /// `X-Forwarded-For` and `X-Forwarded-Proto`.
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

    /// Whether a connection to the server can be had. It is closed at once.
    fn reach(&self) -> UpstreamResult<'_, ()> {
        Box::pin(async {
            let pool = self.shared.pools.get(workers::worker_number()).ok_or(UpstreamError::Broken)?;
            pool.reach().await
        })
    }

    fn endpoint(&self) -> Option<&str> {
        Some(self.shared.options.url.path())
    }

    fn name(&self) -> String {
        self.shared.options.url.to_string()
    }
}

impl HttpUpstreamState {
    /// The request as the server behind gets it.
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

    /// The answer as the caller gets it.
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
