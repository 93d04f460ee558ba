//! Bodies as they are read: pieces, and where the last one ends.

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderMap;

use super::head::{Extent, headers};
use super::{Bad, MOST_LINES};

/// How long the line before a chunk may be.
const MOST_LINE: usize = 4 * 1024;
/// How long trailers may be.
const MOST_TRAILERS: usize = 16 * 1024;

/// What of a body is yet to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pieces {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked(Chunk),
    /// Whatever comes until the connection is closed.
    ToTheEnd,
}

/// Where in a chunk the next byte is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chunk {
    /// In the line that tells its size.
    Size,
    /// In its data, of which so much is left.
    Data(u64),
    /// After its data.
    End,
    /// After the last one.
    Trailers,
    /// After everything.
    Over,
}

/// What was found next.
#[derive(PartialEq, Debug)]
pub(crate) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
    /// Nothing, before more was read.
    More,
    /// Nothing any more.
    Over,
}

impl Pieces {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunk::Size)
    }

    /// Whether all of it was taken.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Over))
    }

    /// How much is left, where it was told.
    pub(crate) fn left(self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(left),
            Self::Chunked(Chunk::Over) => Some(0),
            Self::Chunked(_) | Self::ToTheEnd => None,
        }
    }

    /// Takes the next piece out of what was read.
    ///
    /// # Errors
    ///
    /// [`Bad`], where there is no chunk where one should be.
    pub(crate) fn next(&mut self, read: &mut BytesMut) -> Result<Piece, Bad> {
        match self {
            Self::Length(0) => Ok(Piece::Over),
            Self::Length(left) => Ok(taken(read, left)),
            Self::ToTheEnd if read.is_empty() => Ok(Piece::More),
            Self::ToTheEnd => Ok(Piece::Data(read.split().freeze())),
            Self::Chunked(chunk) => chunk.next(read),
        }
    }
}

/// As much of what was read as belongs to it.
fn taken(read: &mut BytesMut, left: &mut u64) -> Piece {
    if read.is_empty() {
        return Piece::More;
    }
    let size = usize::try_from(*left).map_or(read.len(), |left| left.min(read.len()));
    *left -= size as u64;
    Piece::Data(read.split_to(size).freeze())
}

impl Chunk {
    fn next(&mut self, read: &mut BytesMut) -> Result<Piece, Bad> {
        loop {
            *self = match self {
                Self::Size => {
                    let Some(line) = line(read, MOST_LINE)? else { return Ok(Piece::More) };
                    match size(&line).ok_or(Bad::Chunk)? {
                        0 => Self::Trailers,
                        size => Self::Data(size),
                    }
                }
                Self::Data(0) => Self::End,
                Self::Data(left) => {
                    let data = taken(read, left);
                    // The end of the chunk came with it as a rule, and then the end of all of them may be known, too.
                    if *left == 0 {
                        *self = Self::End;
                        self.pass_ends(read);
                    }
                    return Ok(data);
                }
                Self::End => match read.get(..2) {
                    None if read.is_empty() || read.starts_with(b"\r") => return Ok(Piece::More),
                    Some(b"\r\n") => {
                        read.advance(2);
                        Self::Size
                    }
                    _ => return Err(Bad::Chunk),
                },
                Self::Trailers => {
                    let Some(trailers) = trailers(read)? else { return Ok(Piece::More) };
                    *self = Self::Over;
                    return Ok(if trailers.is_empty() { Piece::Over } else { Piece::Trailers(trailers) });
                }
                Self::Over => return Ok(Piece::Over),
            }
        }
    }

    /// Goes over the end of the last chunk, where it is there and brings no trailers.
    fn pass_ends(&mut self, read: &mut BytesMut) {
        if read.starts_with(b"\r\n0\r\n\r\n") {
            read.advance(7);
            *self = Self::Over;
        }
    }
}

/// Takes a line out, without its end.
fn line(read: &mut BytesMut, most: usize) -> Result<Option<Bytes>, Bad> {
    let Some(end) = read.iter().take(most).position(|byte| *byte == b'\n') else {
        return if read.len() < most { Ok(None) } else { Err(Bad::Chunk) };
    };
    let mut line = read.split_to(end + 1).freeze();
    // A line ends with both, and one of them alone is a way to hide a line from who reads otherwise.
    if !line.ends_with(b"\r\n") {
        return Err(Bad::Chunk);
    }
    line.truncate(end - 1);
    Ok(Some(line))
}

/// A size in hexadecimal digits; what extends it says nothing that anybody knows.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii_end();
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    digits.iter().try_fold(0, |size, byte| Some(size << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// The trailers, where all of them have come.
fn trailers(read: &mut BytesMut) -> Result<Option<HeaderMap>, Bad> {
    let Some(Extent { size, lines }) = Extent::of(read, MOST_LINES).map_err(|_| Bad::Chunk)? else {
        return if read.len() < MOST_TRAILERS { Ok(None) } else { Err(Bad::Chunk) };
    };
    if size > MOST_TRAILERS {
        return Err(Bad::Chunk);
    }
    let text = read.split_to(size).freeze();
    let mut ends = memchr::memchr_iter(b'\n', &text);
    if ends.any(|end| end.checked_sub(1).and_then(|before| text.get(before)) != Some(&b'\r')) {
        return Err(Bad::Chunk);
    }
    headers(&text, &text, lines, |_, _| true).map(Some).ok_or(Bad::Chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use proptest::prelude::*;

    /// All pieces of a body that comes in two parts, the trailers, and what is left.
    fn read(mut pieces: Pieces, text: &[u8], cut: usize) -> Result<(Vec<u8>, HeaderMap, bool, Vec<u8>), Bad> {
        let (mut got, mut trailers) = (Vec::new(), HeaderMap::new());
        let mut read = BytesMut::from(&text[..cut]);
        let mut rest = Some(&text[cut..]);
        loop {
            match pieces.next(&mut read)? {
                Piece::Data(data) => {
                    assert!(!data.is_empty());
                    got.extend_from_slice(&data);
                }
                Piece::Trailers(found) => trailers = found,
                Piece::More => match rest.take() {
                    Some(rest) => read.extend_from_slice(rest),
                    None => return Ok((got, trailers, pieces.is_over(), read.to_vec())),
                },
                Piece::Over => {
                    read.extend_from_slice(rest.take().unwrap_or_default());
                    return Ok((got, trailers, pieces.is_over(), read.to_vec()));
                }
            }
        }
    }

    #[track_caller]
    fn check(pieces: Pieces, text: &str, expected: Result<(&str, bool, &str), Bad>) {
        for cut in 0..=text.len() {
            let got = read(pieces, text.as_bytes(), cut).map(|(got, _, over, left)| (got, over, left));
            let expected = expected.map(|(body, over, left)| (body.into(), over, left.into()));
            assert_eq!(got, expected, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn reads_bodies_however_they_are_cut() {
        check(Pieces::Length(3), "abc", Ok(("abc", true, "")));
        check(Pieces::Length(3), "abcHTTP", Ok(("abc", true, "HTTP")));
        check(Pieces::Length(3), "ab", Ok(("ab", false, "")));
        check(Pieces::Length(0), "ab", Ok(("", true, "ab")));
        check(Pieces::ToTheEnd, "abc", Ok(("abc", false, "")));
        check(Pieces::chunked(), "3\r\nabc\r\n0\r\n\r\n", Ok(("abc", true, "")));
        check(
            Pieces::chunked(),
            "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nnext",
            Ok(("abc0123456789", true, "next")),
        );
        check(Pieces::chunked(), "0;x\r\nA: 1\r\n\r\n", Ok(("", true, "")));
        check(Pieces::chunked(), "0003 \r\nabc\r\n", Ok(("abc", false, "")));
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
            "fffffffffffffffff\r\n",
            "+3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "0\r\nA\r\n\r\n",
            "0\r\nA : 1\r\n\r\n",
            "0\r\n\n",
            "0\r\nA: 1\n\r\n",
            "0\r\nA: 1\r\n\n",
        ] {
            check(Pieces::chunked(), text, Err(Bad::Chunk));
        }
    }

    #[test]
    fn trailers_and_lines_are_bounded() {
        let chunked = |text: String| read(Pieces::chunked(), text.as_bytes(), 0);
        assert_eq!(chunked(format!("1;{}", "x".repeat(MOST_LINE))), Err(Bad::Chunk));
        assert_eq!(chunked(format!("0\r\nA: {}", "x".repeat(MOST_TRAILERS))), Err(Bad::Chunk));
        assert_eq!(chunked(format!("0\r\n{}\r\n", "A: 1\r\n".repeat(MOST_LINES + 1))), Err(Bad::Chunk));
        let (_, trailers, over, _) = chunked("0\r\nA: 1\r\nb: 2\r\n\r\n".to_owned()).unwrap();
        assert_eq!((trailers.len(), &trailers["a"], over), (2, &HeaderValue::from_static("1"), true));
    }

    #[test]
    fn knows_the_end_with_the_last_chunk() {
        let mut pieces = Pieces::chunked();
        let mut came = BytesMut::from("3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(pieces.next(&mut came), Ok(Piece::Data("abc".into())));
        assert!(pieces.is_over() && came.is_empty());
    }

    proptest! {
        #[test]
        fn ends_whatever_comes(text in "[0-9a-f\r\n;: x]{0,60}", cut in 0usize..60) {
            let cut = cut.min(text.len());
            let _ = read(Pieces::chunked(), text.as_bytes(), cut);
        }

        #[test]
        fn reads_what_was_chunked(parts in prop::collection::vec("[a-z]{1,40}", 0..6), cut in 0usize..200) {
            let mut text: String = parts.iter().map(|part| format!("{:X}\r\n{part}\r\n", part.len())).collect();
            text.push_str("0\r\n\r\n");
            let (got, _, over, left) = read(Pieces::chunked(), text.as_bytes(), cut.min(text.len())).unwrap();
            prop_assert_eq!(got, parts.concat().into_bytes());
            prop_assert!(over && left.is_empty());
        }
    }
}
