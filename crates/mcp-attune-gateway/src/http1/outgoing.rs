//! A message on its way out: what is there leaves at once, and in as few writes as can be.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::Body;
use tokio::io::AsyncWrite;

use super::Frame;
use crate::BoxError;

/// Pieces of a body below this size are copied together, and what is larger is written from where it is.
const SMALL: usize = 16 * 1024;
/// How much room is kept for the next message.
const KEPT: usize = 4 * 1024;

/// What is yet to be written of a message. One serves all the messages of a connection.
pub(crate) struct Outgoing<B> {
    text: Vec<u8>,
    /// How much of the text was written.
    gone: usize,
    /// What follows the text,
    piece: Bytes,
    /// and what ends it.
    end: &'static [u8],
    /// What follows that,
    body: Option<B>,
    /// and how much of it there is; none where it goes in chunks.
    left: Option<u64>,
    /// What broke the body. What came before that leaves before that.
    broken: Option<Unsent>,
}

/// Why not all of a message was written.
#[derive(Debug)]
pub(crate) enum Unsent {
    /// The connection broke.
    Io(io::Error),
    /// The body broke off.
    Body(BoxError),
    /// The body is not as long as was said.
    Length,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Body(error) => error.fmt(f),
            Self::Length => f.write_str("the body is not as long as its Content-Length says"),
        }
    }
}

impl std::error::Error for Unsent {}

impl From<io::Error> for Unsent {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<B> Default for Outgoing<B> {
    fn default() -> Self {
        let piece = Bytes::new();
        Self { text: Vec::new(), gone: 0, piece, end: b"", body: None, left: None, broken: None }
    }
}

impl<B: Body<Data = Bytes, Error = BoxError> + Unpin> Outgoing<B> {
    /// Begins a message. `head` writes its head, and says how the body goes.
    pub(crate) fn begin(&mut self, body: B, head: impl FnOnce(&mut Vec<u8>) -> Frame) {
        (self.gone, self.piece, self.broken) = (0, Bytes::new(), None);
        self.text.clear();
        self.left = match head(&mut self.text) {
            Frame::Chunked => None,
            Frame::Length(length) => Some(length),
        };
        self.body = (self.left != Some(0)).then_some(body);
    }

    /// Whether all of it was written.
    pub(crate) fn is_over(&self) -> bool {
        self.body.is_none() && self.broken.is_none() && self.is_written()
    }

    fn is_written(&self) -> bool {
        self.gone == self.text.len() && self.piece.is_empty()
    }

    /// Writes; ready when all of it is gone.
    pub(crate) fn poll<W>(&mut self, io: &mut W, cx: &mut Context<'_>) -> Poll<Result<(), Unsent>>
    where
        W: AsyncWrite + Unpin,
    {
        loop {
            let waits = self.fill(cx).unwrap_or_else(|broken| {
                (self.body, self.broken) = (None, Some(broken));
                false
            });
            while let Some(left) = self.text.get(self.gone..).filter(|left| !left.is_empty()) {
                self.gone += some(ready!(Pin::new(&mut *io).poll_write(cx, left))?)?;
            }
            self.gone = 0;
            self.text.clear();
            while !self.piece.is_empty() {
                let size = some(ready!(Pin::new(&mut *io).poll_write(cx, &self.piece))?)?;
                self.piece.advance(size);
                if self.piece.is_empty() {
                    self.text.extend_from_slice(self.end);
                }
            }
            if !self.is_written() {
                continue;
            }
            if waits || self.body.is_none() {
                ready!(Pin::new(&mut *io).poll_flush(cx))?;
                if self.text.capacity() > KEPT {
                    self.text = Vec::new();
                }
                return if waits {
                    Poll::Pending
                } else {
                    Poll::Ready(self.broken.take().map_or(Ok(()), Err))
                };
            }
        }
    }

    /// Takes what there is of the body; true where there will be more, and who waits is told.
    fn fill(&mut self, cx: &mut Context<'_>) -> Result<bool, Unsent> {
        while self.piece.is_empty()
            && self.text.len() < SMALL
            && let Some(body) = &mut self.body
        {
            let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(cx) else { return Ok(true) };
            // Trailers stay behind.
            let piece =
                frame.transpose().map_err(Unsent::Body)?.map(|frame| frame.into_data().unwrap_or_default());
            let over = piece.is_none() || body.is_end_stream();
            self.put(piece.unwrap_or_default())?;
            if over {
                self.body = None;
                match self.left {
                    Some(0) => {}
                    Some(_) => return Err(Unsent::Length),
                    None if self.piece.is_empty() => self.text.extend_from_slice(b"0\r\n\r\n"),
                    None => self.end = b"\r\n0\r\n\r\n",
                }
            }
        }
        Ok(false)
    }

    fn put(&mut self, piece: Bytes) -> Result<(), Unsent> {
        if piece.is_empty() {
            return Ok(());
        }
        match &mut self.left {
            Some(left) => *left = left.checked_sub(piece.len() as u64).ok_or(Unsent::Length)?,
            None => self.text.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes()),
        }
        let end: &[u8] = if self.left.is_none() { b"\r\n" } else { b"" };
        if piece.len() >= SMALL {
            (self.piece, self.end) = (piece, end);
        } else {
            self.text.extend_from_slice(&piece);
            self.text.extend_from_slice(end);
        }
        Ok(())
    }
}

fn some(size: usize) -> io::Result<usize> {
    if size == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, StreamBody};
    use std::future::poll_fn;

    /// What is written of a body in these pieces, a few bytes at a time.
    async fn written(frame: Frame, pieces: &[&str]) -> (String, Option<String>) {
        let pieces: Vec<_> =
            pieces.iter().map(|piece| Ok(http_body::Frame::data(Bytes::from((*piece).to_owned())))).collect();
        let body = StreamBody::new(tokio_stream::iter(pieces)).boxed_unsync();
        let mut outgoing = Outgoing::default();
        outgoing.begin(body, |text| {
            text.extend_from_slice(b"head\r\n\r\n");
            frame
        });
        let (mut io, mut other) = tokio::io::duplex(7);
        let reading = tokio::spawn(async move {
            let mut got = String::new();
            tokio::io::AsyncReadExt::read_to_string(&mut other, &mut got).await.unwrap();
            got
        });
        let sent = poll_fn(|cx| outgoing.poll(&mut io, cx)).await;
        assert!(outgoing.is_over());
        drop(io);
        (reading.await.unwrap(), sent.err().map(|error| error.to_string()))
    }

    #[tokio::test]
    async fn writes_head_and_body_by_length_and_in_chunks() {
        let long = "x".repeat(SMALL);
        for (frame, pieces, expected) in [
            (Frame::Length(0), &[][..], String::new()),
            (Frame::Length(5), &["ab", "", "cde"], "abcde".to_owned()),
            (Frame::Chunked, &[], "0\r\n\r\n".to_owned()),
            (Frame::Chunked, &["ab", "", "0123456789"], "2\r\nab\r\na\r\n0123456789\r\n0\r\n\r\n".to_owned()),
            (Frame::Length(SMALL as u64 + 1), &[&long, "y"], format!("{long}y")),
            (Frame::Chunked, &["a", &long, "b"], format!("1\r\na\r\n4000\r\n{long}\r\n1\r\nb\r\n0\r\n\r\n")),
            (Frame::Chunked, &[&long], format!("4000\r\n{long}\r\n0\r\n\r\n")),
        ] {
            assert_eq!(written(frame, pieces).await, (format!("head\r\n\r\n{expected}"), None));
        }
    }

    #[tokio::test]
    async fn a_body_is_as_long_as_was_said() {
        for (pieces, before) in [(&["ab"][..], "ab"), (&["abc", "d"], "abc"), (&[], "")] {
            let (got, error) = written(Frame::Length(3), pieces).await;
            assert_eq!(got, format!("head\r\n\r\n{before}"), "what came before leaves before");
            assert_eq!(error.unwrap(), "the body is not as long as its Content-Length says");
        }
    }
}
