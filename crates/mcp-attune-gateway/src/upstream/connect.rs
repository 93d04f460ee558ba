//! Connections to a server behind: TCP, and TLS where its URL says so.
//!
//! All of it, from the look-up of the name to the end of the handshake, has one time limit. No connection is
//! opened that would take one of the file descriptors which are kept back for other things (see
//! `descriptors`).

use std::error::Error;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::{HttpUpstreamOptions, HttpVersion, UpstreamSetupError};
use crate::{BoxError, descriptors};

/// How long a connection is idle before the system probes whether the other end is still there.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// A connection as the connector opens it and hyper uses it, with the protocol that TLS negotiated.
pub(super) type ConnectorIo = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection that `Http1Connection` reads and writes without hyper. Plain TCP goes without a layer
/// between.
pub(super) enum UpstreamIo {
    /// To an `http://` URL.
    Plain(TcpStream),
    /// To an `https://` URL.
    Tls(Box<TokioIo<ConnectorIo>>),
}

impl UpstreamIo {
    /// Whether the server has sent nothing and has not closed the connection since it was last read.
    ///
    /// Asked of the system itself, because what tokio knows of the socket is as old as its last look. Of a
    /// TLS connection this cannot be told so cheaply, and it counts as quiet; sending on it finds out.
    pub(super) fn is_quiet(&self) -> bool {
        let Self::Plain(tcp) = self else { return true };
        let mut byte = [MaybeUninit::uninit()];
        let peeked = SockRef::from(tcp).peek(&mut byte);
        peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl From<ConnectorIo> for UpstreamIo {
    fn from(io: ConnectorIo) -> Self {
        match io {
            MaybeHttpsStream::Http(tcp) => Self::Plain(tcp.into_inner()),
            tls @ MaybeHttpsStream::Https(_) => Self::Tls(Box::new(TokioIo::new(tls))),
        }
    }
}

impl AsyncRead for UpstreamIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, read: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, read),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, read),
        }
    }
}

impl AsyncWrite for UpstreamIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// Opens connections to one server, within one time limit for name look-up, TCP and TLS together.
#[derive(Clone, Debug)]
pub(super) struct UpstreamConnector {
    inner: HttpsConnector<HttpConnector>,
    /// The time limit.
    limit: Duration,
    /// The first file descriptor that is kept for other things than servers behind. `None` where the system
    /// has no limit.
    reserved_from: Option<u64>,
}

impl UpstreamConnector {
    /// Sets TCP and TLS up, and reads the roots to trust where the URL is `https://`.
    pub(super) fn new(options: &HttpUpstreamOptions) -> Result<Self, UpstreamSetupError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(TCP_KEEPALIVE));
        let builder =
            HttpsConnectorBuilder::new().with_tls_config(client_tls_config(options)?).https_or_http();
        let inner = match options.http {
            HttpVersion::Negotiated => builder.enable_all_versions().wrap_connector(tcp),
            HttpVersion::Http2 => builder.enable_http2().wrap_connector(tcp),
        };
        Ok(Self { inner, limit: options.connect, reserved_from: descriptors::first_reserved() })
    }
}

/// Returns a TLS configuration that trusts the roots of the system and those of the options, and shows no
/// client certificate. For an `http://` URL no roots are read.
fn client_tls_config(options: &HttpUpstreamOptions) -> Result<ClientConfig, UpstreamSetupError> {
    let mut roots = RootCertStore::empty();
    if options.url.scheme() == Some(&http::uri::Scheme::HTTPS) {
        roots.add_parsable_certificates(options.trust.iter().cloned());
        if roots.len() < options.trust.len() {
            return Err(UpstreamSetupError::Trust);
        }
        let system = rustls_native_certs::load_native_certs();
        for error in &system.errors {
            tracing::debug!(%error, "a root certificate of the system cannot be read");
        }
        roots.add_parsable_certificates(system.certs);
        if roots.is_empty() {
            return Err(UpstreamSetupError::NoRoots);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| UpstreamSetupError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

impl Service<Uri> for UpstreamConnector {
    type Response = ConnectorIo;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    /// Opens a connection. Fails with [`ConnectTimeoutError`], with [`NoDescriptorsError`] before or after
    /// connecting, or with the connector's own error, in whose sources `UpstreamError::from_connect_error`
    /// looks for the cause.
    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = timeout(self.limit, self.inner.call(uri));
        let reserved_from = self.reserved_from;
        Box::pin(async move {
            if reserved_from.is_some_and(descriptors::are_short) {
                return Err(BoxError::from(NoDescriptorsError));
            }
            let io = connecting.await.unwrap_or_else(|_| Err(Box::new(ConnectTimeoutError)))?;
            // Others may have been quicker while its name was looked up.
            if reserved_from.is_some_and(|reserved| descriptors::number(tcp(&io)) >= reserved) {
                return Err(BoxError::from(NoDescriptorsError));
            }
            Ok(io)
        })
    }
}

/// Returns the socket below a connection.
fn tcp(io: &ConnectorIo) -> &TcpStream {
    match io {
        MaybeHttpsStream::Http(tcp) => tcp.inner(),
        MaybeHttpsStream::Https(tls) => tls.inner().get_ref().0.inner().inner(),
    }
}

/// The file descriptors that are left are kept back for other things. It says nothing of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoDescriptorsError;

impl fmt::Display for NoDescriptorsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many files are open")
    }
}

impl Error for NoDescriptorsError {}

/// There was no connection within the time limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectTimeoutError;

impl fmt::Display for ConnectTimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no connection in time")
    }
}

impl Error for ConnectTimeoutError {}
