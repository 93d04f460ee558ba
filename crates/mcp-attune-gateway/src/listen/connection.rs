//! One connection, from its handshake to its end.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::server::TlsStream;
use tower_service::Service;

use super::entry::{Entry, TurnedAway};
use super::pulse::{Counted, Dead, Pulse, Watch};
use super::{Limits, Peer, Phase, Tls};
use crate::body::Chain;
use crate::wake::{Ear, Rarely};
use crate::{Body, BoxError};

/// How long it may take to tell a caller that there are too many.
const TURNING_AWAY: Duration = Duration::from_secs(5);

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
    pub(super) async fn run<S>(
        mut self,
        tcp: TcpStream,
        address: SocketAddr,
        service: S,
        seat: OwnedSemaphorePermit,
    ) where
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let _seat = seat;
        let pulse = Arc::new(Pulse::default());
        let io = Counted::new(tcp, Arc::clone(&pulse));
        let peer = Peer { address, tls: self.tls.is_some() };
        let service = TowerToHyperService::new(service);
        let entry = Entry { service, limits: Arc::clone(&self.limits), peer, pulse: Arc::clone(&pulse) };
        // Boxed, so that a plain connection does not take the room of one with TLS.
        match self.tls.clone() {
            None => Box::pin(self.http(io, entry, &pulse)).await,
            Some(tls) => {
                if let Some(io) = Box::pin(self.shake_hands(tls, io)).await {
                    Box::pin(self.http(io, entry, &pulse)).await;
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
            _ = self.told.changed() => {}
        }
        None
    }

    /// Says that there is no seat. HTTP and TLS are spoken in full, so that a caller can read it.
    pub(super) async fn turn_away(
        self,
        tcp: TcpStream,
        address: SocketAddr,
        answer: TurnedAway,
        step: OwnedSemaphorePermit,
    ) {
        tracing::debug!("a connection is turned away, there are too many");
        if timeout(TURNING_AWAY, self.run(tcp, address, answer, step)).await.is_err() {
            tracing::debug!("a connection that was turned away did not go");
        }
    }

    async fn http<I, S>(mut self, io: I, entry: Entry<S>, pulse: &Pulse)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
    {
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), entry));
        let mut watch = Watch::new(&self.limits, Instant::now());
        let mut next_look = pin!(sleep(watch.every()));
        let mut said_goodbye = false;
        let mut ear = Ear::default();
        loop {
            let beside = Rarely::new(async {
                tokio::select! {
                    biased;
                    told = self.told.changed() => Beside::Told(told.is_ok()),
                    () = next_look.as_mut() => Beside::Look,
                }
            });
            let beside = tokio::select! {
                biased;
                ended = poll_fn(|cx| ear.poll(connection.as_mut(), cx)) => {
                    if let Err(error) = ended {
                        tracing::debug!(error = %Chain(&*error), "a connection ended");
                    }
                    return;
                }
                beside = beside => beside,
            };
            match beside {
                // The sender is gone with the listener's future.
                Beside::Told(false) => return,
                Beside::Told(true) => match *self.told.borrow_and_update() {
                    Phase::Finish => connection.as_mut().graceful_shutdown(),
                    Phase::Cut => return,
                    Phase::Serve => {}
                },
                Beside::Look => {
                    let now = Instant::now();
                    match watch.look(pulse.beat(), now) {
                        None => {}
                        // HTTP/2 says goodbye first; what does not go then is cut at the next look.
                        Some(Dead::Silent) if !said_goodbye => {
                            said_goodbye = true;
                            connection.as_mut().graceful_shutdown();
                        }
                        Some(dead) => {
                            tracing::debug!(?dead, "a connection is cut");
                            return;
                        }
                    }
                    next_look.as_mut().reset(now + watch.every());
                }
            }
        }
    }
}
