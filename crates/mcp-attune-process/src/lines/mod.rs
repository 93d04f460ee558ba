//! The framing of MCP over pipes: one JSON-RPC message a line, each line up to a bound.
//!
//! 1. A line ends with LF; a CR before it does not count, and empty lines are read over.
//! 2. A line that is longer than it may be is not kept. It is read over to its end, and what is known of it
//!    then is its start, its length and, if it was a message, its id, so that whoever waits for it can be told.
//! 3. What comes last without an end is unfinished.
//!
//! Rules: G4, G9.

use std::io;

use bytes::BytesMut;
use mcp_attune_wire::message::MessageKind;
use tokio::io::{AsyncRead, AsyncReadExt};

mod envelope;

use envelope::EnvelopeScanner;

/// Bytes of buffer that are reserved before each read.
const LINE_READ_SIZE: usize = 16 * 1024;
/// How many bytes of the start of an overlong line are kept, to be logged or shown.
const MAX_START_BYTES: usize = 1024;

/// A line that was read, without its line end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BoundedLine {
    /// A complete, non-empty line within the bound. It can be anything: nothing checks that it is a message or
    /// UTF-8.
    Whole(Vec<u8>),
    /// A line over the bound, whose content was thrown away. Reading continues with the next line.
    TooLong(OverlongLine),
    /// What was left without a line end when the other side closed the stream. It is always the last line.
    Unfinished(Vec<u8>),
}

/// What is known of a line that was longer than its bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverlongLine {
    /// Its first bytes, at most 1024 and no more than the bound.
    pub start: Vec<u8>,
    /// Its whole length in bytes without the LF, as far as it came before the stream ended.
    pub length: usize,
    /// The `id` of the message in it, as written, such as `7` or `"a"`. `None` if there is none, or one of more
    /// than 1024 bytes. It was found without parsing the message: use it only to find the request that waits
    /// for an answer.
    pub id: Option<String>,
    /// What kind of message it was, found in the same way. `MessageKind::Other` if that could not be told.
    pub kind: MessageKind,
}

/// Reads lines from a stream and keeps none that is longer than a bound.
///
/// It holds at most about the bound and one read of 16 KiB more, however long a line is. Reading is
/// cancellation safe.
#[derive(Debug)]
pub struct BoundedLineReader<R> {
    from: R,
    /// Maximum length of a line in bytes, without its LF.
    limit: usize,
    /// Bytes that were read and not returned yet.
    held: BytesMut,
    /// How many bytes of `held` are known to contain no LF, so that no byte is searched twice.
    seen: usize,
    /// The overlong line whose end has not been reached yet; its bytes are dropped as they come.
    over: Option<SkippedLine>,
}

/// An overlong line while it is being read over. Becomes an [`OverlongLine`] at its end.
#[derive(Debug)]
struct SkippedLine {
    start: Vec<u8>,
    length: usize,
    envelope: EnvelopeScanner,
}

impl<R: AsyncRead + Unpin> BoundedLineReader<R> {
    /// Makes a reader for lines of at most `limit` bytes, not counting the LF.
    pub fn new(from: R, limit: usize) -> Self {
        Self { from, limit, held: BytesMut::new(), seen: 0, over: None }
    }

    /// Reads the next line. Returns `None` at the end of the stream.
    ///
    /// It is cancellation safe: the future can be dropped at any await point and the method called again, and
    /// no byte is lost.
    ///
    /// # Errors
    ///
    /// The error of the stream. What was read before stays in the buffer.
    pub async fn next_line(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(line));
            }
            self.held.reserve(LINE_READ_SIZE);
            if self.from.read_buf(&mut self.held).await? == 0 {
                return Ok(self.finish());
            }
        }
    }

    /// Takes the next non-empty line out of the buffer. Returns `None` if no line end is there yet; bytes that
    /// already exceed the bound are dropped in that case.
    fn take_line(&mut self) -> Option<BoundedLine> {
        loop {
            let fresh = self.held.get(self.seen..).unwrap_or_default();
            let Some(end) = memchr::memchr(b'\n', fresh) else {
                self.seen = self.held.len();
                if self.over.is_some() || self.held.len() > self.limit {
                    self.skip_line_bytes(self.held.len());
                }
                return None;
            };
            let end = self.seen + end;
            if self.over.is_some() || end > self.limit {
                self.skip_line_bytes(end);
                self.drop_start(1);
                return self.over.take().map(|over| BoundedLine::TooLong(over.into_overlong_line()));
            }
            let line = self.held.split_to(end);
            self.drop_start(1);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if !line.is_empty() {
                return Some(BoundedLine::Whole(line.to_vec()));
            }
        }
    }

    /// Drops the first `bytes` bytes of the buffer as a part of an overlong line: counts them, looks for id and kind
    /// in them, and keeps the start. Gives the memory of a buffer back that grew large.
    fn skip_line_bytes(&mut self, bytes: usize) {
        let piece = self.held.split_to(bytes.min(self.held.len()));
        self.seen = 0;
        let over = self.over.get_or_insert_with(|| SkippedLine {
            start: piece.iter().copied().take(MAX_START_BYTES.min(self.limit)).collect(),
            length: 0,
            envelope: EnvelopeScanner::default(),
        });
        over.length = over.length.saturating_add(piece.len());
        over.envelope.feed(&piece);
        if self.held.capacity() > LINE_READ_SIZE * 4 {
            self.held = BytesMut::from(self.held.as_ref());
        }
    }

    fn drop_start(&mut self, bytes: usize) {
        let _ = self.held.split_to(bytes.min(self.held.len()));
        self.seen = 0;
    }

    /// Returns what is left at the end of the stream: the overlong line that has no end, or an unfinished one.
    fn finish(&mut self) -> Option<BoundedLine> {
        if let Some(over) = self.over.take() {
            return Some(BoundedLine::TooLong(over.into_overlong_line()));
        }
        let rest = self.held.split();
        self.seen = 0;
        (!rest.is_empty()).then(|| BoundedLine::Unfinished(rest.to_vec()))
    }
}

impl SkippedLine {
    fn into_overlong_line(self) -> OverlongLine {
        let Self { start, length, envelope } = self;
        OverlongLine { start, length, kind: envelope.kind(), id: envelope.into_id() }
    }
}

/// Encodes a JSON message as one line, with an LF at its end.
///
/// Line ends inside the message become spaces. That does not change its meaning: JSON allows raw line ends only
/// between tokens, and those inside strings are escaped.
pub fn encode_line(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.len() + 1);
    line.extend(message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    async fn all(text: &[u8], limit: usize, piece: usize) -> Vec<BoundedLine> {
        let (mut to, from) = tokio::io::duplex(piece);
        let text = text.to_vec();
        tokio::spawn(async move {
            let _ = to.write_all(&text).await;
        });
        let mut lines = BoundedLineReader::new(from, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            all.push(line);
        }
        all
    }

    fn whole(text: &str) -> BoundedLine {
        BoundedLine::Whole(text.into())
    }

    #[tokio::test]
    async fn reads_lines_in_any_pieces() {
        for piece in [1, 2, 3, 7, 100] {
            let read = all(b"one\r\n\n\r\ntw\ro\n\xff\xfe\nhalf", 100, piece).await;
            let expected = [
                whole("one"),
                whole("tw\ro"),
                BoundedLine::Whole(vec![0xff, 0xfe]),
                BoundedLine::Unfinished(b"half".to_vec()),
            ];
            assert_eq!(read, expected, "{piece}");
        }
    }

    #[tokio::test]
    async fn reads_over_a_line_that_is_too_long_and_goes_on() {
        let long = format!(r#"{{"result":{{"id":1,"text":"{}"}},"id":"a\"b"}}"#, "x".repeat(500));
        for piece in [1, 5, 64, 4096] {
            for limit in [10, 100, long.len() - 1] {
                let read = all(format!("ok\n{long}\nok\n").as_bytes(), limit, piece).await;
                let [first, BoundedLine::TooLong(over), last] = read.as_slice() else { panic!("{read:?}") };
                assert_eq!((first, last), (&whole("ok"), &whole("ok")));
                assert_eq!(over.length, long.len(), "{piece} {limit}");
                assert_eq!(over.id.as_deref(), Some(r#""a\"b""#));
                assert!(over.start.len() <= limit && long.as_bytes().starts_with(&over.start));
            }
            assert_eq!(all(format!("{long}\n").as_bytes(), long.len(), piece).await, [whole(&long)]);
        }
    }

    #[tokio::test]
    async fn keeps_no_more_than_its_bound() {
        let (mut to, from) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            for _ in 0..100 {
                to.write_all(&[b'x'; 100_000]).await.unwrap();
            }
            to.write_all(b"\nnext\n").await.unwrap();
        });
        let mut lines = BoundedLineReader::new(from, 1 << 20);
        let line = lines.next_line().await.unwrap().unwrap();
        assert!(matches!(&line, BoundedLine::TooLong(over) if over.length == 10_000_000), "{line:?}");
        assert!(lines.held.capacity() < 1 << 20, "{}", lines.held.capacity());
        assert_eq!(lines.next_line().await.unwrap(), Some(whole("next")));
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(encode_line(b"{\r\n  \"a\": \"\\n\"\n}"), b"{    \"a\": \"\\n\" }\n");
    }
}
