//! The connections to a server behind, kept for the next call.
//!
//! 1. A connection serves one call at a time, or, over HTTP/2, all of them.
//! 2. The one that was used last is used next. What was not used for `pool_idle` is closed.
//! 3. Which version is spoken is settled by the first connection: over TLS the server chooses. Once it was
//!    HTTP/2, the pool goes on with that.
//!
//! There is no limit on connections here: each call and stream of the gateway has a permit, and uses one
//! connection at a time.
//!
//! Rules: G5.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::header::HOST;
use http::{Request, Response, Uri};
use hyper::client::conn::{TrySendError, http2};
use hyper_util::client::legacy::connect::Connection as _;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout};
use tower_service::Service;

use super::UpstreamError;
use super::connect::{ConnectorIo, UpstreamConnector};
use super::http1_connection::{
    AnswerBody, ConnectionError, Http1Connection, IdlePool, SendOutcome, StreamingBody,
};
use super::{HttpUpstreamOptions, HttpVersion};
use crate::Body;
use crate::body::ErrorChain;

/// How many bytes are read ahead of a slow caller on one HTTP/2 stream.
const STREAM_WINDOW: u32 = 256 * 1024;
/// How many bytes are read ahead on all streams of an HTTP/2 connection. As large as the protocol allows:
/// were it smaller, slow callers could use it up between them and stop every other call that shares their
/// connection.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How often the server at the other end of an HTTP/2 connection is pinged, idle connections included.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long the server may take to answer a ping. After that the connection is closed, and its calls fail.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// The connections of one worker thread to one server.
pub(super) struct ConnectionPool {
    /// A reference to itself, for the task that closes idle connections.
    this: Weak<Self>,
    connector: UpstreamConnector,
    /// The server's endpoint, of which connections need the scheme, host and port.
    url: Uri,
    /// How long an unused HTTP/1.1 connection is kept.
    idle: Duration,
    /// How long the head of an answer may take.
    first_byte: Duration,
    /// The HTTP/1.1 connections that no call uses.
    idle_connections: Mutex<IdleConnections>,
    /// Whether HTTP/2 is spoken: configured so, or chosen by the server before.
    two: AtomicBool,
    /// The HTTP/2 connection that all calls share. Locked while one is opened, so that the others wait for it
    /// and do not open their own.
    shared: tokio::sync::Mutex<Option<http2::SendRequest<Body>>>,
}

/// The connections that wait for a call.
#[derive(Default)]
struct IdleConnections {
    /// The one that was used last is at the end. Boxed, because they come and go with every call.
    #[expect(clippy::vec_box)]
    free: Vec<Box<Http1Connection>>,
    /// Whether the task runs that closes those which were not used for long.
    watched: bool,
}

impl fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionPool").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ConnectionPool {
    /// Makes a pool without connections.
    pub(super) fn new(connector: UpstreamConnector, options: &HttpUpstreamOptions) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            connector,
            url: options.url.clone(),
            idle: options.pool_idle,
            first_byte: options.first_byte,
            idle_connections: Mutex::default(),
            two: AtomicBool::new(options.http == HttpVersion::Http2),
            shared: tokio::sync::Mutex::default(),
        })
    }

    /// Sends a request whose target is a path, and waits for the head of its answer.
    ///
    /// Idle connections are tried first, one after the other, for as long as they turn out to be closed
    /// before anything was written. Then a new one is opened, or the shared HTTP/2 connection used. From the
    /// first byte on nothing is tried again.
    pub(super) async fn send(
        self: &Arc<Self>,
        mut request: Box<Request<Body>>,
    ) -> Result<Response<AnswerBody<StreamingBody>>, UpstreamError> {
        if !self.two.load(Relaxed) {
            while let Some(connection) = self.take_idle() {
                match connection.send(request, self).await.map_err(|error| self.connection_failed(&error))? {
                    SendOutcome::Answered(answer) => return Ok(answer),
                    SendOutcome::Unsent(back) => request = back,
                }
            }
        }
        // Boxed, so that every call does not carry the room for a handshake, which few need.
        let sent = timeout(self.first_byte, Box::pin(self.send_on_new_connection(request))).await;
        sent.unwrap_or(Err(UpstreamError::FirstByteTimeout))
    }

    /// Sends a request where no idle connection could take it: over a new one, or over HTTP/2.
    async fn send_on_new_connection(
        self: &Arc<Self>,
        request: Box<Request<Body>>,
    ) -> Result<Response<AnswerBody<StreamingBody>>, UpstreamError> {
        if !self.two.load(Relaxed) {
            let io = self.connect().await?;
            if !io.connected().is_negotiated_h2() {
                let connection = Http1Connection::open(io.into(), self.first_byte);
                return match connection
                    .send(request, self)
                    .await
                    .map_err(|error| self.connection_failed(&error))?
                {
                    SendOutcome::Answered(answer) => Ok(answer),
                    // It was closed as soon as it was open.
                    SendOutcome::Unsent(_) => {
                        Err(self.connection_failed(&io::Error::from(io::ErrorKind::UnexpectedEof).into()))
                    }
                };
            }
            self.two.store(true, Relaxed);
            *self.shared.lock().await = Some(self.open_shared(io).await?);
        }
        self.send_shared(*request).await
    }

    /// Sends a request over the shared HTTP/2 connection, and opens that where there is none or it was
    /// closed.
    ///
    /// A request that hyper gives back unsent, because the connection was closing, is sent over another one.
    /// A connection that was opened for this request gets no second try.
    async fn send_shared(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<AnswerBody<StreamingBody>>, UpstreamError> {
        // HTTP/2 has it in the target.
        request.headers_mut().remove(HOST);
        let mut target = self.url.clone().into_parts();
        target.path_and_query = request.uri().path_and_query().cloned();
        *request.uri_mut() = Uri::from_parts(target).map_err(|_| UpstreamError::NotServed)?;
        loop {
            let (mut sender, fresh) = {
                let mut shared = self.shared.lock().await;
                match shared.as_ref().filter(|sender| !sender.is_closed()) {
                    Some(sender) => (sender.clone(), false),
                    None => {
                        let io = self.connect().await?;
                        let sender = self.open_shared(io).await?;
                        (shared.insert(sender).clone(), true)
                    }
                }
            };
            match sender.try_send_request(request).await {
                Ok(answer) => return Ok(answer.map(|body| AnswerBody::Streaming(StreamingBody::Hyper(body)))),
                Err(error) if fresh => return Err(self.hyper_failed(error.error())),
                Err(error) => request = self.unsent_request(error)?,
            }
        }
    }

    /// Returns the request where no byte of it was written, else the error.
    fn unsent_request(&self, mut error: TrySendError<Request<Body>>) -> Result<Request<Body>, UpstreamError> {
        error.take_message().ok_or_else(|| self.hyper_failed(error.error()))
    }

    /// Takes the connection that was used last. Those on the way that are too old, or that the server has
    /// closed or written to, are closed. `None` where there is none left.
    fn take_idle(&self) -> Option<Box<Http1Connection>> {
        loop {
            let connection = self.idle_connections().free.pop()?;
            if connection.used.elapsed() < self.idle && connection.is_quiet() {
                return Some(connection);
            }
        }
    }

    /// Opens a connection and closes it, to find out whether the server can be reached.
    pub(super) async fn reach(&self) -> Result<(), UpstreamError> {
        self.connect().await.map(drop)
    }

    /// Opens a connection, within the limit of the connector. The caller learns the kind of a failure, the
    /// log (at debug level) all of its causes.
    async fn connect(&self) -> Result<ConnectorIo, UpstreamError> {
        let mut connector = self.connector.clone();
        connector.call(self.url.clone()).await.map_err(|error| {
            let read = UpstreamError::from_connect_error(&*error);
            tracing::debug!(upstream = self.url.host(), error = %ErrorChain(&*error), "{read}");
            read
        })
    }

    /// Begins HTTP/2 on a connection, with a task that drives it until it is closed.
    async fn open_shared(&self, io: ConnectorIo) -> Result<http2::SendRequest<Body>, UpstreamError> {
        let opened = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .handshake(io);
        let (sender, connection) = opened.await.map_err(|error| self.hyper_failed(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = %ErrorChain(&error), "a connection to a server behind ended");
            }
        });
        Ok(sender)
    }

    fn hyper_failed(&self, error: &hyper::Error) -> UpstreamError {
        let read = UpstreamError::from_hyper_error(error);
        tracing::debug!(upstream = self.url.host(), error = %ErrorChain(error), "{read}");
        read
    }

    #[cold]
    fn connection_failed(&self, error: &ConnectionError) -> UpstreamError {
        let read = UpstreamError::from_connection_error(error);
        tracing::debug!(upstream = self.url.host(), error = %ErrorChain(error), "{read}");
        read
    }

    fn idle_connections(&self) -> MutexGuard<'_, IdleConnections> {
        // Nothing that holds the lock can panic halfway through a change.
        self.idle_connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdlePool for ConnectionPool {
    /// Keeps a connection, and starts the task that closes idle ones where it does not run. Outside of a
    /// runtime, where no task can be started, the connection is closed instead.
    fn put(&self, mut connection: Box<Http1Connection>) {
        connection.used = Instant::now();
        let mut idle = self.idle_connections();
        if !idle.watched {
            let (Ok(runtime), Some(this)) = (Handle::try_current(), self.this.upgrade()) else { return };
            idle.watched = true;
            runtime.spawn(close_idle_connections(this));
        }
        idle.free.push(connection);
    }
}

/// Closes connections that were not used for `idle`, and ends when none is left. It holds the pool until
/// then.
async fn close_idle_connections(pool: Arc<ConnectionPool>) {
    let mut next = Instant::now() + pool.idle;
    loop {
        sleep_until(next).await;
        let mut idle = pool.idle_connections();
        let now = Instant::now();
        idle.free.retain(|connection| now.duration_since(connection.used) < pool.idle);
        match idle.free.first() {
            Some(oldest) => next = oldest.used + pool.idle,
            None => {
                idle.watched = false;
                return;
            }
        }
    }
}
