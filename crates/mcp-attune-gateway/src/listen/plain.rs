//! Plain requests, one after the other, without hyper.
//!
//! 1. A request is plain when it came whole, in one piece with nothing else, and leaves no question
//!    ([`take_plain`]). Most calls are.
//! 2. With the first that is not, the connection and what was read of it go to hyper, for good ([`End::Odd`]): HTTP/2,
//!    HTTP/1.0, bodies that come in parts, whatever is about the connection, and what is no HTTP at all.
//! 3. A caller that goes away while it is answered takes its call with it.
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
use hyper::service::Service;
use mcp_attune_tower::full;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::Limits;
use super::pulse::{Answer, Pulse, Running};
use crate::http1::{Bounds, Outgoing, take_plain, tokens, write_answer};
use crate::{Body, BoxError};

/// What is read at once. A request that is larger is not plain.
const ROOM: usize = 8 * 1024;

/// How it ended.
pub(super) enum End<I> {
    /// The connection is over.
    Over,
    /// Something came that is not plain: the connection, and what was read.
    Odd(I, Bytes),
}

/// A connection whose requests were plain so far.
pub(super) struct Plain<I, S: Service<Request<Body>>> {
    /// None when it was given away.
    io: Option<I>,
    service: S,
    bounds: Bounds,
    pulse: Arc<Pulse>,
    read: BytesMut,
    turn: Turn,
    /// The call that runs.
    call: Pin<Box<Option<S::Future>>>,
    running: Option<Running>,
    outgoing: Outgoing<Answer>,
    /// Whether there is no next request.
    closes: bool,
}

/// Whose turn it is.
#[derive(Clone, Copy)]
enum Turn {
    /// The caller's, to send a request.
    Caller,
    /// The service's, to answer it.
    Service,
    /// Ours, to write the answer.
    Ours,
}

impl<I, S> Plain<I, S>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Error: Into<BoxError>,
{
    pub(super) fn new(io: I, service: S, limits: &Limits, pulse: Arc<Pulse>) -> Self {
        Self {
            io: Some(io),
            service,
            bounds: Bounds { lines: limits.headers, head: limits.header_bytes },
            pulse,
            read: BytesMut::new(),
            turn: Turn::Caller,
            call: Box::pin(None),
            running: None,
            outgoing: Outgoing::default(),
            closes: false,
        }
    }

    /// Lets the request that runs finish, and takes no other.
    pub(super) fn finish(&mut self) {
        self.closes = true;
    }

    /// Takes one more request, and closes after its answer.
    pub(super) fn close_after_answer(&self) {
        self.pulse.close_after_answer(true);
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<End<I>, BoxError>> {
        loop {
            match self.turn {
                Turn::Caller => {
                    // Also where more was sent together with the last: it was told that nobody reads it.
                    if self.closes {
                        return self.poll_close(cx);
                    }
                    if !self.read.is_empty() {
                        match take_plain(&mut self.read, self.bounds) {
                            Some(request) => self.begin(request),
                            None => return Poll::Ready(Ok(self.give_away())),
                        }
                        continue;
                    }
                    if ready!(self.poll_read(cx))? == 0 {
                        return Poll::Ready(Ok(End::Over));
                    }
                }
                Turn::Service => match self.call.as_mut().as_pin_mut().map(|call| call.poll(cx)) {
                    Some(Poll::Ready(answer)) => {
                        self.call.set(None);
                        self.answer(answer.map_err(Into::into)?);
                    }
                    Some(Poll::Pending) => {
                        ready!(self.poll_gone(cx));
                        return Poll::Ready(Ok(End::Over));
                    }
                    None => return Poll::Ready(Ok(End::Over)),
                },
                Turn::Ours => {
                    let Some(io) = &mut self.io else { return Poll::Ready(Ok(End::Over)) };
                    match self.outgoing.poll(io, cx) {
                        Poll::Ready(written) => written?,
                        Poll::Pending => {
                            ready!(self.poll_gone(cx));
                            return Poll::Ready(Ok(End::Over));
                        }
                    }
                    self.turn = Turn::Caller;
                }
            }
        }
    }

    fn begin(&mut self, request: Request<Bytes>) {
        self.running = Some(Running::new(&self.pulse));
        self.call.set(Some(self.service.call(request.map(full))));
        self.turn = Turn::Service;
    }

    fn answer(&mut self, mut answer: Response<Body>) {
        let Some(running) = self.running.take() else { return };
        let says_close = |said: &[u8]| said.eq_ignore_ascii_case(b"close");
        self.closes |= answer.headers().contains_key(CONNECTION)
            && tokens(answer.headers(), &CONNECTION).any(says_close);
        self.closes |= running.is_last();
        let (size, closes) = (answer.body().size_hint().exact(), self.closes);
        let body = Answer::new(mem::replace(answer.body_mut(), full(Bytes::new())), running);
        self.outgoing.begin(body, |text| write_answer(&mut answer, size, closes, text));
        self.turn = Turn::Ours;
    }

    /// Ready when the caller went away. What it sent instead waits for its turn.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.read.is_empty() {
            return Poll::Pending;
        }
        match self.poll_read(cx) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
            Poll::Ready(Ok(_)) => Poll::Pending,
            Poll::Pending => {
                // A stream may be long, and its caller silent.
                if matches!(self.turn, Turn::Ours) {
                    self.read = BytesMut::new();
                }
                Poll::Pending
            }
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<usize>> {
        let Some(io) = &mut self.io else { return Poll::Ready(Ok(0)) };
        if self.read.capacity() - self.read.len() < ROOM / 2 {
            self.read.reserve(ROOM);
        }
        std::pin::pin!(io.read_buf(&mut self.read)).poll(cx)
    }

    #[cold]
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<End<I>, BoxError>> {
        if let Some(io) = &mut self.io {
            ready!(Pin::new(io).poll_shutdown(cx))?;
        }
        Poll::Ready(Ok(End::Over))
    }

    #[cold]
    fn give_away(&mut self) -> End<I> {
        let read = mem::take(&mut self.read).freeze();
        self.io.take().map_or(End::Over, |io| End::Odd(io, read))
    }
}
