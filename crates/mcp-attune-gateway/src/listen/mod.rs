//! Accepts connections from callers and serves HTTP/1.1 and HTTP/2 on them, with TLS or without.
//!
//! 1. There are at most so many connections. One above the limit is answered 503 and closed, so that its
//!    caller knows why; when even those grow many, further ones are closed without an answer.
//! 2. A TLS handshake, and the head of each request, must come in time ([`ListenerLimits::head`]). This is
//!    also how long a connection may be without a request.
//! 3. A request has at most so many headers, and so many bytes of them: else 431.
//! 4. What frames a request can be read in one way only, or it is refused ([`FramingError`]), and HTTP/2
//!    connections that send control frames and little else are cut.
//! 5. A body must not pause for long, and must come at a minimum rate: reading it then fails with
//!    [`RequestBodyError::Stalled`] or [`RequestBodyError::TooSlow`].
//! 6. A caller that does not read what waits for it is cut off.
//! 7. Before the end, where there is time for it ([`ListenerPhase::Close`]), every answer is the last of its
//!    connection, so that callers go elsewhere without losing a request.
//! 8. At the end no new connection is accepted, running requests have [`ListenerLimits::drain`] to finish,
//!    and what then still runs is cut.
//!
//! A connection is first read by Attune's own HTTP/1.1 (`plain`). With the first request that is not simple
//! enough for it, the connection is handed over to hyper for good, behind a check of its framing (`framing`).
//! `connection` drives both kinds and watches over their liveness (`activity`).
//!
//! Caveat: the time-outs of 2 and 6 are looked at from time to time, so they may come up to half as late
//! again. On HTTP/2 rule 6 holds for a connection, not for one stream of it: a stream that is not read while
//! others move is only bounded in what is kept for it.
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

/// How long to wait after a connection could not be accepted: mostly there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How many bytes hyper keeps for one HTTP/2 stream whose caller reads slowly.
const MAX_STREAM_BUFFER: usize = 64 * 1024;
/// How many bytes of a request's body a caller may send ahead on an HTTP/2 stream.
const STREAM_WINDOW: u32 = 256 * 1024;
/// How many requests may run at a time on one HTTP/2 connection.
const MAX_STREAMS: u32 = 200;
/// hyper's own lower bound for its read buffer.
const MIN_BUFFER_BYTES: usize = 8 * 1024;

/// Counts the connections of one listener.
#[derive(Clone, Debug, Default)]
pub struct ListenerMetrics {
    /// Connections that are open now, without those that are being turned away.
    pub open: Gauge,
    /// Connections that were above the limit, whether they were answered or not.
    pub turned_away: Counter,
}

/// Where a connection comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Peer {
    /// The other end of the connection: the caller, or a proxy in front of the gateway.
    pub address: SocketAddr,
    /// Whether the connection uses TLS.
    pub tls: bool,
}

/// The body of a request together with the peer that sent it: what all layers of the gateway pass on with the
/// head. As a type of its own it cannot be missing, as a request extension could.
#[derive(Debug)]
pub(crate) struct PeerBody {
    pub(crate) body: Body,
    pub(crate) peer: Peer,
}

/// How the shutdown of a listener went.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DrainOutcome {
    /// How many connections were cut because their requests did not finish in time.
    pub cut: usize,
}

/// How far a listener is on its way to its end, and all its connections with it. Phases only go forward.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenerPhase {
    /// Connections are accepted and served.
    Serve,
    /// The same, but every answer is the last of its connection (`Connection: close`). Over HTTP/2, callers
    /// are told to go elsewhere (`GOAWAY`).
    Close,
    /// No connection is accepted any more, those without a request are closed, and running requests may
    /// finish.
    Finish,
    /// What still runs is cut.
    Cut,
}

/// Serves a listener until `shutdown` completes, and then drains it. Returns when the last connection is
/// closed.
///
/// `service` makes one service for each connection, which is cloned where needed; it is a service of hyper's
/// kind, shared by concurrent requests and always ready. All connections are served on the current runtime.
/// When the returned future is dropped, all connections are cut.
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

/// Does the same as [`serve`], with the connections on the threads of `workers` and controlled by `phases`.
///
/// Dropping the sender of `phases` counts as [`ListenerPhase::Finish`]. From `Finish` on, requests have
/// [`ListenerLimits::drain`] to end; then, or at [`ListenerPhase::Cut`], what still runs is cut. Connections
/// hold a receiver of an inner channel, so that their number is known and the last of them can be waited for.
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

/// Accepts connections for ever. Each gets a permit of the connection limit and is given to a worker, or is
/// turned away.
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

/// Tells all connections to finish, waits until they have, and cuts the rest after `drain` or when `phases`
/// says so.
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

/// Counts a connection as open until it is dropped, however the connection ends.
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

/// Accepts the next connection, with Nagle's algorithm off. Errors are logged, and it tries again after a
/// pause.
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

/// Configures hyper with the limits. Its own header time-out is off, because `activity` has one timer for the
/// whole connection.
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
