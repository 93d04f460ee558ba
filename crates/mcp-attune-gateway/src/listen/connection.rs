//! One connection, from its handshake to its end.
//!
//! A connection goes through up to three stages:
//!
//! 1. The TLS handshake, if the listener has TLS.
//! 2. Plain requests, which are read without hyper ([`PlainConnection`]). Most connections stay here.
//! 3. hyper, from the first request that is not plain, with a check of the framing before it. There is no way
//!    back.
//!
//! The last two implement [`ConnectionDriver`], so that one loop (`drive`) tells both when to end and checks
//! that they are alive. What each phase of the listener means to them:
//!
//! - `Close`: HTTP/1.1 answers its next request with `Connection: close`; HTTP/2 sends `GOAWAY`.
//! - `Finish`: an idle connection is closed at once, another one after the answers that run.
//! - `Cut`: the connection is dropped, and with it the futures of its calls.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::{self, Builder};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::server::TlsStream;

use super::activity::{ConnectionActivity, DeadConnectionReason, LivenessWatch, WriteCountingIo};
use super::framing::{FramingCheckedIo, FramingVerdicts};
use super::hyper_service::{HyperService, TurnAwayService};
use super::plain::{PlainConnection, PlainConnectionEnd};
use super::{ListenerLimits, ListenerPhase, ListenerTls};
use crate::body::ErrorChain;
use crate::poll_on_wake::PollOnWake;
use crate::slots::Permit;
use crate::{Body, BoxError};

/// How long it may take, handshake and request included, to tell a caller that there are too many
/// connections.
const TURN_AWAY_TIMEOUT: Duration = Duration::from_secs(5);

/// The first bytes of a connection whose caller speaks HTTP/2 with prior knowledge, or has agreed to it in
/// TLS.
const HTTP2_PREFACE_START: &[u8] = b"PRI * HTTP/2";

/// What wakes the loop of a connection beside the connection itself.
enum ConnectionSignal {
    /// The phase of the listener changed; `false` if the listener is gone.
    Told(bool),
    /// It is time to check whether the connection is alive.
    Look,
}

/// What all connections of a listener share. Each connection gets a clone.
#[derive(Clone, Debug)]
pub(super) struct ConnectionServer {
    /// hyper, configured with the limits.
    pub(super) http: Arc<Builder<TokioExecutor>>,
    /// `None` for plain HTTP.
    pub(super) tls: Option<ListenerTls>,
    pub(super) limits: Arc<ListenerLimits>,
    /// The phase of the listener. The number of receivers is the number of open connections, those included
    /// that are turned away.
    pub(super) told: watch::Receiver<ListenerPhase>,
}

impl ConnectionServer {
    /// Serves a connection until either end closes it, it is dead, or the listener cuts it. `seat` is its
    /// permit of the connection limit, which is given back at the end. Errors are those of the caller's
    /// network or of a caller that misbehaves, so they are logged at `debug` and returned to nobody.
    pub(super) async fn run<S>(mut self, tcp: TcpStream, service: S, seat: Permit)
    where
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let _seat = seat;
        let pulse = Arc::new(ConnectionActivity::default());
        let io = WriteCountingIo::new(tcp, Arc::clone(&pulse));
        let visit = ConnectionContext {
            service,
            pulse,
            watch: LivenessWatch::new(&self.limits, Instant::now()),
            said_goodbye: false,
        };
        // Boxed, so that a plain connection does not take the room of one with TLS.
        match self.tls.clone() {
            None => Box::pin(self.serve_http(io, visit)).await,
            Some(tls) => {
                if let Some(io) = Box::pin(self.accept_tls(tls, io)).await {
                    Box::pin(self.serve_http(io, visit)).await;
                }
            }
        }
    }

    /// Does the TLS handshake. `None` if it fails, takes longer than [`ListenerLimits::head`], or the
    /// listener finishes meanwhile.
    async fn accept_tls(
        &mut self,
        tls: ListenerTls,
        io: WriteCountingIo<TcpStream>,
    ) -> Option<TlsStream<WriteCountingIo<TcpStream>>> {
        tokio::select! {
            shaken = timeout(self.limits.head, tls.acceptor.accept(io)) => match shaken {
                Ok(Ok(io)) => return Some(io),
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            },
            _ = self.told.wait_for(|phase| matches!(phase, ListenerPhase::Finish | ListenerPhase::Cut)) => {}
        }
        None
    }

    /// Answers 503 to a connection above the limit. TLS and HTTP are spoken in full, so that the caller can
    /// read it; `step` is one of the few permits for that.
    pub(super) async fn turn_away(self, tcp: TcpStream, answer: TurnAwayService, step: Permit) {
        tracing::debug!("a connection is turned away, there are too many");
        if timeout(TURN_AWAY_TIMEOUT, self.run(tcp, answer, step)).await.is_err() {
            tracing::debug!("a connection that was turned away did not go");
        }
    }

    /// Serves HTTP on a connection: plain requests first, and then with hyper what is handed over.
    async fn serve_http<I, S>(mut self, io: I, mut visit: ConnectionContext<S>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let mut plain =
            PlainConnection::new(io, visit.service.clone(), &self.limits, Arc::clone(&visit.pulse));
        let Some(PlainConnectionEnd::HandedOver(io, read)) = self.drive(&mut plain, &mut visit).await else {
            return;
        };
        drop(plain);
        // Boxed, because most connections never come here.
        let two = read.starts_with(HTTP2_PREFACE_START);
        let verdicts = Arc::new(FramingVerdicts::default());
        match FramingCheckedIo::new(io, read, &self.limits, Arc::clone(&verdicts)) {
            Ok(io) => Box::pin(self.serve_with_hyper(io, verdicts, two, visit)).await,
            Err(error) => tracing::debug!(%error, "a connection is cut"),
        }
    }

    /// Serves the rest of a connection with hyper. `two`: it speaks HTTP/2; `verdicts` is where the framing
    /// check of `io` says which request is refused.
    async fn serve_with_hyper<I, S>(
        mut self,
        io: FramingCheckedIo<I>,
        verdicts: Arc<FramingVerdicts>,
        two: bool,
        mut visit: ConnectionContext<S>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let http = Arc::clone(&self.http);
        let entry = HyperService {
            service: visit.service.clone(),
            limits: Arc::clone(&self.limits),
            pulse: Arc::clone(&visit.pulse),
            verdicts,
        };
        let mut hyper = HyperConnection {
            connection: pin!(http.serve_connection(TokioIo::new(io), entry)),
            pulse: Arc::clone(&visit.pulse),
            two,
        };
        self.drive(&mut hyper, &mut visit).await;
    }

    /// Polls a connection until it ends, passes changes of the phase on to it, and cuts it when it is dead.
    /// Returns how the connection ended, or `None` if it failed, was cut, or died.
    ///
    /// A connection that is only silent is first asked to finish, which sends `GOAWAY` over HTTP/2, and cut
    /// at the next check. The phase and the timer are polled only when they were woken, because the
    /// connection itself wakes this task for every read and write.
    async fn drive<C, S>(&mut self, connection: &mut C, visit: &mut ConnectionContext<S>) -> Option<C::End>
    where
        C: ConnectionDriver,
    {
        let mut next_look = pin!(sleep(visit.watch.check_interval()));
        match *self.told.borrow() {
            ListenerPhase::Finish => connection.finish(),
            ListenerPhase::Close => connection.close_after_answer(),
            ListenerPhase::Serve | ListenerPhase::Cut => {}
        }
        loop {
            let mut rare = PollOnWake::new(async {
                tokio::select! {
                    biased;
                    told = self.told.changed() => ConnectionSignal::Told(told.is_ok()),
                    () = next_look.as_mut() => ConnectionSignal::Look,
                }
            });
            let next = poll_fn(|cx| match connection.poll(cx) {
                Poll::Ready(ended) => Poll::Ready(Err(ended)),
                Poll::Pending => Pin::new(&mut rare).poll(cx).map(Ok),
            });
            let next = next.await;
            drop(rare);
            let beside = match next {
                Ok(beside) => beside,
                Err(Ok(end)) => return Some(end),
                Err(Err(error)) => {
                    tracing::debug!(error = %ErrorChain(&*error), "a connection ended");
                    return None;
                }
            };
            match beside {
                // The sender is gone with the listener's future.
                ConnectionSignal::Told(false) => return None,
                ConnectionSignal::Told(true) => match *self.told.borrow_and_update() {
                    ListenerPhase::Close => {
                        connection.close_after_answer();
                        connection.send_goaway();
                    }
                    ListenerPhase::Finish => connection.finish(),
                    ListenerPhase::Cut => return None,
                    ListenerPhase::Serve => {}
                },
                ConnectionSignal::Look => {
                    let now = Instant::now();
                    match visit.watch.check_liveness(visit.pulse.snapshot(), now) {
                        None => {}
                        // HTTP/2 says goodbye first; what does not go then is cut at the next look.
                        Some(DeadConnectionReason::Silent) if !visit.said_goodbye => {
                            visit.said_goodbye = true;
                            connection.finish();
                        }
                        Some(dead) => {
                            tracing::debug!(?dead, "a connection is cut");
                            return None;
                        }
                    }
                    next_look.as_mut().reset(now + visit.watch.check_interval());
                }
            }
        }
    }
}

/// The state of a connection that is the same whoever reads it.
struct ConnectionContext<S> {
    service: S,
    pulse: Arc<ConnectionActivity>,
    /// Goes on when the connection is handed over, so that handing over gives nobody more time.
    watch: LivenessWatch,
    /// Whether the connection was asked to finish because it was silent.
    said_goodbye: bool,
}

/// A protocol implementation that serves one connection.
trait ConnectionDriver {
    /// How the connection can end without an error.
    type End;

    /// Makes progress. Ready when the connection is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::End, BoxError>>;

    /// Takes one more request, and closes after its answer. HTTP/2 has no such thing, and does nothing.
    fn close_after_answer(&mut self);

    /// Tells the caller to send further requests elsewhere, where that can be told (HTTP/2). Running requests
    /// go on.
    fn send_goaway(&mut self) {}

    /// Lets running requests finish, and takes no more.
    fn finish(&mut self);
}

impl<I, S> ConnectionDriver for PlainConnection<I, S>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<BoxError>,
{
    type End = PlainConnectionEnd<I>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<PlainConnectionEnd<I>, BoxError>> {
        self.poll(cx)
    }

    fn close_after_answer(&mut self) {
        Self::close_after_answer(self);
    }

    fn finish(&mut self) {
        self.finish();
    }
}

/// A connection that hyper serves.
struct HyperConnection<'a, C> {
    connection: Pin<&'a mut C>,
    pulse: Arc<ConnectionActivity>,
    /// Whether it is HTTP/2.
    two: bool,
}

impl<I, S> ConnectionDriver
    for HyperConnection<'_, auto::Connection<'_, TokioIo<I>, HyperService<S>, TokioExecutor>>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
{
    type End = ();

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connection.as_mut().poll(cx)
    }

    fn close_after_answer(&mut self) {
        // What was said before it was known that this is HTTP/2 is taken back.
        self.pulse.close_after_answer(!self.two);
    }

    fn send_goaway(&mut self) {
        // HTTP/1.1 would be closed at once where no request runs, while the next may be on its way.
        if self.two {
            self.connection.as_mut().graceful_shutdown();
        }
    }

    fn finish(&mut self) {
        self.connection.as_mut().graceful_shutdown();
    }
}
