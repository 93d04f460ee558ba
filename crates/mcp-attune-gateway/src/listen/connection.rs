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

use super::entry::{Entry, TurnedAway};
use super::framing::{Framed, Verdicts};
use super::plain::{End, Plain};
use super::pulse::{Counted, Dead, Pulse, Watch};
use super::{Limits, Phase, Tls};
use crate::body::Chain;
use crate::poll_on_wake::PollOnWake;
use crate::slots::Permit;
use crate::{Body, BoxError};

/// How long it may take to tell a caller that there are too many.
const TURNING_AWAY: Duration = Duration::from_secs(5);

/// What a connection begins with whose caller speaks HTTP/2.
const HTTP2: &[u8] = b"PRI * HTTP/2";

/// What happens beside a connection's own doings.
enum Beside {
    /// It has to do something else from now on; false where there is nobody left to say what.
    Told(bool),
    /// It is time to look whether it lives.
    Look,
}

/// What all connections share.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) http: Arc<Builder<TokioExecutor>>,
    pub(super) tls: Option<Tls>,
    pub(super) limits: Arc<Limits>,
    pub(super) told: watch::Receiver<Phase>,
}

impl Door {
    /// Serves a connection until one of the two ends hangs up, or it is dead, or all is over.
    pub(super) async fn run<S>(mut self, tcp: TcpStream, service: S, seat: Permit)
    where
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let _seat = seat;
        let pulse = Arc::new(Pulse::default());
        let io = Counted::new(tcp, Arc::clone(&pulse));
        let visit =
            Visit { service, pulse, watch: Watch::new(&self.limits, Instant::now()), said_goodbye: false };
        // Boxed, so that a plain connection does not take the room of one with TLS.
        match self.tls.clone() {
            None => Box::pin(self.http(io, visit)).await,
            Some(tls) => {
                if let Some(io) = Box::pin(self.shake_hands(tls, io)).await {
                    Box::pin(self.http(io, visit)).await;
                }
            }
        }
    }

    async fn shake_hands(
        &mut self,
        tls: Tls,
        io: Counted<TcpStream>,
    ) -> Option<TlsStream<Counted<TcpStream>>> {
        tokio::select! {
            shaken = timeout(self.limits.head, tls.acceptor.accept(io)) => match shaken {
                Ok(Ok(io)) => return Some(io),
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            },
            _ = self.told.wait_for(|phase| matches!(phase, Phase::Finish | Phase::Cut)) => {}
        }
        None
    }

    /// Says that there is no seat. HTTP and TLS are spoken in full, so that a caller can read it.
    pub(super) async fn turn_away(self, tcp: TcpStream, answer: TurnedAway, step: Permit) {
        tracing::debug!("a connection is turned away, there are too many");
        if timeout(TURNING_AWAY, self.run(tcp, answer, step)).await.is_err() {
            tracing::debug!("a connection that was turned away did not go");
        }
    }

    async fn http<I, S>(mut self, io: I, mut visit: Visit<S>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let mut plain = Plain::new(io, visit.service.clone(), &self.limits, Arc::clone(&visit.pulse));
        let Some(End::HandedOver(io, read)) = self.attend(&mut plain, &mut visit).await else { return };
        drop(plain);
        // Boxed, because most connections never come here.
        let two = read.starts_with(HTTP2);
        let verdicts = Arc::new(Verdicts::default());
        match Framed::new(io, read, &self.limits, Arc::clone(&verdicts)) {
            Ok(io) => Box::pin(self.with_hyper(io, verdicts, two, visit)).await,
            Err(error) => tracing::debug!(%error, "a connection is cut"),
        }
    }

    async fn with_hyper<I, S>(
        mut self,
        io: Framed<I>,
        verdicts: Arc<Verdicts>,
        two: bool,
        mut visit: Visit<S>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let http = Arc::clone(&self.http);
        let entry = Entry {
            service: visit.service.clone(),
            limits: Arc::clone(&self.limits),
            pulse: Arc::clone(&visit.pulse),
            verdicts,
        };
        let mut hyper = Hyper {
            connection: pin!(http.serve_connection(TokioIo::new(io), entry)),
            pulse: Arc::clone(&visit.pulse),
            two,
        };
        self.attend(&mut hyper, &mut visit).await;
    }

    /// Lets a connection run, and tells it when to end; none where it is over before it says so itself.
    async fn attend<C, S>(&mut self, connection: &mut C, visit: &mut Visit<S>) -> Option<C::End>
    where
        C: Connection,
    {
        let mut next_look = pin!(sleep(visit.watch.every()));
        match *self.told.borrow() {
            Phase::Finish => connection.finish(),
            Phase::Close => connection.close_after_answer(),
            Phase::Serve | Phase::Cut => {}
        }
        loop {
            let mut rare = PollOnWake::new(async {
                tokio::select! {
                    biased;
                    told = self.told.changed() => Beside::Told(told.is_ok()),
                    () = next_look.as_mut() => Beside::Look,
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
                    tracing::debug!(error = %Chain(&*error), "a connection ended");
                    return None;
                }
            };
            match beside {
                // The sender is gone with the listener's future.
                Beside::Told(false) => return None,
                Beside::Told(true) => match *self.told.borrow_and_update() {
                    Phase::Close => {
                        connection.close_after_answer();
                        connection.say_goodbye();
                    }
                    Phase::Finish => connection.finish(),
                    Phase::Cut => return None,
                    Phase::Serve => {}
                },
                Beside::Look => {
                    let now = Instant::now();
                    match visit.watch.look(visit.pulse.beat(), now) {
                        None => {}
                        // HTTP/2 says goodbye first; what does not go then is cut at the next look.
                        Some(Dead::Silent) if !visit.said_goodbye => {
                            visit.said_goodbye = true;
                            connection.finish();
                        }
                        Some(dead) => {
                            tracing::debug!(?dead, "a connection is cut");
                            return None;
                        }
                    }
                    next_look.as_mut().reset(now + visit.watch.every());
                }
            }
        }
    }
}

/// A connection, whoever reads it.
struct Visit<S> {
    service: S,
    pulse: Arc<Pulse>,
    watch: Watch,
    said_goodbye: bool,
}

/// What reads a connection.
trait Connection {
    type End;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::End, BoxError>>;

    /// Takes one more request, and closes after its answer. HTTP/2 has no such thing.
    fn close_after_answer(&mut self);

    /// Tells the caller to send what comes next elsewhere, where that can be told (HTTP/2).
    fn say_goodbye(&mut self) {}

    /// Lets what runs finish, and takes no more.
    fn finish(&mut self);
}

impl<I, S> Connection for Plain<I, S>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<BoxError>,
{
    type End = End<I>;

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<End<I>, BoxError>> {
        self.poll(cx)
    }

    fn close_after_answer(&mut self) {
        Self::close_after_answer(self);
    }

    fn finish(&mut self) {
        self.finish();
    }
}

struct Hyper<'a, C> {
    connection: Pin<&'a mut C>,
    pulse: Arc<Pulse>,
    /// Whether it is HTTP/2.
    two: bool,
}

impl<I, S> Connection for Hyper<'_, auto::Connection<'_, TokioIo<I>, Entry<S>, TokioExecutor>>
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

    fn say_goodbye(&mut self) {
        // HTTP/1.1 would be closed at once where no request runs, while the next may be on its way.
        if self.two {
            self.connection.as_mut().graceful_shutdown();
        }
    }

    fn finish(&mut self) {
        self.connection.as_mut().graceful_shutdown();
    }
}
