//! Requests: as they are written to a server, and as they are read from a caller where they are plain.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Uri};
use httparse::{ParserConfig, Status};

use super::head::{Lines, Place, digits, write_lines};
use super::{Frame, MOST_HEAD, MOST_LINES};

/// Writes the head of a request. Its target is a path, and its headers are those of this hop.
pub(crate) fn write_request<B>(request: &Request<B>, frame: Frame, out: &mut Vec<u8>) -> Frame {
    let headers = request.headers();
    out.extend_from_slice(request.method().as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(request.uri().path_and_query().map_or("/", |target| target.as_str()).as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write_lines(headers, out);
    match frame {
        // A length that came in is the one that was settled before.
        Frame::Length(_) if headers.contains_key(CONTENT_LENGTH) => {}
        // Said where a body is expected, so that nobody waits for one.
        Frame::Length(0) if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) => {}
        Frame::Length(length) => out.extend_from_slice(format!("content-length: {length}\r\n").as_bytes()),
        Frame::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
    frame
}

/// What a request may have to be plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Lines of its head.
    pub(crate) lines: usize,
    /// Bytes of its head.
    pub(crate) head: usize,
}

/// Takes a request out of what was read, where it is all there and can be read in one way only: HTTP/1.1, a path, no body
/// or one of a length that is told once, and nothing that is about the connection. Everything else stays where it is: it
/// may be in order, it may be HTTP/2, or half a request, or an attack.
pub(crate) fn take_plain(read: &mut BytesMut, bounds: Bounds) -> Option<Request<Bytes>> {
    let Found { method, target, lines, size, length } = find(read, bounds)?;
    let text = read.split_to(size).freeze();
    let body = read.split_to(length).freeze();
    let mut request = Request::new(body);
    *request.method_mut() = method;
    // Both were looked at when they were found.
    *request.uri_mut() = Uri::from_maybe_shared(target.take(&text)).ok()?;
    *request.headers_mut() = lines.headers(&text).ok()?;
    Some(request)
}

struct Found {
    method: Method,
    target: Place,
    lines: Lines,
    size: usize,
    length: usize,
}

fn find(read: &[u8], bounds: Bounds) -> Option<Found> {
    let mut room = [const { MaybeUninit::uninit() }; MOST_LINES];
    let mut parsed = httparse::Request::new(&mut []);
    let parse = ParserConfig::default().parse_request_with_uninit_headers(&mut parsed, read, &mut room);
    let Ok(Status::Complete(size)) = parse else { return None };
    if size > MOST_HEAD.min(bounds.head) || parsed.headers.len() > bounds.lines || parsed.version != Some(1) {
        return None;
    }
    let method = parsed.method.and_then(|method| Method::from_bytes(method.as_bytes()).ok())?;
    let target = parsed.path.filter(|path| path.starts_with('/') && path.parse::<Uri>().is_ok())?;
    if method == Method::HEAD || method == Method::CONNECT {
        return None;
    }
    let mut length = None;
    for line in &*parsed.headers {
        match says(line.name) {
            Says::Other => {}
            Says::Length if length.is_none() => length = Some(digits(line.value)?),
            Says::Keep if line.value.eq_ignore_ascii_case(b"keep-alive") => {}
            Says::Length | Says::Keep | Says::Odd => return None,
        }
    }
    let length = usize::try_from(length.unwrap_or(0)).ok()?;
    if read.len() - size < length {
        return None;
    }
    let target = Place::of(target.as_bytes(), read);
    Some(Found { method, target, lines: Lines::of(parsed.headers, read), size, length })
}

/// What a line is about.
enum Says {
    Length,
    /// Whether the connection is kept.
    Keep,
    /// The connection in another way.
    Odd,
    Other,
}

fn says(name: &str) -> Says {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    // Most names are told apart by how long they are.
    match name.len() {
        2 if is("te") => Says::Odd,
        6 if is("expect") => Says::Odd,
        7 if is("upgrade") || is("trailer") => Says::Odd,
        10 if is("connection") => Says::Keep,
        14 if is("content-length") => Says::Length,
        14 if is("http2-settings") => Says::Odd,
        17 if is("transfer-encoding") => Says::Odd,
        _ => Says::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds = Bounds { lines: 9, head: 500 };

    fn plain(text: &str) -> Option<Request<Bytes>> {
        let mut read = BytesMut::from(text);
        let taken = take_plain(&mut read, BOUNDS);
        assert!(taken.is_some() || read == text, "{text:?} was touched");
        taken
    }

    #[test]
    fn takes_a_plain_request_and_leaves_what_follows() {
        let mut read = BytesMut::from(
            "POST /mcp?a=%20 HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nconnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}GET /",
        );
        let request = take_plain(&mut read, BOUNDS).unwrap();
        assert_eq!((request.method(), request.uri()), (&Method::POST, &Uri::from_static("/mcp?a=%20")));
        assert_eq!(
            (request.headers().len(), &request.headers()["x-a"]),
            (4, &http::HeaderValue::from_static("1"))
        );
        assert_eq!((&request.body()[..], &read[..]), (&b"{}"[..], &b"GET /"[..]));
        assert!(plain("GET / HTTP/1.1\r\n\r\n").unwrap().body().is_empty());
    }

    #[test]
    fn leaves_everything_that_is_not_plain() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(500));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: 1\r\n".repeat(10));
        for text in [
            "",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\n\r\n",
            "HEAD / HTTP/1.1\r\n\r\n",
            "CONNECT x:1 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 2, 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length:\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nab",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: x\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: keep-alive, x\r\n\r\n",
            "GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
            "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
            "GET / HTTP/1.1\r\nTE: trailers\r\n\r\n",
            "GET / HTTP/1.1\r\nTrailer: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHTTP2-Settings: x\r\n\r\n",
            "GET / HTTP/1.1\r\nA : 1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\r\n b\r\n\r\n",
            &long,
            &many,
        ] {
            assert!(plain(text).is_none(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn takes_a_request_as_a_whole_or_not_at_all(text in "(GET|POST) /[a-z]{0,3} HTTP/1\\.1\r\n([A-Za-z-]{1,9}: ?[a-z0-9 ]{0,5}\r?\n){0,3}(Content-Length: [0-9]\r\n)?\r\n[a-z]{0,9}") {
            plain(&text);
        }
    }

    #[test]
    fn writes_a_request() {
        for (method, length, frame, expected) in [
            ("POST", None, Frame::Length(2), "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n"),
            (
                "POST",
                Some("2"),
                Frame::Length(2),
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 2\r\n\r\n",
            ),
            ("POST", None, Frame::Length(0), "POST /a?b HTTP/1.1\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n"),
            ("GET", None, Frame::Length(0), "GET /a?b HTTP/1.1\r\nx-a: 1\r\n\r\n"),
            (
                "POST",
                None,
                Frame::Chunked,
                "POST /a?b HTTP/1.1\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
        ] {
            let mut request = Request::builder().method(method).uri("/a?b").header("X-A", "1");
            if let Some(length) = length {
                request = request.header(CONTENT_LENGTH, length);
            }
            let mut out = Vec::new();
            write_request(&request.body(()).unwrap(), frame, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
