//! Serves plain requests, one after the other, without hyper.
//!
//! 1. A request is plain when all of it was read at once and it can be read in one way only
//!    ([`take_plain_request`]). Most calls are.
//! 2. With the first that is not, the connection and what was read of it go to hyper, for good
//!    ([`PlainConnectionEnd::HandedOver`]): HTTP/2, HTTP/1.0, bodies that come in parts, whatever is about
//!    the connection, and what is not HTTP at all.
//! 3. Where hyper reads all requests ([`HttpImplementation::Hyper`]), no request is plain.
//! 4. A caller that goes away while it is answered takes its call with it: the future of the call is dropped.
//!
//! Rules: G2, G4, G5.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::header::CONNECTION;
use http::{Request, Response};
use http_body::Body as _;
use hyper::ext::ReasonPhrase;
use hyper::service::Service;
use mcp_attune_http1::{AnswerOptions, HeadLimits, list_members, take_plain_request, write_answer};
use mcp_attune_tower::full;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::ListenerLimits;
use super::activity::{ActiveRequest, ConnectionActivity, TrackedAnswerBody};
use crate::config::HttpImplementation;
use crate::date::write_date;
use crate::message_sender::MessageSender;
use crate::{Body, BoxError};

/// How much is read at once, in bytes. A larger request is mostly not complete after one read, and then is
/// not plain.
const READ_SIZE: usize = 8 * 1024;

/// How a connection ends here.
pub(super) enum PlainConnectionEnd<I> {
    /// The connection is over.
    Closed,
    /// A request came that is not plain: the connection, and what was read of it and not answered.
    HandedOver(I, Bytes),
}

/// A connection whose requests were plain so far. It handles one request at a time; pipelined ones wait in
/// `read`.
pub(super) struct PlainConnection<I, S: Service<Request<Body>>> {
    /// `None` after it was handed over.
    io: Option<I>,
    service: S,
    /// The limits of a plain request's head; `None` where no request is plain.
    limits: Option<HeadLimits>,
    pulse: Arc<ConnectionActivity>,
    /// What was read and belongs to no request yet.
    read: BytesMut,
    turn: PlainConnectionTurn,
    /// The call that runs. The box is kept for the next call.
    call: Pin<Box<Option<S::Future>>>,
    /// Counts the call as running, until its answer takes it over.
    running: Option<ActiveRequest>,
    sender: MessageSender<TrackedAnswerBody>,
    /// Whether the connection closes instead of taking a next request.
    closes: bool,
}

/// Whose turn it is: the state of the connection. It goes `Caller` → `Service` → `Ours` → `Caller`, and ends
/// in any of them.
#[derive(Clone, Copy)]
enum PlainConnectionTurn {
    /// The caller's, to send a request. The connection may be closed without harm.
    Caller,
    /// The service's, to answer it.
    Service,
    /// Ours, to write the answer.
    Ours,
}

impl<I, S> PlainConnection<I, S>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<BoxError>,
{
    /// Begins to serve a connection of which nothing was read yet.
    pub(super) fn new(io: I, service: S, limits: &ListenerLimits, pulse: Arc<ConnectionActivity>) -> Self {
        let head = HeadLimits { lines: limits.headers, bytes: limits.header_bytes };
        Self {
            io: Some(io),
            service,
            limits: (limits.http == HttpImplementation::Own).then_some(head),
            pulse,
            read: BytesMut::new(),
            turn: PlainConnectionTurn::Caller,
            call: Box::pin(None),
            running: None,
            sender: MessageSender::default(),
            closes: false,
        }
    }

    /// Lets the request that runs finish, and takes no other. An idle connection is closed at the next poll.
    pub(super) fn finish(&mut self) {
        self.closes = true;
    }

    /// Takes one more request, and closes after its answer.
    pub(super) fn close_after_answer(&self) {
        self.pulse.close_after_answer(true);
    }

    /// Makes progress: reads requests, runs calls, writes answers. Ready when the connection is over or has
    /// to be handed over. While a call runs or an answer is written, the connection is also watched for the
    /// caller going away.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<PlainConnectionEnd<I>, BoxError>> {
        loop {
            match self.turn {
                PlainConnectionTurn::Caller => {
                    // Also where more was sent together with the last: it was told that nobody reads it.
                    if self.closes {
                        return self.poll_close(cx);
                    }
                    if !self.read.is_empty() {
                        let taken = self.limits.and_then(|limits| take_plain_request(&mut self.read, limits));
                        match taken {
                            Some(request) => self.begin_call(request),
                            None => return Poll::Ready(Ok(self.hand_over())),
                        }
                        continue;
                    }
                    if ready!(self.poll_read(cx))? == 0 {
                        return Poll::Ready(Ok(PlainConnectionEnd::Closed));
                    }
                }
                PlainConnectionTurn::Service => {
                    match self.call.as_mut().as_pin_mut().map(|call| call.poll(cx)) {
                        Some(Poll::Ready(answer)) => {
                            self.call.set(None);
                            self.begin_answer(answer.map_err(Into::into)?);
                        }
                        Some(Poll::Pending) => {
                            ready!(self.poll_disconnect(cx));
                            return Poll::Ready(Ok(PlainConnectionEnd::Closed));
                        }
                        None => return Poll::Ready(Ok(PlainConnectionEnd::Closed)),
                    }
                }
                PlainConnectionTurn::Ours => {
                    let Some(io) = &mut self.io else { return Poll::Ready(Ok(PlainConnectionEnd::Closed)) };
                    match self.sender.poll(io, cx) {
                        Poll::Ready(written) => written?,
                        Poll::Pending => {
                            ready!(self.poll_disconnect(cx));
                            return Poll::Ready(Ok(PlainConnectionEnd::Closed));
                        }
                    }
                    self.turn = PlainConnectionTurn::Caller;
                }
            }
        }
    }

    /// Calls the service with a request.
    fn begin_call(&mut self, request: Request<Bytes>) {
        self.running = Some(ActiveRequest::new(&self.pulse));
        self.call.set(Some(self.service.call(request.map(full))));
        self.turn = PlainConnectionTurn::Service;
    }

    /// Begins to write an answer. It decides whether the connection closes after it: because the answer says
    /// `Connection: close`, or because the gateway is about to stop.
    fn begin_answer(&mut self, mut answer: Response<Body>) {
        let Some(running) = self.running.take() else { return };
        let says_close = |said: &[u8]| said.eq_ignore_ascii_case(b"close");
        self.closes |= answer.headers().contains_key(CONNECTION)
            && list_members(answer.headers(), &CONNECTION).any(says_close);
        self.closes |= running.closes_connection();
        let (body_size, closes) = (answer.body().size_hint().exact(), self.closes);
        let body = TrackedAnswerBody::new(mem::replace(answer.body_mut(), full(Bytes::new())), running);
        let reason = answer.extensions_mut().remove::<ReasonPhrase>();
        let reason = reason.as_ref().map(ReasonPhrase::as_bytes);
        let options = AnswerOptions { reason, body_size, closes };
        self.sender.begin(body, |head| write_answer(&mut answer, options, write_date, head));
        self.turn = PlainConnectionTurn::Ours;
    }

    /// Returns ready when the caller went away. If it sent something instead, that waits for its turn, and
    /// the connection is not read until then, which bounds how much a caller can send ahead.
    fn poll_disconnect(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.read.is_empty() {
            return Poll::Pending;
        }
        match self.poll_read(cx) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
            Poll::Ready(Ok(_)) => Poll::Pending,
            Poll::Pending => {
                // A stream may be long, and its caller silent.
                if matches!(self.turn, PlainConnectionTurn::Ours) {
                    self.read = BytesMut::new();
                }
                Poll::Pending
            }
        }
    }

    /// Reads once into `read`. Returns 0 at the end of the connection.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let Some(io) = &mut self.io else { return Poll::Ready(Ok(0)) };
        if self.read.capacity() - self.read.len() < READ_SIZE / 2 {
            self.read.reserve(READ_SIZE);
        }
        std::pin::pin!(io.read_buf(&mut self.read)).poll(cx)
    }

    /// Shuts the connection down.
    #[cold]
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<PlainConnectionEnd<I>, BoxError>> {
        if let Some(io) = &mut self.io {
            ready!(Pin::new(io).poll_shutdown(cx))?;
        }
        Poll::Ready(Ok(PlainConnectionEnd::Closed))
    }

    /// Takes the connection out, with what was read of it.
    #[cold]
    fn hand_over(&mut self) -> PlainConnectionEnd<I> {
        let read = mem::take(&mut self.read).freeze();
        self.io.take().map_or(PlainConnectionEnd::Closed, |io| PlainConnectionEnd::HandedOver(io, read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    use hyper::service::service_fn;
    use tokio::io::AsyncWriteExt;

    /// What becomes of a connection whose caller sends one plain request and then ends.
    async fn serve(http: HttpImplementation) -> (bool, Option<Bytes>) {
        let called = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let flag = Arc::clone(&called);
        let service = service_fn(move |_: Request<Body>| {
            flag.store(true, std::sync::atomic::Ordering::Relaxed);
            async { Ok::<_, Infallible>(Response::new(full("answer"))) }
        });
        let (io, mut caller) = tokio::io::duplex(1024);
        caller.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        caller.shutdown().await.unwrap();
        let limits = ListenerLimits { http, ..ListenerLimits::default() };
        let mut plain = PlainConnection::new(io, service, &limits, Arc::new(ConnectionActivity::default()));
        let end = std::future::poll_fn(|cx| plain.poll(cx)).await.unwrap();
        let read = match end {
            PlainConnectionEnd::Closed => None,
            PlainConnectionEnd::HandedOver(_, read) => Some(read),
        };
        (called.load(std::sync::atomic::Ordering::Relaxed), read)
    }

    #[tokio::test]
    async fn reads_a_plain_request_unless_hyper_reads_all() {
        assert_eq!(serve(HttpImplementation::Own).await, (true, None));
        let text = Bytes::from_static(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(serve(HttpImplementation::Hyper).await, (false, Some(text)));
    }
}
