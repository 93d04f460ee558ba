//! Requests: as they are written to a server, and as they are read from a caller where they are plain.

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_LENGTH;
use http::{Method, Request, Uri};

use super::head::{Extent, digits, first_line, headers, write_lines};
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
    // The first line is none of those that are counted.
    let Extent { size, lines } = Extent::of(read, 1 + MOST_LINES.min(bounds.lines)).ok()??;
    if size > MOST_HEAD.min(bounds.head) {
        return None;
    }
    let head = read.split_to(size).freeze();
    if let Some(Plain { head, length }) = Plain::read(&head, lines)
        && read.len() >= length
    {
        return Some(head.map(|()| read.split_to(length).freeze()));
    }
    put_back(&head, read);
    None
}

#[cold]
fn put_back(head: &[u8], read: &mut BytesMut) {
    let mut back = BytesMut::with_capacity(head.len() + read.len());
    back.extend_from_slice(head);
    back.extend_from_slice(read);
    *read = back;
}

struct Plain {
    head: Request<()>,
    /// How long its body is.
    length: usize,
}

impl Plain {
    fn read(head: &Bytes, lines: usize) -> Option<Self> {
        let (line, rest) = first_line(head)?;
        let mut parts = line.split(|byte| *byte == b' ');
        let method = Method::from_bytes(parts.next()?).ok()?;
        // No request has a fragment, and `http` would drop it without a look.
        let target = parts.next().filter(|target| target.starts_with(b"/") && !target.contains(&b'#'))?;
        let version = parts.next()?;
        if version != b"HTTP/1.1"
            || parts.next().is_some()
            || [Method::HEAD, Method::CONNECT].contains(&method)
        {
            return None;
        }
        let (mut length, mut named) = (None, false);
        let takes = |name: &[u8], value: &[u8]| match says(name) {
            Says::Other => true,
            Says::Length if length.is_none() => {
                length = digits(value);
                length.is_some()
            }
            Says::Keep => value.eq_ignore_ascii_case(b"keep-alive"),
            Says::Host => !std::mem::replace(&mut named, true),
            Says::Length | Says::Odd => false,
        };
        let headers = headers(head, rest, lines, takes)?;
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = Uri::from_maybe_shared(head.slice_ref(target)).ok()?;
        *request.headers_mut() = headers;
        Some(Self { head: request, length: usize::try_from(length.unwrap_or(0)).ok()? })
    }
}

/// What a line is about.
enum Says {
    Length,
    /// Whom it is for, which is said once.
    Host,
    /// Whether the connection is kept.
    Keep,
    /// The connection in another way.
    Odd,
    Other,
}

fn says(name: &[u8]) -> Says {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    // Most names are told apart by how long they are.
    match name.len() {
        2 if is("te") => Says::Odd,
        4 if is("host") => Says::Host,
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
    use super::super::head::tests::{as_httparse, as_map};
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
            "GET /a#b HTTP/1.1\r\n\r\n",
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

        #[test]
        fn reads_as_httparse_does(text in "(GET|POST|G\\(T|get|) {0,2}/?[a-c?#%\u{e9}\"\t]{0,3} {1,2}HTTP/1\\.[01] ?\r?\n([A-Ca-c -]{1,3}: ?[a-c\t\u{e9} ]{0,3}\r?\n){0,3}\r?\n") {
            if let Some(request) = plain(&text) {
                let mut room = [httparse::EMPTY_HEADER; 8];
                let mut theirs = httparse::Request::new(&mut room);
                prop_assert_eq!(theirs.parse(text.as_bytes()), Ok(httparse::Status::Complete(text.len())));
                prop_assert_eq!((theirs.method, theirs.version), (Some(request.method().as_str()), Some(1)));
                prop_assert_eq!(theirs.path, request.uri().path_and_query().map(http::uri::PathAndQuery::as_str));
                let (mut ours, mut theirs) = (as_map(request.headers()), as_httparse(theirs.headers));
                ours.sort();
                theirs.sort();
                prop_assert_eq!(ours, theirs);
            }
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
