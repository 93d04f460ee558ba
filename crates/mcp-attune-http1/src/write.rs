//! Heads, as they are written.

use http::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Method, Request, Response, StatusCode};

use crate::encoder::BodyFraming;
use crate::head::{has_no_body, parse_decimal};

/// Writes the head of a request. Its target is the path of its URI, and its headers are those of this hop. `Content-Length` or
/// `Transfer-Encoding` is added where it is needed. Returns the framing that was given.
///
/// ```
/// use http::Request;
/// use mcp_attune_http1::{BodyFraming, write_request};
///
/// let request = Request::post("/mcp").header("host", "localhost").body(()).unwrap();
/// let mut out = Vec::new();
/// write_request(&request, BodyFraming::Length(2), &mut out);
/// assert_eq!(out, b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n");
/// ```
pub fn write_request<B>(request: &Request<B>, framing: BodyFraming, out: &mut Vec<u8>) -> BodyFraming {
    let headers = request.headers();
    out.extend_from_slice(request.method().as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(request.uri().path_and_query().map_or("/", |target| target.as_str()).as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write_lines(headers, out);
    match framing {
        // A length that is there was settled before.
        BodyFraming::Length(_) if headers.contains_key(CONTENT_LENGTH) => {}
        // Stated only where a body is expected, so that nobody waits for one.
        BodyFraming::Length(0) if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) => {}
        BodyFraming::Length(length) => {
            out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes());
        }
        BodyFraming::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
    framing
}

/// What [`write_answer`] needs to know beside the answer itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerOptions<'a> {
    /// The text after the status, where it is not the usual one.
    pub reason: Option<&'a [u8]>,
    /// The size of the body, where it is known.
    pub body_size: Option<u64>,
    /// Whether the connection is closed after the answer.
    pub closes: bool,
}

/// Writes the head of an answer to a caller, and returns how its body is framed. `write_date` appends the value of `Date` and is
/// called where the answer has none.
///
/// ```
/// use http::Response;
/// use mcp_attune_http1::{AnswerOptions, BodyFraming, write_answer};
///
/// let mut out = Vec::new();
/// let options = AnswerOptions { body_size: Some(2), closes: true, ..AnswerOptions::default() };
/// let date = |out: &mut Vec<u8>| out.extend_from_slice(b"Sun, 06 Nov 1994 08:49:37 GMT");
/// let framing = write_answer(&mut Response::new(()), options, date, &mut out);
/// assert_eq!(framing, BodyFraming::Length(2));
/// assert!(out.starts_with(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\ndate: Sun"));
/// ```
pub fn write_answer<B>(
    answer: &mut Response<B>,
    options: AnswerOptions<'_>,
    write_date: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> BodyFraming {
    let status = answer.status();
    let usual = || status.canonical_reason().unwrap_or_default().as_bytes();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(options.reason.unwrap_or_else(usual));
    out.extend_from_slice(b"\r\n");
    let headers = answer.headers_mut();
    let framing = set_framing_headers(headers, status, options.body_size);
    if options.closes {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    write_lines(headers, out);
    if !headers.contains_key(DATE) {
        out.extend_from_slice(b"date: ");
        write_date(out);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    framing
}

/// Decides how the body of an answer is framed, and puts that into the headers.
fn set_framing_headers(headers: &mut HeaderMap, status: StatusCode, body_size: Option<u64>) -> BodyFraming {
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(TRANSFER_ENCODING);
    }
    if has_no_body(status) {
        // A length in 304 is that of another answer.
        return BodyFraming::Length(0);
    }
    let Some(size) = body_size else {
        headers.remove(CONTENT_LENGTH);
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        return BodyFraming::Chunked;
    };
    let stated = headers.get(CONTENT_LENGTH).and_then(|stated| parse_decimal(stated.as_bytes()));
    if stated != Some(size) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    }
    BodyFraming::Length(size)
}

/// Writes header lines.
fn write_lines(headers: &HeaderMap, out: &mut Vec<u8>) {
    for (name, value) in headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeadLimits, read_answer, take_plain_request};
    use bytes::BytesMut;
    use proptest::prelude::*;

    #[test]
    fn writes_lines_in_their_order() {
        let mut headers = HeaderMap::new();
        headers.append("b", HeaderValue::from_static("1"));
        headers.append("a", HeaderValue::from_static(""));
        let mut out = Vec::new();
        write_lines(&headers, &mut out);
        assert_eq!(out, b"b: 1\r\na: \r\n");
    }

    #[test]
    fn writes_a_request() {
        for (method, length, framing, expected) in [
            (
                "POST",
                None,
                BodyFraming::Length(2),
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n",
            ),
            (
                "POST",
                Some("2"),
                BodyFraming::Length(2),
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n",
            ),
            (
                "POST",
                None,
                BodyFraming::Length(0),
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n",
            ),
            ("GET", None, BodyFraming::Length(0), "GET /a?b HTTP/1.1\r\nx-a: 1\r\n\r\n"),
            (
                "POST",
                None,
                BodyFraming::Chunked,
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
        ] {
            let mut request = Request::builder().method(method).uri("/a?b").header("X-A", "1");
            if let Some(length) = length {
                request = request.header(CONTENT_LENGTH, length);
            }
            let mut out = Vec::new();
            write_request(&request.body(()).unwrap(), framing, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[track_caller]
    fn check_written(
        status: u16,
        headers: &[(&'static str, &str)],
        size: Option<u64>,
        closes: bool,
        expected: (&str, BodyFraming),
    ) {
        let mut answer = Response::builder().status(status).header("date", "now");
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        let mut out = Vec::new();
        let options = AnswerOptions { reason: None, body_size: size, closes };
        let no_date = |_: &mut Vec<u8>| panic!("the answer has a date");
        let frame = write_answer(&mut answer.body(()).unwrap(), options, no_date, &mut out);
        let out = String::from_utf8(out).unwrap();
        let (first, rest) = out.split_once("\r\ndate: now\r\n").unwrap();
        assert_eq!((format!("{first}\r\n{rest}").as_str(), frame), expected);
    }

    #[test]
    fn writes_an_answer() {
        let (length, chunked) = (BodyFraming::Length, BodyFraming::Chunked);
        check_written(200, &[], Some(2), false, ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", length(2)));
        check_written(
            200,
            &[("content-length", "3")],
            Some(2),
            true,
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n", length(2)),
        );
        check_written(
            202,
            &[],
            Some(0),
            false,
            ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", length(0)),
        );
        check_written(
            200,
            &[("content-length", "3"), ("a", "")],
            None,
            false,
            ("HTTP/1.1 200 OK\r\na: \r\ntransfer-encoding: chunked\r\n\r\n", chunked),
        );
        check_written(
            200,
            &[("transfer-encoding", "gzip")],
            Some(2),
            false,
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", length(2)),
        );
        check_written(204, &[], None, false, ("HTTP/1.1 204 No Content\r\n\r\n", length(0)));
        check_written(
            304,
            &[("content-length", "3")],
            Some(0),
            false,
            ("HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n", length(0)),
        );
        check_written(799, &[], Some(0), false, ("HTTP/1.1 799 \r\ncontent-length: 0\r\n\r\n", length(0)));
    }

    #[test]
    fn writes_an_unusual_reason_and_the_date() {
        let mut out = Vec::new();
        let options = AnswerOptions { reason: Some(b"Fine"), body_size: Some(0), closes: false };
        let date = |out: &mut Vec<u8>| out.extend_from_slice(b"now");
        write_answer(&mut Response::new(()), options, date, &mut out);
        assert_eq!(out, b"HTTP/1.1 200 Fine\r\ncontent-length: 0\r\ndate: now\r\n\r\n");
    }

    proptest! {
        #[test]
        fn a_request_that_was_written_is_read_back(method in "[A-Z]{3,7}", target in "/[a-z0-9%?=&/]{0,9}", lines in prop::collection::vec(("x-[a-z]{1,5}", "[!-~]([ -~\u{e9}]{0,9}[!-~])?"), 0..5), body in "[ -~]{0,20}") {
            let mut request = Request::builder().method(method.as_str()).uri(target.as_str());
            for (name, value) in &lines {
                request = request.header(name.as_str(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let request = request.body(()).unwrap();
            let mut out = Vec::new();
            write_request(&request, BodyFraming::Length(body.len() as u64), &mut out);
            out.extend_from_slice(body.as_bytes());
            let mut read = BytesMut::from(&out[..]);
            let found = take_plain_request(&mut read, HeadLimits::default());
            if ["HEAD", "CONNECT"].contains(&method.as_str()) {
                prop_assert!(found.is_none());
            } else {
                let found = found.unwrap();
                prop_assert!(read.is_empty());
                prop_assert_eq!((found.method(), found.uri()), (request.method(), request.uri()));
                let mut headers = found.headers().clone();
                headers.remove(CONTENT_LENGTH);
                prop_assert_eq!(&headers, request.headers());
                prop_assert_eq!(found.body(), body.as_bytes());
            }
        }

        #[test]
        fn an_answer_that_was_written_is_read_back(status in 200u16..600, reason in "[ -~\u{e9}]{0,9}", lines in prop::collection::vec(("x-[a-z]{1,5}", "[!-~]([ -~\u{e9}]{0,9}[!-~])?"), 0..5), size in 0u64..99) {
            let mut answer = Response::builder().status(status);
            for (name, value) in &lines {
                answer = answer.header(name.as_str(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let mut answer = answer.body(()).unwrap();
            let mut out = Vec::new();
            let options = AnswerOptions { reason: Some(reason.as_bytes()), body_size: Some(size), closes: false };
            let framing = write_answer(&mut answer, options, |out| out.push(b'x'), &mut out);
            let mut came = BytesMut::from(&out[..]);
            let found = read_answer(&mut came, false).unwrap().unwrap();
            prop_assert!(came.is_empty());
            let usual = answer.status().canonical_reason() == Some(reason.as_str());
            prop_assert_eq!(found.reason.as_deref(), (!usual).then_some(reason.as_bytes()));
            let BodyFraming::Length(length) = framing else { panic!("{framing:?}") };
            // Without a body and without a length, only the status tells where the answer ends.
            prop_assert_eq!(found.body.remaining(), Some(length));
            let mut headers = found.head.headers().clone();
            headers.remove(DATE);
            prop_assert_eq!((found.head.status(), &headers), (answer.status(), answer.headers()));
        }
    }
}
