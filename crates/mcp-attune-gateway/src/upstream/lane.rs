//! One HTTP/1.1 connection, driven by the call that uses it.
//!
//! hyper's connection is a future, commonly given a task of its own; call and connection then wake each other for
//! every piece that passes between them. Here whoever waits for the answer polls the connection first, so that all of
//! a call happens in one task. A connection that nobody uses is polled by nobody: it is looked at when it is taken.
//!
//! Rules: G2, G5.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::connect::Io;
use super::error::UpstreamError;
use super::pool::Pool;
use crate::Body;
use crate::body::Idle;
use crate::wake::next_piece;

/// What is read ahead of a slow caller, and so how long the head of an answer may be.
const READ_AHEAD: usize = 64 * 1024;

/// A connection that is open, as far as anybody looked.
pub(super) struct Lane {
    sender: SendRequest<Body>,
    /// None when it is over.
    connection: Option<Connection<Io, Body>>,
    /// How long the head of an answer may take. One timer serves all the calls.
    first_byte: Idle,
    /// When it was last used.
    pub(super) used: Instant,
}

/// What became of a request.
pub(super) enum Sent {
    Answered(Response<Driven>),
    /// It was not answered, and comes back where no byte of it was written.
    Not(TrySendError<Request<Body>>),
}

impl Lane {
    pub(super) async fn open(io: Io, first_byte: Duration) -> hyper::Result<Box<Self>> {
        let (sender, connection) = Builder::new().max_buf_size(READ_AHEAD).handshake(io).await?;
        let first_byte = Idle::new(first_byte);
        Ok(Box::new(Self { sender, connection: Some(connection), first_byte, used: Instant::now() }))
    }

    /// Lets the connection do what it can.
    fn drive(&mut self, cx: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && Pin::new(connection).poll(cx).is_ready()
        {
            self.connection = None;
        }
    }

    /// Lets go of the call before, and says whether another can be taken: the waker of that call is forgotten.
    pub(super) fn is_free(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.is_open()
    }

    /// Whether it was free when it was last looked at. A server that closed it since then is found out before a byte is
    /// written, and the request comes back.
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        mut self: Box<Self>,
        request: Box<Request<Body>>,
        home: &Arc<Pool>,
    ) -> Result<Sent, UpstreamError> {
        // It is ready when the connection made it so, and nobody else wakes it. A budget could make it wait all the same.
        let mut answer = pin!(unconstrained(self.sender.try_send_request(*request)));
        self.first_byte.touch();
        let answer = poll_fn(|cx| {
            self.drive(cx);
            match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => self.first_byte.poll_over(cx).map(|()| Err(UpstreamError::FirstByteTimeout)),
            }
        });
        Ok(match answer.await? {
            Ok(answer) => Sent::Answered(answer.map(|incoming| Driven::by(incoming, self, home))),
            Err(error) => Sent::Not(error),
        })
    }
}

/// An answer's body, which drives the connection that it comes from.
pub(crate) struct Driven {
    incoming: Incoming,
    /// The connection and where it goes when the answer is over; none where it has a task of its own.
    lane: Option<(Box<Lane>, Arc<Pool>)>,
    /// What broke it, until it is told.
    broken: Option<hyper::Error>,
}

impl Driven {
    fn by(incoming: Incoming, lane: Box<Lane>, home: &Arc<Pool>) -> Self {
        let ended = incoming.is_end_stream();
        let mut driven = Self { incoming, lane: Some((lane, Arc::clone(home))), broken: None };
        if ended {
            driven.release();
        }
        driven
    }

    /// A body whose connection somebody else drives.
    pub(super) fn by_itself(incoming: Incoming) -> Self {
        Self { incoming, lane: None, broken: None }
    }

    /// Gives the connection back: all of the answer was taken.
    fn release(&mut self) {
        if let Some((lane, home)) = self.lane.take() {
            home.put(lane);
        }
    }
}

impl http_body::Body for Driven {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(broken) = self.broken.take() {
            return Poll::Ready(Some(Err(broken)));
        }
        let Self { incoming, lane, .. } = &mut *self;
        let Some((lane, _)) = lane else { return Pin::new(incoming).poll_frame(cx) };
        // What comes, comes from the connection, and that has the waker. A short answer came with its head.
        let mut nobody = Context::from_waker(Waker::noop());
        let mut frame = next_piece(incoming, &mut nobody);
        if frame.is_pending() {
            lane.drive(cx);
            frame = next_piece(incoming, &mut nobody);
        }
        match frame {
            // Head and end can be seen in one look, and what came before the end is to leave before it.
            Poll::Ready(Some(Err(broken))) => {
                self.lane = None;
                self.broken = Some(broken);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(None) => self.release(),
            Poll::Ready(Some(Ok(_))) if self.incoming.is_end_stream() => self.release(),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
