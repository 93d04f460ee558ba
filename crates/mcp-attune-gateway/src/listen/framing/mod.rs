//! The framing of HTTP, checked before hyper reads it: hyper takes what can be read in two ways, and tells nobody.
//!
//! 1. Over HTTP/1.1, the head of a request is held back until it is whole. One whose lengths, codings or hosts are repeated
//!    or odd ([`Misframed`]) never reaches hyper: a request that stands for it does, and is refused with the reason.
//! 2. Chunks are followed to their end, and trailers are read strictly and go no further. Trailers that are none make the
//!    body fail, and nothing after them is read.
//! 3. Over HTTP/2, control frames are counted. A connection that sends many of them and little else is cut.
//!
//! Only connections that hyper reads come here: requests that are plain were read without it.
//!
//! Rules: G4, H20.

use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

mod head;
mod chunks;
mod frames;

use super::Limits;
use chunks::{Chunks, Followed};
use frames::ControlFrames;
use head::{Framing, Head};

/// How much is read at once.
const READ_SIZE: usize = 16 * 1024;

/// What hyper reads in the place of a request that is refused for its framing.
const STAND_IN: &[u8] =
    b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Why the framing of a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Misframed {
    /// A line of the head is no header line: `Name : value`, a folded line, a control character.
    Line,
    /// `Content-Length` comes twice, or is no number.
    Length,
    /// `Content-Length` stands beside `Transfer-Encoding`.
    LengthAndCoding,
    /// `Transfer-Encoding` is not exactly `chunked`.
    Coding,
    /// `Host` comes twice.
    Host,
    /// A trailer is no header line, or there are too many.
    Trailer,
    /// The head has more lines than it may have.
    TooManyLines,
    /// The head has more bytes than it may have.
    TooLong,
}

impl Misframed {
    /// The rule that is broken.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::TooManyLines | Self::TooLong => "G4",
            _ => "H20",
        }
    }

    /// The HTTP status that the caller gets.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Coding => 501,
            Self::TooManyLines | Self::TooLong => 431,
            _ => 400,
        }
    }
}

impl fmt::Display for Misframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "a line of the request's head is no header line; write `Name: value`, each on a line of its own",
            Self::Length => "Content-Length comes more than once or is no number; send it once, in digits",
            Self::LengthAndCoding => "Content-Length stands beside Transfer-Encoding; send one of the two",
            Self::Coding => "Transfer-Encoding is not `chunked`; send the body with Content-Length, or in chunks alone",
            Self::Host => "Host comes more than once; send it once",
            Self::TooManyLines => "the request has too many headers; send fewer",
            Self::TooLong => "the request's head is too long; send fewer or shorter headers",
            Self::Trailer => "what follows the last chunk is no trailer; end the body with an empty line",
        })
    }
}

impl std::error::Error for Misframed {}

/// What was found on one connection, for whoever answers its requests.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// How many requests were handed out so far.
    begun: AtomicUsize,
    /// The request that is refused, by its number on the connection. None after it is read.
    misframed: OnceLock<(usize, Misframed)>,
}

impl Verdicts {
    /// The number of the request that begins now.
    pub(super) fn begin(&self) -> usize {
        self.begun.fetch_add(1, Relaxed)
    }

    /// Why a request is refused, if it is.
    pub(super) fn of(&self, number: usize) -> Option<Misframed> {
        self.misframed.get().filter(|(refused, _)| *refused == number).map(|(_, why)| *why)
    }
}

/// A connection whose framing is checked on the way to hyper.
pub(super) struct Framed<I> {
    io: I,
    /// Checked, and not taken yet.
    checked: BytesMut,
    state: FramingState,
    /// How many requests began on it.
    requests: usize,
    verdicts: Arc<Verdicts>,
    max_lines: usize,
    max_head: usize,
}

/// What comes next.
enum FramingState {
    /// A head, of which so much is there.
    Head(BytesMut),
    /// A body with so many bytes left.
    Length(u64),
    /// A body in chunks.
    Chunked(Chunks),
    /// Frames of HTTP/2.
    Frames(ControlFrames),
    /// Nothing that is read. The connection ends with the answer to what was.
    Unread,
    /// Nothing: the caller sends no more.
    Closed,
}

impl<I> Framed<I> {
    /// `read` is what was read of the connection before.
    ///
    /// # Errors
    ///
    /// Where that is cut already.
    pub(super) fn new(io: I, read: Bytes, limits: &Limits, verdicts: Arc<Verdicts>) -> io::Result<Self> {
        let mut framed = Self {
            io,
            checked: BytesMut::new(),
            state: FramingState::Head(BytesMut::new()),
            requests: 0,
            verdicts,
            max_lines: limits.headers,
            max_head: limits.header_bytes.max(super::LEAST_BUFFER),
        };
        framed.admit(read)?;
        Ok(framed)
    }

    /// Checks what was read, and puts what may go on to the rest of it.
    fn admit(&mut self, read: Bytes) -> io::Result<()> {
        let mut rest = read;
        while !rest.is_empty() {
            match &mut self.state {
                FramingState::Head(held) => {
                    // A head that comes byte by byte is looked at with each of its lines, and not with each byte.
                    let line_ends = rest.contains(&b'\n');
                    held.extend_from_slice(&rest);
                    let looks = line_ends || held.len() > self.max_head;
                    rest = if looks { self.take_head() } else { Bytes::new() };
                }
                FramingState::Length(left) => {
                    let size = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    *left -= size as u64;
                    let body_ends = *left == 0;
                    self.checked.extend_from_slice(&rest.split_to(size));
                    if body_ends {
                        self.state = FramingState::Head(BytesMut::new());
                    }
                }
                FramingState::Chunked(chunks) => match chunks.follow(&mut rest, &mut self.checked) {
                    Followed::More => {}
                    Followed::End => self.state = FramingState::Head(BytesMut::new()),
                    Followed::Refused => self.refuse(Misframed::Trailer),
                    // hyper refuses it by itself.
                    Followed::NoChunk => self.state = FramingState::Unread,
                },
                FramingState::Frames(frames) => {
                    frames.count(&rest)?;
                    self.checked.extend_from_slice(&rest);
                    return Ok(());
                }
                FramingState::Unread | FramingState::Closed => return Ok(()),
            }
        }
        Ok(())
    }

    /// Takes a head out of what is held, where it is whole, and returns what follows it.
    fn take_head(&mut self) -> Bytes {
        let FramingState::Head(held) = &mut self.state else { return Bytes::new() };
        // Empty lines before a request mean nothing (RFC 9112 §2.2).
        while let [b'\n', ..] | [b'\r', b'\n', ..] = held.as_ref() {
            held.advance(if held.starts_with(b"\n") { 1 } else { 2 });
        }
        let (size, framing) = match head::find(held, self.max_lines) {
            Ok(None) if held.len() <= self.max_head => return Bytes::new(),
            Ok(Some(Head { size, framing })) if size <= self.max_head => (size, framing),
            Ok(_) => (0, Err(Misframed::TooLong)),
            Err(_) => (0, Err(Misframed::TooManyLines)),
        };
        let (head, rest) = (held.split_to(size), held.split().freeze());
        self.requests += 1;
        let framing = match framing {
            Ok(framing) => framing,
            Err(misframed) => {
                self.refuse(misframed);
                self.checked.extend_from_slice(STAND_IN);
                return Bytes::new();
            }
        };
        self.checked.unsplit(head);
        self.state = match framing {
            Framing::Length(0) => FramingState::Head(BytesMut::new()),
            Framing::Length(length) => FramingState::Length(length),
            Framing::Chunked => FramingState::Chunked(Chunks::default()),
            Framing::Http2 if self.requests == 1 => FramingState::Frames(ControlFrames::after_preface()),
            Framing::Http2 => FramingState::Unread,
        };
        rest
    }

    /// Refuses the request that is being read, and reads nothing after it.
    fn refuse(&mut self, why: Misframed) {
        tracing::debug!(%why, "a request is refused for its framing");
        // The first is the last: nothing is read after it.
        let _ = self.verdicts.misframed.set((self.requests.saturating_sub(1), why));
        self.state = FramingState::Unread;
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Framed<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.checked.is_empty() {
                let size = this.checked.len().min(buf.remaining());
                buf.put_slice(&this.checked.split_to(size));
                return Poll::Ready(Ok(()));
            }
            match this.state {
                // hyper would take an end for one of the caller's, and not answer any more.
                FramingState::Unread => return Poll::Pending,
                FramingState::Closed => return Poll::Ready(Ok(())),
                _ => {}
            }
            let mut read = BytesMut::with_capacity(READ_SIZE);
            if ready!(pin!(this.io.read_buf(&mut read)).poll(cx))? == 0 {
                // Half a head is for hyper to be done with.
                if let FramingState::Head(held) = &mut this.state {
                    this.checked.unsplit(held.split());
                }
                this.state = FramingState::Closed;
                continue;
            }
            this.admit(read.freeze())?;
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Framed<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, bufs))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<I> Framed<I> {
    fn wrote(&mut self, bytes: usize) {
        if let FramingState::Frames(frames) = &mut self.state {
            frames.wrote(bytes);
        }
    }
}

/// What becomes of a connection.
#[cfg(any(test, feature = "fuzz"))]
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(unreachable_pub, reason = "the fuzzer reaches it")]
pub struct Read {
    /// What hyper reads of it.
    pub checked: Vec<u8>,
    /// Which request is refused, and why.
    pub refused: Option<(usize, Misframed)>,
}

/// Sends a text in pieces of a length.
///
/// # Errors
///
/// Where the connection is cut.
#[cfg(any(test, feature = "fuzz"))]
pub(crate) fn framed(text: &[u8], length: usize, limits: &Limits) -> io::Result<Read> {
    let verdicts = Arc::new(Verdicts::default());
    let mut framed = Framed::new(tokio::io::empty(), Bytes::new(), limits, Arc::clone(&verdicts))?;
    for piece in text.chunks(length.max(1)) {
        framed.admit(Bytes::copy_from_slice(piece))?;
    }
    let mut checked = framed.checked.to_vec();
    if let FramingState::Head(held) = &framed.state {
        checked.extend_from_slice(held);
    }
    Ok(Read { checked, refused: verdicts.misframed.get().copied() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What hyper reads of a connection that sends `text` in pieces of `size` bytes, and what is refused.
    fn read(text: &str, size: usize) -> (String, Option<(usize, Misframed)>) {
        let limits = Limits { headers: 30, header_bytes: 0, ..Limits::default() };
        let Read { checked, refused } = framed(text.as_bytes(), size, &limits).unwrap();
        (String::from_utf8(checked).unwrap(), refused)
    }

    #[track_caller]
    fn check(text: &str, expected: &str, refused: Option<(usize, Misframed)>) {
        for size in 1..=text.len().max(1) {
            assert_eq!(read(text, size), (expected.to_owned(), refused), "{text:?} in pieces of {size}");
        }
    }

    fn stand_in() -> String {
        String::from_utf8(STAND_IN.to_vec()).unwrap()
    }

    #[test]
    fn passes_what_can_be_read_in_one_way() {
        for text in [
            "",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST / HTTP/1.0\r\ncontent-length:0\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n00a ;x=y\r\n0123456789\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n1F\r\n0123456789abcdef0123456789abcde\r\n0\r\n\r\n",
            "GET / HTTP/1.1\nHost: a\n\n",
            "GET / HTTP/1.1\r\nHost: a",
            "rubbish",
        ] {
            check(text, text, None);
        }
        check("\r\n\n\r\nGET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", None);
    }

    #[test]
    fn puts_a_request_that_is_refused_in_the_place_of_one_that_is_odd() {
        for (lines, why) in [
            ("Content-Length: 1\r\nContent-Length: 1", Misframed::Length),
            ("Content-Length: 1, 1", Misframed::Length),
            ("Content-Length: +1", Misframed::Length),
            ("Content-Length:", Misframed::Length),
            ("Content-Length: 1\r\ntransfer-encoding: chunked", Misframed::LengthAndCoding),
            ("Transfer-Encoding: chunked\r\ncontent-length: 1", Misframed::LengthAndCoding),
            ("Transfer-Encoding: gzip, chunked", Misframed::Coding),
            ("Transfer-Encoding: chunked, chunked", Misframed::Coding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Misframed::Coding),
            ("Transfer-Encoding: identity", Misframed::Coding),
            ("Transfer-Encoding:", Misframed::Coding),
            ("Host: a\r\nHost: a", Misframed::Host),
            ("A : b", Misframed::Line),
            ("A: b\r\n c", Misframed::Line),
        ] {
            let odd = format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n");
            check(&odd, &stand_in(), Some((0, why)));
            let good = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
            check(&format!("{good}{odd}"), &format!("{good}{}", stand_in()), Some((1, why)));
        }
        let coded = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        check(coded, &stand_in(), Some((0, Misframed::Coding)));
    }

    #[test]
    fn reads_trailers_strictly_and_keeps_them() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for trailers in ["A: b\r\n\r\n", "A:\r\nb: c\r\n\r\n"] {
            let next = "GET / HTTP/1.1\r\n\r\n";
            check(&format!("{head}0\r\n{trailers}{next}"), &format!("{head}0\r\n\r\n{next}"), None);
        }
        for trailers in [
            "\nGET / HTTP/1.1\r\n\r\n",
            "A: b\n\r\n",
            "A\r\n\r\n",
            "A : b\r\n\r\n",
            "A: \u{1}\r\n\r\n",
            " A: b\r\n\r\n",
        ] {
            check(
                &format!("{head}0\r\n{trailers}"),
                &format!("{head}0\r\n\r\n"),
                Some((0, Misframed::Trailer)),
            );
        }
        let many = "A: b\r\n".repeat(200);
        let long = format!("A: {}", "b".repeat(5000));
        for trailers in [format!("{many}\r\n"), format!("{long}\r\n\r\n"), long] {
            let text = format!("{head}0\r\n{trailers}");
            assert_eq!(read(&text, 99), (format!("{head}0\r\n\r\n"), Some((0, Misframed::Trailer))));
        }
    }

    #[test]
    fn passes_nothing_on_after_what_is_no_chunk_or_begins_http2_too_late() {
        let smuggled = "\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n";
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for odd in ["3\r\nabc\n", "3\r\nabcd", "3\n", "3;a\n", "x", "\r", "-", "3\rx", "10000000000000000"] {
            check(&format!("{head}{odd}{smuggled}"), &format!("{head}{odd}"), None);
        }
        let late = "GET / HTTP/1.1\r\n\r\nPRI * HTTP/2.0\r\n\r\n";
        check(&format!("{late}SM{smuggled}"), late, None);
    }

    #[test]
    fn refuses_a_head_that_is_too_large_before_it_ends() {
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(20_000));
        for text in [long.clone(), format!("{long}\r\n\r\n")] {
            for size in [1000, 100_000] {
                assert_eq!(read(&text, size), (stand_in(), Some((0, Misframed::TooLong))), "{size}");
            }
        }
        let many = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(40));
        for text in [many.clone(), format!("{many}\r\nGET / HTTP/1.1\r\n\r\n")] {
            for size in [7, 100_000] {
                assert_eq!(read(&text, size), (stand_in(), Some((0, Misframed::TooManyLines))), "{size}");
            }
        }
    }

    proptest! {
        /// Whatever comes, in whatever pieces, the same is made of it.
        #[test]
        fn the_pieces_make_no_difference(
            parts in prop::collection::vec(prop::sample::select(vec![
                "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "Host: a\r\n", "Content-Length: 3\r\n", "Content-Length: 4\r\n",
                "Transfer-Encoding: chunked\r\n", "\r\n", "abc", "0\r\n", "3\r\n", "\n", "A: b\r\n", "PRI * HTTP/2.0\r\n", " ", ":",
            ]), 0..14),
            size in 1usize..9,
        ) {
            let text = parts.concat();
            let whole = read(&text, text.len().max(1));
            prop_assert_eq!(read(&text, size), whole);
        }
    }
}
