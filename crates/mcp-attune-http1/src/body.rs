//! Bodies as they are read: pieces, and where the last one ends.

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;

use crate::error::AnswerError;
use crate::head::{HeadExtent, header_map};
use crate::limits::MAX_HEADER_LINES;

/// The length of the longest line before a chunk.
const MAX_CHUNK_LINE_BYTES: usize = 4 * 1024;
/// The size of all trailers together.
const MAX_TRAILER_BYTES: usize = 16 * 1024;
/// The digits of the largest chunk size.
const MAX_SIZE_DIGITS: usize = 15;

/// Reads a body: what of it is yet to come.
///
/// ```
/// use bytes::BytesMut;
/// use mcp_attune_http1::{AnswerError, BodyPiece, BodyReader};
///
/// let mut read = BytesMut::from("5\r\nhello\r\n");
/// let mut body = BodyReader::chunked();
/// assert_eq!(body.next_piece(&mut read)?, BodyPiece::Data("hello".into()));
/// assert_eq!(body.next_piece(&mut read)?, BodyPiece::NeedsMore);
/// read.extend_from_slice(b"0\r\n\r\n");
/// assert_eq!(body.next_piece(&mut read)?, BodyPiece::End);
/// # Ok::<(), AnswerError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyReader(RemainingBody);

/// What of a body is yet to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RemainingBody {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked(ChunkState),
    /// Everything until the connection is closed.
    UntilClose,
}

/// Where in a chunked body the next byte is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChunkState {
    /// In the line that states the size of a chunk.
    Size,
    /// In the data of a chunk, of which so much is left.
    Data(u64),
    /// After the data of a chunk.
    DataEnd,
    /// After the last chunk.
    Trailers,
    /// After the body.
    Over,
}

/// What [`BodyReader::next_piece`] found.
#[derive(PartialEq, Debug)]
pub enum BodyPiece {
    /// Some of the body; never empty.
    Data(Bytes),
    /// The trailers, of which there is at least one. The body is over after them.
    Trailers(HeaderMap),
    /// Nothing, until more was read.
    NeedsMore,
    /// The end of the body.
    End,
}

impl BodyReader {
    /// Reads a body of so many bytes.
    #[must_use]
    pub fn with_length(bytes: u64) -> Self {
        Self(RemainingBody::Length(bytes))
    }

    /// Reads a body in chunks.
    #[must_use]
    pub fn chunked() -> Self {
        Self(RemainingBody::Chunked(ChunkState::Size))
    }

    /// Reads a body that ends with its connection.
    #[must_use]
    pub fn until_close() -> Self {
        Self(RemainingBody::UntilClose)
    }

    /// Whether the body ends with its connection, so that nobody can tell whether it is complete.
    #[must_use]
    pub fn ends_with_connection(self) -> bool {
        self.0 == RemainingBody::UntilClose
    }

    /// Whether all of the body was taken. A body that ends with its connection never says so.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.remaining() == Some(0)
    }

    /// How many bytes are left, where that is known.
    #[must_use]
    pub fn remaining(self) -> Option<u64> {
        match self.0 {
            RemainingBody::Length(left) => Some(left),
            RemainingBody::Chunked(ChunkState::Over) => Some(0),
            RemainingBody::Chunked(_) | RemainingBody::UntilClose => None,
        }
    }

    /// Takes the next piece out of what was read.
    ///
    /// # Errors
    ///
    /// [`AnswerError::Chunk`], where a chunk or a trailer is malformed.
    pub fn next_piece(&mut self, read: &mut BytesMut) -> Result<BodyPiece, AnswerError> {
        match &mut self.0 {
            RemainingBody::Length(0) => Ok(BodyPiece::End),
            RemainingBody::Length(left) => Ok(take_data(read, left)),
            RemainingBody::UntilClose if read.is_empty() => Ok(BodyPiece::NeedsMore),
            RemainingBody::UntilClose => Ok(BodyPiece::Data(read.split().freeze())),
            RemainingBody::Chunked(state) => state.next_piece(read),
        }
    }
}

/// Takes as much of what was read as belongs to the body.
fn take_data(read: &mut BytesMut, left: &mut u64) -> BodyPiece {
    if read.is_empty() {
        return BodyPiece::NeedsMore;
    }
    let size = usize::try_from(*left).map_or(read.len(), |left| left.min(read.len()));
    *left -= size as u64;
    BodyPiece::Data(read.split_to(size).freeze())
}

impl ChunkState {
    fn next_piece(&mut self, read: &mut BytesMut) -> Result<BodyPiece, AnswerError> {
        loop {
            *self = match self {
                Self::Size => {
                    let Some(line) = take_line(read)? else { return Ok(BodyPiece::NeedsMore) };
                    match parse_chunk_size(&line).ok_or(AnswerError::Chunk)? {
                        0 => Self::Trailers,
                        size => Self::Data(size),
                    }
                }
                Self::Data(left) => {
                    let data = take_data(read, left);
                    // The end of the chunk usually came with it, and then the end of the body may be known, too.
                    if *left == 0 {
                        *self = Self::DataEnd;
                        self.skip_last_chunk(read);
                    }
                    return Ok(data);
                }
                Self::DataEnd => match read.get(..2) {
                    None if read.is_empty() || read.starts_with(b"\r") => return Ok(BodyPiece::NeedsMore),
                    Some(b"\r\n") => {
                        read.advance(2);
                        Self::Size
                    }
                    _ => return Err(AnswerError::Chunk),
                },
                Self::Trailers => {
                    let Some(trailers) = take_trailers(read)? else { return Ok(BodyPiece::NeedsMore) };
                    *self = Self::Over;
                    let is_end = trailers.is_empty();
                    return Ok(if is_end { BodyPiece::End } else { BodyPiece::Trailers(trailers) });
                }
                Self::Over => return Ok(BodyPiece::End),
            }
        }
    }

    /// Skips the last chunk, where it is there and has no trailers.
    fn skip_last_chunk(&mut self, read: &mut BytesMut) {
        if read.starts_with(b"\r\n0\r\n\r\n") {
            read.advance(7);
            *self = Self::Over;
        }
    }
}

/// Takes the line before a chunk, without its end. Returns `None` where it has not come whole.
fn take_line(read: &mut BytesMut) -> Result<Option<Bytes>, AnswerError> {
    let Some(end) = read.iter().take(MAX_CHUNK_LINE_BYTES).position(|byte| *byte == b'\n') else {
        return if read.len() < MAX_CHUNK_LINE_BYTES { Ok(None) } else { Err(AnswerError::Chunk) };
    };
    let line = read.split_to(end + 1).freeze();
    // LF alone would hide a line from readers that take only CR LF for a line end, and CR alone from those that take it for one.
    match line.strip_suffix(b"\r\n") {
        Some(text) if !text.contains(&b'\r') => Ok(Some(line.slice_ref(text))),
        _ => Err(AnswerError::Chunk),
    }
}

/// Parses the size of a chunk. Extensions of the chunk are ignored.
fn parse_chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii_end();
    if digits.is_empty() || digits.len() > MAX_SIZE_DIGITS {
        return None;
    }
    digits.iter().try_fold(0, |size, byte| Some(size * 16 + u64::from(char::from(*byte).to_digit(16)?)))
}

/// Takes the trailers. Returns `None` where they have not come whole.
fn take_trailers(read: &mut BytesMut) -> Result<Option<HeaderMap>, AnswerError> {
    let extent = HeadExtent::find(read, MAX_HEADER_LINES).map_err(|_| AnswerError::Chunk)?;
    let Some(HeadExtent { bytes, has_crlf_only }) = extent else {
        return if read.len() < MAX_TRAILER_BYTES { Ok(None) } else { Err(AnswerError::Chunk) };
    };
    if bytes > MAX_TRAILER_BYTES || !has_crlf_only {
        return Err(AnswerError::Chunk);
    }
    let text = read.split_to(bytes).freeze();
    let mut parsed = [httparse::EMPTY_HEADER; MAX_HEADER_LINES];
    match httparse::parse_headers(&text, &mut parsed) {
        Ok(httparse::Status::Complete((_, lines))) => {
            header_map(&text, lines, |_, _| true).map(Some).ok_or(AnswerError::Chunk)
        }
        _ => Err(AnswerError::Chunk),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    /// All pieces of a body that comes in two parts, the trailers, and what is left.
    fn read(
        mut body: BodyReader,
        text: &[u8],
        cut: usize,
    ) -> Result<(Vec<u8>, HeaderMap, bool, Vec<u8>), AnswerError> {
        let (mut got, mut trailers) = (Vec::new(), HeaderMap::new());
        let mut read = BytesMut::from(&text[..cut]);
        let mut rest = Some(&text[cut..]);
        loop {
            match body.next_piece(&mut read)? {
                BodyPiece::Data(data) => {
                    assert!(!data.is_empty());
                    got.extend_from_slice(&data);
                }
                BodyPiece::Trailers(found) => trailers = found,
                BodyPiece::NeedsMore => match rest.take() {
                    Some(rest) => read.extend_from_slice(rest),
                    None => return Ok((got, trailers, body.is_over(), read.to_vec())),
                },
                BodyPiece::End => {
                    read.extend_from_slice(rest.take().unwrap_or_default());
                    return Ok((got, trailers, body.is_over(), read.to_vec()));
                }
            }
        }
    }

    #[track_caller]
    fn check(body: BodyReader, text: &str, expected: Result<(&str, bool, &str), AnswerError>) {
        for cut in 0..=text.len() {
            let got = read(body, text.as_bytes(), cut).map(|(got, _, over, left)| (got, over, left));
            let expected = expected.map(|(body, over, left)| (body.into(), over, left.into()));
            assert_eq!(got, expected, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn reads_bodies_however_they_are_cut() {
        check(BodyReader::with_length(3), "abc", Ok(("abc", true, "")));
        check(BodyReader::with_length(3), "abcHTTP", Ok(("abc", true, "HTTP")));
        check(BodyReader::with_length(3), "ab", Ok(("ab", false, "")));
        check(BodyReader::with_length(0), "ab", Ok(("", true, "ab")));
        check(BodyReader::until_close(), "abc", Ok(("abc", false, "")));
        check(BodyReader::chunked(), "3\r\nabc\r\n0\r\n\r\n", Ok(("abc", true, "")));
        check(
            BodyReader::chunked(),
            "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nnext",
            Ok(("abc0123456789", true, "next")),
        );
        check(BodyReader::chunked(), "0;x\r\nA: 1\r\n\r\n", Ok(("", true, "")));
        check(BodyReader::chunked(), "0003 \r\nabc\r\n", Ok(("abc", false, "")));
    }

    #[test]
    fn refuses_what_is_no_chunk() {
        for text in [
            "x\r\n",
            "\r\n",
            "-1\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabcd\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "3\r\nabc\rx",
            "3\r\nabcx",
            "3\r\r\nabc\r\n",
            "3;a\rb\r\nabc\r\n",
            "fffffffffffffffff\r\n",
            "+3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "0\r\nA\r\n\r\n",
            "0\r\nA : 1\r\n\r\n",
            "0\r\n\n",
            "0\r\nA: 1\n\r\n",
            "0\r\nA: 1\r\n\n",
        ] {
            check(BodyReader::chunked(), text, Err(AnswerError::Chunk));
        }
    }

    #[test]
    fn trailers_and_lines_are_bounded() {
        assert_eq!((MAX_CHUNK_LINE_BYTES, MAX_TRAILER_BYTES), (4096, 16_384));
        let chunked = |text: String| read(BodyReader::chunked(), text.as_bytes(), 0);
        // A line that has not ended is waited for as long as it can still be short enough.
        let open_line = |bytes| chunked(format!("1;{}", "x".repeat(bytes - 2)));
        assert!(open_line(MAX_CHUNK_LINE_BYTES - 1).is_ok());
        assert_eq!(open_line(MAX_CHUNK_LINE_BYTES), Err(AnswerError::Chunk));
        let open_trailer = |bytes| chunked(format!("0\r\nA: {}", "x".repeat(bytes - 3)));
        assert!(open_trailer(MAX_TRAILER_BYTES - 1).is_ok());
        assert_eq!(open_trailer(MAX_TRAILER_BYTES), Err(AnswerError::Chunk));
        assert_eq!(chunked(format!("1;{}", "x".repeat(MAX_CHUNK_LINE_BYTES))), Err(AnswerError::Chunk));
        assert_eq!(chunked(format!("0\r\nA: {}", "x".repeat(MAX_TRAILER_BYTES))), Err(AnswerError::Chunk));
        let lines = |count| chunked(format!("0\r\n{}\r\n", "A: 1\r\n".repeat(count)));
        assert_eq!(lines(MAX_HEADER_LINES + 1), Err(AnswerError::Chunk));
        assert_eq!(lines(MAX_HEADER_LINES).unwrap().1.len(), MAX_HEADER_LINES);
        // "A: " and two line ends are seven bytes.
        let long = |bytes| chunked(format!("0\r\nA: {}\r\n\r\n", "x".repeat(bytes - 7)));
        assert_eq!(long(MAX_TRAILER_BYTES + 1), Err(AnswerError::Chunk));
        assert_eq!(long(MAX_TRAILER_BYTES).unwrap().1.len(), 1);
        let line = |bytes| chunked(format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(bytes - 4)));
        assert_eq!(line(MAX_CHUNK_LINE_BYTES + 1), Err(AnswerError::Chunk));
        assert_eq!(line(MAX_CHUNK_LINE_BYTES).unwrap().0, b"a");
        let size = |digits| chunked(format!("{}1\r\na\r\n0\r\n\r\n", "0".repeat(digits - 1)));
        assert_eq!(size(MAX_SIZE_DIGITS + 1), Err(AnswerError::Chunk));
        assert_eq!(size(MAX_SIZE_DIGITS).unwrap().0, b"a");
        let (_, trailers, over, _) = chunked("0\r\nA: 1\r\nb: 2\r\n\r\n".to_owned()).unwrap();
        assert_eq!((trailers.len(), &trailers["a"], over), (2, &HeaderValue::from_static("1"), true));
    }

    #[test]
    fn knows_how_much_is_left() {
        let mut body = BodyReader::with_length(3);
        assert_eq!((body.remaining(), body.is_over()), (Some(3), false));
        assert_eq!(body.next_piece(&mut BytesMut::from("ab")), Ok(BodyPiece::Data("ab".into())));
        assert_eq!((body.remaining(), body.is_over()), (Some(1), false));
        assert_eq!((BodyReader::chunked().remaining(), BodyReader::until_close().remaining()), (None, None));
        assert!(BodyReader::until_close().ends_with_connection() && !body.ends_with_connection());
    }

    #[test]
    fn knows_the_end_with_the_last_chunk() {
        let mut body = BodyReader::chunked();
        let mut came = BytesMut::from("3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(body.next_piece(&mut came), Ok(BodyPiece::Data("abc".into())));
        assert!(body.is_over() && came.is_empty());
    }

    proptest! {
        #[test]
        fn ends_whatever_comes(text in "[0-9a-f\r\n;: x]{0,60}", cut in 0usize..60) {
            let cut = cut.min(text.len());
            let _ = read(BodyReader::chunked(), text.as_bytes(), cut);
        }

        #[test]
        fn reads_what_was_chunked(parts in prop::collection::vec("[a-z]{1,40}", 0..6), cut in 0usize..200) {
            let mut text: String = parts.iter().map(|part| format!("{:X}\r\n{part}\r\n", part.len())).collect();
            text.push_str("0\r\n\r\n");
            let (got, _, over, left) = read(BodyReader::chunked(), text.as_bytes(), cut.min(text.len())).unwrap();
            prop_assert_eq!(got, parts.concat().into_bytes());
            prop_assert!(over && left.is_empty());
        }
    }
}
