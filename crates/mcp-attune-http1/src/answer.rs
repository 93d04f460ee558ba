//! Answers, as they are read from a server.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Response, StatusCode};

use crate::body::BodyReader;
use crate::error::AnswerError;
use crate::head::{HeadExtent, has_no_body, header_map, list_members, parse_decimal, split_line};
use crate::limits::{MAX_HEAD_BYTES, MAX_HEADER_LINES};

/// The head of an answer, and how to go on.
#[derive(Debug)]
pub struct AnswerHead {
    /// Status and headers.
    pub head: Response<()>,
    /// The text after the status, where it is not the usual one: nobody interprets it, and it is passed on as it came.
    pub reason: Option<Bytes>,
    /// Reads the body.
    pub body: BodyReader,
    /// Whether the connection can be used again after the body.
    pub keeps_alive: bool,
}

/// Takes the head of an answer out of what was read. Returns `None` where it has not come whole. Interim answers are skipped.
/// `is_to_head` says that the answer is one to `HEAD`, which has no body whatever its headers say.
///
/// ```
/// use bytes::BytesMut;
/// use mcp_attune_http1::{AnswerError, BodyPiece, read_answer};
///
/// let mut read = BytesMut::from("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
/// let mut answer = read_answer(&mut read, false)?.unwrap();
/// assert_eq!((answer.head.status().as_u16(), answer.keeps_alive), (200, true));
/// assert_eq!(answer.body.next_piece(&mut read)?, BodyPiece::Data("{}".into()));
/// # Ok::<(), AnswerError>(())
/// ```
///
/// # Errors
///
/// [`AnswerError`], where it is not an answer, could be read in two ways, or is too long.
pub fn read_answer(read: &mut BytesMut, is_to_head: bool) -> Result<Option<AnswerHead>, AnswerError> {
    loop {
        if !may_begin_answer(read) {
            return Err(AnswerError::Head);
        }
        // The status line is not a header line.
        let extent = HeadExtent::find(read, 1 + MAX_HEADER_LINES).map_err(|_| AnswerError::TooLong)?;
        let Some(HeadExtent { bytes, .. }) = extent else {
            return if read.len() < MAX_HEAD_BYTES { Ok(None) } else { Err(AnswerError::TooLong) };
        };
        if bytes > MAX_HEAD_BYTES {
            return Err(AnswerError::TooLong);
        }
        let text = read.split_to(bytes).freeze();
        let ParsedHead { status, reason, minor, mut headers } =
            ParsedHead::parse(&text).ok_or(AnswerError::Head)?;
        if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
            continue;
        }
        let body = body_reader(&mut headers, status, is_to_head, minor)?;
        let keeps_alive = keeps_alive(&headers, minor)
            && !body.ends_with_connection()
            && status != StatusCode::SWITCHING_PROTOCOLS;
        let is_usual = status.canonical_reason().map(str::as_bytes) == Some(reason);
        let reason = (!is_usual).then(|| text.slice_ref(reason));
        let mut head = Response::new(());
        *head.status_mut() = status;
        *head.headers_mut() = headers;
        return Ok(Some(AnswerHead { head, reason, body, keeps_alive }));
    }
}

/// The first bytes of every answer.
const ANSWER_PREFIX: &[u8] = b"HTTP/1.";
/// The bytes before the reason: `HTTP/1.1 200 `.
const REASON_OFFSET: usize = 13;

/// Whether this can become an answer when more comes.
fn may_begin_answer(text: &[u8]) -> bool {
    text.iter().zip(ANSWER_PREFIX).all(|(came, byte)| came == byte)
}

struct ParsedHead<'t> {
    status: StatusCode,
    reason: &'t [u8],
    /// The `1` of `HTTP/1.1`.
    minor: u8,
    headers: HeaderMap,
}

impl<'t> ParsedHead<'t> {
    /// Parses a status line and header lines. Returns `None` if one is malformed.
    fn parse(text: &'t Bytes) -> Option<Self> {
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADER_LINES];
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let status = config.parse_response_with_uninit_headers(&mut parsed, text, &mut lines);
        if !status.is_ok_and(|status| status.is_complete()) {
            return None;
        }
        // httparse leaves a reason out that is not ASCII.
        let (line, _) = split_line(text)?;
        Some(Self {
            status: StatusCode::from_u16(parsed.code?).ok()?,
            reason: line.get(REASON_OFFSET..).unwrap_or_default(),
            minor: parsed.version?,
            headers: header_map(text, parsed.headers, |_, _| true)?,
        })
    }
}

fn keeps_alive(headers: &HeaderMap, minor: u8) -> bool {
    if minor == 1 && !headers.contains_key(CONNECTION) {
        return true;
    }
    let says = |option| list_members(headers, &CONNECTION).any(|said| said.eq_ignore_ascii_case(option));
    if minor == 1 { !says(b"close") } else { says(b"keep-alive") }
}

/// Decides where the body ends. `Content-Length` is in the headers once afterwards, or not at all.
fn body_reader(
    headers: &mut HeaderMap,
    status: StatusCode,
    is_to_head: bool,
    minor: u8,
) -> Result<BodyReader, AnswerError> {
    let is_coded = headers.contains_key(TRANSFER_ENCODING);
    if is_coded {
        headers.remove(CONTENT_LENGTH);
    }
    let length = settle_length(headers)?;
    if has_no_body(status) || is_to_head {
        return Ok(BodyReader::with_length(0));
    }
    if !is_coded {
        return Ok(length.map_or_else(BodyReader::until_close, BodyReader::with_length));
    }
    let mut codings = list_members(headers, &TRANSFER_ENCODING);
    match (codings.next(), codings.next()) {
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") && minor == 1 => {
            Ok(BodyReader::chunked())
        }
        _ => Err(AnswerError::Coding),
    }
}

/// Reads the length. One that is stated several times is stated once from here on.
fn settle_length(headers: &mut HeaderMap) -> Result<Option<u64>, AnswerError> {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lines.next() else { return Ok(None) };
    let is_repeated = lines.next().is_some() || first.as_bytes().contains(&b',');
    if !is_repeated {
        return parse_decimal(first.as_bytes()).map(Some).ok_or(AnswerError::Length);
    }
    let length = list_members(headers, &CONTENT_LENGTH).next();
    let length = length.and_then(parse_decimal).ok_or(AnswerError::Length)?;
    if list_members(headers, &CONTENT_LENGTH).any(|other| parse_decimal(other) != Some(length)) {
        return Err(AnswerError::Length);
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;
    use proptest::prelude::*;

    fn read(text: &str, asked: &Method) -> Result<Option<AnswerHead>, AnswerError> {
        read_answer(&mut BytesMut::from(text), asked == Method::HEAD)
    }

    #[test]
    fn reads_a_head_and_leaves_what_follows() {
        let mut came = BytesMut::from(
            "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b:  2 \r\nX-a: 3\r\nContent-Length: 4\r\n\r\nbody",
        );
        let AnswerHead { head, body, keeps_alive, .. } = read_answer(&mut came, false).unwrap().unwrap();
        let lines: Vec<_> =
            head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(_, &[u8]); 4] =
            [("x-a", b"1"), ("x-a", b"3"), ("x-b", b"2"), ("content-length", b"4")];
        assert_eq!(lines, expected);
        assert_eq!(
            (head.status(), body, keeps_alive, &came[..]),
            (StatusCode::OK, BodyReader::with_length(4), true, &b"body"[..])
        );
    }

    #[test]
    fn keeps_the_words_after_a_status() {
        for (line, words) in [
            ("HTTP/1.1 200 OK", None),
            ("HTTP/1.1 401 Go Away", Some("Go Away")),
            ("HTTP/1.1 200 ", Some("")),
            ("HTTP/1.1 200", Some("")),
            ("HTTP/1.1 200 caf\u{e9}\t", Some("caf\u{e9}\t")),
        ] {
            let answer = read(&format!("{line}\r\nA:\r\n\r\n"), &Method::GET).unwrap().unwrap();
            assert_eq!(answer.reason.as_deref(), words.map(str::as_bytes), "{line}");
            assert_eq!(answer.head.headers()["a"], "");
        }
    }

    #[test]
    fn waits_for_all_of_a_head() {
        let text = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\n";
        for size in 0..text.len() {
            assert!(read(&text[..size], &Method::GET).unwrap().is_none(), "{size}");
        }
        let answer = read(text, &Method::GET).unwrap().unwrap();
        assert_eq!((answer.head.status(), answer.head.headers().len()), (StatusCode::OK, 1));
    }

    #[test]
    fn knows_where_a_body_ends() {
        for (asked, text, body) in [
            ("POST", "200 OK\r\nContent-Length: 7", Ok(BodyReader::with_length(7))),
            ("POST", "200 OK\r\nContent-Length: 7\r\nContent-Length: 7", Ok(BodyReader::with_length(7))),
            ("POST", "200 OK\r\nContent-Length: 7, 7", Ok(BodyReader::with_length(7))),
            ("POST", "200 OK\r\nContent-Length: 7, 8", Err(AnswerError::Length)),
            ("POST", "200 OK\r\nContent-Length: 7\r\nContent-Length: 8", Err(AnswerError::Length)),
            ("POST", "200 OK\r\nContent-Length: +7", Err(AnswerError::Length)),
            ("POST", "200 OK\r\nContent-Length: ", Err(AnswerError::Length)),
            ("POST", "200 OK\r\nContent-Length: 99999999999999999999", Err(AnswerError::Length)),
            ("POST", "200 OK\r\nTransfer-Encoding: Chunked", Ok(BodyReader::chunked())),
            ("POST", "200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked", Ok(BodyReader::chunked())),
            ("POST", "200 OK\r\nTransfer-Encoding: gzip, chunked", Err(AnswerError::Coding)),
            ("POST", "200 OK\r\nTransfer-Encoding: chunked, chunked", Err(AnswerError::Coding)),
            (
                "POST",
                "200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x",
                Err(AnswerError::Coding),
            ),
            ("POST", "200 OK\r\nTransfer-Encoding: ", Err(AnswerError::Coding)),
            ("POST", "200 OK\r\nX: 1", Ok(BodyReader::until_close())),
            ("HEAD", "200 OK\r\nContent-Length: 7", Ok(BodyReader::with_length(0))),
            ("HEAD", "200 OK\r\nTransfer-Encoding: chunked", Ok(BodyReader::with_length(0))),
            ("GET", "204 None\r\nContent-Length: 7", Ok(BodyReader::with_length(0))),
            ("GET", "304 Same\r\nContent-Length: 7", Ok(BodyReader::with_length(0))),
            ("GET", "101 Other\r\nUpgrade: x", Ok(BodyReader::with_length(0))),
        ] {
            let asked = asked.parse().unwrap();
            let read = read(&format!("HTTP/1.1 {text}\r\n\r\n"), &asked).map(|answer| answer.unwrap());
            if let Ok(answer) = &read {
                assert!(answer.head.headers().get_all(CONTENT_LENGTH).iter().count() <= 1, "{text}");
                assert!(
                    answer.body != BodyReader::chunked()
                        || !answer.head.headers().contains_key(CONTENT_LENGTH)
                );
            }
            assert_eq!(read.map(|answer| answer.body), body, "{asked} {text}");
        }
        assert_eq!(
            read("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &Method::GET).unwrap_err(),
            AnswerError::Coding
        );
    }

    #[test]
    fn knows_which_connections_can_be_used_again() {
        for (text, keeps) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close", false),
            ("HTTP/1.1 200 OK\r\nConnection: keep-alive", false),
            ("HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive", true),
        ] {
            assert_eq!(
                read(&format!("{text}\r\n\r\n"), &Method::GET).unwrap().unwrap().keeps_alive,
                keeps,
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_is_no_head() {
        for text in [
            "220 mail.example ESMTP\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 99 Low\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.2 200 OK\r\n\r\n",
            "HTTP/1.1 200OK\r\n\r\n",
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n",
            "HTTP/1.1 200 O\rK\r\n\r\n",
            "HTTP/1.1 103 Early\u{c}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert_eq!(read(text, &Method::GET).unwrap_err(), AnswerError::Head, "{text:?}");
        }
    }

    #[test]
    fn a_head_is_bounded() {
        let lines = |count| format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: 1\r\n".repeat(count));
        assert!(read(&lines(MAX_HEADER_LINES), &Method::GET).unwrap().is_some());
        assert_eq!(read(&lines(MAX_HEADER_LINES + 1), &Method::GET).unwrap_err(), AnswerError::TooLong);
        let unfinished = lines(MAX_HEADER_LINES + 1);
        assert_eq!(
            read(unfinished.strip_suffix("\r\n").unwrap(), &Method::GET).unwrap_err(),
            AnswerError::TooLong
        );
        // A head of so many bytes, as far as they have come.
        let start = "HTTP/1.1 200 OK\r\nA: ";
        let open = |bytes: usize| format!("{start}{}", "x".repeat(bytes - start.len()));
        assert!(read(&open(MAX_HEAD_BYTES - 1), &Method::GET).unwrap().is_none());
        assert_eq!(read(&open(MAX_HEAD_BYTES), &Method::GET).unwrap_err(), AnswerError::TooLong);
        let whole = |bytes: usize| format!("{}\r\n\r\n", open(bytes - 4));
        assert!(read(&whole(MAX_HEAD_BYTES), &Method::GET).unwrap().is_some());
        assert_eq!(read(&whole(MAX_HEAD_BYTES + 1), &Method::GET).unwrap_err(), AnswerError::TooLong);
    }

    proptest! {
        #[test]
        fn ends_whatever_comes(text in "(HTTP/1\\.[01] [0-9]{3} ?[a-z]{0,3}\r?\n)?([A-Za-z -]{0,9}:?[a-z0-9, ]{0,5}\r?\n){0,3}(\r\n)?.{0,9}", to_head: bool) {
            let mut came = BytesMut::from(text.as_bytes());
            if let Ok(None) = read_answer(&mut came, to_head) {
                prop_assert!(text.as_bytes().ends_with(&came), "what is read of interim answers goes, and nothing else");
            }
        }
    }
}
