//! One connection, from its handshake to its end.

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

/// How long it may take to tell a caller that there are too many.
const TURN_AWAY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a connection begins with whose caller speaks HTTP/2.
const HTTP2_PREFACE_START: &[u8] = b"PRI * HTTP/2";

/// What happens beside a connection's own doings.
enum ConnectionSignal {
    /// It has to do something else from now on; false where there is nobody left to say what.
    Told(bool),
    /// It is time to look whether it lives.
    Look,
}

/// What all connections share.
#[derive(Clone, Debug)]
pub(super) struct ConnectionServer {
    pub(super) http: Arc<Builder<TokioExecutor>>,
    pub(super) tls: Option<ListenerTls>,
    pub(super) limits: Arc<ListenerLimits>,
    pub(super) told: watch::Receiver<ListenerPhase>,
}

impl ConnectionServer {
    /// Serves a connection until one of the two ends hangs up, or it is dead, or all is over.
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

    /// Says that there is no seat. HTTP and TLS are spoken in full, so that a caller can read it.
    pub(super) async fn turn_away(self, tcp: TcpStream, answer: TurnAwayService, step: Permit) {
        tracing::debug!("a connection is turned away, there are too many");
        if timeout(TURN_AWAY_TIMEOUT, self.run(tcp, answer, step)).await.is_err() {
            tracing::debug!("a connection that was turned away did not go");
        }
    }

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

    /// Lets a connection run, and tells it when to end; none where it is over before it says so itself.
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

/// A connection, whoever reads it.
struct ConnectionContext<S> {
    service: S,
    pulse: Arc<ConnectionActivity>,
    watch: LivenessWatch,
    said_goodbye: bool,
}

/// What reads a connection.
trait ConnectionDriver {
    type End;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::End, BoxError>>;

    /// Takes one more request, and closes after its answer. HTTP/2 has no such thing.
    fn close_after_answer(&mut self);

    /// Tells the caller to send what comes next elsewhere, where that can be told (HTTP/2).
    fn send_goaway(&mut self) {}

    /// Lets what runs finish, and takes no more.
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
