//! One HTTP/1.1 connection, driven by the call that uses it.
//!
//! Whoever waits for the answer writes the request and reads what comes, so that all of a call happens in one
//! task. A connection that nobody uses is looked at by nobody until it is taken: one that its server closed
//! meanwhile is found out then, before a byte is written, and the request comes back.
//!
//! A connection goes from hand to hand: the pool gives it to a call ([`Http1Connection::send`]), the call to
//! the body of its answer ([`Http1Body`]), and the body gives it back to the pool ([`IdlePool::put`]) when
//! the answer was taken and the request sent, both to their ends, and the server keeps the connection open.
//! In all other cases it is dropped, which closes it. What is read and written is parsed and encoded by
//! `mcp_attune_http1`.
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
use hyper::ext::ReasonPhrase;
use mcp_attune_http1::{
    AnswerError, AnswerHead, BodyFraming, BodyPiece, BodyReader, read_answer, write_request,
};
use mcp_attune_tower::full;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::connect::UpstreamIo;
use crate::body::IdleTimeout;
use crate::message_sender::{MessageSendError, MessageSender};
use crate::{Body, BoxError};

/// How many bytes are read at once at first, and again after a read that came with less than there was room
/// for.
const READ_MIN: usize = 8 * 1024;
/// How many bytes are read at once at most; reads that fill their room double it up to this. It is also what
/// is read ahead of a slow caller.
const READ_MAX: usize = 64 * 1024;

/// How many bytes may come until the head of an answer is complete, interim answers (1xx) included. Beyond
/// that the answer is taken for one without end.
const MAX_READ_FOR_HEAD: usize = 4 * READ_MAX;

/// The state of a call that waits for the head of its answer.
struct HeadWait {
    /// Whether the request is a HEAD, whose answer has no body whatever its headers say.
    is_to_head: bool,
    /// How many bytes were read so far.
    bytes: usize,
    /// Why not all of the request could be written. The answer is still waited for, because a server that
    /// refuses a request early may say why before it closes.
    write_error: Option<io::Error>,
}

/// Where idle connections wait for the next call. A trait, so that this module does not depend on the pool.
pub(super) trait IdlePool: Send + Sync {
    /// Keeps a connection for the next call. Nothing of an earlier call may be left on it.
    fn put(&self, connection: Box<Http1Connection>);
}

/// An open connection, as far as anybody looked. It carries one call at a time.
pub(super) struct Http1Connection {
    /// The socket, with TLS where the URL asks for it.
    io: UpstreamIo,
    /// Bytes that were read and not parsed yet. Between two calls there are none.
    read: BytesMut,
    /// How many bytes the next read asks for, between [`READ_MIN`] and [`READ_MAX`].
    read_size: usize,
    /// The request on its way out. It may still be sent while the answer comes in already.
    sender: MessageSender<Body>,
    /// Limits how long the head of an answer may take. One timer serves all the calls of the connection.
    first_byte: IdleTimeout,
    /// When it was put back into the pool; at first, when it was opened.
    pub(super) used: Instant,
}

/// What became of a request that was given to a connection.
pub(super) enum SendOutcome {
    /// The head of the answer has come.
    Answered(Response<AnswerBody<StreamingBody>>),
    /// The connection was closed or out of step before the first byte was written. The server has seen
    /// nothing of the request, so that it can be sent over another connection.
    Unsent(Box<Request<Body>>),
}

/// Why there is no answer, or not all of it. The request must not be sent again, because the server may have
/// begun it.
#[derive(Debug)]
pub(super) enum ConnectionError {
    /// The connection broke, or ended before the answer did.
    Io(io::Error),
    /// The answer is no HTTP, could be read in two ways, or its head is too long.
    Answer(AnswerError),
    /// Not all of the request was sent, because of its own body.
    Send(MessageSendError),
    /// The head of the answer did not come within `first_byte`.
    Timeout,
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Answer(error) => error.fmt(f),
            Self::Send(error) => error.fmt(f),
            Self::Timeout => f.write_str("the head of the answer did not come in time"),
        }
    }
}

impl Error for ConnectionError {}

impl From<io::Error> for ConnectionError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<AnswerError> for ConnectionError {
    fn from(error: AnswerError) -> Self {
        Self::Answer(error)
    }
}

impl Http1Connection {
    /// Wraps a new connection. `first_byte` is how long the head of each answer may take. Boxed, because it
    /// goes from hand to hand.
    pub(super) fn open(io: UpstreamIo, first_byte: Duration) -> Box<Self> {
        Box::new(Self {
            io,
            read: BytesMut::new(),
            read_size: READ_MIN,
            sender: MessageSender::default(),
            first_byte: IdleTimeout::new(first_byte),
            used: Instant::now(),
        })
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// Before anything is written, the connection is read once without waiting. If there is anything, an end
    /// included, the request comes back as [`SendOutcome::Unsent`]: bytes that nobody asked for would be
    /// taken for the answer. The body of the request is framed by its length, where that is known or stated,
    /// else in chunks. `pool` is where the connection goes when the call is over. Dropping the future closes
    /// the connection.
    pub(super) async fn send(
        mut self: Box<Self>,
        mut request: Box<Request<Body>>,
        pool: &Arc<impl IdlePool + 'static>,
    ) -> Result<SendOutcome, ConnectionError> {
        // Closed by its server, or it says what nobody asked for.
        if poll_fn(|cx| Poll::Ready(self.poll_read(cx).is_ready())).await {
            return Ok(SendOutcome::Unsent(request));
        }
        self.first_byte.touch();
        let stated = || request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
        let length = request.body().size_hint().exact().or_else(stated);
        let framing = length.map_or(BodyFraming::Chunked, BodyFraming::Length);
        let body = mem::replace(request.body_mut(), full(Bytes::new()));
        self.sender.begin(body, |head| write_request(&request, framing, head));
        let is_to_head = request.method() == Method::HEAD;
        let mut wait = HeadWait { is_to_head, bytes: 0, write_error: None };
        let answer = poll_fn(|cx| self.poll_answer(&mut wait, cx)).await?;
        Ok(SendOutcome::Answered(with_body(answer, self, pool)))
    }

    /// Writes what is left of the request, and reads until the head of the answer is there, which may come
    /// before all of the request was written.
    fn poll_answer(
        &mut self,
        wait: &mut HeadWait,
        cx: &mut Context<'_>,
    ) -> Poll<Result<AnswerHead, ConnectionError>> {
        if wait.write_error.is_none() && !self.sender.is_over() {
            match self.sender.poll(&mut self.io, cx) {
                // A server that does not want all of a request may have said why before it closed.
                Poll::Ready(Err(MessageSendError::Io(error))) => wait.write_error = Some(error),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ConnectionError::Send(error))),
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
        }
        loop {
            let Poll::Ready(size) = self.poll_read(cx) else {
                return self.first_byte.poll_elapsed(cx).map(|()| Err(ConnectionError::Timeout));
            };
            let size = size?;
            if size == 0 {
                let why = wait.write_error.take().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                return Poll::Ready(Err(why.into()));
            }
            wait.bytes += size;
            // After a first look only when a line ended: to read all of them for every byte would take long.
            let fresh = self.read.get(self.read.len() - size..).unwrap_or_default();
            let looks = wait.bytes == size || fresh.contains(&b'\n') || self.read.len() >= READ_MAX;
            if looks && let Some(answer) = read_answer(&mut self.read, wait.is_to_head)? {
                return Poll::Ready(Ok(answer));
            }
            // Interim answers, one after the other: a server that is always heard would never be late.
            if wait.bytes > MAX_READ_FOR_HEAD {
                return Poll::Ready(Err(AnswerError::TooLong.into()));
            }
        }
    }

    /// Whether nothing has come since the last answer, an end of the connection included. Whatever has is no
    /// answer to the next request.
    pub(super) fn is_quiet(&self) -> bool {
        self.io.is_quiet()
    }

    /// Puts the connection into the pool, unless something of this call is left: bytes after the answer, or a
    /// request that is not written to its end. Then it is closed.
    fn give_back(self: Box<Self>, pool: &dyn IdlePool) {
        if self.read.is_empty() && self.sender.is_over() {
            pool.put(self);
        }
    }

    /// Reads what there is into `read`. Returns how many bytes came; 0 where the server has closed the
    /// connection.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let room = |read: &BytesMut| read.capacity() - read.len();
        if room(&self.read) < self.read_size / 2 {
            self.read.reserve(self.read_size);
        }
        let room = room(&self.read);
        let size = ready!(pin!(self.io.read_buf(&mut self.read)).poll(cx))?;
        self.read_size = if size == room { (self.read_size * 2).min(READ_MAX) } else { READ_MIN };
        Poll::Ready(Ok(size))
    }
}

/// The body of an answer whose head has come. Most answers are small and come in one read, and need neither a
/// box nor a time-out.
pub(crate) enum AnswerBody<S> {
    /// All of the body came with the head. The connection is in the pool already, or closed.
    Complete(Bytes),
    /// More of it is yet to come.
    Streaming(S),
}

/// A body of which more is yet to come, by the kind of its connection.
pub(crate) enum StreamingBody {
    /// Over HTTP/1.1: polling it reads from the connection.
    Http1(Http1Body),
    /// Over HTTP/2: a task of the connection's own reads for all its streams.
    Hyper(Incoming),
}

/// A body over HTTP/1.1, which owns its connection until it is over. It also writes what is left of the
/// request.
pub(crate) struct Http1Body {
    /// The connection, and the pool that it goes back to. `None` once the body is over.
    connection: Option<(Box<Http1Connection>, Arc<dyn IdlePool>)>,
    /// Finds the end of the body, and the data in its chunks.
    reader: BodyReader,
    /// Whether the connection can be used again after this answer.
    keeps_alive: bool,
    /// What broke the body, from when it was found until the next poll returns it.
    broken: Option<ConnectionError>,
}

/// Makes the response of a head that has come. Where the body has a known length and has come whole too, it
/// is [`AnswerBody::Complete`] and the connection is let go of at once; otherwise the body takes the
/// connection with it.
fn with_body(
    answer: AnswerHead,
    mut connection: Box<Http1Connection>,
    pool: &Arc<impl IdlePool + 'static>,
) -> Response<AnswerBody<StreamingBody>> {
    let AnswerHead { mut head, reason, body: reader, keeps_alive } = answer;
    if let Some(reason) = reason.and_then(|reason| ReasonPhrase::try_from(reason).ok()) {
        head.extensions_mut().insert(reason);
    }
    if let Some(length) = reader.remaining().and_then(|left| usize::try_from(left).ok())
        && connection.read.len() >= length
    {
        let complete = connection.read.split_to(length).freeze();
        if keeps_alive {
            connection.give_back(&**pool);
        }
        return head.map(|()| AnswerBody::Complete(complete));
    }
    let connection = Some((connection, Arc::clone(pool) as _));
    let body = Http1Body { connection, reader, keeps_alive, broken: None };
    head.map(|()| AnswerBody::Streaming(StreamingBody::Http1(body)))
}

impl Http1Body {
    /// Lets go of the connection where all of the body was taken: into the pool where it can be used again,
    /// else it is closed.
    fn give_back(&mut self) {
        if !self.reader.is_over() {
            return;
        }
        if let Some((connection, pool)) = self.connection.take()
            && self.keeps_alive
        {
            connection.give_back(&*pool);
        }
    }

    /// Polls for the next piece of the body: from what was read already, else from the connection. An end of
    /// the connection is an error unless that is how this body ends. The buffer is let go of while nothing
    /// comes, because a stream may be silent for long.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<BodyPiece, ConnectionError>> {
        loop {
            let Some((connection, _)) = &mut self.connection else { return Poll::Ready(Ok(BodyPiece::End)) };
            match self.reader.next_piece(&mut connection.read)? {
                BodyPiece::NeedsMore => {}
                piece => {
                    self.give_back();
                    return Poll::Ready(Ok(piece));
                }
            }
            // An answer may come before all of its request was sent.
            if !connection.sender.is_over()
                && matches!(connection.sender.poll(&mut connection.io, cx), Poll::Ready(Err(_)))
            {
                self.keeps_alive = false;
            }
            let Poll::Ready(size) = connection.poll_read(cx) else {
                // A stream may be silent for long, and needs no memory until it goes on.
                if connection.read.is_empty() {
                    connection.read = BytesMut::new();
                }
                return Poll::Pending;
            };
            if size? == 0 {
                self.connection = None;
                let broken = || Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                let is_end = self.reader.ends_with_connection();
                return Poll::Ready(if is_end { Ok(BodyPiece::End) } else { broken() });
            }
        }
    }
}

impl http_body::Body for StreamingBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        let body = match &mut *self {
            Self::Http1(body) => body,
            Self::Hyper(incoming) => return Pin::new(incoming).poll_frame(cx).map_err(Into::into),
        };
        if let Some(broken) = body.broken.take() {
            return Poll::Ready(Some(Err(broken.into())));
        }
        match ready!(body.poll_piece(cx)) {
            Ok(BodyPiece::Data(data)) => Poll::Ready(Some(Ok(http_body::Frame::data(data)))),
            Ok(BodyPiece::Trailers(trailers)) => Poll::Ready(Some(Ok(http_body::Frame::trailers(trailers)))),
            Ok(BodyPiece::NeedsMore | BodyPiece::End) => Poll::Ready(None),
            // Head and end can be seen in one look, and what came before the end is to leave before it.
            Err(broken) => {
                body.connection = None;
                body.broken = Some(broken);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http1(body) => body.connection.is_none() && body.broken.is_none(),
            Self::Hyper(incoming) => incoming.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http1(body) => body.reader.remaining().map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::Hyper(incoming) => incoming.size_hint(),
        }
    }
}
