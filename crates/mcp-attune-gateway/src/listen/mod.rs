//! The door: connections from callers, over HTTP/1.1 and HTTP/2, with TLS or without.
//!
//! 1. At most so many connections. One above it is answered 503 and closed, so that its caller knows why; when
//!    even those grow many, further ones are closed without a word.
//! 2. A TLS handshake, and the head of each request, must come in time ([`ListenerLimits::head`]). This is also how long
//!    a connection may be without a request.
//! 3. A request has at most so many headers, and so many bytes of them: else 431.
//! 4. What frames a request can be read in one way only, or it is refused ([`FramingError`]), and HTTP/2 connections are cut
//!    that send control frames and little else.
//! 5. A body must not pause for long, and must come at a least rate: reading it then fails with
//!    [`RequestBodyError::Stalled`] or [`RequestBodyError::TooSlow`].
//! 6. A caller that does not read what waits for it is cut off.
//! 7. Before the end, where there is time for it ([`ListenerPhase::Close`]), every answer is the last of its connection, so that
//!    callers go elsewhere without losing a request.
//! 8. At the end no new connection is taken, running requests have [`ListenerLimits::drain`] to finish, and what then
//!    still runs is cut.
//!
//! Caveat: the time-outs of 2 and 6 are looked at from time to time, so they may come up to half as late again. On
//! HTTP/2 rule 6 holds for a connection, not for one stream of it: a stream that is not read while others
//! move is only bounded in what is kept for it.
//!
//! Rules: G4, H20.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

mod limits;
mod tls;

mod framing;
mod activity;
mod request_error;

mod hyper_service;
mod plain;

mod connection;

pub use limits::ListenerLimits;
pub use mcp_attune_http1::FramingError;
pub use request_error::RequestBodyError;
pub use tls::{ListenerTls, PemError, parse_certificates};

use crate::slots::Slots;
use crate::workers::Workers;
use crate::{Body, BoxError};
use connection::ConnectionServer;
use hyper_service::TurnAwayService;

/// How long to wait when a connection cannot be taken: mostly there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What waits for one slow reader: on an HTTP/2 stream, and read ahead of a body.
const MAX_STREAM_BUFFER: usize = 64 * 1024;
const STREAM_WINDOW: u32 = 256 * 1024;
const MAX_STREAMS: u32 = 200;
/// hyper's own lower bound for a buffer.
const MIN_BUFFER_BYTES: usize = 8 * 1024;

/// Counts the connections of one door.
#[derive(Clone, Debug, Default)]
pub struct ListenerMetrics {
    /// Those that are open.
    pub open: Gauge,
    /// Those that were too many.
    pub turned_away: Counter,
}

/// Where a connection comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer {
    /// The other end of the connection: the caller, or a proxy in front.
    pub address: SocketAddr,
    /// Whether it came over TLS.
    pub tls: bool,
}

/// The body of a request, and where the request comes from: what all layers of the gateway pass on with its head.
#[derive(Debug)]
pub(crate) struct PeerBody {
    pub(crate) body: Body,
    pub(crate) peer: Peer,
}

/// How the end came.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DrainOutcome {
    /// How many connections were cut, because their requests did not finish in time.
    pub cut: usize,
}

/// How far a listener has come, and all its connections with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenerPhase {
    /// Connections are taken and served.
    Serve,
    /// The same, but every answer is the last of its connection. Over HTTP/2 callers are told to go elsewhere (`GOAWAY`).
    Close,
    /// No connection is taken any more, those without a request are closed, and running requests may finish.
    Finish,
    /// What still runs is cut.
    Cut,
}

/// Takes connections and gives their requests to the service that `service` makes for each of them, until `shutdown`; returns
/// when the last is gone. A service is hyper's: it is shared, and always ready. When the returned future is dropped, all connections are cut.
pub async fn serve<S>(
    listener: TcpListener,
    service: impl Fn(Peer) -> S + Send,
    limits: ListenerLimits,
    tls: Option<ListenerTls>,
    traffic: ListenerMetrics,
    shutdown: impl Future<Output = ()>,
) -> DrainOutcome
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    let (workers, (tell, phases)) = (Workers::none(), watch::channel(ListenerPhase::Serve));
    let serving = serve_on_workers(&workers, listener, service, limits, tls, traffic, phases);
    let ending = async {
        shutdown.await;
        tell.send_replace(ListenerPhase::Finish);
        std::future::pending().await
    };
    tokio::select! {
        drained = serving => drained,
        drained = ending => drained,
    }
}

/// The same, with the connections on threads of their own, and in the phases that are told. Whoever tells them no more
/// has ended it.
pub async fn serve_on_workers<S>(
    workers: &Workers,
    listener: TcpListener,
    service: impl Fn(Peer) -> S + Send,
    limits: ListenerLimits,
    tls: Option<ListenerTls>,
    traffic: ListenerMetrics,
    mut phases: watch::Receiver<ListenerPhase>,
) -> DrainOutcome
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    let (phase, told) = watch::channel(ListenerPhase::Serve);
    let limits = Arc::new(limits);
    let drain = limits.drain;
    let door = ConnectionServer { http: Arc::new(hyper_builder(&limits)), tls, limits, told };
    let mut taking = Box::pin(accept_connections(workers, listener, service, door, traffic));
    loop {
        match *phases.borrow_and_update() {
            ListenerPhase::Serve => {}
            ListenerPhase::Close => {
                phase.send_replace(ListenerPhase::Close);
            }
            ListenerPhase::Finish | ListenerPhase::Cut => break,
        }
        let told = tokio::select! {
            () = &mut taking => break,
            told = phases.changed() => told,
        };
        if told.is_err() {
            break;
        }
    }
    drop(taking);
    // The listener went with `taking`, and the connections' own receivers are now the only ones: the channel
    // closes with the last of them.
    drain_connections(phase, phases, drain).await
}

/// Takes connections for ever, as many as there are seats for.
async fn accept_connections<S>(
    workers: &Workers,
    listener: TcpListener,
    service: impl Fn(Peer) -> S + Send,
    door: ConnectionServer,
    traffic: ListenerMetrics,
) where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    let seats = Slots::new(door.limits.connections);
    let steps = Slots::new(door.limits.turned_away);
    loop {
        let (tcp, address) = accept(&listener).await;
        if let Some(seat) = seats.try_acquire_any() {
            let service = service(Peer { address, tls: door.tls.is_some() });
            let door = door.clone();
            let open = OpenConnectionGuard::new(&traffic.open);
            workers.spawn_connection(tcp, move |tcp| async move {
                let _open = open;
                door.run(tcp, service, seat).await;
            });
            continue;
        }
        traffic.turned_away.inc();
        if let Some(step) = steps.try_acquire_any() {
            let door = door.clone();
            tokio::spawn(async move { door.turn_away(tcp, TurnAwayService, step).await });
        }
    }
}

/// Lets running requests finish for as long as `drain`, or until it is told to cut them, and cuts what still runs.
async fn drain_connections(
    phase: watch::Sender<ListenerPhase>,
    mut phases: watch::Receiver<ListenerPhase>,
    drain: Duration,
) -> DrainOutcome {
    phase.send_replace(ListenerPhase::Finish);
    let is_cut = async {
        if phases.wait_for(|phase| *phase == ListenerPhase::Cut).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        finished = timeout(drain, phase.closed()) => if finished.is_ok() {
            return DrainOutcome { cut: 0 };
        },
        () = is_cut => {}
    }
    let cut = phase.receiver_count();
    tracing::info!(cut, "requests that did not finish in time are cut");
    phase.send_replace(ListenerPhase::Cut);
    phase.closed().await;
    DrainOutcome { cut }
}

/// A connection that is counted as long as it is open, however it ends.
struct OpenConnectionGuard(Gauge);

impl OpenConnectionGuard {
    fn new(count: &Gauge) -> Self {
        count.inc();
        Self(count.clone())
    }
}

impl Drop for OpenConnectionGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((tcp, address)) => {
                // Every event of a stream leaves at once.
                if let Err(error) = tcp.set_nodelay(true) {
                    tracing::debug!(%error, "a connection was gone before it was taken");
                    continue;
                }
                return (tcp, address);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// hyper, set to the limits.
fn hyper_builder(limits: &ListenerLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // hyper would make a timer for each head; ours is one for the connection.
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_buf_size(limits.header_bytes.max(MIN_BUFFER_BYTES));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(MAX_STREAM_BUFFER)
        .initial_stream_window_size(STREAM_WINDOW);
    builder
}
