//! One HTTP/1.1 connection, driven by the call that uses it.
//!
//! Whoever waits for the answer writes the request and reads what comes, so that all of a call happens in one task. A
//! connection that nobody uses is looked at by nobody until it is taken: one that its server closed meanwhile is found
//! out then, before a byte is written, and the request comes back.
//!
//! Rules: G2, G5.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Response};
use http_body::{Body as _, SizeHint};
use hyper::body::Incoming;
use mcp_attune_tower::full;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::connect::Stream;
use crate::body::Idle;
use crate::http1::{Answer, Bad, Frame, Outgoing, Piece, Pieces, Unsent, read_answer, write_request};
use crate::{Body, BoxError};

/// What is read at once, as long as less comes,
const LITTLE: usize = 8 * 1024;
/// and at most. It is also what is read ahead of a slow caller.
const MUCH: usize = 64 * 1024;

/// How much may come before an answer, and with its head.
const MOST_BEFORE: usize = 4 * MUCH;

/// What a call knows that waits for the head of its answer.
struct Wait {
    to_head: bool,
    /// How much was read.
    came: usize,
    /// Why not all of the request could be written.
    broke: Option<io::Error>,
}

/// Where connections wait for the next call.
pub(super) trait Home: Send + Sync {
    /// Keeps a connection for the next call.
    fn put(&self, lane: Box<Lane>);
}

/// A connection that is open, as far as anybody looked.
pub(super) struct Lane {
    io: Stream,
    /// What came and was not taken yet.
    read: BytesMut,
    /// How much is read at once.
    appetite: usize,
    outgoing: Outgoing<Body>,
    /// How long the head of an answer may take. One timer serves all the calls.
    first_byte: Idle,
    /// When it was last used.
    pub(super) used: Instant,
}

/// What became of a request.
pub(super) enum Sent {
    Answered(Response<Coming<Driven>>),
    /// It was not touched, and can be sent elsewhere.
    Not(Box<Request<Body>>),
}

/// Why there is no answer, or not all of it.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection broke.
    Io(io::Error),
    /// What came is no HTTP/1.1.
    Bad(Bad),
    /// Not all of the request was sent.
    Unsent(Unsent),
    /// The head of the answer did not come in time.
    Late,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Bad(bad) => bad.fmt(f),
            Self::Unsent(unsent) => unsent.fmt(f),
            Self::Late => f.write_str("the head of the answer did not come in time"),
        }
    }
}

impl Error for Fault {}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Bad> for Fault {
    fn from(bad: Bad) -> Self {
        Self::Bad(bad)
    }
}

impl Lane {
    pub(super) fn open(io: Stream, first_byte: Duration) -> Box<Self> {
        Box::new(Self {
            io,
            read: BytesMut::new(),
            appetite: LITTLE,
            outgoing: Outgoing::default(),
            first_byte: Idle::new(first_byte),
            used: Instant::now(),
        })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        mut self: Box<Self>,
        mut request: Box<Request<Body>>,
        home: &Arc<impl Home + 'static>,
    ) -> Result<Sent, Fault> {
        // Closed by its server, or it says what nobody asked for.
        if poll_fn(|cx| Poll::Ready(self.poll_read(cx).is_ready())).await {
            return Ok(Sent::Not(request));
        }
        self.first_byte.touch();
        let told = || request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
        let frame = request.body().size_hint().exact().or_else(told).map_or(Frame::Chunked, Frame::Length);
        let body = mem::replace(request.body_mut(), full(Bytes::new()));
        self.outgoing.begin(body, |text| write_request(&request, frame, text));
        let mut wait = Wait { to_head: request.method() == Method::HEAD, came: 0, broke: None };
        let answer = poll_fn(|cx| self.poll_answer(&mut wait, cx)).await?;
        Ok(Sent::Answered(Driven::by(answer, self, home)))
    }

    /// Writes what is left of the request, and reads the head of the answer, which may come before that.
    fn poll_answer(&mut self, wait: &mut Wait, cx: &mut Context<'_>) -> Poll<Result<Answer, Fault>> {
        if wait.broke.is_none() && !self.outgoing.is_over() {
            match self.outgoing.poll(&mut self.io, cx) {
                // A server that does not want all of a request may have said why before it closed.
                Poll::Ready(Err(Unsent::Io(error))) => wait.broke = Some(error),
                Poll::Ready(Err(unsent)) => return Poll::Ready(Err(Fault::Unsent(unsent))),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
        }
        loop {
            let Poll::Ready(size) = self.poll_read(cx) else {
                return self.first_byte.poll_over(cx).map(|()| Err(Fault::Late));
            };
            let size = size?;
            if size == 0 {
                let why = wait.broke.take().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                return Poll::Ready(Err(why.into()));
            }
            wait.came += size;
            // After a first look only when a line ended: to read all of them for every byte would take long.
            let fresh = self.read.get(self.read.len() - size..).unwrap_or_default();
            let looks = wait.came == size || fresh.contains(&b'\n') || self.read.len() >= MUCH;
            if looks && let Some(answer) = read_answer(&mut self.read, wait.to_head)? {
                return Poll::Ready(Ok(answer));
            }
            // Interim answers, one after the other: a server that is always heard would never be late.
            if wait.came > MOST_BEFORE {
                return Poll::Ready(Err(Bad::TooLong.into()));
            }
        }
    }

    /// Whether nothing has come since the last answer. What has is no answer to the next request.
    pub(super) fn is_quiet(&self) -> bool {
        self.io.is_quiet()
    }

    /// Goes back to where it waits for the next call, where nothing is left of this one.
    fn settle(self: Box<Self>, home: &dyn Home) {
        if self.read.is_empty() && self.outgoing.is_over() {
            home.put(self);
        }
    }

    /// Reads what there is; 0 at the end.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let room = |read: &BytesMut| read.capacity() - read.len();
        if room(&self.read) < self.appetite / 2 {
            self.read.reserve(self.appetite);
        }
        let room = room(&self.read);
        let size = ready!(pin!(self.io.read_buf(&mut self.read)).poll(cx))?;
        self.appetite = if size == room { (self.appetite * 2).min(MUCH) } else { LITTLE };
        Poll::Ready(Ok(size))
    }
}

/// What has come of an answer's body with its head.
pub(crate) enum Coming<D> {
    /// All of it, as with most.
    Whole(Bytes),
    /// Not all: more is asked for as it is taken.
    Driven(D),
}

/// An answer's body.
pub(crate) enum Driven {
    /// It drives the connection that it comes from.
    Here(Here),
    /// The connection has a task of its own.
    There(Incoming),
}

/// A body that drives its connection.
pub(crate) struct Here {
    /// The connection and where it goes when the answer is over.
    lane: Option<(Box<Lane>, Arc<dyn Home>)>,
    pieces: Pieces,
    /// Whether the connection can be used again.
    keeps: bool,
    /// What broke it, until it is told.
    broken: Option<Fault>,
}

impl Driven {
    fn by(answer: Answer, mut lane: Box<Lane>, home: &Arc<impl Home + 'static>) -> Response<Coming<Driven>> {
        let Answer { head, body: pieces, keeps } = answer;
        if let Some(length) = pieces.left().and_then(|left| usize::try_from(left).ok())
            && lane.read.len() >= length
        {
            let whole = lane.read.split_to(length).freeze();
            if keeps {
                lane.settle(&**home);
            }
            return head.map(|()| Coming::Whole(whole));
        }
        let here = Here { lane: Some((lane, Arc::clone(home) as _)), pieces, keeps, broken: None };
        head.map(|()| Coming::Driven(Self::Here(here)))
    }
}

impl Here {
    /// Gives the connection back, where all of the answer was taken and all of the request was sent.
    fn settle(&mut self) {
        if !self.pieces.is_over() {
            return;
        }
        if let Some((lane, home)) = self.lane.take()
            && self.keeps
        {
            lane.settle(&*home);
        }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Piece, Fault>> {
        loop {
            let Some((lane, _)) = &mut self.lane else { return Poll::Ready(Ok(Piece::Over)) };
            match self.pieces.next(&mut lane.read)? {
                Piece::More => {}
                piece => {
                    self.settle();
                    return Poll::Ready(Ok(piece));
                }
            }
            // An answer may come before all of its request was sent.
            if !lane.outgoing.is_over() && matches!(lane.outgoing.poll(&mut lane.io, cx), Poll::Ready(Err(_)))
            {
                self.keeps = false;
            }
            let Poll::Ready(size) = lane.poll_read(cx) else {
                // A stream may be silent for long, and needs no room until it goes on.
                if lane.read.is_empty() {
                    lane.read = BytesMut::new();
                }
                return Poll::Pending;
            };
            if size? == 0 {
                let ended = self.pieces == Pieces::ToTheEnd;
                self.lane = None;
                let broken = || Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                return Poll::Ready(if ended { Ok(Piece::Over) } else { broken() });
            }
        }
    }
}

impl http_body::Body for Driven {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        let here = match &mut *self {
            Self::Here(here) => here,
            Self::There(incoming) => return Pin::new(incoming).poll_frame(cx).map_err(Into::into),
        };
        if let Some(broken) = here.broken.take() {
            return Poll::Ready(Some(Err(broken.into())));
        }
        match ready!(here.poll_piece(cx)) {
            Ok(Piece::Data(data)) => Poll::Ready(Some(Ok(http_body::Frame::data(data)))),
            Ok(Piece::Trailers(trailers)) => Poll::Ready(Some(Ok(http_body::Frame::trailers(trailers)))),
            Ok(Piece::More | Piece::Over) => Poll::Ready(None),
            // Head and end can be seen in one look, and what came before the end is to leave before it.
            Err(broken) => {
                here.lane = None;
                here.broken = Some(broken);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Here(here) => here.lane.is_none() && here.broken.is_none(),
            Self::There(incoming) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Here(here) => here.pieces.left().map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::There(incoming) => incoming.size_hint(),
        }
    }
}
