//! Sends HTTP/1.1 messages over a connection: what is there leaves at once, in as few writes as possible.
//!
//! Used in both directions: for answers to callers and for requests to upstreams. The framing itself
//! (`Content-Length`, chunks) is done by `mcp_attune_http1::MessageEncoder`.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body;
use mcp_attune_http1::{BodyFraming, BodyLengthError, MessageEncoder};
use tokio::io::AsyncWrite;

use crate::BoxError;

/// Sends the messages of one connection, one after the other. Its buffer is reused for the next message.
///
/// Call [`begin`](Self::begin) for each message, and then [`poll`](Self::poll) until it is ready. Dropping it
/// in the middle of a message leaves the connection in a state in which no other message can be sent.
pub(crate) struct MessageSender<B> {
    /// The bytes that wait to be written.
    encoder: MessageEncoder,
    /// The body, as long as more of it is to come.
    body: Option<B>,
    /// What broke the body. It is reported after the bytes that came before it were written.
    broken: Option<MessageSendError>,
}

/// Why a message was not sent completely. The connection cannot be used for another message then.
#[derive(Debug)]
pub(crate) enum MessageSendError {
    /// Writing to the connection failed.
    Io(io::Error),
    /// The body failed.
    Body(BoxError),
    /// The body is longer or shorter than its `Content-Length` says.
    Length(BodyLengthError),
}

impl fmt::Display for MessageSendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
            Self::Length(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MessageSendError {}

impl From<io::Error> for MessageSendError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<BodyLengthError> for MessageSendError {
    fn from(error: BodyLengthError) -> Self {
        Self::Length(error)
    }
}

impl<B> Default for MessageSender<B> {
    fn default() -> Self {
        Self { encoder: MessageEncoder::default(), body: None, broken: None }
    }
}

impl<B: Body<Data = Bytes, Error = BoxError> + Unpin> MessageSender<B> {
    /// Begins a message. `write_head` appends its head and returns how its body is framed. The last message
    /// must be [over](Self::is_over).
    pub(crate) fn begin(&mut self, body: B, write_head: impl FnOnce(&mut Vec<u8>) -> BodyFraming) {
        let framing = self.encoder.begin(write_head);
        self.broken = None;
        self.body = (framing != BodyFraming::Length(0)).then_some(body);
    }

    /// Returns whether the message was sent completely; also `true` before the first one.
    pub(crate) fn is_over(&self) -> bool {
        self.body.is_none() && self.broken.is_none() && self.encoder.is_written()
    }

    /// Writes and flushes what there is, and returns ready when the message was sent completely.
    ///
    /// While it is pending, the task is woken when the body has more or the connection can take more. Pieces
    /// that the body has ready are collected into one write; when the body is pending, what was collected is
    /// flushed, so that an event of a stream is never held back.
    pub(crate) fn poll<W>(&mut self, io: &mut W, cx: &mut Context<'_>) -> Poll<Result<(), MessageSendError>>
    where
        W: AsyncWrite + Unpin,
    {
        loop {
            let waits = self.poll_body(cx).unwrap_or_else(|broken| {
                (self.body, self.broken) = (None, Some(broken));
                false
            });
            while !self.encoder.is_written() {
                match ready!(Pin::new(&mut *io).poll_write(cx, self.encoder.pending()))? {
                    0 => return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into())),
                    size => self.encoder.advance(size),
                }
            }
            if waits || self.body.is_none() {
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                self.encoder.shrink();
                let ended = self.broken.take().map_or(Ok(()), Err);
                return if waits { Poll::Pending } else { Poll::Ready(ended) };
            }
        }
    }

    /// Takes the pieces that the body has ready, up to what the encoder takes before a write. Returns `true`
    /// if the body is pending, and then the task is woken when it has more.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Result<bool, MessageSendError> {
        while self.encoder.takes_more()
            && let Some(body) = &mut self.body
        {
            let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) else { return Ok(true) };
            // Trailers are not passed on.
            let frame = frame.transpose().map_err(MessageSendError::Body)?;
            let piece = frame.map(|frame| frame.into_data().unwrap_or_default());
            let is_end = piece.is_none() || body.is_end_stream();
            self.encoder.push(piece.unwrap_or_default())?;
            if is_end {
                self.body = None;
                self.encoder.finish()?;
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, StreamBody};
    use std::future::poll_fn;

    /// What is sent of a body in these pieces, over a connection that takes a few bytes at a time.
    async fn sent(framing: BodyFraming, pieces: &[&str]) -> (String, Option<String>) {
        let pieces: Vec<_> =
            pieces.iter().map(|piece| Ok(http_body::Frame::data(Bytes::from((*piece).to_owned())))).collect();
        let body = StreamBody::new(tokio_stream::iter(pieces)).boxed_unsync();
        let mut sender = MessageSender::default();
        sender.begin(body, |head| {
            head.extend_from_slice(b"head\r\n\r\n");
            framing
        });
        let (mut io, mut other) = tokio::io::duplex(7);
        let reading = tokio::spawn(async move {
            let mut got = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut other, &mut got).await.unwrap();
            got
        });
        let result = poll_fn(|cx| sender.poll(&mut io, cx)).await;
        assert!(sender.is_over());
        drop(io);
        (reading.await.unwrap(), result.err().map(|error| error.to_string()))
    }

    #[tokio::test]
    async fn sends_head_and_body_by_length_and_in_chunks() {
        let long = "x".repeat(0x4000);
        for (framing, pieces, expected) in [
            (BodyFraming::Length(0), &[][..], String::new()),
            (BodyFraming::Length(5), &["ab", "", "cde"], "abcde".to_owned()),
            (BodyFraming::Chunked, &[], "0\r\n\r\n".to_owned()),
            (BodyFraming::Chunked, &["ab", "", "cd"], "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n".to_owned()),
            (BodyFraming::Length(0x4001), &[&long, "y"], format!("{long}y")),
            (
                BodyFraming::Chunked,
                &["a", &long, "b"],
                format!("1\r\na\r\n4000\r\n{long}\r\n1\r\nb\r\n0\r\n\r\n"),
            ),
            (BodyFraming::Chunked, &[&long], format!("4000\r\n{long}\r\n0\r\n\r\n")),
        ] {
            assert_eq!(sent(framing, pieces).await, (format!("head\r\n\r\n{expected}"), None));
        }
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_its_head_says() {
        for (pieces, before) in [(&["ab"][..], "ab"), (&["abc", "d"], "abc"), (&[], "")] {
            let (got, error) = sent(BodyFraming::Length(3), pieces).await;
            assert_eq!(got, format!("head\r\n\r\n{before}"), "what came before leaves before");
            assert_eq!(error.unwrap(), "the body is not as long as its Content-Length says");
        }
    }
}
