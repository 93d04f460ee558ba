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

/// How much is read at once as long as less comes.
const READ_MIN: usize = 8 * 1024;
/// How much is read at once at most. It is also what is read ahead of a slow caller.
const READ_MAX: usize = 64 * 1024;

/// How much may come until the head of an answer is complete, interim answers included.
const MAX_READ_FOR_HEAD: usize = 4 * READ_MAX;

/// A call that waits for the head of its answer.
struct HeadWait {
    is_to_head: bool,
    /// How much was read.
    bytes: usize,
    /// Why not all of the request could be written.
    write_error: Option<io::Error>,
}

/// Where idle connections wait for the next call.
pub(super) trait IdlePool: Send + Sync {
    /// Keeps a connection for the next call.
    fn put(&self, connection: Box<Http1Connection>);
}

/// A connection that is open, as far as anybody looked.
pub(super) struct Http1Connection {
    io: UpstreamIo,
    /// What was read and not taken yet.
    read: BytesMut,
    /// How much is read at once.
    read_size: usize,
    sender: MessageSender<Body>,
    /// How long the head of an answer may take. One timer serves all the calls.
    first_byte: IdleTimeout,
    /// When it was last used.
    pub(super) used: Instant,
}

/// What became of a request.
pub(super) enum SendOutcome {
    Answered(Response<AnswerBody<StreamingBody>>),
    /// No byte of it was written, and it can be sent elsewhere.
    Unsent(Box<Request<Body>>),
}

/// Why there is no answer, or not all of it.
#[derive(Debug)]
pub(super) enum ConnectionError {
    /// The connection broke.
    Io(io::Error),
    /// The answer cannot be read.
    Answer(AnswerError),
    /// Not all of the request was sent.
    Send(MessageSendError),
    /// The head of the answer did not come in time.
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

    /// Writes what is left of the request, and reads the head of the answer, which may come before that.
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

    /// Whether nothing has come since the last answer. What has is no answer to the next request.
    pub(super) fn is_quiet(&self) -> bool {
        self.io.is_quiet()
    }

    /// Goes back to the pool, where nothing is left of this call.
    fn give_back(self: Box<Self>, pool: &dyn IdlePool) {
        if self.read.is_empty() && self.sender.is_over() {
            pool.put(self);
        }
    }

    /// Reads what there is; 0 at the end.
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

/// The body of an answer whose head has come.
pub(crate) enum AnswerBody<S> {
    /// All of it came with the head, as with most answers.
    Complete(Bytes),
    /// More of it is yet to come.
    Streaming(S),
}

/// A body of which more is yet to come.
pub(crate) enum StreamingBody {
    /// Polling it reads from the connection that it comes from.
    Http1(Http1Body),
    /// The connection has a task of its own.
    Hyper(Incoming),
}

/// A body that reads from its connection.
pub(crate) struct Http1Body {
    /// The connection, and the pool that it goes back to when the answer is over.
    connection: Option<(Box<Http1Connection>, Arc<dyn IdlePool>)>,
    reader: BodyReader,
    /// Whether the connection can be used again.
    keeps_alive: bool,
    /// What broke it, until that was returned.
    broken: Option<ConnectionError>,
}

/// An answer with its body, which is complete where all of it has come.
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
    /// Gives the connection back, where all of the answer was taken and all of the request was sent.
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
