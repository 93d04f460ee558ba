//! The framing of requests, checked before another implementation reads them.

use bytes::{Buf, Bytes, BytesMut};

mod head;
mod chunks;

use crate::error::FramingError;
use crate::limits::HeadLimits;
use chunks::{ChunkFollowOutcome, ChunkFollower};
use head::{JudgedHead, RequestFraming, judge_head};

/// What is passed on in the place of a request that is refused.
const STAND_IN: &[u8] =
    b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// Checks the requests of one connection on their way to an implementation of HTTP that is less strict.
///
/// 1. A head is held back until it is complete. If its framing could be read in two ways, a stand-in without a body is passed on
///    instead. Whoever serves the requests has to ask [`refused`](Self::refused) which one that is, and refuse it.
/// 2. Bodies are followed to their end. Trailers are dropped; malformed ones refuse the request whose body has just ended.
/// 3. Nothing is passed on after a request that is refused.
/// 4. HTTP/2 is not checked: see [`check`](Self::check).
///
/// ```
/// use bytes::BytesMut;
/// use mcp_attune_http1::{FramingChecker, HeadLimits, FramingError};
///
/// let mut checker = FramingChecker::new(HeadLimits::default());
/// let mut passed = BytesMut::new();
/// let smuggled = "POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 32\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n";
/// checker.check(smuggled.into(), &mut passed);
/// assert_eq!(checker.refused(), Some((0, FramingError::Length)));
/// assert!(passed.starts_with(b"POST / HTTP/1.1\r\n") && passed.ends_with(b"connection: close\r\n\r\n"));
/// ```
#[derive(Debug)]
pub struct FramingChecker {
    state: CheckerState,
    /// How many requests have begun.
    requests: usize,
    refused: Option<(usize, FramingError)>,
    limits: HeadLimits,
}

/// What comes next.
#[derive(Debug)]
enum CheckerState {
    /// A head, of which so much is there.
    Head(BytesMut),
    /// A body with so many bytes left.
    Length(u64),
    /// A body in chunks.
    Chunked(ChunkFollower),
    /// Frames of HTTP/2.
    Http2,
    /// Nothing that is passed on.
    Done,
}

impl FramingChecker {
    /// Checks a connection from its first byte.
    #[must_use]
    pub fn new(limits: HeadLimits) -> Self {
        Self { state: CheckerState::Head(BytesMut::new()), requests: 0, refused: None, limits }
    }

    /// Checks what was read, and appends to `passed` what may be read of it. Returns the part that belongs to HTTP/2, which
    /// the caller has to check and to pass on itself; it is empty as long as the connection is one of HTTP/1.
    pub fn check(&mut self, read: Bytes, passed: &mut BytesMut) -> Bytes {
        let mut rest = read;
        while !rest.is_empty() {
            match &mut self.state {
                CheckerState::Head(held) => {
                    // A head that comes byte by byte is looked at with each of its lines, not with each byte.
                    let has_line_end = rest.contains(&b'\n');
                    held.extend_from_slice(&rest);
                    let is_due = has_line_end || held.len() > self.limits.bytes;
                    rest = if is_due { self.take_head(passed) } else { Bytes::new() };
                }
                CheckerState::Length(left) => {
                    let size = usize::try_from(*left).map_or(rest.len(), |left| left.min(rest.len()));
                    *left -= size as u64;
                    let is_end = *left == 0;
                    passed.extend_from_slice(&rest.split_to(size));
                    if is_end {
                        self.state = CheckerState::Head(BytesMut::new());
                    }
                }
                CheckerState::Chunked(chunks) => match chunks.follow(&mut rest, passed) {
                    ChunkFollowOutcome::NeedsMore => {}
                    ChunkFollowOutcome::End => self.state = CheckerState::Head(BytesMut::new()),
                    ChunkFollowOutcome::BadTrailer => self.refuse(FramingError::Trailer),
                    // The other implementation refuses it by itself.
                    ChunkFollowOutcome::BadChunk => self.state = CheckerState::Done,
                },
                CheckerState::Http2 => return rest,
                CheckerState::Done => return Bytes::new(),
            }
        }
        Bytes::new()
    }

    /// Ends the connection. What there is of a head is appended to `passed`: it is for the other implementation to refuse.
    pub fn end(&mut self, passed: &mut BytesMut) {
        if let CheckerState::Head(held) = &mut self.state {
            passed.unsplit(held.split());
        }
    }

    /// The request that is refused, by its number on the connection from 0 on, and why. It is the last one that is passed on.
    #[must_use]
    pub fn refused(&self) -> Option<(usize, FramingError)> {
        self.refused
    }

    /// Whether nothing is passed on any more. The connection ends with the answer to what was.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.state, CheckerState::Done)
    }

    /// Whether the connection has changed to HTTP/2.
    #[must_use]
    pub fn is_http2(&self) -> bool {
        matches!(self.state, CheckerState::Http2)
    }

    /// Takes a head out of what is held, where it is complete, and returns what follows it.
    fn take_head(&mut self, passed: &mut BytesMut) -> Bytes {
        let CheckerState::Head(held) = &mut self.state else { return Bytes::new() };
        // Empty lines before a request mean nothing (RFC 9112 §2.2).
        while let [b'\n', ..] | [b'\r', b'\n', ..] = held.as_ref() {
            held.advance(if held.starts_with(b"\n") { 1 } else { 2 });
        }
        let (bytes, framing) = match judge_head(held, self.limits.lines) {
            Ok(None) if held.len() <= self.limits.bytes => return Bytes::new(),
            Ok(Some(JudgedHead { bytes, framing })) if bytes <= self.limits.bytes => (bytes, framing),
            Ok(_) => (0, Err(FramingError::TooLong)),
            Err(_) => (0, Err(FramingError::TooManyLines)),
        };
        let (head, rest) = (held.split_to(bytes), held.split().freeze());
        self.requests += 1;
        let framing = match framing {
            Ok(framing) => framing,
            Err(misframed) => {
                self.refuse(misframed);
                passed.extend_from_slice(STAND_IN);
                return Bytes::new();
            }
        };
        passed.unsplit(head);
        self.state = match framing {
            RequestFraming::Length(0) => CheckerState::Head(BytesMut::new()),
            RequestFraming::Length(length) => CheckerState::Length(length),
            RequestFraming::Chunked => CheckerState::Chunked(ChunkFollower::default()),
            RequestFraming::Http2 if self.requests == 1 => CheckerState::Http2,
            RequestFraming::Http2 => CheckerState::Done,
        };
        rest
    }

    /// Refuses the request that is being read, and passes nothing on after it.
    fn refuse(&mut self, why: FramingError) {
        self.refused = Some((self.requests.saturating_sub(1), why));
        self.state = CheckerState::Done;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: HeadLimits = HeadLimits { lines: 30, bytes: 8 * 1024 };

    /// What is passed on of a connection that sends `text` in pieces of `size` bytes, and what is refused.
    fn read(text: &str, size: usize) -> (String, Option<(usize, FramingError)>) {
        let (mut checker, mut passed) = (FramingChecker::new(LIMITS), BytesMut::new());
        for piece in text.as_bytes().chunks(size) {
            let frames = checker.check(Bytes::copy_from_slice(piece), &mut passed);
            assert!(frames.is_empty() || checker.is_http2());
            passed.extend_from_slice(&frames);
        }
        checker.end(&mut passed);
        (String::from_utf8(passed.to_vec()).unwrap(), checker.refused())
    }

    #[track_caller]
    fn check(text: &str, expected: &str, refused: Option<(usize, FramingError)>) {
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
            ("Content-Length: 1\r\nContent-Length: 1", FramingError::Length),
            ("Content-Length: 1, 1", FramingError::Length),
            ("Content-Length: +1", FramingError::Length),
            ("Content-Length:", FramingError::Length),
            ("Content-Length: 1\r\ntransfer-encoding: chunked", FramingError::LengthAndCoding),
            ("Transfer-Encoding: chunked\r\ncontent-length: 1", FramingError::LengthAndCoding),
            ("Transfer-Encoding: gzip, chunked", FramingError::Coding),
            ("Transfer-Encoding: chunked, chunked", FramingError::Coding),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", FramingError::Coding),
            ("Transfer-Encoding: identity", FramingError::Coding),
            ("Transfer-Encoding:", FramingError::Coding),
            ("Host: a\r\nHost: a", FramingError::Host),
            ("A : b", FramingError::Line),
            ("A: b\r\n c", FramingError::Line),
        ] {
            let odd = format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n");
            check(&odd, &stand_in(), Some((0, why)));
            let good = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab";
            check(&format!("{good}{odd}"), &format!("{good}{}", stand_in()), Some((1, why)));
        }
        let coded = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        check(coded, &stand_in(), Some((0, FramingError::Coding)));
    }

    #[test]
    fn reads_trailers_strictly_and_drops_them() {
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
                Some((0, FramingError::Trailer)),
            );
        }
        let many = "A: b\r\n".repeat(200);
        let long = format!("A: {}", "b".repeat(5000));
        for trailers in [format!("{many}\r\n"), format!("{long}\r\n\r\n"), long] {
            let text = format!("{head}0\r\n{trailers}");
            assert_eq!(read(&text, 99), (format!("{head}0\r\n\r\n"), Some((0, FramingError::Trailer))));
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
                assert_eq!(read(&text, size), (stand_in(), Some((0, FramingError::TooLong))), "{size}");
            }
        }
        let many = format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(40));
        for text in [many.clone(), format!("{many}\r\nGET / HTTP/1.1\r\n\r\n")] {
            for size in [7, 100_000] {
                assert_eq!(read(&text, size), (stand_in(), Some((0, FramingError::TooManyLines))), "{size}");
            }
        }
    }

    #[test]
    fn http2_is_handed_back_from_its_preface_on() {
        let (mut checker, mut passed) = (FramingChecker::new(LIMITS), BytesMut::new());
        let frames = checker.check(Bytes::from_static(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), &mut passed);
        assert_eq!((&passed[..], &frames[..]), (&b"PRI * HTTP/2.0\r\n\r\n"[..], &b"SM\r\n\r\n"[..]));
        assert!(checker.is_http2() && !checker.is_done());
        assert_eq!(checker.check(Bytes::from_static(b"frame"), &mut passed), "frame");
    }

    #[test]
    fn says_when_nothing_is_passed_on_any_more() {
        let mut passed = BytesMut::new();
        let mut checker = FramingChecker::new(LIMITS);
        checker.check(Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"), &mut passed);
        assert!(!checker.is_done() && !checker.is_http2());
        checker.check(Bytes::from_static(b"GET / HTTP/1.1\r\nA\r\n\r\n"), &mut passed);
        assert!(checker.is_done());
    }

    #[test]
    fn a_head_may_be_exactly_as_large_as_the_limits_say() {
        let text = "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\n";
        for (lines, bytes, refused) in [
            (2, text.len(), None),
            (1, text.len(), Some((0, FramingError::TooManyLines))),
            (2, text.len() - 1, Some((0, FramingError::TooLong))),
        ] {
            for size in [1, text.len()] {
                let mut checker = FramingChecker::new(HeadLimits { lines, bytes });
                for piece in text.as_bytes().chunks(size) {
                    checker.check(Bytes::copy_from_slice(piece), &mut BytesMut::new());
                }
                assert_eq!(checker.refused(), refused, "{lines} {bytes} {size}");
            }
        }
    }

    #[test]
    fn trailers_may_be_exactly_as_many_and_as_long_as_they_may() {
        let refused = |trailers: &str| {
            let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
            read(&format!("{head}{trailers}\r\n"), 1000).1
        };
        let many = |count| refused(&"A: b\r\n".repeat(count));
        assert_eq!((many(64), many(65)), (None, Some((0, FramingError::Trailer))));
        // Counted with the CR at its end.
        let long = |bytes: usize| refused(&format!("A: {}\r\n", "b".repeat(bytes - 4)));
        assert_eq!((long(4096), long(4097)), (None, Some((0, FramingError::Trailer))));
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
