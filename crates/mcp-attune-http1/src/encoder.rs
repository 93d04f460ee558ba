//! Messages as they are written: the head, then the body by length or in chunks.

use std::fmt;

use bytes::{Buf, Bytes};

/// Pieces of a body below this size are copied together; larger ones are written from where they are.
const MAX_COPIED_BYTES: usize = 16 * 1024;
/// The capacity that is kept for the next message.
const MAX_KEPT_BYTES: usize = 4 * 1024;

/// How a message states where its body ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BodyFraming {
    /// By a length in bytes, which is 0 where there is no body.
    Length(u64),
    /// By the last chunk.
    Chunked,
}

/// A body is not as long as the head of its message says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BodyLengthError;

impl fmt::Display for BodyLengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body is not as long as its Content-Length says")
    }
}

impl std::error::Error for BodyLengthError {}

/// Encodes the messages of one connection, one after the other, for as few writes as possible.
///
/// Small pieces are copied together, so that a head and a short body leave in one write.
///
/// ```
/// use mcp_attune_http1::{BodyFraming, MessageEncoder, BodyLengthError};
///
/// let mut encoder = MessageEncoder::default();
/// let framing = encoder.begin(|head| {
///     head.extend_from_slice(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
///     BodyFraming::Chunked
/// });
/// assert_eq!(framing, BodyFraming::Chunked);
/// encoder.push("hello".into())?;
/// encoder.finish()?;
/// let mut written = Vec::new();
/// while !encoder.is_written() {
///     // A real connection may take less than all of it.
///     let taken = encoder.pending().len();
///     written.extend_from_slice(encoder.pending());
///     encoder.advance(taken);
/// }
/// assert!(written.ends_with(b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n"));
/// # Ok::<(), BodyLengthError>(())
/// ```
#[derive(Debug, Default)]
pub struct MessageEncoder {
    /// What was copied together.
    copied: Vec<u8>,
    /// How much of it was written.
    written: usize,
    /// A large piece that follows it,
    large: Bytes,
    /// and what ends that.
    after_large: &'static [u8],
    /// How many bytes of the body are still missing; `None` where it goes in chunks.
    missing: Option<u64>,
}

impl MessageEncoder {
    /// Begins a message. `write_head` appends its head and returns how its body is framed, which this returns too.
    pub fn begin(&mut self, write_head: impl FnOnce(&mut Vec<u8>) -> BodyFraming) -> BodyFraming {
        (self.written, self.large, self.after_large) = (0, Bytes::new(), b"");
        self.copied.clear();
        let framing = write_head(&mut self.copied);
        self.missing = match framing {
            BodyFraming::Chunked => None,
            BodyFraming::Length(length) => Some(length),
        };
        framing
    }

    /// Whether another piece of the body is of use before something is written.
    #[must_use]
    pub fn takes_more(&self) -> bool {
        self.large.is_empty() && self.copied.len() < MAX_COPIED_BYTES
    }

    /// Adds a piece of the body. Call it only where [`takes_more`](Self::takes_more) says so.
    ///
    /// # Errors
    ///
    /// [`BodyLengthError`], where the body becomes longer than the head says. The piece is left out.
    pub fn push(&mut self, piece: Bytes) -> Result<(), BodyLengthError> {
        if piece.is_empty() {
            return Ok(());
        }
        match &mut self.missing {
            Some(missing) => *missing = missing.checked_sub(piece.len() as u64).ok_or(BodyLengthError)?,
            None => self.copied.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes()),
        }
        let end: &[u8] = if self.missing.is_none() { b"\r\n" } else { b"" };
        if piece.len() >= MAX_COPIED_BYTES {
            (self.large, self.after_large) = (piece, end);
        } else {
            self.copied.extend_from_slice(&piece);
            self.copied.extend_from_slice(end);
        }
        Ok(())
    }

    /// Ends the body.
    ///
    /// # Errors
    ///
    /// [`BodyLengthError`], where the body is shorter than the head says.
    pub fn finish(&mut self) -> Result<(), BodyLengthError> {
        match self.missing {
            Some(0) => {}
            Some(_) => return Err(BodyLengthError),
            None if self.large.is_empty() => self.copied.extend_from_slice(b"0\r\n\r\n"),
            None => self.after_large = b"\r\n0\r\n\r\n",
        }
        Ok(())
    }

    /// The bytes to write next; empty where everything was written.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        match self.copied.get(self.written..) {
            Some(left) if !left.is_empty() => left,
            _ => &self.large,
        }
    }

    /// Notes that so many of the [`pending`](Self::pending) bytes were written.
    pub fn advance(&mut self, bytes: usize) {
        if self.written < self.copied.len() {
            self.written = (self.written + bytes).min(self.copied.len());
            if self.written == self.copied.len() {
                self.copied.clear();
                self.written = 0;
            }
            return;
        }
        self.large.advance(bytes.min(self.large.len()));
        if self.large.is_empty() {
            self.copied.extend_from_slice(self.after_large);
            self.after_large = b"";
        }
    }

    /// Whether everything that was added was written.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.pending().is_empty()
    }

    /// Frees the memory that the next message probably does not need. Of use while a stream is silent.
    pub fn shrink(&mut self) {
        if self.copied.is_empty() && self.copied.capacity() > MAX_KEPT_BYTES {
            self.copied = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a message whose connection takes at most `step` bytes at a time. Returns what was written, and what went wrong.
    fn write(framing: BodyFraming, pieces: &[&str], step: usize) -> (String, Option<BodyLengthError>) {
        let (mut encoder, mut out) = (MessageEncoder::default(), Vec::new());
        let mut flush = |encoder: &mut MessageEncoder| {
            while !encoder.is_written() {
                let taken = encoder.pending().len().min(step);
                out.extend_from_slice(&encoder.pending()[..taken]);
                encoder.advance(taken);
            }
            assert!(encoder.takes_more());
        };
        let begun = encoder.begin(|head| {
            head.extend_from_slice(b"head\r\n\r\n");
            framing
        });
        assert_eq!(begun, framing);
        let mut wrong = None;
        for piece in pieces {
            if !encoder.takes_more() {
                flush(&mut encoder);
            }
            wrong = wrong.or(encoder.push(Bytes::from((*piece).to_owned())).err());
        }
        if wrong.is_none() {
            wrong = encoder.finish().err();
        }
        flush(&mut encoder);
        (String::from_utf8(out).unwrap(), wrong)
    }

    #[track_caller]
    fn check(framing: BodyFraming, pieces: &[&str], expected: &str, wrong: Option<BodyLengthError>) {
        for step in [1, 7, usize::MAX] {
            let (written, found) = write(framing, pieces, step);
            assert_eq!((written, found), (format!("head\r\n\r\n{expected}"), wrong));
        }
    }

    #[test]
    fn writes_a_body_by_length_and_in_chunks() {
        let long = "x".repeat(MAX_COPIED_BYTES);
        let length = |length: usize| BodyFraming::Length(length as u64);
        check(length(0), &[], "", None);
        check(length(5), &["ab", "", "cde"], "abcde", None);
        check(BodyFraming::Chunked, &[], "0\r\n\r\n", None);
        let chunks = "2\r\nab\r\na\r\n0123456789\r\n0\r\n\r\n";
        check(BodyFraming::Chunked, &["ab", "", "0123456789"], chunks, None);
        check(length(MAX_COPIED_BYTES + 1), &[&long, "y"], &format!("{long}y"), None);
        let chunks = format!("1\r\na\r\n4000\r\n{long}\r\n1\r\nb\r\n0\r\n\r\n");
        check(BodyFraming::Chunked, &["a", &long, "b"], &chunks, None);
        check(BodyFraming::Chunked, &[&long], &format!("4000\r\n{long}\r\n0\r\n\r\n"), None);
    }

    #[test]
    fn a_body_is_as_long_as_its_head_says() {
        check(BodyFraming::Length(3), &["ab"], "ab", Some(BodyLengthError));
        check(BodyFraming::Length(3), &["abc", "d"], "abc", Some(BodyLengthError));
        check(BodyFraming::Length(3), &[], "", Some(BodyLengthError));
        check(BodyFraming::Length(0), &["a"], "", Some(BodyLengthError));
        assert!(BodyLengthError.to_string().contains("Content-Length"));
    }

    #[test]
    fn takes_pieces_until_there_is_enough_to_write() {
        let mut encoder = MessageEncoder::default();
        encoder.begin(|_| BodyFraming::Length(1 << 20));
        assert!(encoder.takes_more() && encoder.is_written());
        encoder.push(Bytes::from(vec![0; MAX_COPIED_BYTES - 1])).unwrap();
        assert!(encoder.takes_more() && !encoder.is_written());
        encoder.push(Bytes::from_static(b"x")).unwrap();
        assert!(!encoder.takes_more());
        encoder.advance(usize::MAX);
        assert!(encoder.takes_more() && encoder.is_written());
        encoder.push(Bytes::from(vec![0; MAX_COPIED_BYTES])).unwrap();
        assert!(!encoder.takes_more());
        encoder.advance(1);
        assert_eq!((encoder.takes_more(), encoder.pending().len()), (false, MAX_COPIED_BYTES - 1));
    }

    #[test]
    fn a_message_begins_with_nothing_of_the_one_before() {
        let mut encoder = MessageEncoder::default();
        encoder.begin(|_| BodyFraming::Chunked);
        encoder.push(Bytes::from(vec![0; MAX_COPIED_BYTES])).unwrap();
        encoder.advance(1);
        encoder.begin(|head| {
            head.push(b'x');
            BodyFraming::Length(0)
        });
        assert_eq!(encoder.pending(), b"x");
        encoder.advance(1);
        assert!(encoder.is_written());
    }

    #[test]
    fn frees_memory_that_the_next_message_does_not_need() {
        for (bytes, kept) in [(MAX_KEPT_BYTES / 2, true), (MAX_COPIED_BYTES - 1, false)] {
            let mut encoder = MessageEncoder::default();
            encoder.begin(|_| BodyFraming::Length(bytes as u64));
            encoder.push(Bytes::from(vec![0; bytes])).unwrap();
            encoder.shrink();
            assert_eq!(encoder.pending().len(), bytes, "nothing that is not written is lost");
            encoder.advance(bytes);
            encoder.shrink();
            assert_eq!(encoder.copied.capacity() > 0, kept);
        }
        let mut encoder =
            MessageEncoder { copied: Vec::with_capacity(MAX_KEPT_BYTES), ..MessageEncoder::default() };
        encoder.shrink();
        assert_eq!(encoder.copied.capacity(), MAX_KEPT_BYTES);
    }

    proptest! {
        #[test]
        fn what_is_written_in_chunks_is_read_back(parts in prop::collection::vec("[a-z]{0,40}", 0..6), step in 1usize..30) {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let (written, wrong) = write(BodyFraming::Chunked, &parts, step);
            prop_assert_eq!(wrong, None);
            let mut read = bytes::BytesMut::from(written.strip_prefix("head\r\n\r\n").unwrap());
            let (mut reader, mut body) = (crate::BodyReader::chunked(), Vec::new());
            while let crate::BodyPiece::Data(data) = reader.next_piece(&mut read).unwrap() {
                body.extend_from_slice(&data);
            }
            prop_assert!(reader.is_over() && read.is_empty());
            prop_assert_eq!(body, parts.concat().into_bytes());
        }
    }
}
